"""What systemd is told, received by a socket such as systemd's."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nrem.runtime import notify


@pytest.fixture(params=["path", "abstract"])
def heard(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], str]]:
    """Return the next thing that systemd hears."""
    address = (
        f"@nrem-test-{tmp_path.name}-{os.getpid()}" if request.param == "abstract" else str(tmp_path / "n")
    )
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind("\0" + address[1:] if request.param == "abstract" else address)
        ear.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", address)
        yield lambda: ear.recv(65536).decode()


def test_ready_comes_with_a_status(heard: Callable[[], str]) -> None:
    notify.ready("2 agents")
    assert heard() == "READY=1\nSTATUS=2 agents"


def test_reloading_says_when(heard: Callable[[], str]) -> None:
    before = time.monotonic_ns() // 1000
    notify.reloading()
    first, second = heard().split("\n")
    assert first == "RELOADING=1"
    assert before <= int(second.removeprefix("MONOTONIC_USEC=")) <= time.monotonic_ns() // 1000


def test_the_short_ones(heard: Callable[[], str]) -> None:
    notify.status("busy")
    notify.watchdog()
    notify.extend_timeout(1.5)
    notify.stopping()
    assert [heard() for _ in range(4)] == [
        "STATUS=busy",
        "WATCHDOG=1",
        "EXTEND_TIMEOUT_USEC=1500000",
        "STOPPING=1",
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\0", "\u2028", "\udc80"])
def test_a_status_brings_no_other_field(heard: Callable[[], str], end: str) -> None:
    notify.status(f"all well{end}MAINPID=1")
    told = heard()
    assert told.startswith("STATUS=all well ")
    assert told.isprintable()


def test_a_long_status_fits_what_systemd_takes(heard: Callable[[], str]) -> None:
    notify.ready("🙂" * 10_000)
    assert 3000 < len(heard().encode()) < 4096


def test_without_systemd_nothing_happens(caplog: pytest.LogCaptureFixture) -> None:
    notify.ready("up")
    assert caplog.records == []


def test_systemd_that_cannot_be_told_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nobody"))
    notify.watchdog()
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert "WATCHDOG" in record.getMessage()


@pytest.mark.parametrize(
    ("allowed", "process", "interval"),
    [
        ("30000000", None, 15.0),
        ("30000000", str(os.getpid()), 15.0),
        ("30000000", "1", None),
        ("0", None, None),
        ("soon", None, None),
        (None, None, None),
    ],
)
def test_the_watchdog_is_fed_twice_in_its_time(
    monkeypatch: pytest.MonkeyPatch, allowed: str | None, process: str | None, interval: float | None
) -> None:
    for name, value in (("WATCHDOG_USEC", allowed), ("WATCHDOG_PID", process)):
        if value is not None:
            monkeypatch.setenv(name, value)
    assert notify.watchdog_interval() == interval
