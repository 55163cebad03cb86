"""Telling systemd how the service is doing (sd_notify); does nothing where systemd did not ask for it."""

from __future__ import annotations

import logging
import socket
import time

from nrem import config

log = logging.getLogger(__name__)

SEND_SECONDS = 1.0
STATUS_CHARACTERS = 900
"""systemd takes 4096 bytes at once, and a character may need four."""


def ready(text: str) -> None:
    """The start, or the reload, is over."""
    _send("READY=1", _status(text))


def status(text: str) -> None:
    """Show this line in `systemctl status`."""
    _send(_status(text))


def reloading() -> None:
    """The configuration is being read again; ready() must follow."""
    _send("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")


def stopping() -> None:
    """The service is about to end."""
    _send("STOPPING=1")


def watchdog() -> None:
    """The service is alive."""
    _send("WATCHDOG=1")


def extend_timeout(seconds: float) -> None:
    """The start, the reload or the stop needs so much longer, counted from now."""
    _send(f"EXTEND_TIMEOUT_USEC={int(seconds * 1_000_000)}")


def watchdog_interval() -> float | None:
    """Return every how many seconds to call watchdog(): twice in the time that systemd allows."""
    allowed = config.watchdog_micros()
    return None if allowed is None else allowed / 2_000_000


def _status(text: str) -> str:
    # One line: a line end in the text would begin another field.
    return "STATUS=" + "".join(c if c.isprintable() else " " for c in text[:STATUS_CHARACTERS])


def _send(*fields: str) -> None:
    address = config.notify_socket()
    if address is None:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
            channel.settimeout(SEND_SECONDS)
            channel.sendto("\n".join(fields).encode(), address)
    except OSError as error:
        log.warning("systemd cannot be told %s: %s", fields[0].partition("=")[0], error)
