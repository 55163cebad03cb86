"""Restoring a backup: all or nothing, and nothing lost without a word."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlite_utils import Migrations

from builders import Call, HashEmbedder, ManualClock, caller_of
from nrem.core import backup
from nrem.errors import Corrupt, Denied, NotFound, Unavailable
from nrem.model import Lost
from nrem.runtime.app import App
from nrem.store import driver, events, memories, migrations


def state(app: App) -> list[list[tuple[Any, ...]]]:
    """Return all that an app's store holds."""
    tables = ("scopes", "events", "memories", "memory_versions", "vec_memories", "agent_configs")
    with app.store.reading() as db:
        return [[tuple(row) for row in db.execute(f"select * from {table}")] for table in tables]


@pytest.fixture
def reopened(home: Path, clock: ManualClock, embedder: HashEmbedder) -> Callable[[], App]:
    return lambda: App.open(home, clock=clock, embedder=embedder)


@pytest.fixture
def name(app: App, call: Call, clock: ManualClock) -> str:
    """A backup of 20 memories, after which ana's store went on; nothing has it open."""
    for i in range(20):
        call("remember", agent="ana", content=f"note {i} about walnuts")
    made: str = call("create_backup")["name"]
    clock.advance(days=1)
    for i in range(5):
        call("remember", agent="ana", content=f"later {i}")
    call("add_agent", agent="zoe")
    app.close()
    return made


@pytest.mark.rows(10)
def test_a_restored_store_is_the_one_that_was_backed_up(
    app: App, call: Call, clock: ManualClock, home: Path, reopened: Callable[[], App]
) -> None:
    for i in range(20):
        call("remember", agent="ana", content=f"note {i} about walnuts")
    before = state(app)
    made = call("create_backup")["name"]
    call("clear_memories", agent="ana")
    call("remove_agent", agent="ben", erase=True)
    app.close()
    backup.restore(home, made, clock=clock)
    with reopened() as again:
        assert state(again) == before
        hits = caller_of(again)("recall", agent="ana", query="walnuts")["hits"]
        assert len(hits) == 5
        with again.store.reading() as db:
            assert db.execute("pragma integrity_check").fetchone()[0] == "ok"
            assert events.verify(db, 1) == 21
            assert memories.verify_rows(db, 1) == 20


@pytest.mark.rows(10)
def test_it_says_what_is_there_and_what_was_lost(home: Path, clock: ManualClock, name: str) -> None:
    restored = backup.restore(home, name, clock=clock)
    assert {agent.agent: agent.memories for agent in restored.contents.agents} == {"ana": 20, "ben": 0}
    assert restored.contents.newest_event == clock.now() - 86_400_000
    assert restored.lost == (Lost(agent="ana", events=5), Lost(agent="zoe", events=1))


@pytest.mark.rows(10)
def test_a_restore_can_be_undone(
    home: Path, clock: ManualClock, name: str, reopened: Callable[[], App]
) -> None:
    with reopened() as now:
        before = state(now)
    kept = backup.restore(home, name, clock=clock).kept
    assert kept == "nrem-20260602T120000-before-restore.db"
    undone = backup.restore(home, kept, clock=clock)
    assert undone.lost == ()
    with reopened() as again:
        assert state(again) == before


def test_it_leaves_no_other_file(home: Path, clock: ManualClock, name: str) -> None:
    (home / "nrem.db.restoring").write_bytes(b"what a killed restore left")
    (home / "nrem.db.restoring-wal").write_bytes(b"too")
    backup.restore(home, name, clock=clock)
    assert sorted(path.name for path in home.iterdir()) == ["backups", "nrem.db", "nrem.lock", "workspaces"]
    assert os.stat(home / "nrem.db").st_mode & 0o777 == 0o600


@pytest.mark.rows(10)
def test_a_store_in_use_is_not_replaced(app: App, call: Call, home: Path, clock: ManualClock) -> None:
    made = call("create_backup")["name"]
    before = (home / "nrem.db").stat().st_ino
    with pytest.raises(Unavailable) as caught:
        backup.restore(home, made, clock=clock)
    assert caught.value.code == "store_locked"
    assert (home / "nrem.db").stat().st_ino == before


@pytest.mark.parametrize("wrong", ["nope.db", "../nrem.db", "/etc/passwd", "", "nrem.db"])
def test_only_what_is_listed_can_be_restored(home: Path, clock: ManualClock, name: str, wrong: str) -> None:
    with pytest.raises(NotFound) as caught:
        backup.restore(home, wrong, clock=clock)
    assert caught.value.code == "backup_not_found"


def flip(file: Path, text: bytes) -> None:
    """Change one byte of a text wherever it stands in a file."""
    data = file.read_bytes()
    assert text in data
    file.write_bytes(data.replace(text, text[:-1] + bytes([text[-1] ^ 1])))


@pytest.mark.rows(10, 107)
@pytest.mark.parametrize("manifest", [True, False])
def test_a_changed_backup_is_refused_and_the_store_stays(
    home: Path, clock: ManualClock, name: str, manifest: bool
) -> None:
    file = home / "backups" / name
    flip(file, b"note 7 about walnuts")
    if not manifest:
        file.with_suffix(".json").unlink()
    before = (home / "nrem.db").read_bytes()
    with pytest.raises(Corrupt) as caught:
        backup.restore(home, name, clock=clock)
    assert caught.value.code == ("backup_damaged" if manifest else "chain_broken")
    assert (home / "nrem.db").read_bytes() == before
    assert len(list((home / "backups").glob("*before-restore*"))) == 0


def test_a_backup_of_a_newer_nrem_is_refused(
    home: Path, clock: ManualClock, name: str, reopened: Callable[[], App]
) -> None:
    file = home / "backups" / name
    file.with_suffix(".json").unlink()
    db = driver.sqlite3.connect(str(file))
    db.execute("insert into _sqlite_migrations values (99, 'nrem', 'm999_from_the_future', '2030-01-01')")
    db.commit()
    db.close()
    with pytest.raises(Corrupt) as caught:
        backup.restore(home, name, clock=clock)
    assert caught.value.code == "schema_too_new"


def test_a_backup_of_an_older_nrem_is_migrated(
    home: Path, clock: ManualClock, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = Migrations("nrem")
    for known in migrations.steps._migrations:
        steps(name=known.name)(known.fn)
    steps(name="m999_from_the_future")(lambda db: db["extra"].create({"id": int}))
    monkeypatch.setattr(migrations, "steps", steps)
    restored = backup.restore(home, name, clock=clock)
    assert restored.contents.schema[-1] == "m999_from_the_future"


@pytest.mark.rows(10)
def test_a_damaged_store_is_kept_as_it_is(
    home: Path, clock: ManualClock, name: str, reopened: Callable[[], App]
) -> None:
    damaged = b"this is no database" * 1000
    (home / "nrem.db").write_bytes(damaged)
    (home / "nrem.db-wal").write_bytes(b"a wal")
    restored = backup.restore(home, name, clock=clock)
    assert restored.lost is None
    assert restored.kept is not None
    kept = home / "backups" / restored.kept
    assert kept.read_bytes() == damaged
    assert kept.with_name(kept.name + "-wal").read_bytes() == b"a wal"
    with reopened() as again:
        assert len(caller_of(again)("list_memories", agent="ana")["memories"]) == 20


def test_a_store_that_is_gone_can_be_restored(home: Path, clock: ManualClock, name: str) -> None:
    (home / "nrem.db").unlink()
    restored = backup.restore(home, name, clock=clock)
    assert (restored.kept, restored.lost) == (None, ())
    assert (home / "nrem.db").exists()


DYING = """
import os, sys
from pathlib import Path
from builders import caller_of
from nrem.runtime.app import App
caller_of(App.open(Path(sys.argv[1])))("remember", agent="ana", content="in the wal alone")
os._exit(0)
"""


def test_the_wal_of_the_old_store_never_meets_the_new_one(
    home: Path, clock: ManualClock, name: str, reopened: Callable[[], App]
) -> None:
    path = os.pathsep.join(sys.path)
    environment = os.environ | {"PYTHONPATH": path, "NREM_VECTOR__ENABLED": "false"}
    subprocess.run([sys.executable, "-c", DYING, str(home)], env=environment, check=True)
    assert (home / "nrem.db-wal").stat().st_size > 0
    restored = backup.restore(home, name, clock=clock)
    assert restored.lost == (Lost(agent="ana", events=6), Lost(agent="zoe", events=1))
    with reopened() as again:
        assert len(caller_of(again)("list_memories", agent="ana", limit=100)["memories"]) == 20
        with again.store.reading() as db:
            assert db.execute("pragma integrity_check").fetchone()[0] == "ok"


def test_a_revoked_token_stays_revoked(
    app: App, call: Call, clock: ManualClock, home: Path, reopened: Callable[[], App]
) -> None:
    revoked, kept = (call("create_token", agent="ana") for _ in range(2))
    name = call("create_backup")["name"]
    call("revoke_token", id=revoked["id"])
    app.close()
    backup.restore(home, name, clock=clock)
    with reopened() as restored:
        assert restored.doorkeeper.admit(kept["token"], "test").reach == "ana"
        with pytest.raises(Denied):
            restored.doorkeeper.admit(revoked["token"], "test")
