from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import Call, HashEmbedder, ManualClock, caller_of
from nrem.runtime.app import App

OF_SYSTEMD = {"STATE_DIRECTORY", "NOTIFY_SOCKET", "JOURNAL_STREAM"}


@pytest.fixture(autouse=True)
def _scrubbed_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test sees the machine's own nrem."""
    for name in list(os.environ):
        if name.startswith(("NREM_", "WATCHDOG_")) or name in OF_SYSTEMD:
            monkeypatch.delenv(name)
    monkeypatch.setenv("NREM_HOME", str(tmp_path / "home"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder()


@pytest.fixture
def app(home: Path, clock: ManualClock, embedder: HashEmbedder) -> Iterator[App]:
    """A real store in a new home, with the agents ana and ben."""
    with App.open(home, create=True, clock=clock, embedder=embedder) as app:
        run = caller_of(app)
        run("add_agent", agent="ana")
        run("add_agent", agent="ben")
        yield app


@pytest.fixture
def call(app: App) -> Call:
    """Run an operation by name."""
    return caller_of(app)
