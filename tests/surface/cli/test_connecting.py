from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from nrem.surface.cli.connecting import connection

Nrem = Callable[..., Result]


def test_each_client_starts_the_same_server(home: Path) -> None:
    ways = connection("ana")
    [server] = tomllib.loads(ways.codex)["mcp_servers"].items()
    assert server == next(iter(json.loads(ways.mcp_json)["mcpServers"].items()))
    name, started = server
    assert name == "nrem-ana"
    assert started["args"] == ["mcp", "--agent", "ana", "--start"]
    assert started["env"] == {"NREM_HOME": str(home)}
    assert shlex.split(ways.claude_code) == [
        *("claude", "mcp", "add", "--env", f"NREM_HOME={home}", "--scope", "user", "nrem-ana"),
        *("--", started["command"], *started["args"]),
    ]


def test_the_usual_home_needs_no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NREM_HOME")
    ways = connection("ana")
    assert "NREM_HOME" not in ways.claude_code + ways.codex + ways.mcp_json
    assert shlex.split(ways.claude_code)[:6] == ["claude", "mcp", "add", "--scope", "user", "nrem-ana"]


@pytest.mark.parametrize("folder", ["with space", "ünï 🙂", 'quo"te', "back\\slash", "$HOME", "it's"])
def test_a_home_of_any_name_survives(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: str) -> None:
    home = str(tmp_path / folder)
    monkeypatch.setenv("NREM_HOME", home)
    ways = connection("ana")
    assert f"NREM_HOME={home}" in shlex.split(ways.claude_code)
    for servers in (tomllib.loads(ways.codex)["mcp_servers"], json.loads(ways.mcp_json)["mcpServers"]):
        assert servers["nrem-ana"]["env"] == {"NREM_HOME": home}


def test_an_agent_of_an_organisation_has_a_name_that_clients_take() -> None:
    servers: dict[str, Any] = tomllib.loads(connection("acme.ana").codex)["mcp_servers"]
    assert list(servers) == ["nrem-acme-ana"]
    assert servers["nrem-acme-ana"]["args"][2] == "acme.ana"


def test_adding_an_agent_shows_all_of_them(nrem: Nrem) -> None:
    nrem("init")
    shown = nrem("agent", "add", "ana").stdout
    ways = connection("ana")
    assert all(lines in shown for lines in (ways.claude_code, ways.codex, ways.mcp_json))
