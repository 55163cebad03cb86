"""The daemon as a process of its own, with real clients on its socket."""

from __future__ import annotations

import gc
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nrem.client import Client, is_up
from nrem.errors import Conflict, InputError, NotFound, Unavailable
from nrem.runtime.app import App
from nrem.store import events, memories

NREM = [sys.executable, "-c", "from nrem.surface.cli.main import main; main()"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "h"  # short: a socket's path has few bytes


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    return os.environ | {"NREM_HOME": str(home), "NREM_VECTOR__ENABLED": "false"}


@pytest.fixture
def daemon(home: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([*NREM, "up"], env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            deadline = time.monotonic() + 60
            while not is_up(home / "nrem.sock"):
                assert process.poll() is None, process.stderr and process.stderr.read()
                assert time.monotonic() < deadline, "the daemon never listened"
                time.sleep(0.02)
            yield process
        finally:
            process.kill()


def nrem(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*NREM, *words], env=environment, capture_output=True, text=True, timeout=60)


def check(home: Path, agents: int) -> int:
    """Return how many memories there are, after checking that rows, events and index agree."""
    with App.open(home) as app, app.store.reading() as db:
        for scope in range(1, agents + 1):
            events.verify(db, scope)
            memories.verify_rows(db, scope)
        rows: int = db.execute("select count(*) from memories").fetchone()[0]
        assert db.execute("select count(*) from memories_fts_docsize").fetchone()[0] == rows
        return rows


@pytest.mark.usefixtures("daemon")
def test_commands_go_through_the_daemon(home: Path, environment: dict[str, str]) -> None:
    assert nrem(environment, "agent", "add", "ana").returncode == 0
    assert "Remembered" in nrem(environment, "remember", "Luis likes tea").stdout
    assert "Luis likes tea" in nrem(environment, "recall", "tea").stdout
    missing = nrem(environment, "get", "nope")
    assert (missing.returncode, "there is no memory nope" in missing.stderr) == (4, True)
    assert stat.S_IMODE((home / "nrem.sock").stat().st_mode) == 0o600
    second = nrem(environment, "up")
    assert (second.returncode, "up already" in second.stderr) == (6, True)


def test_down_ends_it_and_leaves_a_closed_store(
    home: Path, environment: dict[str, str], daemon: subprocess.Popen[str]
) -> None:
    assert nrem(environment, "status").returncode == 0
    assert nrem(environment, "agent", "add", "ana").returncode == 0
    assert nrem(environment, "down").stdout == "nrem is down.\n"
    assert daemon.wait(30) == 0
    assert not (home / "nrem.sock").exists()
    assert not (home / "nrem.db-wal").exists()
    assert nrem(environment, "status").returncode == 6
    assert nrem(environment, "agent", "list").returncode == 0


@pytest.mark.usefixtures("daemon")
def test_the_client_raises_what_the_operation_raises(home: Path) -> None:
    with Client(home / "nrem.sock") as client:
        client.call("add_agent", agent="ana")
        with pytest.raises(Conflict, match="there is an agent called ana"):
            client.call("add_agent", agent="ana")
        with pytest.raises(NotFound) as missing:
            client.call("get_memory", agent="ana", id="ä b?c")
        assert missing.value.code == "memory_not_found"
        with pytest.raises(InputError) as wrong:
            client.call("remember", agent="ana", content=" ")
        assert (wrong.value.field, wrong.value.code) == ("content", "invalid_field")


@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_without_a_daemon_the_client_says_so(home: Path) -> None:
    home.mkdir()
    with Client(home / "nrem.sock") as client, pytest.raises(Unavailable) as caught:
        client.call("list_agents")
    assert caught.value.hint == "nrem up starts it"
    gc.collect()


@pytest.mark.rows(7, 99)
def test_two_processes_with_eight_threads_each_lose_nothing(
    home: Path, environment: dict[str, str], daemon: subprocess.Popen[str]
) -> None:
    with Client(home / "nrem.sock") as client:
        client.call("add_agent", agent="ana")
        client.call("add_agent", agent="ben")
    writer = Path(__file__).with_name("writer.py")
    processes = [
        subprocess.Popen([sys.executable, str(writer), str(home / "nrem.sock"), str(i)], env=environment)
        for i in range(2)
    ]
    assert [process.wait(120) for process in processes] == [0, 0]
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(30) == 0
    # Of each thread's 200 operations 60 stored one memory, and 20 forgot one.
    assert check(home, 2) == 2 * 8 * (60 - 20)


# The library leaves the socket of a refused connection to the garbage collector.
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_stop_in_the_middle_of_writes_loses_none_that_was_acknowledged(
    home: Path, daemon: subprocess.Popen[str]
) -> None:
    with Client(home / "nrem.sock") as client:
        client.call("add_agent", agent="ana")
    acknowledged: list[str] = []
    begun = threading.Barrier(51)

    def write(i: int) -> None:
        with Client(home / "nrem.sock") as client:
            begun.wait()
            try:
                for j in range(50):
                    stored = client.call("remember", agent="ana", content=f"note {i} {j}")
                    acknowledged.append(stored["id"])
            except Unavailable:
                return  # it stopped; what was acknowledged before must be there

    with ThreadPoolExecutor(50) as pool:
        done = [pool.submit(write, i) for i in range(50)]
        begun.wait()
        while len(acknowledged) < 100:
            time.sleep(0.001)
        daemon.send_signal(signal.SIGTERM)
        for one in done:
            one.result()
    assert daemon.wait(30) == 0
    assert check(home, 1) >= len(acknowledged) >= 100
    with App.open(home) as app, app.store.reading() as db:
        kept = {row[0] for row in db.execute("select id from memories")}
    assert set(acknowledged) <= kept
    gc.collect()  # here, and not in the middle of another test
