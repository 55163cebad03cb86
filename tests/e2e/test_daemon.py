"""The daemon as a process of its own, with real clients on its socket."""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from nrem import wire
from nrem.client import Client, is_up
from nrem.errors import Conflict, InputError, NotFound, Unavailable
from nrem.model import By
from nrem.runtime.app import App
from nrem.runtime.service import DRAIN_SECONDS
from nrem.store import events, jobs, memories, scopes

NREM = [sys.executable, "-c", "from nrem.surface.cli.main import main; main()"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "h"  # short: a socket's path has few bytes


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    return os.environ | {
        "NREM_HOME": str(home),
        "NREM_VECTOR__ENABLED": "false",
        "NREM_SERVER__PORT": "none",  # the machine's own daemon may have it
    }


@pytest.fixture
def daemon(home: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    with running(home, environment) as process:
        yield process


@contextmanager
def running(home: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([*NREM, "up"], env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_until(lambda: process.poll() is not None or is_up(home / "nrem.sock"), seconds=60)
            assert process.poll() is None, process.stderr and process.stderr.read()
            yield process
        finally:
            process.kill()


def wait_until(holds: Callable[[], object], *, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds} seconds"
        time.sleep(0.005)


@contextmanager
def plain(home: Path) -> Iterator[httpx.Client]:
    """A client that tries nothing a second time, so that it sees every request that is dropped."""
    transport = httpx.HTTPTransport(uds=str(home / "nrem.sock"))
    with httpx.Client(transport=transport, base_url="http://nrem", timeout=30) as client:
        yield client


def send(client: httpx.Client, name: str, **body: Any) -> httpx.Response:
    operation = wire.OPERATIONS[name]
    return client.request(operation.method, operation.path.format(agent="ana"), json=body)


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
    assert (second.returncode, "up already" in second.stderr) == (os.EX_TEMPFAIL, True)


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
    after = nrem(environment, "agent", "list")
    assert (after.returncode, after.stdout) == (6, "")
    assert after.stderr == "Error: nrem is not up\nHint: nrem up --detach\n"


def test_detached_it_makes_the_store_and_stays_up_until_down(home: Path, environment: dict[str, str]) -> None:
    started = nrem(environment, "up", "--detach")
    try:
        assert (started.returncode, started.stdout) == (0, "")
        assert started.stderr == f"nrem is up: {home / 'nrem.sock'}\n"
        assert nrem(environment, "init", "--name", "ana").stdout == f"Ready: {home}\nAgents: ana\n"
        pid = json.loads(nrem(environment, "status", "--json").stdout)["pid"]
        assert f" is up, process {pid}: " in nrem(environment, "status").stdout
        assert nrem(environment, "up", "--detach").returncode == os.EX_TEMPFAIL
        assert json.loads(nrem(environment, "status", "--json").stdout)["pid"] == pid
        assert os.getsid(pid) == pid  # it outlives the terminal
        assert stat.S_IMODE((home / "nrem.log").stat().st_mode) == 0o600
    finally:
        stopped = nrem(environment, "down", "--json")
    assert json.loads(stopped.stdout) == {"stopped": pid}
    assert not (home / "nrem.sock").exists()
    assert "nrem is up" in (home / "nrem.log").read_text()
    assert check(home, 1) == 0


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
    assert caught.value.hint == "nrem up --detach starts it"
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


def test_idle_it_stops_at_once(home: Path, daemon: subprocess.Popen[str]) -> None:
    with Client(home / "nrem.sock") as client:  # a connection that stays open keeps nobody waiting
        client.call("add_agent", agent="ana")
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(DRAIN_SECONDS) == 0
    assert not (home / "nrem.sock").exists()
    assert check(home, 1) == 0


def test_a_second_sigterm_waits_for_no_request(home: Path, environment: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, ThreadPoolExecutor(1) as pool:
        silent.settimeout(30)
        provider = {
            "NREM_VECTOR__ENABLED": "true",
            "NREM_MEMORY__EMBEDDINGS__PROVIDER": "ollama",
            "NREM_MEMORY__EMBEDDINGS__BASE_URL": f"http://127.0.0.1:{silent.getsockname()[1]}",
        }
        with running(home, environment | provider) as daemon, Client(home / "nrem.sock") as client:
            waiting = pool.submit(client.call, "embed", texts=["tea"])
            looked, _ = silent.accept()  # the daemon's own question whether it answers, or ours
            asked, _ = silent.accept()
            with looked, asked:
                daemon.send_signal(signal.SIGTERM)
                wait_until(lambda: not is_up(home / "nrem.sock"))
                assert daemon.poll() is None, "it did not wait for what it was asked"
                daemon.send_signal(signal.SIGTERM)
                assert daemon.wait(DRAIN_SECONDS) == 0
                with pytest.raises(Unavailable) as stopped:
                    waiting.result()
                assert stopped.value.code == "stopping"
    assert not (home / "nrem.sock").exists()
    assert check(home, 0) == 0


@pytest.fixture
def systemd(tmp_path: Path, environment: dict[str, str]) -> Iterator[socket.socket]:
    """What the daemon tells systemd."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(str(tmp_path / "n"))
        heard.settimeout(30)
        environment["NOTIFY_SOCKET"] = str(tmp_path / "n")
        yield heard


def test_a_reload_under_load_drops_nothing_and_refuses_what_is_wrong(
    home: Path, systemd: socket.socket, daemon: subprocess.Popen[str]
) -> None:
    """T19: a valid, an invalid and an unreadable nrem.toml."""
    over = threading.Event()
    served = [0] * 8

    def load(i: int) -> None:
        with plain(home) as client:
            while not over.is_set():
                assert send(client, "remember", content=f"note {i} {served[i]}").status_code < 300
                assert send(client, "recall", query=f"note {i}").json()["hits"]
                served[i] += 1

    def heard() -> str:
        return systemd.recv(4096).decode()

    def go_on() -> None:
        """Let every client be served again, so that no reload falls into a pause."""
        before = list(served)
        wait_until(lambda: all(now > then for now, then in zip(served, before, strict=True)), seconds=30)

    def reload() -> str:
        go_on()
        daemon.send_signal(signal.SIGHUP)
        first, _, time_of_it = heard().partition("\n")
        assert (first, time_of_it.partition("=")[0]) == ("RELOADING=1", "MONOTONIC_USEC")
        ready, _, status = heard().partition("\nSTATUS=")
        assert ready == "READY=1"
        go_on()
        return status

    def longest() -> str:
        """Whether content of 2000 bytes is stored: the setting that changes."""
        with plain(home) as client:
            answered = send(client, "remember", content="x" * 2000, metadata={"n": served[0]})
        return "fits" if answered.is_success else str(answered.json()["error"]["code"])

    settings = home / "nrem.toml"
    with plain(home) as client, ThreadPoolExecutor(8) as pool:
        assert client.post(wire.OPERATIONS["add_agent"].path, json={"agent": "ana"}).is_success
        assert heard() == "READY=1\nSTATUS=up"
        done = [pool.submit(load, i) for i in range(8)]
        try:
            assert longest() == "fits"
            settings.write_text("[limits]\ncontent_bytes = 1000\n")
            assert reload() == "up"
            assert longest() == "too_large"
            settings.write_text("[limits]\ncontent_bytes = 5000\nnonsense = 1\n")
            assert reload().startswith("up; the new configuration was refused: limits.nonsense ")
            assert longest() == "too_large"
            settings.unlink()
            settings.mkdir()  # which not even root can read
            assert reload().startswith(f"up; the new configuration was refused: cannot read {settings}: ")
            assert longest() == "too_large"
            settings.rmdir()
            assert reload() == "up"
            assert longest() == "fits"
        finally:
            over.set()
        for one in done:
            one.result()
        metrics = client.get("/metrics").text
    assert 'nrem_config_reloads_total{result="ok"} 2.0' in metrics
    assert 'nrem_config_reloads_total{result="refused"} 2.0' in metrics
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(30) == 0
    assert heard() == "STOPPING=1"
    assert daemon.stderr is not None
    log = [json.loads(line) for line in daemon.stderr]
    refused = "the new configuration is refused, the old one stays: "
    assert len([line for line in log if line["message"].startswith(refused)]) == 2
    assert check(home, 1) == sum(served) + 1


@pytest.mark.rows(9, 88)
def test_what_is_queued_is_done_and_the_threads_end_with_the_daemon(
    home: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NREM_VECTOR__ENABLED", "false")
    with App.open(home, create=True) as app:
        scope = app.store.write(
            lambda db: scopes.add(db, "ana", By(actor="owner", cause="test", now=0)).number
        )
        job = jobs.New(id=app.clock.new_id(), kind="prune", scope=scope, due_at=0)
        app.store.write(lambda db: jobs.enqueue(db, job, now=0))
    with running(home, environment) as process, Client(home / "nrem.sock") as client:
        wait_until(lambda: [known.state for known in client.list_jobs().jobs] == ["done"])
        process.terminate()
        assert process.wait(DRAIN_SECONDS) == 0
