"""Logs, as they leave a process: JSON, the journal's protocol, a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import logging, os, sys
from pathlib import Path
from nrem.runtime import logs
if "--journal" in sys.argv:
    stderr = os.fstat(2)
    os.environ["JOURNAL_STREAM"] = f"{stderr.st_dev}:{stderr.st_ino}"
logs.set_up(journal=Path(sys.argv[1]))
log = logging.getLogger("nrem.test")
"""
HOSTILE = "two\nlines, a \x1b[31mcolour, \udc80"


def run(program: str, journal: Path, *flags: str, stderr: int = subprocess.PIPE) -> str:
    """Run a program that logs, and return what it wrote on standard error."""
    command = [sys.executable, "-c", PROGRAM + program, str(journal), *flags]
    return subprocess.run(command, stderr=stderr, text=True, check=True, timeout=60).stderr


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def parse(entry: bytes) -> dict[str, bytes]:
    """Read an entry as journald does."""
    fields = {}
    while entry:
        head, _, rest = entry.partition(b"\n")
        name, equals, value = head.partition(b"=")
        if not equals:
            size = int.from_bytes(rest[:8], "little")
            value, rest = rest[8 : 8 + size], rest[8 + size :]
            assert rest[:1] == b"\n"
            rest = rest[1:]
        fields[name.decode()] = value
        entry = rest
    return fields


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "journal"))
        listener.setblocking(False)
        yield listener


def test_a_line_is_one_json_object(tmp_path: Path) -> None:
    program = f"""
log.debug("unheard")
log.info("took in %d", 3, extra={{"fields": {{"agent": "ana", "path": Path("x"), "level": "mine"}}}})
log.warning({HOSTILE!r})
"""
    first, second = lines(run(program, tmp_path / "none"))
    assert list(first) == ["time", "level", "logger", "message", "agent", "path"]
    assert datetime.fromisoformat(first.pop("time")).utcoffset() == timedelta(0)
    assert first == {
        "level": "info",
        "logger": "nrem.test",
        "message": "took in 3",
        "agent": "ana",
        "path": "x",
    }
    assert second["message"] == HOSTILE
    assert second["level"] == "warning"


def test_a_request_is_named_while_it_is_answered(tmp_path: Path) -> None:
    program = """
token = logs.request_id.set("r-1")
log.info("inside")
logs.request_id.reset(token)
log.info("outside")
"""
    inside, outside = lines(run(program, tmp_path / "none"))
    assert inside["request_id"] == "r-1"
    assert "request_id" not in outside


def test_an_exception_comes_with_its_traceback_on_the_same_line(tmp_path: Path) -> None:
    program = """
try:
    1 / 0
except ZeroDivisionError:
    log.exception("failed")
"""
    [line] = lines(run(program, tmp_path / "none"))
    assert line["exception"].startswith("Traceback")
    assert line["exception"].endswith("ZeroDivisionError: division by zero")


def test_warnings_of_python_are_logged_too(tmp_path: Path) -> None:
    [line] = lines(run("import warnings; warnings.warn('old')", tmp_path / "none"))
    assert line["logger"] == "py.warnings"


def test_httpx_does_not_tell_of_every_request(tmp_path: Path) -> None:
    assert run("logging.getLogger('httpx').info('HTTP Request: GET ...')", tmp_path / "none") == ""


def test_a_level_can_be_chosen(tmp_path: Path) -> None:
    assert len(lines(run("logs.set_up('DEBUG'); log.debug('heard')", tmp_path / "none"))) == 1


def test_the_journal_gets_fields(journal: socket.socket, tmp_path: Path) -> None:
    program = """
logs.request_id.set("r-1")
log.error("took in %d", 3, extra={"fields": {"agent": "ana", "some-count": 3}})
"""
    assert run(program, tmp_path / "journal", "--journal") == ""
    fields = parse(journal.recv(65536))
    assert re.fullmatch(rb"\d+", fields.pop("CODE_LINE"))
    assert fields == {
        "MESSAGE": b"took in 3",
        "PRIORITY": b"3",
        "SYSLOG_IDENTIFIER": b"nrem",
        "CODE_FILE": b"<string>",
        "CODE_FUNC": b"<module>",
        "NREM_LOGGER": b"nrem.test",
        "NREM_AGENT": b"ana",
        "NREM_SOME_COUNT": b"3",
        "NREM_REQUEST_ID": b"r-1",
    }


def test_the_journal_gets_several_lines_as_one_value(journal: socket.socket, tmp_path: Path) -> None:
    hostile = "one\nPRIORITY=0\n"
    program = f"""
log.info({hostile!r}, extra={{"fields": {{"path": {HOSTILE!r}}}}})
try:
    1 / 0
except ZeroDivisionError:
    log.exception("failed")
"""
    assert run(program, tmp_path / "journal", "--journal") == ""
    fields = parse(journal.recv(65536))
    assert fields["MESSAGE"] == hostile.encode()
    assert fields["PRIORITY"] == b"6"
    assert fields["NREM_PATH"] == HOSTILE.encode(errors="backslashreplace")
    fields = parse(journal.recv(65536))
    assert fields["MESSAGE"].startswith(b"failed\nTraceback")


@pytest.mark.parametrize(
    ("level", "priority"), [("critical", 2), ("error", 3), ("warning", 4), ("info", 6), ("debug", 7)]
)
def test_each_level_has_its_priority(
    journal: socket.socket, tmp_path: Path, level: str, priority: int
) -> None:
    program = f"logging.getLogger().setLevel('DEBUG'); log.{level}('x')"
    run(program, tmp_path / "journal", "--journal")
    assert parse(journal.recv(65536))["PRIORITY"] == str(priority).encode()


def test_what_is_too_large_for_the_journal_goes_to_standard_error(
    journal: socket.socket, tmp_path: Path
) -> None:
    [line] = lines(run("log.info('x' * 10_000_000)", tmp_path / "journal", "--journal"))
    assert line["message"] == "x" * 10_000_000
    with pytest.raises(BlockingIOError):
        journal.recv(1)


def test_a_journal_that_went_away_loses_nothing(journal: socket.socket, tmp_path: Path) -> None:
    program = "os.unlink(sys.argv[1]); log.info('still here')"
    [line] = lines(run(program, tmp_path / "journal", "--journal"))
    assert line["message"] == "still here"


def test_a_message_that_does_not_fit_ends_nothing(journal: socket.socket, tmp_path: Path) -> None:
    told = run("log.info('%d', 'x'); log.info('next')", tmp_path / "journal", "--journal")
    assert "--- Logging error ---" in told
    assert parse(journal.recv(65536))["MESSAGE"] == b"next"


def test_another_stream_than_the_journals_gets_json(journal: socket.socket, tmp_path: Path) -> None:
    program = "os.environ['JOURNAL_STREAM'] = '1:2'; logs.set_up(journal=Path(sys.argv[1])); log.info('x')"
    assert len(lines(run(program, tmp_path / "journal"))) == 1


def test_without_the_journals_socket_there_is_json(tmp_path: Path) -> None:
    assert len(lines(run("log.info('x')", tmp_path / "journal", "--journal"))) == 1


def test_a_terminal_gets_plain_lines(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        program = """
log.info("took in", extra={"fields": {"agent": "ana"}})
log.info("a \\x1b[31mcolour")
"""
        run(program, tmp_path / "none", stderr=theirs)
        told = os.read(ours, 65536).decode().splitlines()
    finally:
        os.close(ours)
        os.close(theirs)
    assert re.fullmatch(r"\d\d:\d\d:\d\d INFO nrem.test: took in agent=ana", told[0])
    assert told[1].endswith(r"a \x1b[31mcolour")
