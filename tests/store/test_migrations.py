from __future__ import annotations

import hashlib
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
from sqlite_utils import Database, Migrations

from builders import NOON, Call, ManualClock, caller_of, rows_with
from nrem.errors import Corrupt
from nrem.model import By, Kind, Memory, Provenance, Trust
from nrem.runtime.app import App
from nrem.store import driver, events, memories, migrations, signals
from nrem.store.memory_rows import COLUMNS, content_hash, payload, values
from nrem.store.signals import Signal

TABLES = {
    "store_meta",
    "scopes",
    "events",
    "memories",
    "memory_versions",
    "memory_use",
    "vec_memories",
    "memories_fts",
    "agent_configs",
}


def read(home: Path, sql: str) -> list[tuple[Any, ...]]:
    db = driver.connect(home / "nrem.db", read_only=True)
    try:
        return [tuple(row) for row in db.execute(sql)]
    finally:
        db.close()


def change(home: Path, sql: str) -> None:
    db = driver.connect(home / "nrem.db", read_only=False)
    try:
        db.execute(sql)
    finally:
        db.close()


def digest(home: Path) -> str:
    """Return the hash of a closed store's file."""
    file = (home / "nrem.db").read_bytes()
    return hashlib.sha256(file).hexdigest()


def fill(home: Path, clock: ManualClock) -> None:
    with App.open(home, create=True, clock=clock) as app:
        call = caller_of(app)
        call("add_agent", agent="ana")
        for i in range(20):
            call("remember", agent="ana", content=f"note {i} about walnuts", tags=["kitchen"])


def steps_with(step: Any) -> Migrations:
    """Return the steps there are and one more."""
    steps = Migrations("nrem")
    for known in migrations.steps._migrations:
        steps(name=known.name)(known.fn)
    steps(name="m999_from_the_future")(step)
    return steps


@pytest.mark.rows(2)
def test_opening_in_a_missing_directory_makes_everything(tmp_path: Path, clock: ManualClock) -> None:
    home = tmp_path / "not" / "yet" / "there"
    with App.open(home, create=True, clock=clock):
        pass
    assert {row[0] for row in read(home, "select name from sqlite_master where type = 'table'")} >= TABLES
    assert read(home, "select name from _sqlite_migrations where migration_set = 'nrem'") == [
        (step.name,) for step in migrations.steps._migrations
    ]
    assert not (home / "backups").exists()


@pytest.mark.rows(2)
def test_opening_again_changes_no_byte(home: Path, clock: ManualClock) -> None:
    fill(home, clock)
    schema = read(home, "select * from sqlite_master order by rowid")
    before = digest(home)
    for _ in range(3):
        App.open(home, clock=clock).close()
    assert digest(home) == before
    assert read(home, "select * from sqlite_master order by rowid") == schema
    assert sorted(path.name for path in home.iterdir()) == ["nrem.db", "nrem.lock", "workspaces"]


@pytest.mark.rows(2)
def test_a_store_of_a_newer_version_is_refused_and_left_as_it_is(home: Path, clock: ManualClock) -> None:
    fill(home, clock)
    change(home, "insert into _sqlite_migrations values (99, 'nrem', 'm999_from_the_future', '2030-01-01')")
    before = digest(home)
    for _ in range(2):  # the second time shows that the first gave the lock back
        with pytest.raises(Corrupt, match="m999_from_the_future") as caught:
            App.open(home, clock=clock)
        assert caught.value.code == "schema_too_new"
    assert digest(home) == before


@pytest.mark.rows(2)
def test_a_new_step_keeps_every_row_and_is_taken_once(
    home: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(home, clock)
    rows = read(home, "select * from memories order by rowid")
    chain = read(home, "select * from events order by scope, seq")
    monkeypatch.setattr(migrations, "steps", steps_with(lambda db: db["extra"].create({"id": int})))
    App.open(home, clock=clock).close()
    assert read(home, "select count(*) from extra") == [(0,)]
    assert read(home, "select * from memories order by rowid") == rows
    assert read(home, "select * from events order by scope, seq") == chain
    before = digest(home)
    App.open(home, clock=clock).close()
    assert digest(home) == before


@pytest.mark.rows(2, 10)
def test_a_new_step_makes_a_backup_first_that_opens_and_holds_all(
    home: Path, tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(home, clock)
    rows = read(home, "select * from memories order by rowid")
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "steps", steps_with(lambda db: db["memory_use"].drop()))
        App.open(home, clock=clock).close()
    [backup] = (home / "backups").glob("*.db")
    assert backup.name == "nrem-20260601T120000-before-migration.db"
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert stat.S_IMODE(backup.parent.stat().st_mode) == 0o700

    restored = tmp_path / "restored"
    restored.mkdir()
    shutil.copy(backup, restored / "nrem.db")
    with App.open(restored, clock=clock) as app, app.store.reading() as db:
        assert [tuple(row) for row in db.execute("select * from memories order by rowid")] == rows
        assert db.execute("pragma integrity_check").fetchone()[0] == "ok"
        assert events.verify(db, 1) == 21
        assert memories.verify_rows(db, 1) == 20
        assert len(rows_with(db, 1, "walnut")) == 20


@pytest.mark.rows(2)
def test_a_step_that_fails_changes_nothing(
    home: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(db: Database) -> None:
        db.conn.execute("drop table memory_use")
        db.conn.execute("drop table there_is_none")

    fill(home, clock)
    before = read(home, "select * from sqlite_master order by rowid")
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "steps", steps_with(fail))
        with pytest.raises(Corrupt, match="there_is_none"):
            App.open(home, clock=clock)
    assert read(home, "select * from sqlite_master order by rowid") == before
    with App.open(home, clock=clock) as app, app.store.reading() as db:
        assert memories.verify_rows(db, 1) == 20


@pytest.mark.rows(2, 38)
def test_a_store_indexed_by_other_rules_is_indexed_anew(home: Path, clock: ManualClock) -> None:
    fill(home, clock)
    counts = read(home, "select term_count from scopes")
    terms = read(home, "select terms from memories order by rowid")
    change(home, "insert into memories_fts (memories_fts) values ('delete-all')")
    change(home, "insert into memories_fts (rowid, terms) values (1, '1zalmond')")
    change(home, "update scopes set term_count = 1")
    change(home, "update memories set terms = 1")
    change(home, "update store_meta set value = '0' where key = 'terms_version'")
    with App.open(home, clock=clock) as app, app.store.reading() as db:
        assert rows_with(db, 1, "almond") == []
        assert len(rows_with(db, 1, "walnut")) == len(rows_with(db, 1, "kitchen")) == 20
    assert read(home, "select term_count from scopes") == counts
    assert read(home, "select terms from memories order by rowid") == terms
    before = digest(home)
    App.open(home, clock=clock).close()
    assert digest(home) == before


EARLIER = [step.name for step in migrations.steps._migrations][1:]


@pytest.mark.rows(2, 28)
@pytest.mark.parametrize("step", EARLIER)
def test_a_store_of_every_earlier_schema_becomes_one_of_today(
    home: Path, clock: ManualClock, step: str
) -> None:
    """Its memories are as they were, and a text of theirs can hold, be superseded and hold again."""
    home.mkdir()
    older = driver.connect(home / "nrem.db", read_only=False, fresh=True)
    migrations.steps.apply(Database(older, execute_plugins=False), stop_before=step)
    memory = Memory(
        id="m1", kind=Kind.SEMANTIC, kind_given="semantic", content="Ana lives in Berlin", category="general",
        importance=0.5, confidence=1.0, created_at=NOON, updated_at=NOON,
        provenance=Provenance(source=None, ingress="test", trust=Trust.TRUSTED, actor="owner"),
    )  # fmt: skip
    state = payload(memory)
    assert "superseded_by" not in state  # as those that wrote it had it
    names = [name for name in COLUMNS if name != "superseded_by" or step > "m013_superseded"]
    row = dict(zip(COLUMNS, values(memory), strict=True))
    older.execute("begin")
    older.execute("insert into scopes (name, created_at) values ('ana', 0)")
    event = events.record(older, 1, "memory.remember", "m1", state, By(actor="owner", cause="test", now=NOON))
    older.execute(
        f"insert into memories (scope, content_hash, seq, terms, {', '.join(names)})"
        f" values (1, ?, ?, 4, {', '.join('?' * len(names))})",
        (content_hash(memory.content), event.seq, *(row[name] for name in names)),
    )
    older.execute("update scopes set memory_count = 1, term_count = 4")
    older.execute("commit")
    older.close()
    with App.open(home, clock=clock) as app:
        with app.store.reading() as db:
            assert memories.get(db, 1, "m1") == memory
            assert (events.verify(db, 1), memories.verify_rows(db, 1)) == (1, 1)
        call = caller_of(app)
        assert call("remember", agent="ana", content=memory.content)["id"] == "m1"
        newer = call("remember", agent="ana", content="Ana lives in Lisbon", supersedes=["m1"])["id"]
        assert call("remember", agent="ana", content=memory.content, supersedes=[newer])["stored"]
        with app.store.reading() as db:
            assert (events.verify(db, 1), memories.verify_rows(db, 1)) == (5, 3)


@pytest.mark.rows(4)
def test_two_homes_hold_two_stores(app: App, call: Call, tmp_path: Path) -> None:
    other_home = tmp_path / "other"
    with App.open(other_home, create=True, clock=app.clock) as other:
        call_other = caller_of(other)
        call_other("add_agent", agent="ana")
        here = call("remember", agent="ana", content="walnuts are here")["id"]
        there = call_other("remember", agent="ana", content="almonds are there")["id"]
        for run, id, foreign in ((call, here, there), (call_other, there, here)):
            assert [m["id"] for m in run("list_memories", agent="ana")["memories"]] == [id]
            assert foreign not in str(run("list_memories", agent="ana"))
    app.close()
    assert b"almonds" not in (app.home / "nrem.db").read_bytes()
    assert b"walnuts" not in (other_home / "nrem.db").read_bytes()


@pytest.mark.rows(2, 50)
def test_recalls_from_before_the_signals_are_counted_too(home: Path, clock: ManualClock) -> None:
    home.mkdir()
    older = driver.connect(home / "nrem.db", read_only=False, fresh=True)
    migrations.steps.apply(Database(older, execute_plugins=False), stop_before="m007_signals")
    older.execute("insert into scopes (name, created_at) values ('ana', 0)")
    for id, at, ingress, query in (
        ("a", NOON, "mcp", "walnut cake"),
        ("b", NOON + 1, "cli", "Cake of walnut?"),
        ("c", NOON + 2, "mcp", "zeppelin"),
    ):
        older.execute(
            "insert into recalls (scope, id, at, now, actor, ingress, query, request, seq, config_hash,"
            " ranker, degraded) values (1, ?, ?, 0, 'x', ?, ?, '{}', 1, '', '', '')",
            (id, at, ingress, query),
        )
        if id != "c":
            older.execute(
                "insert into recall_events (scope, recall_id, memory_id, rank, score, coverage, ts_ms)"
                " values (1, ?, 'm', 2, 0.5, 1.0, ?)",
                (id, at),
            )
    older.close()
    with App.open(home, clock=clock) as app, app.store.reading() as db:
        found = signals.read(db, 1)
        assert found == {"m": Signal(memory="m", exposures=1, weight=0.5, last_at=NOON + 1)}
        assert [miss.query for miss in signals.misses(db, 1)] == ["zeppelin"]
        rows = db.execute("select asked_by, day from recalls order by at").fetchall()
        assert [tuple(row) for row in rows] == [("agent", 20605), ("human", 20605), ("agent", 20605)]


@pytest.mark.rows(2, 31)
def test_what_an_older_nrem_left_without_a_vector_is_pending(home: Path, clock: ManualClock) -> None:
    fill(home, clock)
    change(home, "delete from vec_memories where memory in (3, 4)")
    change(home, "delete from _sqlite_migrations where name = 'm015_every_missing_vector_is_pending'")
    App.open(home, clock=clock).close()
    assert read(home, "select * from pending_vectors") == [(3, 0), (4, 0)]
