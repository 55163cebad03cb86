"""A file comes back as it was in a commit of the workspace's own history, and nothing else does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from builders import Call
from nrem.errors import Denied, InputError, NotFound, NremError
from nrem.runtime.app import App
from workspace.workshop import git


@pytest.fixture(autouse=True)
def _own_git_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """git reads no configuration but the repository's."""
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "no-gitconfig"))


@pytest.fixture
def root(app: App) -> Path:
    return app.home / "workspaces" / "ana"


def write(call: Call, root: Path, text: str) -> str:
    (root / "notes/plan.md").write_text(text)
    made: str = call("checkpoint", agent="ana")["commit"]
    return made


@pytest.mark.rows(90)
def test_each_version_is_shown_under_its_commit(call: Call, root: Path) -> None:
    first, second = (write(call, root, text) for text in ("Lisbon\n", "Pörto\n"))
    for commit, content in ((first, "Lisbon\n"), (second, "Pörto\n"), (first[:8], "Lisbon\n")):
        found = call("show_file", agent="ana", commit=commit, path="notes/plan.md")
        whole = first if content == "Lisbon\n" else second
        assert found == {"commit": whole, "path": "notes/plan.md", "content": content}
    assert call("show_file", agent="ana", commit="main", path="notes/plan.md")["commit"] == second
    shown = call("show_file", agent="ana", commit=first, path=".nrem/format.json")["content"]
    assert '"format": 1' in shown


def test_a_commit_that_is_not_of_the_branch_is_not_found(call: Call, root: Path) -> None:
    first = write(call, root, "Lisbon\n")
    foreign = call("log", agent="ben")["commits"][0]["commit"]
    git(root, "commit", "--allow-empty", "-m", "a person's", "--author", "p <p@x>")
    aside = git(root, "rev-parse", "HEAD").strip()
    assert call("show_file", agent="ana", commit=aside, path="notes/plan.md")["content"] == "Lisbon\n"
    git(root, "reset", "-q", "--hard", first)
    for commit in (aside, aside[:10], foreign, "f" * 40, "none", "HEAD~1", "../x"):
        with pytest.raises(NotFound) as caught:
            call("show_file", agent="ana", commit=commit, path="notes/plan.md")
        assert caught.value.code == "commit_not_found"


@pytest.mark.parametrize(
    "path", ["../ben/MEMORY.md", "/etc/passwd", ".git/config", "a\0b", "notes/../MEMORY.md"]
)
def test_a_path_that_leads_out_is_refused(call: Call, root: Path, path: str) -> None:
    commit = write(call, root, "Lisbon\n")
    with pytest.raises((Denied, InputError)) as caught:
        call("show_file", agent="ana", commit=commit, path=path)
    assert caught.value.field == "path"


def test_only_text_files_of_some_size_are_shown(call: Call, root: Path) -> None:
    (root / "binary").write_bytes(b"\xff\xfe")
    write(call, root, "Lisbon\n")
    (root / "large").write_bytes(b"x" * ((1 << 20) + 1))
    os.symlink("/etc/passwd", root / "link")
    git(root, "add", "large", "link")
    git(root, "commit", "-qm", "a person's")
    codes = {}
    for path in ("binary", "large", "link", "notes", "none.md"):
        with pytest.raises(NremError) as caught:
            call("show_file", agent="ana", commit="main", path=path)
        codes[path] = caught.value.code
    assert codes == {
        "binary": "invalid_field",
        "large": "file_too_large",
        "link": "path_not_found",
        "notes": "path_not_found",
        "none.md": "path_not_found",
    }


def test_without_a_repository_none_is_made(call: Call, app: App) -> None:
    call("set_agent_config", agent="ben", config={"workspace": {"git": False}}, message="none")
    git_folder = app.home / "workspaces/ben/.git"
    git_folder.rename(git_folder.with_name("elsewhere"))
    with pytest.raises(NotFound) as caught:
        call("show_file", agent="ben", commit="main", path="USER.md")
    assert caught.value.code == "repository_not_found"
    assert not git_folder.exists()
