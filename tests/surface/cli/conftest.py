from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import served
from nrem.client import Client
from nrem.errors import NremError
from nrem.surface.cli.main import main

Nrem = Callable[..., Result]


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees how wide or colourful the machine's own terminal is."""
    for name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


class Daemon:
    """Is up once there is a store, unless told to stay down; starts anew when the settings have changed."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._socket = home / "nrem.sock"
        self._stack = ExitStack()
        self._settings: object = None
        self._stays_down = False

    def follow(self) -> None:
        """Serve the home as it is now configured."""
        settings = self._read()
        if settings != self._settings and not self._stays_down:
            self.stop()
            if (self._home / "nrem.db").exists():
                self._stack.enter_context(served.daemon(self._home))
                self._settings = settings

    def stop(self) -> None:
        if self._settings is not None:
            # A connection that was not accepted yet would be left open; after an answer all earlier ones are.
            with Client(self._socket) as client:
                client.health()
        self._stack.close()
        self._settings = None

    def stay_down(self) -> None:
        """Stop, and let no command start it again."""
        self._stays_down = True
        self.stop()

    def _read(self) -> object:
        variables = {name: value for name, value in os.environ.items() if name.startswith("NREM_")}
        file = self._home / "nrem.toml"
        return variables, file.read_bytes() if file.exists() else b""


@pytest.fixture
def daemon(home: Path) -> Iterator[Daemon]:
    daemon = Daemon(home)
    yield daemon
    daemon.stop()


@pytest.fixture
def nrem(daemon: Daemon) -> Nrem:
    """Run a command line and return how it ended; one that ends badly fails the test, unless told how."""

    def run(*words: str, stdin: str | bytes | None = None, exits: int = 0) -> Result:
        with suppress(NremError):  # settings that are wrong: the command itself says so
            daemon.follow()
        result = CliRunner().invoke(main, words, input=stdin, catch_exceptions=False)
        assert result.exit_code == exits, result.output
        if exits:
            assert result.stdout == ""
        return result

    return run


@pytest.fixture
def answer(nrem: Nrem) -> Callable[..., Any]:
    """Run a command line with --json and return its answer."""

    def run(*words: str, stdin: str | bytes | None = None) -> Any:
        result = nrem(*words, "--json", stdin=stdin)
        return json.loads(result.stdout)

    return run


@pytest.fixture
def refusal(nrem: Nrem) -> Callable[..., dict[str, str]]:
    """Run a command line that must fail with this exit code, and return the error that --json shows."""

    def run(exits: int, *words: str, stdin: str | bytes | None = None) -> dict[str, str]:
        result = nrem(*words, "--json", stdin=stdin, exits=exits)
        error: dict[str, str] = json.loads(result.stderr)["error"]
        return error

    return run


@pytest.fixture
def ana(nrem: Nrem) -> str:
    """A store whose only agent is ana."""
    nrem("init", "--name", "ana")
    return "ana"


@pytest.fixture
def remember(answer: Callable[..., Any]) -> Callable[..., str]:
    """Store a memory and return its id."""

    def run(*words: str) -> str:
        id: str = answer("remember", *words)["id"]
        return id

    return run


@pytest.fixture
def recalled(answer: Callable[..., Any]) -> Callable[[str, int], Any]:
    """Wait until a memory was recalled so often, which is written a moment after the answer; return it."""

    def wait(id: str, times: int) -> Any:
        deadline = time.monotonic() + 10
        while (found := answer("get", id))["access_count"] < times:
            assert time.monotonic() < deadline, f"recalled {found['access_count']} times"
            time.sleep(0.02)
        assert found["access_count"] == times
        return found

    return wait
