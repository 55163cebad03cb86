"""The store's one file: a single writer that commits in groups, and readers with snapshots.

Every write is a function of the connection. The writer thread takes what is queued, runs each function in a
savepoint of its own inside one transaction, commits once with synchronous=FULL, and only then answers the
callers. A function that raises is rolled back alone. When the transaction itself is lost (a full disk ends
it, or COMMIT fails), every function of the group fails, because none of them is on disk.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from nrem.clock import Clock
from nrem.errors import NremError, Unavailable
from nrem.store import driver, migrations
from nrem.store.driver import Connection
from nrem.store.lock import Lock

T = TypeVar("T")

MOST_IN_GROUP = 256
CHECKPOINT_EVERY = 16 << 20
TRUNCATE_OVER = 64 << 20
IDLE_SECONDS = 1.0
VACUUM_PAGES = 512


@dataclass(slots=True)
class _Item:
    run: Callable[[Connection], Any]
    done: Future[Any]


class Database:
    """An open store. Closing it finishes what was queued."""

    def __init__(self, path: Path, lock: Lock) -> None:
        self.path = path
        self._lock = lock
        self._wal = path.with_name(path.name + "-wal")
        self._queue: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._closing = threading.Lock()
        self._closed = False
        self._next_checkpoint = CHECKPOINT_EVERY
        self._idle_readers: queue.SimpleQueue[Connection] = queue.SimpleQueue()
        self._writer_connection = driver.connect(path, read_only=False)
        self._writer = threading.Thread(target=self._write_groups, name="nrem-writer", daemon=True)
        self._writer.start()

    def write(self, run: Callable[[Connection], T]) -> T:
        """Run a function in the next group; return its result once it is durable."""
        item = _Item(run, Future())
        with self._closing:
            if self._closed:
                raise Unavailable("the store is closed", hint="open it again", code="closed")
            self._queue.put(item)
        result: T = item.done.result()
        return result

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Lend a read-only connection inside one snapshot."""
        if self._closed:
            raise Unavailable("the store is closed", hint="open it again", code="closed")
        try:
            db = self._idle_readers.get_nowait()
        except queue.Empty:
            db = driver.connect(self.path, read_only=True)
        try:
            db.execute("begin")
            yield db
        except driver.Error as error:
            raise driver.translate(error) from error
        finally:
            if db.in_transaction:
                db.execute("rollback")
            if self._closed:
                db.close()
            else:
                self._idle_readers.put(db)

    def reclaim(self) -> int:
        """Give free pages back to the file system, in steps between other writes; return how many."""
        freed = 0
        while True:
            step = self.write(_reclaim_step)
            if step == 0:
                return freed
            freed += step

    def close(self) -> None:
        """Finish the queued writes, checkpoint, release the lock. Closing twice does nothing."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            self._queue.put(None)
        self._writer.join()
        while not self._idle_readers.empty():
            self._idle_readers.get_nowait().close()
        self._writer_connection.close()
        self._lock.release()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # The writer thread: nothing below is called by another thread.

    def _write_groups(self) -> None:
        stopping = False
        while not stopping:
            try:
                items = [self._queue.get(timeout=IDLE_SECONDS)]
            except queue.Empty:
                self._truncate_wal()
                continue
            while len(items) < MOST_IN_GROUP and not self._queue.empty():
                items.append(self._queue.get())
            stopping = items[-1] is None
            group = [item for item in items if item is not None]
            if group:
                self._commit(group)
                self._checkpoint()
        self._truncate_wal()

    def _commit(self, group: list[_Item]) -> None:
        db = self._writer_connection
        outcomes: list[tuple[_Item, Any, BaseException | None]] = []
        try:
            db.execute("begin immediate")
            for item in group:
                outcomes.append((item, *_attempt(db, item)))
            db.execute("commit")
        except driver.Error as error:
            if db.in_transaction:
                db.execute("rollback")
            for item in group:
                item.done.set_exception(driver.translate(error))
            return
        for item, result, problem in outcomes:
            if problem is None:
                item.done.set_result(result)
            else:
                item.done.set_exception(problem)

    def _checkpoint(self) -> None:
        size = self._wal_size()
        if size < self._next_checkpoint:
            return
        if size > TRUNCATE_OVER:
            self._truncate_wal()
        else:
            self._writer_connection.execute("pragma wal_checkpoint(passive)").fetchone()
        # A reset WAL keeps its file size, so the next one is due when it has grown past what it is now.
        self._next_checkpoint = self._wal_size() + CHECKPOINT_EVERY

    def _truncate_wal(self) -> None:
        if self._wal_size() == 0:
            return
        db = self._writer_connection
        db.execute("pragma busy_timeout = 0")  # a reader in its snapshot: come back later, don't wait
        db.execute("pragma wal_checkpoint(truncate)").fetchone()
        db.execute("pragma busy_timeout = 5000")
        self._next_checkpoint = self._wal_size() + CHECKPOINT_EVERY

    def _wal_size(self) -> int:
        try:
            return self._wal.stat().st_size
        except FileNotFoundError:
            return 0


def _attempt(db: Connection, item: _Item) -> tuple[Any, BaseException | None]:
    """Run one function in a savepoint. Raises only when the whole transaction is lost."""
    db.execute("savepoint item")
    try:
        result = item.run(db)
    except BaseException as problem:
        if not db.in_transaction:
            if isinstance(problem, driver.Error):
                raise
            raise driver.sqlite3.OperationalError("the transaction was lost") from problem
        db.execute("rollback to item")
        db.execute("release item")
        return None, driver.translate(problem) if isinstance(problem, driver.Error) else problem
    db.execute("release item")
    return result, None


def _reclaim_step(db: Connection) -> int:
    before: int = db.execute("pragma freelist_count").fetchone()[0]
    db.execute(f"pragma incremental_vacuum({VACUUM_PAGES})").fetchall()
    after: int = db.execute("pragma freelist_count").fetchone()[0]
    return before - after


def open_database(home: Path, clock: Clock, *, create: bool, wait: float = 0.0) -> Database:
    """Open the store of a home: take its lock, migrate it, start the writer.

    With `create`, a missing home and store are made. `wait` is how long, in seconds, another holder of the
    lock is waited for.
    """
    path = home / "nrem.db"
    if not create and not path.exists():
        raise NoStore(home)
    try:
        os.umask(0o077)
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        home.chmod(0o700)
        lock = Lock.take(home / "nrem.lock", clock, wait=wait)
    except OSError as error:
        raise Unavailable(
            f"{home} cannot be used: {error.strerror}",
            hint="set NREM_HOME to a directory that you own",
            code="home_unusable",
        ) from error
    try:
        migrations.migrate(path, clock)
        return Database(path, lock)
    except driver.Error as error:
        lock.release()
        raise driver.translate(error) from error
    except NremError:
        lock.release()
        raise


class NoStore(Unavailable):
    """There is no nrem.db where one was expected."""

    code = "no_store"

    def __init__(self, home: Path) -> None:
        super().__init__("No memory store found.", hint="nrem init", details={"home": str(home)})
