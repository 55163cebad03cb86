"""The store's one file: a single writer that commits in groups, and readers with snapshots.

Every write is a function of the connection. The writer thread takes what is queued, runs it in one
transaction, commits once with synchronous=FULL, and only then answers the callers. When a function raises,
the group is run again with a savepoint for each, so that it is rolled back alone; a function may run twice,
and must have no effect but on the connection. When the transaction itself is lost (a full disk ends
it, or COMMIT fails), every function of the group fails, because none of them is on disk.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from nrem.clock import Clock
from nrem.errors import Unavailable
from nrem.store import driver, migrations, search
from nrem.store.driver import Connection
from nrem.store.lock import Lock
from nrem.store.matrices import Matrices
from nrem.store.past import Pasts

T = TypeVar("T")

MOST_IN_GROUP = 256
CHECKPOINT_EVERY = 16 << 20
TRUNCATE_OVER = 64 << 20
IDLE_SECONDS = 1.0
VACUUM_PAGES = 512
SOON_SECONDS = 0.25
"""How long a write that nobody waits for may lie, so that many of them share a commit."""

_WAKE = object()
log = logging.getLogger("nrem.store")


@dataclass(slots=True)
class _Item:
    run: Callable[[Connection], Any]
    done: Future[Any] | None
    """None when nobody waits for it."""


@dataclass(slots=True)
class _Vacuum:
    done: Future[None]


_Outcome = tuple[_Item, Any, BaseException | None]


class Database:
    """An open store. Closing it finishes what was queued."""

    def __init__(self, path: Path, lock: Lock) -> None:
        self.path = path
        self._lock = lock
        self._wal = path.with_name(path.name + "-wal")
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._soon: deque[_Item] = deque()
        self.matrices = Matrices()
        self.pasts = Pasts()
        self.on_commit: Callable[[float, int, int], None] | None = None
        """Told of each group: its seconds, and how many of its writes went well or badly."""
        self._closing = threading.Lock()
        self._closed = False
        self._next_checkpoint = CHECKPOINT_EVERY
        self._truncate_asked = False
        self._unjoined = True
        self._idle_readers: queue.SimpleQueue[Connection] = queue.SimpleQueue()
        self._writer_connection = driver.connect(path, read_only=False)
        self._writer = threading.Thread(target=self._write_groups, name="nrem-writer", daemon=True)
        self._writer.start()

    def write(self, run: Callable[[Connection], T]) -> T:
        """Run a function in the next group; return its result once it is durable."""
        done: Future[T] = Future()
        item = _Item(run, done)
        with self._closing:
            if self._closed:
                raise Unavailable("the store is closed", hint="open it again", code="closed")
            self._queue.put(item)
        return done.result()

    def write_soon(self, run: Callable[[Connection], object]) -> None:
        """Run a function with the next group, or within 250 ms; nobody waits for it, and a crash may lose it.

        It runs before every write that was asked for later.
        """
        with self._closing:
            if self._closed:
                raise Unavailable("the store is closed", hint="open it again", code="closed")
            self._soon.append(_Item(run, None))
            if len(self._soon) == 1:
                self._queue.put(_WAKE)  # the writer may be in its long sleep; further ones ride along

    def settle(self) -> None:
        """Wait until what was to be written soon is written."""
        self.write(lambda db: None)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Lend a read-only connection inside one snapshot."""
        if self._closed:
            raise Unavailable("the store is closed", hint="open it again", code="closed")
        try:
            db = self._reader()
            try:
                db.execute("begin")
                yield db
            finally:
                if db.in_transaction:
                    db.execute("rollback")
                if self._closed:
                    db.close()
                else:
                    self._idle_readers.put(db)
        except driver.Error as error:
            raise driver.translate(error) from error

    def _reader(self) -> Connection:
        try:
            return self._idle_readers.get_nowait()
        except queue.Empty:
            return driver.connect(self.path, read_only=True)

    def probe(self) -> None:
        """Make sure that a write can be made durable; raise what keeps it from that."""
        self.write(lambda db: db.execute("insert or replace into store_meta values ('probe', '')"))

    def waiting(self) -> int:
        """Return about how many writes are queued."""
        return self._queue.qsize() + len(self._soon)

    def sizes(self) -> tuple[int, int]:
        """Return the bytes of the database and of its write-ahead log."""
        return self.path.stat().st_size, self._wal_size()

    def reclaim(self) -> int:
        """Give free pages back to the file system, in steps between other writes; return how many."""
        freed = 0
        while True:
            step = self.write(_reclaim_step)
            if step == 0:
                break
            freed += step
        self._truncate_asked = True  # what was deleted must leave the log too
        self.write(lambda db: None)
        return freed

    def vacuum(self) -> None:
        """Write the whole file anew and empty the log, so that no byte of what was deleted is left in either.

        Deleting zeroes a row's own place, not the copies that SQLite left when it moved rows between pages.
        Writes wait meanwhile. Raises Unavailable when a reader keeps the log in use.
        """
        done: Future[None] = Future()
        with self._closing:
            if self._closed:
                raise Unavailable("the store is closed", hint="open it again", code="closed")
            self._queue.put(_Vacuum(done))
        done.result()

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
        due: float | None = None  # when what lies in _soon must be written
        while not stopping:
            try:
                patience = IDLE_SECONDS if due is None else max(due - time.monotonic(), 0)
                items = [self._queue.get(timeout=patience)]
            except queue.Empty:
                if due is None:
                    self._rest()
                    continue
                items = []
            while len(items) < MOST_IN_GROUP and not self._queue.empty():
                items.append(self._queue.get())
            stopping = None in items
            waiting = [item for item in items if isinstance(item, _Item)]
            if waiting or stopping or (due is not None and not items):
                due = None
                group = list(waiting)
                while self._soon:  # until it is empty: only the first one in an empty queue wakes the writer
                    group.insert(len(group) - len(waiting), self._soon.popleft())
                if group:
                    self._commit(group)
                    self._checkpoint()
            elif due is None:
                due = time.monotonic() + SOON_SECONDS
            for item in items:
                if isinstance(item, _Vacuum):
                    self._vacuum(item)
        self._truncate_wal()

    def _rest(self) -> None:
        """Do what makes later reads and starts cheaper, while nobody wants to write."""
        while self._unjoined and self._queue.empty():
            self._unjoined = self._join_step()
        self._truncate_wal()

    def _join_step(self) -> bool:
        db = self._writer_connection
        try:
            db.execute("begin immediate")
            more = search.join_step(db)
            db.execute("commit")
        except driver.Error as error:
            if db.in_transaction:
                db.execute("rollback")
            log.warning("the keyword index stays in parts: %s", error)
            return False
        return more

    def _commit(self, group: list[_Item]) -> None:
        self._unjoined = True
        db = self._writer_connection
        begun = time.perf_counter()
        try:
            outcomes = _try_without_savepoints(db, group)
            if outcomes is None:
                db.execute("begin immediate")
                outcomes = [(item, *_attempt(db, item)) for item in group]
            db.execute("commit")
        except driver.Error as error:
            if db.in_transaction:
                db.execute("rollback")
            outcomes = [(item, None, driver.translate(error)) for item in group]
        if self.on_commit is not None:
            bad = sum(problem is not None for *_, problem in outcomes)
            self.on_commit(time.perf_counter() - begun, len(outcomes) - bad, bad)
        for item, result, problem in outcomes:
            if item.done is None:
                if problem is not None:
                    log.warning("a record was lost: %s", problem)
            elif problem is None:
                item.done.set_result(result)
            else:
                item.done.set_exception(problem)

    def _vacuum(self, item: _Vacuum) -> None:
        try:
            self._writer_connection.execute("vacuum")
            busy = self._writer_connection.execute("pragma wal_checkpoint(truncate)").fetchone()[0]
        except driver.Error as error:
            item.done.set_exception(driver.translate(error))
            return
        self._next_checkpoint = self._wal_size() + CHECKPOINT_EVERY
        if busy:
            item.done.set_exception(
                Unavailable(
                    "something still reads the store as it was before",
                    hint="repeat when backups and long reads are done",
                    code="storage_busy",
                )
            )
        else:
            item.done.set_result(None)

    def _checkpoint(self) -> None:
        if self._truncate_asked:
            self._truncate_wal()
            # A reader may be in the way: then after the next group.
            self._truncate_asked = self._wal_size() > 0
            return
        size = self._wal_size()
        if size >= self._next_checkpoint:
            self._run_checkpoint("truncate" if size > TRUNCATE_OVER else "passive")

    def _truncate_wal(self) -> None:
        if self._wal_size() > 0:
            self._run_checkpoint("truncate")

    def _run_checkpoint(self, how: str) -> None:
        """Copy the WAL into the file. What fails here is in the WAL, safe, and tried again later."""
        db = self._writer_connection
        db.execute("pragma busy_timeout = 0")  # a reader in its snapshot: come back later, don't wait
        try:
            db.execute(f"pragma wal_checkpoint({how})").fetchone()
        except driver.Error as error:
            log.warning("checkpoint failed: %s", error)
        db.execute("pragma busy_timeout = 5000")
        # A reset WAL keeps its file size, so the next one is due when it has grown past what it is now.
        self._next_checkpoint = self._wal_size() + CHECKPOINT_EVERY

    def _wal_size(self) -> int:
        try:
            return self._wal.stat().st_size
        except FileNotFoundError:
            return 0


def _try_without_savepoints(db: Connection, group: list[_Item]) -> list[_Outcome] | None:
    """Run a group in one transaction; None, and nothing done, when one of its functions raised.

    A savepoint makes the keyword index write out what it has gathered, so only a group that needs them pays.
    """
    outcomes: list[_Outcome] = []
    db.execute("begin immediate")
    for item in group:
        try:
            outcomes.append((item, item.run(db), None))
        except BaseException:  # noqa: BLE001 - the second run gives it to its caller
            if db.in_transaction:
                db.execute("rollback")
            return None
        if not db.in_transaction:
            raise driver.sqlite3.OperationalError("the transaction was lost")
    return outcomes


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
        if not home.exists():
            home.mkdir(parents=True, mode=0o700)
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
    except BaseException as error:
        lock.release()
        if isinstance(error, driver.Error):
            raise driver.translate(error) from error
        raise


class NoStore(Unavailable):
    """There is no nrem.db where one was expected."""

    code = "no_store"

    def __init__(self, home: Path) -> None:
        super().__init__("No memory store found.", hint="nrem init", details={"home": str(home)})
