"""nrem backup, doctor."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest
from click.testing import CliRunner, Result

from builders import NOON, Call, ManualClock, caller_of
from nrem.runtime.app import App
from nrem.surface.cli.main import main

Nrem = Callable[..., Result]
Answer = Callable[..., Any]
Refusal = Callable[..., dict[str, str]]


class Daemon(Protocol):
    def stay_down(self) -> None: ...


def doctor(*words: str) -> tuple[int, dict[str, Any]]:
    """Return how doctor ended and what it found, also when that is an error."""
    result = CliRunner().invoke(main, ["doctor", *words, "--json"], catch_exceptions=False)
    return result.exit_code, json.loads(result.stdout)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a store of ana's, which nothing has open."""
    short = tmp_path / "h"  # a socket's path has few bytes
    monkeypatch.setenv("NREM_HOME", str(short))
    monkeypatch.setenv("NREM_VECTOR__ENABLED", "false")
    with App.open(short, create=True) as app:
        caller_of(app)("add_agent", agent="ana")
    return short


@pytest.fixture
def down(daemon: Daemon) -> None:
    """No daemon is up, whatever command is run."""
    daemon.stay_down()


@pytest.fixture
def run(home: Path, down: None) -> Call:
    """Run an operation on the store while no daemon is up."""

    def call(name: str, **body: Any) -> dict[str, Any]:
        with App.open(home) as app:
            return caller_of(app)(name, **body)

    return call


def contents(run: Call) -> list[str]:
    return [memory["content"] for memory in run("list_memories", agent="ana")["memories"]]


@pytest.mark.rows(10)
def test_a_backup_is_listed_and_restored(answer: Answer, run: Call) -> None:
    run("remember", agent="ana", content="Luis likes tea")
    made = run("create_backup")
    assert answer("backup", "list") == {"backups": [made]}
    run("remember", agent="ana", content="Luis likes coffee")
    restored = answer("backup", "restore", made["name"], "--force")
    assert restored["lost"] == [{"agent": "ana", "events": 1}]
    assert restored["contents"] == made["contents"]
    assert contents(run) == ["Luis likes tea"]
    answer("backup", "restore", restored["kept"], "--force")
    assert contents(run) == ["Luis likes coffee", "Luis likes tea"]


def test_a_restore_is_told_in_words(nrem: Nrem, run: Call) -> None:
    assert nrem("backup", "list").stdout == "No backups yet. Next: nrem backup create\n"
    name = run("create_backup")["name"]
    assert [line.split()[0] for line in nrem("backup", "list").stdout.splitlines()] == ["Name", name]
    run("remember", agent="ana", content="Luis likes tea")
    told = nrem("backup", "restore", name, "--force").stdout.splitlines()
    assert told[0] == f"Restored {name}: 1 agent, 0 memories."
    assert told[1].startswith("Its newest event is of 20")
    assert told[2].endswith("-before-restore.db.")
    assert told[3:] == ["Not here any more: 1 event of ana."]


def test_a_restore_wants_a_yes(refusal: Refusal, run: Call) -> None:
    name = run("create_backup")["name"]
    assert refusal(2, "backup", "restore", name)["hint"] == "add --force"
    assert refusal(4, "backup", "restore", "nope.db")["code"] == "backup_not_found"


def test_a_store_that_cannot_be_opened_can_be_replaced(
    nrem: Nrem, answer: Answer, run: Call, home: Path
) -> None:
    name = run("create_backup")["name"]
    (home / "nrem.db").write_bytes(b"damaged" * 1000)
    code, found = doctor()
    assert (code, [f["id"] for f in found["findings"] if f["level"] == "error"]) == (1, ["NR040"])
    assert [known["name"] for known in answer("backup", "list")["backups"]] == [name]
    assert "It could not be read" in nrem("backup", "restore", name, "--force").stdout
    assert doctor("--deep")[0] == 0


@pytest.mark.rows(10)
def test_beside_the_daemon_a_backup_is_made_and_not_restored(
    nrem: Nrem, answer: Answer, refusal: Refusal
) -> None:
    assert ": 1 agent, 0 memories, " in nrem("backup", "create").stdout
    made = answer("backup", "create")
    assert answer("backup", "list")["backups"][0] == made
    assert refusal(6, "backup", "restore", made["name"], "--force")["code"] == "store_locked"
    code, found = doctor("--deep")
    assert (code, found["errors"], found["warnings"]) == (0, 0, 0)
    findings = {finding["id"]: finding["message"] for finding in found["findings"]}
    assert findings["NR030"].endswith(" is up")
    assert findings["NR044"].startswith("1 events")


@pytest.mark.usefixtures("down")
def test_doctor_ends_with_0_also_with_warnings_and_with_1_on_an_error(nrem: Nrem, home: Path) -> None:
    code, found = doctor()
    assert (code, found["errors"], found["warnings"]) == (0, 0, 0)
    home.chmod(0o755)
    code, found = doctor()
    assert (code, found["errors"], found["warnings"]) == (0, 0, 1)
    lines = nrem("doctor").stdout.splitlines()
    assert f"warning  NR011  {home}: others may use it (mode 0755)" in lines
    assert f"         do: chmod 700 {home}" in lines
    assert lines[-1] == "0 errors, 1 warning."
    home.chmod(0o700)
    (home / "nrem.toml").touch(mode=0o600)
    (home / "nrem.toml").write_text("[limits]\nnonsense = 1\n")
    code, found = doctor()
    assert (code, found["errors"], found["warnings"]) == (1, 1, 0)


def test_doctor_needs_nothing_to_be_there(tmp_path: Path) -> None:
    code, found = doctor()
    assert code == 1
    assert [f["id"] for f in found["findings"] if f["level"] == "error"] == ["NR010"]
    assert list(tmp_path.iterdir()) == []


# prune


@pytest.mark.rows(9)
def test_old_recalls_are_pruned_by_a_command(nrem: Nrem, answer: Answer, home: Path) -> None:
    long_ago = ManualClock(NOON - 1000 * 86_400_000)
    with App.open(home, clock=long_ago) as app:
        call = caller_of(app)
        call("remember", agent="ana", content="Luis likes tea")
        call("recall", agent="ana", query="tea")
    nrem("recall", "tea")
    assert nrem("prune").stdout == "Deleted 1 recall with 1 hit.\n"
    assert answer("prune", "--days", "1") == {"recalls": 0, "hits": 0}
