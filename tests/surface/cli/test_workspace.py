"""nrem checkpoint, restore, log, and what other commands say of workspaces."""

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
    since = answer("agent", "show")["unpublished_since"]
    assert answer("status")["unpublished"] == {"ana": {"events": 1, "since": since}}
    told = since[:19].replace("T", " ")
    assert nrem("status").stdout.endswith(f"ana: 1 event is not committed yet, the oldest of {told}.\n")
    assert nrem("agent", "list").stdout.endswith(f"1 event since {told}\n")


@pytest.mark.rows(34)
def test_a_forget_is_undone_and_told(nrem: Nrem, answer: Answer, remember: Any, ana: str) -> None:
    id = remember("Luis likes tea")
    assert "nrem restore --only ID" in nrem("forget", id).stdout
    told = nrem("restore", "--only", id, "--dry-run").stdout.splitlines()
    assert (told[0], told[1][:14], told[1][-11:]) == (f"added      {id}", "Would restore ", ": +1 -0 ~0.")
    done = nrem("restore", "--only", id).stdout.splitlines()
    assert done[0] == f"added      {id}"
    assert done[1].startswith("Restored the state of ")
    assert done[2] == f"Committed {answer('log')['commits'][0]['commit'][:10]}."
    assert answer("get", id)["memory"]["version"] == 2
    assert nrem("restore", "--to", "now").stdout.startswith("Nothing to restore: ")


def test_what_cannot_be_restored_is_told(nrem: Nrem, refusal: Refusal, remember: Any, ana: str) -> None:
    old = remember("Luis likes tea")
    nrem("forget", old)
    new = remember("Luis likes tea")
    told = nrem("restore", "--only", old)
    assert told.stderr == f"Not restored: {old}: another memory has its text now ({new})\n"
    assert refusal(2, "restore")["field"] == "to"
    assert refusal(4, "restore", "--only", "unknown")["code"] == "memory_not_found"


def test_a_remote_is_shown(nrem: Nrem, answer: Answer, ana: str) -> None:
    assert answer("status")["remotes"] == {}
    nrem("agent", "config", ana, "--set", "workspace.remote=/srv/nowhere.git", "-m", "a remote")
    assert answer("status")["remotes"]["ana"]["ahead"] == 1
    assert nrem("status").stdout.endswith("ana: 1 commit to push to /srv/nowhere.git.\n")
    assert nrem("agent", "show").stdout.endswith("1 commit to push to /srv/nowhere.git.\n")


def test_without_git_both_say_so(nrem: Nrem, home: Path) -> None:
    nrem("init")
    (home / "nrem.toml").write_text("[workspace]\ngit = false\n")
    nrem("agent", "add", "ana")
    assert nrem("checkpoint").stdout.startswith("No commit: workspace.git is off")
    told = nrem("log")
    assert (told.stdout, told.stderr[:27]) == ("", "Note: workspace.git is off ")
    assert not (home / "workspaces" / "ana" / ".git").exists()


def test_without_git_no_event_waits_for_a_commit(nrem: Nrem, answer: Answer, ana: str) -> None:
    nrem("remember", "Luis likes tea")
    nrem("agent", "config", "ana", "--set", "workspace.git=false", "-m", "none of it")
    shown = answer("agent", "show")
    assert (shown["unpublished"], shown["unpublished_since"]) == (0, None)
    assert answer("status")["unpublished"] == {}
    assert answer("log")["unpublished"] == 0


def test_a_limit_is_at_most_a_hundred(nrem: Nrem, ana: str) -> None:
    assert "100" in nrem("log", "-n", "101", exits=2).stderr


def test_removing_an_agent_removes_its_workspace(nrem: Nrem, home: Path, ana: str) -> None:
    nrem("agent", "remove", ana, "--erase", "--force")
    assert list((home / "workspaces").iterdir()) == []


def test_a_note_with_a_secret_is_refused_where_secrets_are(refusal: Refusal, home: Path, ana: str) -> None:
    (home / "nrem.toml").write_text('[secrets]\non_secret = "refuse"\n')
    key = "sk-ant-" + "api03-Zx9Qw3Er7Ty1Ui5Op2As8Df4Gh6Jk0Lz"
    assert refusal(2, "checkpoint", "-m", key)["code"] == "secret_found"


@pytest.mark.rows(90)
def test_the_log_tells_which_memories_changed(nrem: Nrem, answer: Answer, remember: Any, ana: str) -> None:
    id = remember("Luis likes tea")
    nrem("checkpoint", "-m", "tea")
    nrem("edit", id, "Luis likes coffee")
    nrem("checkpoint", "-m", "coffee")
    lines = nrem("log", "--diff").stdout.splitlines()
    assert lines[1:3] == [
        f"~ {id} [semantic] Luis likes coffee",
        '    content: "Luis likes tea" -> "Luis likes coffee"',
    ]
    assert lines[3].endswith("checkpoint: tea")
    assert lines[4] == f"+ {id} [semantic] Luis likes tea"
    assert answer("log", "--diff")["commits"][1]["memories"][0]["content"] == "Luis likes tea"
    assert answer("log")["commits"][1]["memories"] == []


@pytest.mark.rows(90)
def test_two_points_are_compared(nrem: Nrem, answer: Answer, home: Path, remember: Any, ana: str) -> None:
    [template] = answer("log")["commits"]
    id = remember("Luis likes tea\x1b[31m")
    (home / "workspaces" / ana / "notes" / "tea.md").write_text("green\x1b[31m\n")
    made = answer("checkpoint")
    shown = nrem("diff", template["commit"][:10], made["commit"][:10], "--text").stdout
    head, memory, file, _, *text = shown.splitlines()
    assert head.endswith(": +1 -0 ~0, 1 file")
    assert memory == f"+ {id} [semantic] Luis likes tea\\u001b[31m"
    assert file == "file: notes/tea.md"
    assert text[0] == "diff --git a/notes/tea.md b/notes/tea.md"
    assert text[-1] == "+green\x1b[31m"  # in a pipe, to the byte
    found = answer("diff", template["commit"])
    assert (found["added"], found["files"], found["b"]["word"]) == (1, ["notes/tea.md"], "now")
    remember("not committed")
    assert "not in git yet" in nrem("diff", made["commit"]).stderr


def test_a_word_that_means_no_point_is_refused(refusal: Refusal, ana: str) -> None:
    assert refusal(2, "diff", "no such thing")["field"] == "a"


@pytest.mark.rows(90)
def test_a_file_is_shown_as_it_was(
    nrem: Nrem, answer: Answer, refusal: Refusal, home: Path, ana: str
) -> None:
    plan = home / "workspaces" / ana / "plan.md"
    plan.write_text("Lisbon\n")
    made = answer("checkpoint")["commit"]
    plan.write_text("Porto\n")
    assert nrem("show", made[:10], "plan.md").stdout == "Lisbon\n"
    assert answer("show", made, "plan.md") == {"commit": made, "path": "plan.md", "content": "Lisbon\n"}
    assert refusal(4, "show", "f" * 40, "plan.md")["code"] == "commit_not_found"
    assert refusal(4, "show", made, "none.md")["code"] == "path_not_found"
    assert refusal(3, "show", made, "../x")["code"] == "path_escapes"
