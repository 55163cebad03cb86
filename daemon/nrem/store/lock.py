"""One process at a time: a lock on the home, held for as long as the store is open."""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
from pathlib import Path

from nrem import __version__
from nrem.clock import Clock
from nrem.errors import Unavailable
from nrem.model import iso


class Lock:
    """An flock on a file that says who holds it. The kernel releases it when the process dies."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    @classmethod
    def take(cls, path: Path, clock: Clock, *, wait: float = 0.0) -> Lock:
        """Take the lock within `wait` seconds; raise Unavailable naming the holder otherwise."""
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    holder = os.pread(fd, 4096, 0)
                    os.close(fd)
                    raise _held(path, holder) from None
                time.sleep(0.02)
        note = {
            "pid": os.getpid(),
            "command": " ".join(Path(word).name if i == 0 else word for i, word in enumerate(sys.argv[:2])),
            "version": __version__,
            "since": iso(clock.now()),
        }
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps(note).encode(), 0)
        return cls(fd)

    def release(self) -> None:
        """Let the next process in."""
        os.close(self._fd)


def _held(path: Path, note: bytes) -> Unavailable:
    try:
        holder = json.loads(note)
        details = f"{holder['command']}, nrem {holder['version']}, since {holder['since']}"
        who = f"process {holder['pid']} ({details})"
    except (ValueError, KeyError, TypeError):
        who = "another process"  # it has the lock and has not written its name yet
    return Unavailable(
        f"the store in {path.parent} is in use by {who}",
        hint="wait until it has finished, or stop it; two processes never write one store",
        code="store_locked",
    )
