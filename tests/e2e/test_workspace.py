"""Workspaces under a daemon that starts, stops and is killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nrem.client import Client, is_up
from workspace.workshop import check_clean, git

NREM = [sys.executable, "-c", "from nrem.surface.cli.main import main; main()"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "h"  # short: a socket's path has few bytes


@contextmanager
def running(home: Path, **settings: str) -> Iterator[subprocess.Popen[str]]:
    environment = os.environ | settings | {"NREM_HOME": str(home), "NREM_VECTOR__ENABLED": "false"}
    environment["NREM_SERVER__PORT"] = "none"  # the machine's own daemon may have it
    with subprocess.Popen([*NREM, "up"], env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_until(lambda: process.poll() is not None or is_up(home / "nrem.sock"))
            assert process.poll() is None, process.stderr and process.stderr.read()
            yield process
        finally:
            process.kill()


def wait_until(holds: Callable[[], object], *, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds} seconds"
        time.sleep(0.02)


def subjects(root: Path) -> list[str]:
    return git(root, "log", "--format=%s").splitlines()


@pytest.mark.rows(90)
def test_what_is_left_is_committed_when_the_daemon_stops(home: Path) -> None:
    with running(home) as process:
        with Client(home / "nrem.sock") as client:
            for agent in ("ana", "ben", "cleo"):
                client.call("add_agent", agent=agent)
            client.call("remember", agent="ana", content="walnuts")
            client.call("remember", agent="ben", content="almonds")
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    for agent in ("ana", "ben"):
        assert subjects(home / "workspaces" / agent) == ["shutdown: +1 -0 ~0", f"template: {agent}"]
        check_clean(home / "workspaces" / agent)
    assert subjects(home / "workspaces" / "cleo") == ["template: cleo"]


def test_a_folder_that_is_missing_is_made_when_the_daemon_starts(home: Path) -> None:
    root = home / "workspaces" / "ana"
    with running(home) as process, Client(home / "nrem.sock") as client:
        client.call("add_agent", agent="ana")
        client.call("remember", agent="ana", content="walnuts")
        client.call("checkpoint", agent="ana")
        process.kill()
    shutil.rmtree(root)
    with running(home) as process, Client(home / "nrem.sock") as client:
        assert (root / "AGENTS.md").exists()
        wait_until(lambda: client.call("log", agent="ana")["unpublished"] == 0)
        check_clean(root)
        assert subjects(root) == ["template: ana"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
