"""nrem verify, rebuild."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest
from click.testing import CliRunner, Result

from nrem.surface.cli.main import main

Nrem = Callable[..., Result]
Answer = Callable[..., Any]
Refusal = Callable[..., dict[str, str]]
Remember = Callable[..., str]


class Daemon(Protocol):
    def stay_down(self) -> None: ...


@pytest.mark.rows(107)
def test_verify_ends_well_or_with_what_to_do(nrem: Nrem, remember: Remember, home: Path, ana: str) -> None:
    remember("a text")
    nrem("checkpoint")
    said = nrem("verify").stdout
    assert "ok       NR063  git state: it is what the events add up to\n" in said
    assert said.endswith("0 errors.\n")
    path = ".nrem/state/000/00000.jsonl"
    file = home / "workspaces/ana" / path
    file.write_text(file.read_text().replace("a text", "a test"))
    result = CliRunner().invoke(main, ["verify"], catch_exceptions=False)
    assert result.exit_code == 1
    assert f"error    NR065  workspace files: {path} is not as it was committed\n" in result.stdout
    assert "         do: nrem checkpoint puts nrem's own files back\n" in result.stdout
    assert result.stdout.endswith("1 error.\n")
    found = json.loads(CliRunner().invoke(main, ["verify", "--json"]).stdout)
    assert (found["agents"], found["errors"]) == (["ana"], 1)
    assert {finding["agent"] for finding in found["findings"]} == {"ana"}


@pytest.mark.rows(107)
def test_verify_looks_at_every_agent_unless_told_otherwise(nrem: Nrem, ana: str) -> None:
    nrem("agent", "add", "ben")
    said = nrem("verify").stdout
    assert said.index("Agent ana:\n") < said.index("Agent ben:\n")
    assert said.endswith("0 errors.\n")
    assert "Agent" not in nrem("verify", "-a", "ben").stdout
    assert json.loads(nrem("verify", "--json").stdout)["agents"] == ["ana", "ben"]


@pytest.mark.rows(106)
def test_rebuild_says_what_is_lost_asks_and_keeps_the_old_store(
    nrem: Nrem, answer: Answer, remember: Remember, home: Path, ana: str, daemon: Daemon
) -> None:
    remember("a text")
    nrem("checkpoint")
    remember("a later text")
    daemon.stay_down()
    refused = CliRunner().invoke(main, ["rebuild"], catch_exceptions=False)
    assert refused.exit_code == 2
    assert "ana: 1 memory, 2 events, commit " in refused.stdout
    assert "Not in git: 1 event of ana.\n" in refused.stderr
    assert "tokens (make new ones: nrem token create)" in refused.stderr
    assert "Put the rebuilt store in place?" in refused.stderr
    assert not (home / "nrem.db.before-rebuild").exists()
    done = nrem("rebuild", "--yes")
    assert done.stdout.endswith(
        "Rebuilt 1 agent with 1 memory.\nThe store before it is kept as nrem.db.before-rebuild.\n"
    )
    assert (home / "nrem.db.before-rebuild").exists()
    rebuilt = answer("rebuild", "--force")
    assert [agent["agent"] for agent in rebuilt["agents"]] == ["ana"]
    assert (rebuilt["lost"], rebuilt["kept"]) == ([], "nrem.db.before-rebuild-2")


def test_rebuild_wants_the_daemon_to_be_down(refusal: Refusal, ana: str) -> None:
    assert refusal(6, "rebuild", "--yes")["code"] == "store_locked"


def test_rebuild_names_a_damaged_workspace(refusal: Refusal, home: Path, ana: str, daemon: Daemon) -> None:
    daemon.stay_down()
    for pack in (home / "workspaces/ana/.git/objects/pack").glob("*.pack"):
        pack.chmod(0o600)
        pack.write_bytes(pack.read_bytes()[:-1] + b"x")
    error = refusal(7, "rebuild", "--yes")
    assert "does not fit its checksum" in error["message"]
    assert error["hint"].endswith("--without ana")
