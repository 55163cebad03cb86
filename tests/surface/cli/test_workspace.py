"""nrem checkpoint, log, and what other commands say of workspaces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Nrem = Callable[..., Result]
Answer = Callable[..., Any]
Refusal = Callable[..., dict[str, str]]


@pytest.mark.rows(97)
def test_init_makes_a_workspace_that_tells_of_the_memory(nrem: Nrem, home: Path) -> None:
    nrem("init", "--name", "ana", "--template", "memory")
    assert (home / "nrem.toml").exists()
    assert "recall" in (home / "workspaces" / "ana" / "AGENTS.md").read_text()
    nrem("remember", "Luis likes tea")
    assert "Luis likes tea" in nrem("recall", "what does Luis like?").stdout
    assert "template: ana" in nrem("log").stdout


@pytest.mark.rows(90)
def test_a_checkpoint_says_what_it_has(nrem: Nrem, home: Path, ana: str) -> None:
    nrem("remember", "Luis likes tea")
    (home / "workspaces" / ana / "notes" / "tea.md").write_text("green\n")
    (home / "workspaces" / ana / "large").write_bytes(b"x" * (2 << 20))
    made = nrem("checkpoint", "-m", "before the move")
    assert made.stdout.startswith("Committed ")
    assert made.stdout.endswith(": +1 -0 ~0, 1 file.\n")
    assert made.stderr == "Left out: large is larger than 1 MiB\n"
    assert nrem("checkpoint").stdout == "No commit: nothing has changed since the last commit.\n"


@pytest.mark.rows(90)
def test_the_log_lists_commits_newest_first(nrem: Nrem, answer: Answer, remember: Any, ana: str) -> None:
    remember("Luis likes tea")
    made = answer("checkpoint", "-m", "before the move")
    lines = nrem("log").stdout.splitlines()
    assert lines[0].split() == ["Commit", "When", "Cause", "Changes", "Subject"]
    assert [line.split()[0] for line in lines[1:]] == [
        made["commit"][:10],
        answer("log")["commits"][1]["commit"][:10],
    ]
    assert "checkpoint: before the move" in lines[1]
    assert "+0 -0 ~0, 7 files" in lines[2]
    found = answer("log", "--limit", "1")
    assert [entry["commit"] for entry in found["commits"]] == [made["commit"]]
    assert (found["commits"][0]["added"], found["unpublished"], found["note"]) == (1, 0, None)


def test_what_is_not_committed_yet_is_told(nrem: Nrem, answer: Answer, ana: str) -> None:
    assert answer("status")["unpublished"] == {}
    nrem("remember", "Luis likes tea")
    assert nrem("log").stderr == "1 event is not committed yet.\n"
    assert answer("agent", "show")["unpublished"] == 1
    assert answer("status")["unpublished"] == {"ana": 1}
    assert nrem("status").stdout.endswith("ana: 1 event is not committed yet.\n")


def test_without_git_both_say_so(nrem: Nrem, home: Path) -> None:
    nrem("init")
    (home / "nrem.toml").write_text("[workspace]\ngit = false\n")
    nrem("agent", "add", "ana")
    assert nrem("checkpoint").stdout.startswith("No commit: workspace.git is off")
    told = nrem("log")
    assert (told.stdout, told.stderr[:27]) == ("", "Note: workspace.git is off ")
    assert not (home / "workspaces" / "ana" / ".git").exists()


def test_a_limit_is_at_most_a_hundred(nrem: Nrem, ana: str) -> None:
    assert "100" in nrem("log", "-n", "101", exits=2).stderr


def test_removing_an_agent_removes_its_workspace(nrem: Nrem, home: Path, ana: str) -> None:
    nrem("agent", "remove", ana, "--erase", "--force")
    assert list((home / "workspaces").iterdir()) == []


def test_a_note_with_a_secret_is_refused_where_secrets_are(refusal: Refusal, home: Path, ana: str) -> None:
    (home / "nrem.toml").write_text('[secrets]\non_secret = "refuse"\n')
    key = "sk-ant-" + "api03-Zx9Qw3Er7Ty1Ui5Op2As8Df4Gh6Jk0Lz"
    assert refusal(2, "checkpoint", "-m", key)["code"] == "secret_found"
