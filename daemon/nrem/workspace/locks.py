"""Git's lock files, taken in a way that tells ours from a person's, also after a crash.

A lock is a hard link to a mark in `.git/nrem/`. Whoever finds `index.lock` with the mark's inode knows that
nrem made it; a lock without its mark is somebody else's, and is waited for.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from nrem.errors import Unavailable

MARKS = "nrem"
STALE = 3600.0
"""Seconds after which the lock of another process is taken for forgotten: git holds none that long."""
_PAUSE = 0.02


class Lock:
    """A held lock: what is written to `fd` takes the place of the file, once it is published."""

    def __init__(self, target: Path, mark: Path, fd: int) -> None:
        self.fd = fd
        self._target = target
        self._lock = target.with_name(target.name + ".lock")
        self._mark = mark

    def publish(self) -> None:
        """Put what was written in the place of the file, and let go of the lock."""
        os.rename(self._lock, self._target)

    def release(self) -> None:
        """Let go of the lock; nothing happens to a file that was published."""
        held = os.fstat(self.fd)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(held, os.lstat(self._lock)):
                self._lock.unlink()
        self._mark.unlink(missing_ok=True)
        os.close(self.fd)


@contextlib.contextmanager
def locked(git: Path, name: str, *, mark: str, wait: float) -> Iterator[Lock]:
    """Hold git's lock on a file of the repository; raise Unavailable when another keeps it beyond `wait`."""
    target = git / name
    marked = git / MARKS / mark
    marked.parent.mkdir(exist_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    # Never truncated: after a crash it may be another name of the published file.
    marked.unlink(missing_ok=True)
    lock = Lock(target, marked, os.open(marked, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))
    try:
        _link(marked, target.with_name(target.name + ".lock"), wait)
        yield lock
    finally:
        lock.release()


def _link(mark: Path, lock: Path, wait: float) -> None:
    deadline = time.monotonic() + wait
    while True:
        try:
            os.link(mark, lock)
            return
        except FileExistsError:
            if time.monotonic() >= deadline:
                raise Unavailable(
                    f"another process holds {lock.name} in the workspace's repository",
                    hint="finish or stop the git command that runs there; if there is none, remove the file",
                    code="repository_locked",
                    details={"lock": lock.name},
                ) from None
        time.sleep(_PAUSE)


def clear_stale(git: Path, *, now: float, booted: float | None = None) -> tuple[str, ...]:
    """Remove the locks that a killed process left, and return their names.

    Only for the holder of the daemon's lock, before its first commit: ours are removed whatever their age,
    those of others once they are older than an hour, or than the machine's start: no process outlives that.
    """
    oldest = now - STALE if booted is None else max(now - STALE, booted)
    marks = git / MARKS
    ours = {(stat.st_dev, stat.st_ino) for mark in marks.glob("*") for stat in (mark.lstat(),)}
    removed = []
    for lock in _lock_files(git):
        stat = lock.lstat()
        # git makes no lock for the index of a pack; dulwich does.
        if lock.name.endswith(".idx.lock") or (stat.st_dev, stat.st_ino) in ours or stat.st_mtime < oldest:
            lock.unlink()
            removed.append(lock.relative_to(git).as_posix())
    for mark in marks.glob("*"):
        mark.unlink()
    return tuple(sorted(removed))


def _lock_files(git: Path) -> Iterator[Path]:
    yield from git.glob("*.lock")
    yield from (git / "refs").rglob("*.lock")
    yield from (git / "objects").glob("pack/*.lock")
