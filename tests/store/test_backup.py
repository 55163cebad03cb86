"""Copies of the store's file: whole, of one moment, and said to be damaged when they are."""

from __future__ import annotations

import hashlib
import json
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from builders import Call, ManualClock
from nrem.errors import Conflict, Corrupt
from nrem.runtime.app import App
from nrem.store import backup, driver, events, memories


@contextmanager
def held(file: Path) -> Iterator[driver.Connection]:
    with backup.opened(file) as db:
        yield db


def create(app: App, clock: ManualClock) -> Path:
    made = backup.create(app.store.path, clock, origin="manual")
    return app.home / "backups" / made.name


@pytest.mark.rows(10)
def test_a_backup_holds_what_the_store_holds(app: App, call: Call, clock: ManualClock) -> None:
    for i in range(50):
        call("remember", agent="ana", content=f"note {i}")
    made = backup.create(app.store.path, clock, origin="manual")
    file = app.home / "backups" / made.name
    assert made.name == "nrem-20260601T120000.db"
    assert made.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    with app.store.reading() as db:
        assert made.contents == backup.contents(db)
        rows = [tuple(row) for row in db.execute("select * from memories order by rowid")]
    with held(file) as db:
        assert [tuple(row) for row in db.execute("select * from memories order by rowid")] == rows
        assert events.verify(db, 1) == 51
        assert memories.verify_rows(db, 1) == 50
        assert db.execute("pragma integrity_check").fetchone()[0] == "ok"


@pytest.mark.rows(10)
def test_a_backup_under_load_ends_and_is_one_moment_of_it(app: App, call: Call, clock: ManualClock) -> None:
    for i in range(300):
        call("remember", agent="ana", content=f"before {i} " + "long " * 400, kind="episodic")
    stop = threading.Event()
    written = {"ana": 0, "ben": 0}

    def write(agent: str) -> None:
        while not stop.is_set():
            call("remember", agent=agent, content=f"during {written[agent]}", kind="episodic")
            written[agent] += 1

    writers = [threading.Thread(target=write, args=(agent,)) for agent in written]
    for writer in writers:
        writer.start()
    while min(written.values()) < 5:
        pass
    before = dict(written)
    made = backup.create(app.store.path, clock, origin="manual", pause=backup.PAUSE_SECONDS)
    after = dict(written)
    stop.set()
    for writer in writers:
        writer.join()
    assert min(after[agent] - before[agent] for agent in written) > 0  # it did not hold the writers up
    with held(app.home / "backups" / made.name) as db:
        for scope, agent, already in ((1, "ana", 300), (2, "ben", 0)):
            events.verify(db, scope)
            memories.verify_rows(db, scope)
            texts = [
                row[0]
                for row in db.execute("select content from memories where scope = ? order by rowid", (scope,))
            ]
            seen = len(texts) - already
            assert before[agent] <= seen <= after[agent] + 1
            assert texts[already:] == [f"during {i}" for i in range(seen)]


def test_only_the_owner_can_read_it_and_nothing_else_is_left(app: App, clock: ManualClock) -> None:
    file = create(app, clock)
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert {path.name for path in file.parent.iterdir()} == {file.name, file.stem + ".json"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in file.parent.iterdir()} == {0o600}


def test_two_of_one_second_have_two_names(app: App, clock: ManualClock) -> None:
    assert create(app, clock).name == "nrem-20260601T120000.db"
    assert create(app, clock).name == "nrem-20260601T120000-2.db"
    clock.advance(seconds=1)
    assert create(app, clock).name == "nrem-20260601T120001.db"
    assert [known.name for known in backup.list_(app.home / "backups")] == [
        "nrem-20260601T120001.db",
        "nrem-20260601T120000.db",
        "nrem-20260601T120000-2.db",
    ]


def test_what_was_left_behind_goes_with_the_next_one(app: App, clock: ManualClock) -> None:
    folder = create(app, clock).parent
    (folder / "nrem-20200101T000000.partial").write_bytes(b"half")
    create(app, clock)
    assert list(folder.glob("*.partial")) == []


def test_there_is_one_at_a_time(app: App, clock: ManualClock) -> None:
    with backup._one_at_a_time, pytest.raises(Conflict) as caught:
        create(app, clock)
    assert caught.value.code == "backup_running"
    assert create(app, clock).exists()


@pytest.mark.rows(10)
def test_a_damaged_store_makes_no_backup(app: App, home: Path, call: Call, clock: ManualClock) -> None:
    for i in range(300):
        call("remember", agent="ana", content=f"note {i} " + "word " * 100)
    app.close()
    with (home / "nrem.db").open("r+b") as file:
        file.seek(20 * 4096)
        file.write(b"\xff" * 4096 * 4)
    with pytest.raises(Corrupt):
        backup.create(home / "nrem.db", clock, origin="manual")
    assert list((home / "backups").iterdir()) == []


def test_a_file_without_a_manifest_is_listed_as_such(app: App, clock: ManualClock) -> None:
    file = create(app, clock)
    other = file.with_name("nrem-20250101T000000-before-restore.db")
    file.rename(other)
    [known] = backup.list_(file.parent)
    assert (known.name, known.origin, known.contents) == (other.name, "before-restore", None)
    assert known.size == other.stat().st_size


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": 1}', "\xff"])
def test_a_damaged_manifest_is_none(app: App, clock: ManualClock, text: str) -> None:
    file = create(app, clock)
    file.with_suffix(".json").write_bytes(text.encode("latin-1"))
    [known] = backup.list_(file.parent)
    assert (known.name, known.sha256) == (file.name, None)


def test_a_manifest_is_read_as_it_was_written(app: App, clock: ManualClock) -> None:
    made = backup.create(app.store.path, clock, origin="manual")
    folder = app.home / "backups"
    assert backup.list_(folder) == [made]
    manifest = json.loads((folder / made.name).with_suffix(".json").read_text())
    assert [agent["agent"] for agent in manifest["contents"]["agents"]] == ["ana", "ben"]


def test_there_are_no_backups_where_there_is_no_folder(tmp_path: Path) -> None:
    assert backup.list_(tmp_path / "backups") == []
