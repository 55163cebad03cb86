"""Logs: JSON lines on standard error, fields in systemd's journal, or plain lines on a terminal.

A caller gives fields beside the message with `extra={"fields": {"agent": name}}`. Text of memories is never
logged at info level or above; callers see to that.
"""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path

from nrem import config

JOURNAL = Path("/run/systemd/journal/socket")

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The request that is being answered; every line that is logged meanwhile has it."""


def set_up(level: int | str = logging.INFO, *, journal: Path = JOURNAL) -> None:
    """Send what is logged from this level on to where standard error leads."""
    handler: logging.Handler
    if _is_in_journal() and journal.is_socket():
        handler = JournalHandler(journal)
    else:
        handler = logging.StreamHandler()
        handler.setFormatter(PlainFormatter() if sys.stderr.isatty() else JsonFormatter())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.captureWarnings(True)
    # At info level these tell of every request, and of every step of starting.
    for name in ("httpx", "mcp", "uvicorn.error"):
        logging.getLogger(name).setLevel(logging.WARNING)


def _is_in_journal() -> bool:
    """Whether standard error is the stream that systemd connected to the journal."""
    try:
        stderr = os.fstat(2)
    except OSError:
        return False
    return config.journal_stream() == f"{stderr.st_dev}:{stderr.st_ino}"


def _fields(record: logging.LogRecord) -> dict[str, object]:
    """The fields of a record beside its message."""
    fields: dict[str, object] = dict(getattr(record, "fields", {}))
    request = request_id.get()
    return fields if request is None else fields | {"request_id": request}


class JsonFormatter(logging.Formatter):
    """One JSON object on one line."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        # Twice: the first names stay in front, and no field takes the place of one.
        return json.dumps(told | _fields(record) | told, default=str)


class PlainFormatter(logging.Formatter):
    """A line for people; what could steer their terminal becomes visible."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s", "%H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {name}={value}" for name, value in _fields(record).items())
        return super().formatMessage(record) + fields

    def format(self, record: logging.LogRecord) -> str:
        return "".join(
            c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode()
            for c in super().format(record)
        )


class JournalHandler(logging.Handler):
    """Sends to journald in its own protocol; what it does not take goes to standard error as JSON."""

    def __init__(self, journal: Path) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter())
        self._journal = str(journal)
        self._channel = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self._spare = logging.StreamHandler()
        self._spare.setFormatter(JsonFormatter())

    def emit(self, record: logging.LogRecord) -> None:
        try:
            entry = b"".join(_entry(name, value) for name, value in self._told(record))
            self._channel.sendto(entry, self._journal)
        # Too large for a datagram, journald is away, or the message does not fit its arguments.
        except (OSError, TypeError, ValueError, KeyError):
            self._spare.emit(record)

    def close(self) -> None:
        self._channel.close()
        super().close()

    def _told(self, record: logging.LogRecord) -> Iterator[tuple[str, object]]:
        """The fields of the journal's entry."""
        yield "MESSAGE", self.format(record)  # with the traceback, if there is one
        yield "PRIORITY", _priority(record.levelno)
        yield "SYSLOG_IDENTIFIER", "nrem"
        yield "CODE_FILE", record.pathname
        yield "CODE_LINE", record.lineno
        yield "CODE_FUNC", record.funcName
        yield "NREM_LOGGER", record.name
        for name, value in _fields(record).items():
            yield "NREM_" + re.sub(r"[^A-Z0-9_]", "_", name.upper())[:59], value


def _priority(level: int) -> int:
    """The level as syslog counts."""
    steps = ((logging.CRITICAL, 2), (logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6))
    return next((priority for least, priority in steps if level >= least), 7)


def _entry(name: str, value: object) -> bytes:
    """One field; a value of several lines goes with its length before it."""
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    data = text.encode(errors="backslashreplace")
    if b"\n" in data:
        return name.encode() + b"\n" + len(data).to_bytes(8, "little") + data + b"\n"
    return name.encode() + b"=" + data + b"\n"
