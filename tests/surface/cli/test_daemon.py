"""nrem up, down, status, as they end when there is nothing to serve, or nobody; e2e has the daemon's life."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest
from click.testing import Result

from nrem.runtime.app import App

Nrem = Callable[..., Result]
Answer = Callable[..., Any]
Refusal = Callable[..., dict[str, str]]

NREM = str(Path(sys.executable).with_name("nrem"))


class Daemon(Protocol):
    def stay_down(self) -> None: ...


@pytest.fixture(autouse=True)
def _no_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test listens on the port of the machine's own daemon."""
    monkeypatch.setenv("NREM_SERVER__PORT", "none")


def up(*words: str) -> tuple[int, str]:
    """Return how a daemon that cannot start ended, and what it said."""
    ended = subprocess.run([NREM, "up", *words], capture_output=True, text=True, timeout=60)
    assert ended.stdout == ""
    return ended.returncode, ended.stderr


def test_status_says_which_daemon_is_up(nrem: Nrem, answer: Answer, home: Path, ana: str) -> None:
    first, second = nrem("status").stdout.splitlines()
    assert first.endswith(f" is up, process {os.getpid()}: {home / 'nrem.sock'}")
    assert second == "Vectors: local:wordllama-256."
    told = answer("status")
    assert told["pid"] == os.getpid()
    assert told["embedder"]["configured"] == "local:wordllama-256"


@pytest.mark.parametrize("word", ["status", "down"])
def test_without_a_daemon_status_and_down_say_how_to_start_it(
    nrem: Nrem, refusal: Refusal, daemon: Daemon, home: Path, word: str
) -> None:
    assert nrem(word, exits=6).stderr == "Error: nrem is not up\nHint: nrem up --detach\n"
    assert not home.exists()
    nrem("init")
    daemon.stay_down()
    assert refusal(6, word)["code"] == "no_daemon"


def test_a_second_daemon_does_not_start(nrem: Nrem, ana: str) -> None:
    nrem("status")
    for words in ((), ("--detach",)):
        code, told = up(*words)
        assert code == os.EX_TEMPFAIL
        assert told.startswith("Error: nrem is up already: ")
    assert nrem("agent", "list").stdout


def test_up_does_not_touch_a_store_in_use(home: Path) -> None:
    with App.open(home, create=True):
        code, told = up()
    assert code == os.EX_TEMPFAIL
    assert f"is in use by process {os.getpid()} " in told
    assert not (home / "nrem.sock").exists()


def test_up_leaves_a_damaged_store_to_an_operator(home: Path) -> None:
    home.mkdir()
    garbage = b"this is no database" * 1000
    (home / "nrem.db").write_bytes(garbage)
    assert up()[0] == os.EX_DATAERR
    assert (home / "nrem.db").read_bytes() == garbage


def test_what_keeps_a_detached_daemon_from_starting_is_told(home: Path) -> None:
    home.mkdir()
    (home / "nrem.db").write_bytes(b"this is no database" * 1000)
    code, told = up("--detach")
    assert code == os.EX_DATAERR
    assert told.startswith("Error: nrem did not start: Error: ")
    assert "Hint: nrem up shows more\n" in told


@pytest.mark.parametrize("words", [(), ("--detach",)])
def test_up_names_a_wrong_setting_and_makes_nothing(home: Path, words: tuple[str, ...]) -> None:
    home.mkdir()
    (home / "nrem.toml").write_text("[limits]\ncontent_byte = 7\n")
    code, told = up(*words)
    assert code == os.EX_CONFIG
    assert "Hint: did you mean limits.content_bytes?\n" in told
    assert [file.name for file in home.iterdir()] == ["nrem.toml"]


def test_a_socket_whose_path_is_too_long_is_a_wrong_setting(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NREM_SERVER__SOCKET", str(tmp_path / ("s" * 100)))
    code, told = up()
    assert code == os.EX_CONFIG
    assert "the path of the socket is too long" in told


def test_a_port_that_is_taken_is_told(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, told = up("--port", str(port))
    assert code == os.EX_TEMPFAIL
    assert f"Error: 127.0.0.1:{port} cannot be listened on: " in told
    assert "Hint: nrem up --port N, or server.port in nrem.toml\n" in told
    assert not (home / "nrem.sock").exists()
