from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from builders import Call, HashEmbedder, ManualClock, caller_of
from nrem.errors import Corrupt, Unavailable
from nrem.runtime.app import App
from nrem.store import events, memories
from nrem.store.database import Database, NoStore, open_database
from nrem.store.driver import Connection

Queue = Callable[..., Future[Any]]
WORDS = "create table words (word text primary key)"


def until(condition: Callable[[], bool]) -> None:
    """Wait for what must come; only a store that never gets there takes all of the time."""
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.002)


@contextmanager
def one_group(store: Database) -> Iterator[Queue]:
    """Keep the writer busy, queue calls behind it in order, and let them go together at the end."""
    started, go = threading.Event(), threading.Event()
    with ThreadPoolExecutor(32) as pool:

        def hold(db: Connection) -> None:
            started.set()
            go.wait()

        def queue(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
            before = store._queue.qsize()
            future = pool.submit(call, *args, **kwargs)
            until(lambda: store._queue.qsize() > before)
            return future

        try:
            pool.submit(store.write, hold)
            started.wait()
            yield queue
        finally:
            go.set()


def value(db: Connection, sql: str) -> Any:
    return db.execute(sql).fetchone()[0]


def insert(word: str) -> Callable[[Connection], str]:
    def run(db: Connection) -> str:
        db.execute("insert into words values (?)", (word,))
        return word

    return run


def words(store: Database) -> list[str]:
    with store.reading() as db:
        return [row[0] for row in db.execute("select word from words order by rowid")]


@pytest.fixture
def store(home: Path, clock: ManualClock) -> Iterator[Database]:
    with open_database(home, clock, create=True) as store:
        store.write(lambda db: db.execute(WORDS))
        yield store


def test_writes_that_wait_behind_a_slow_one_are_committed_as_one_transaction(store: Database) -> None:
    statements: list[str] = []
    store.write(lambda db: db.set_trace_callback(statements.append))
    statements.clear()
    with one_group(store) as queue:
        futures = [queue(store.write, insert(f"w{i:02}")) for i in range(20)]
    assert [future.result() for future in futures] == [f"w{i:02}" for i in range(20)]
    assert statements.count("begin immediate") == statements.count("commit") == 2  # the slow one, the twenty
    assert words(store) == [f"w{i:02}" for i in range(20)]


def test_a_write_that_raises_is_undone_alone_and_its_caller_gets_its_error(store: Database) -> None:
    def fail(db: Connection) -> None:
        insert("bad")(db)
        raise ZeroDivisionError("mine")

    with one_group(store) as queue:
        before = queue(store.write, insert("before"))
        bad = queue(store.write, fail)
        after = queue(store.write, insert("after"))
    assert before.result() == "before"
    assert after.result() == "after"
    with pytest.raises(ZeroDivisionError, match="mine"):
        bad.result()
    assert words(store) == ["before", "after"]


def test_a_write_that_sqlite_refuses_is_undone_alone_and_its_error_is_ours(store: Database) -> None:
    def clash(db: Connection) -> None:
        insert("half")(db)
        insert("before")(db)

    with one_group(store) as queue:
        queue(store.write, insert("before"))
        bad = queue(store.write, clash)
        queue(store.write, insert("after"))
    with pytest.raises(Corrupt, match="UNIQUE") as caught:
        bad.result()
    assert caught.value.code == "storage_error"
    assert words(store) == ["before", "after"]


def test_a_write_sees_those_before_it_in_its_group(store: Database) -> None:
    with one_group(store) as queue:
        queue(store.write, insert("first"))
        seen = queue(store.write, lambda db: value(db, "select count(*) from words"))
    assert seen.result() == 1


def test_one_write_that_ends_the_transaction_takes_its_whole_group_with_it(store: Database) -> None:
    with one_group(store) as queue:
        futures = [
            queue(store.write, insert("before")),
            queue(store.write, lambda db: db.execute("rollback")),
            queue(store.write, insert("after")),
        ]
    for future in futures:
        with pytest.raises(Corrupt):
            future.result()
    store.write(insert("next"))
    assert words(store) == ["next"]


def set_most_pages(app: App, room: int) -> None:
    def run(db: Connection) -> None:
        pages = value(db, "pragma page_count")
        assert value(db, f"pragma max_page_count = {pages + room}") == pages + room

    app.store.write(run)


def test_a_full_disk_fails_every_write_of_the_group_and_leaves_nothing_half_done(
    app: App, call: Call
) -> None:
    call("remember", agent="ana", content="was here before")
    set_most_pages(app, room=10)
    big = " ".join(f"word{i}" for i in range(5000))
    with one_group(app.store) as queue:
        futures = [
            queue(call, "remember", agent="ana", content="a small one that would fit"),
            queue(call, "remember", agent="ana", content=big),
            queue(call, "remember", agent="ben", content="another small one"),
        ]
    for future in futures:
        with pytest.raises(Unavailable) as caught:
            future.result()
        assert caught.value.code == "storage_full"
    assert contents(app) == ["was here before"]
    check_whole(app, rows=1)

    set_most_pages(app, room=10_000)
    for text in ("a small one that would fit", big):
        assert call("remember", agent="ana", content=text)["stored"]
    assert contents(app) == ["was here before", "a small one that would fit", big]
    check_whole(app, rows=3)


def test_a_full_disk_is_survived_without_closing_the_store(app: App, call: Call) -> None:
    stored = 0

    def fill() -> None:
        nonlocal stored
        for i in range(1000):
            call("remember", agent="ana", content=f"note {i} " + "filler " * 100)
            stored += 1

    set_most_pages(app, room=30)
    with pytest.raises(Unavailable) as caught:
        fill()
    assert caught.value.code == "storage_full"
    assert 0 < stored < 1000
    check_whole(app, rows=stored)
    set_most_pages(app, room=1000)
    call("remember", agent="ana", content=f"note {stored}")
    check_whole(app, rows=stored + 1)


def contents(app: App) -> list[str]:
    with app.store.reading() as db:
        return [row[0] for row in db.execute("select content from memories order by rowid")]


def check_whole(app: App, rows: int) -> None:
    with app.store.reading() as db:
        assert value(db, "pragma integrity_check") == "ok"
        assert db.execute("pragma foreign_key_check").fetchall() == []
        scopes = [row[0] for row in db.execute("select scope from scopes")]
        assert sum(events.verify(db, scope) for scope in scopes) == rows + len(scopes)
        assert sum(memories.verify_rows(db, scope) for scope in scopes) == rows
        for table in ("memories", "memories_fts_docsize", "vec_memories"):
            assert value(db, f"select count(*) from {table}") == rows
        assert value(db, "select sum(memory_count) from scopes") == rows


def test_a_reader_stays_in_its_snapshot(store: Database) -> None:
    store.write(insert("one"))
    with store.reading() as db:
        assert value(db, "select count(*) from words") == 1
        store.write(insert("two"))
        assert value(db, "select count(*) from words") == 1
    with store.reading() as db:
        assert value(db, "select count(*) from words") == 2


@pytest.mark.rows(7)
def test_readers_never_see_half_of_a_batch(app: App, call: Call) -> None:
    done = threading.Event()
    looks = 0

    def write() -> None:
        try:
            for i in range(40):
                drafts = [{"content": f"batch {i} part {part}", "kind": "episodic"} for part in range(5)]
                call("remember_many", agent="ana", memories=drafts)
        finally:
            done.set()

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        while not done.is_set() or looks == 0:
            looks += 1
            with app.store.reading() as db:
                counted = value(db, "select memory_count from scopes where name = 'ana'")
                assert counted % 5 == 0
                assert value(db, "select count(*) from memories") == counted
                assert value(db, "select count(*) from memories_fts_docsize") == counted
                assert value(db, "select max(seq) from events where scope = 1") == counted + 1
        writing.result()
    assert len(contents(app)) == 200


def test_a_reader_cannot_write(store: Database) -> None:
    with pytest.raises(Unavailable) as caught, store.reading() as db:
        insert("sneaked in")(db)
    assert caught.value.code == "storage_failed"
    assert words(store) == []


def test_an_error_inside_reading_gives_the_connection_back_clean(store: Database) -> None:
    with pytest.raises(Corrupt), store.reading() as db:
        db.execute("select nonsense from nowhere")
    store.write(insert("later"))
    assert words(store) == ["later"]


def test_a_closed_store_refuses_reads_and_writes(store: Database) -> None:
    store.close()
    store.close()
    with pytest.raises(Unavailable) as caught:
        store.write(insert("late"))
    assert caught.value.code == "closed"
    with pytest.raises(Unavailable) as caught, store.reading():
        pass
    assert caught.value.code == "closed"


def test_closing_finishes_what_is_queued_and_takes_no_more(home: Path, clock: ManualClock) -> None:
    store = open_database(home, clock, create=True)
    store.write(lambda db: db.execute(WORDS))
    with ThreadPoolExecutor(1) as closer:
        with one_group(store) as queue:
            futures = [queue(store.write, insert(f"w{i}")) for i in range(10)]
            closing = closer.submit(store.close)
            until(lambda: store._closed)
            with pytest.raises(Unavailable) as caught:
                store.write(insert("too late"))
            assert caught.value.code == "closed"
        closing.result()
    assert [future.result() for future in futures] == [f"w{i}" for i in range(10)]
    with open_database(home, clock, create=False) as again:
        assert words(again) == [f"w{i}" for i in range(10)]


def test_the_write_ahead_log_is_emptied_when_nothing_happens(store: Database) -> None:
    wal = store.path.with_name("nrem.db-wal")
    store.write(insert("word"))
    until(lambda: wal.stat().st_size == 0)
    assert words(store) == ["word"]


def test_a_reader_in_its_snapshot_does_not_stop_writes_or_lose_them(store: Database) -> None:
    wal = store.path.with_name("nrem.db-wal")
    store.write(insert("one"))
    with store.reading() as db:
        value(db, "select count(*) from words")
        store.write(insert("two"))
        assert wal.stat().st_size > 0
    until(lambda: wal.stat().st_size == 0)
    assert words(store) == ["one", "two"]


def test_a_closed_store_is_one_file_and_its_lock(home: Path, app: App, call: Call) -> None:
    call("remember", agent="ana", content="in the file itself")
    app.close()
    assert sorted(path.name for path in home.iterdir()) == ["nrem.db", "nrem.lock", "workspaces"]
    assert b"in the file itself" in (home / "nrem.db").read_bytes()


@pytest.mark.rows(9)
def test_reclaim_gives_the_space_of_deleted_rows_back(store: Database) -> None:
    def fill(db: Connection) -> None:
        db.execute("create table filler (bytes blob)")
        db.executemany("insert into filler values (?)", [(os.urandom(4000),) for _ in range(2000)])

    store.write(fill)
    until(lambda: store.path.stat().st_size > 8_000_000)
    store.write(lambda db: db.execute("delete from filler"))
    with store.reading() as db:
        free = value(db, "pragma freelist_count")
    assert free > 1500
    assert store.reclaim() == free
    assert store.reclaim() == 0
    store.close()
    assert store.path.stat().st_size < 500_000


@pytest.mark.rows(9)
def test_removing_an_agent_makes_the_file_small_again(home: Path, app: App, call: Call) -> None:
    call("remember", agent="ben", content="stays")
    for start in range(0, 1000, 250):
        drafts = [{"content": f"note {i} " + "filler " * 200} for i in range(start, start + 250)]
        call("remember_many", agent="ana", memories=drafts)
    with app.store.reading() as db:
        full = value(db, "pragma page_count") * value(db, "pragma page_size")
    call("remove_agent", agent="ana", erase=True)
    app.close()
    assert (home / "nrem.db").stat().st_size < full / 4


PRAGMAS = {
    "journal_mode": "wal",
    "synchronous": 2,
    "secure_delete": 1,
    "auto_vacuum": 2,
    "foreign_keys": 1,
    "trusted_schema": 0,
    "wal_autocheckpoint": 0,
}


@pytest.mark.parametrize(("pragma", "wanted"), PRAGMAS.items())
def test_the_writer_works_by_the_settings_that_durability_needs(
    store: Database, pragma: str, wanted: Any
) -> None:
    assert store.write(lambda db: value(db, f"pragma {pragma}")) == wanted


def test_only_the_writer_may_write(store: Database) -> None:
    assert store.write(lambda db: value(db, "pragma query_only")) == 0
    with store.reading() as db:
        assert value(db, "pragma query_only") == 1


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
        assert os.umask(mask) == mask, "the store changed what the process makes its files with"
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def modes_in_use(home: Path, clock: ManualClock) -> dict[str, int]:
    with App.open(home, create=True, clock=clock, embedder=HashEmbedder()) as app:
        caller_of(app)("add_agent", agent=f"ana-{app.clock.new_id()}")
        assert mode(home / "workspaces") & 0o777 == 0o700
        return {path.name: mode(path) for path in home.iterdir() if path.is_file()}


OURS = dict.fromkeys(("nrem.db", "nrem.db-wal", "nrem.db-shm", "nrem.lock"), 0o600)


@pytest.mark.parametrize("mask", [0o000, 0o022])
def test_a_new_home_and_all_in_it_belong_to_the_owner_alone(
    home: Path, clock: ManualClock, mask: int
) -> None:
    with umask(mask):
        assert modes_in_use(home, clock) == OURS
        assert modes_in_use(home, clock) == OURS
    assert mode(home) == 0o700


@pytest.mark.parametrize("given", [0o755, 0o750, 0o2770])
def test_a_home_that_is_there_keeps_its_mode_and_the_files_belong_to_the_owner_alone(
    home: Path, clock: ManualClock, given: int
) -> None:
    home.mkdir()
    home.chmod(given)
    with umask(0):
        assert modes_in_use(home, clock) == OURS
    assert mode(home) == given


def test_a_store_that_is_only_to_be_opened_is_not_made(home: Path, clock: ManualClock) -> None:
    with pytest.raises(NoStore) as caught:
        open_database(home, clock, create=False)
    assert caught.value.code == "no_store"
    assert caught.value.hint == "nrem init"
    assert not home.exists()


def test_a_home_that_is_a_file_cannot_be_used(home: Path, clock: ManualClock) -> None:
    home.write_text("I am a file")
    with pytest.raises(Unavailable) as caught:
        open_database(home, clock, create=True)
    assert caught.value.code == "home_unusable"
    assert home.read_text() == "I am a file"


def test_a_file_that_is_no_database_is_reported_and_left_alone(home: Path, clock: ManualClock) -> None:
    home.mkdir()
    (home / "nrem.db").write_bytes(b"no database " * 1000)
    for _ in range(2):  # the second time shows that the first gave the lock back
        with pytest.raises(Corrupt) as caught:
            open_database(home, clock, create=True)
        assert caught.value.code == "corrupt"
    assert (home / "nrem.db").read_bytes() == b"no database " * 1000


def test_at_rest_the_parts_of_the_keyword_index_are_joined(app: App, call: Call) -> None:
    def parts() -> int:
        with app.store.reading() as db:
            return int(value(db, "select count(distinct segid) from memories_fts_idx"))

    for i in range(12):
        call("remember", agent="ana", content=f"note {i} about walnuts")
    until(lambda: parts() <= 2)
    assert len(call("recall", agent="ana", query="walnuts", mode="keyword", limit=20)["hits"]) == 12
