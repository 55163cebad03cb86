"""The commands of docs/history.md do in a real workspace what the page says."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from builders import Call
from nrem.runtime.app import App
from workspace.workshop import git

PAGE = (Path(__file__).parents[2] / "docs/history.md").read_text()
COMMANDS = re.findall(r"^\$ (git .+)$", PAGE, re.MULTILINE)


@pytest.fixture
def root(app: App, call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A workspace in which a memory came, another changed, and so did files."""
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "no-gitconfig"))
    root = app.home / "workspaces" / "ana"
    tea = call("remember", agent="ana", content="Luis prefers tea")["id"]
    call("checkpoint", agent="ana", note="tea")
    call("edit_memory", agent="ana", id=tea, content="Luis drinks coffee")
    (root / "notes/plan.md").write_text("Lisbon\n")
    with (root / "MEMORY.md").open("a") as file:
        file.write("A line of mine.\n")
    call("checkpoint", agent="ana", note="coffee")
    return root


def run(root: Path, start: str) -> str:
    """Run the one command of the page that begins so."""
    [command] = [command for command in COMMANDS if command.startswith(start)]
    return git(root, *shlex.split(command)[1:])


@pytest.mark.rows(90)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_page_runs_and_shows_something(root: Path, command: str) -> None:
    done = subprocess.run(shlex.split(command), cwd=root, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout or command.startswith("git fsck")


@pytest.mark.rows(90)
def test_they_show_what_the_page_says(root: Path) -> None:
    log = run(root, "git log --format").splitlines()
    assert [line.split(" ", 2)[2] for line in log] == [
        "checkpoint: coffee",
        "checkpoint: tea",
        "template: ana",
    ]
    assert len(run(root, "git log --grep").splitlines()) == 2
    own = run(root, "git diff HEAD~1 -- . ")
    assert ("+Lisbon" in own, ".nrem" in own) == (True, False)
    memories = run(root, "git diff HEAD~1 -- .nrem/state")
    assert re.search(r"^-.*Luis prefers tea", memories, re.MULTILINE)
    assert re.search(r"^\+.*Luis drinks coffee", memories, re.MULTILINE)
    assert "A line of mine." not in run(root, "git show HEAD~1:MEMORY.md")
    blame = run(root, "git blame")
    newest = git(root, "rev-parse", "HEAD").strip()
    assert [line[:7] for line in blame.splitlines() if "A line of mine." in line] == [newest[:7]]
    known = [command for command in COMMANDS if "-S'Luis prefers'" in command]
    assert [line.split(" ", 1)[1] for line in git(root, *shlex.split(known[0])[1:]).splitlines()] == [
        "checkpoint: coffee",
        "checkpoint: tea",
    ]
    assert [line.split(" ", 1)[1] for line in git(root, *shlex.split(known[1])[1:]).splitlines()] == [
        "checkpoint: tea"
    ]


def test_the_page_has_the_commands_that_people_ask_for() -> None:
    for start in ("git log ", "git diff ", "git blame MEMORY.md", "git log -S"):
        assert any(command.startswith(start) for command in COMMANDS)
