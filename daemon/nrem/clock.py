"""Time and identity: the only now() in the package, and the ids that are made from it."""

from __future__ import annotations

import secrets
import threading
import time
from typing import Protocol


class Clock(Protocol):
    """What everything that needs the time is given."""

    def now(self) -> int:
        """Return UTC epoch milliseconds."""

    def new_id(self) -> str:
        """Return a UUIDv7 greater than every one this clock made before."""


class Ids:
    """Makes UUIDv7 text that increases strictly, also inside one millisecond and when time goes back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._millis = 0
        self._counter = 0

    def make(self, now: int) -> str:
        with self._lock:
            if now > self._millis:
                self._millis, self._counter = now, secrets.randbits(11)
            else:
                self._counter += 1
                if self._counter > 0xFFF:
                    self._millis, self._counter = self._millis + 1, 0
            millis, counter = self._millis, self._counter
        bits = millis << 80 | 0x7 << 76 | counter << 64 | 0b10 << 62 | secrets.randbits(62)
        digits = f"{bits:032x}"
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def booted_at() -> int | None:
    """Return when the machine was started, in epoch milliseconds; None where the system does not say."""
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return None
    return (time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)) // 1_000_000


class SystemClock:
    """The machine's own clock."""

    def __init__(self) -> None:
        self._ids = Ids()

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def new_id(self) -> str:
        return self._ids.make(self.now())
