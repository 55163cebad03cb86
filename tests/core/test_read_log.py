"""The log knows people's commits as soon as they are made, and spoils nothing by looking."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import Call
from nrem.runtime.app import App
from nrem.store import commits
from workspace.workshop import check_clean, git


@pytest.fixture(autouse=True)
def _own_git_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """git reads no configuration but the repository's."""
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "no-gitconfig"))


@pytest.fixture
def root(app: App, call: Call) -> Path:
    call("remember", agent="ana", content="tea")
    call("checkpoint", agent="ana", note="first")
    return app.home / "workspaces" / "ana"


def subjects(call: Call) -> list[str]:
    return [commit["subject"] for commit in call("log", agent="ana")["commits"]]


def by_hand(root: Path, path: str, text: str) -> None:
    (root / path).write_text(text)
    git(root, "add", "-f", path)
    git(root, "commit", "-qm", f"by hand: {path}")


@pytest.mark.rows(90)
def test_a_persons_commit_is_listed_at_once(call: Call, root: Path) -> None:
    by_hand(root, "notes/plan.md", "Lisbon\n")
    [newest, *_] = call("log", agent="ana")["commits"]
    assert newest["commit"] == git(root, "rev-parse", "HEAD").strip()
    assert (newest["cause"], newest["files"], newest["subject"]) == ("person", 1, "by hand: notes/plan.md")
    before = subjects(call)
    assert subjects(call) == before  # looking again changes nothing
    call("remember", agent="ana", content="coffee")
    made = call("checkpoint", agent="ana", note="second")
    assert (made["added"], made["files"]) == (1, 0)
    assert subjects(call) == ["checkpoint: second", *before]
    check_clean(root)


def test_looking_does_not_hide_that_the_record_was_changed(call: Call, root: Path) -> None:
    state = ".nrem/state/000/00000.jsonl"
    kept = (root / state).read_text()
    by_hand(root, state, "")
    assert subjects(call)[0] == f"by hand: {state}"
    assert call("checkpoint", agent="ana", note="again")["commit"] is not None
    assert (root / state).read_text() == kept
    assert subjects(call)[:2] == ["checkpoint: again", f"by hand: {state}"]
    check_clean(root)


def test_commits_are_known_although_no_mark_is(call: Call, app: App, root: Path) -> None:
    number = app.scope("ana").number
    app.store.write(lambda db: commits.begin_anew(db, number))
    by_hand(root, "a.md", "1")
    assert subjects(call)[0] == "by hand: a.md"
    with app.store.reading() as db:
        assert commits.watermark(db, number) is None


def test_the_log_is_there_although_git_is_not(call: Call, app: App, root: Path) -> None:
    known = subjects(call)
    app.workspaces.of(app.scope("ana")).close()
    (root / ".git/HEAD").write_text("damaged")
    (root / ".git/config").write_text("[damaged")
    found = call("log", agent="ana")
    assert [commit["subject"] for commit in found["commits"]] == known
    assert found["note"].startswith("the newest commits may be missing: ")
