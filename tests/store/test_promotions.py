"""Promotions are what their events say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from builders import Call
from nrem.model import By
from nrem.runtime.app import App
from nrem.store import events, promotions
from nrem.store.driver import Connection
from nrem.store.promotions import Grounds

TABLES = ("memory_promotions", "promotion_bars")


def rows(db: Connection) -> list[list[tuple[Any, ...]]]:
    return [
        [tuple(row) for row in db.execute(f"select * from {table} order by scope, memory_id, promoted_at")]
        if table == "memory_promotions"
        else [tuple(row) for row in db.execute(f"select * from {table} order by scope, memory_id")]
        for table in TABLES
    ]


@pytest.mark.rows(87)
def test_the_events_alone_give_the_promotions_again(app: App, call: Call) -> None:
    ids = [
        call("remember", agent="ana", content=text)["id"]
        for text in (
            "Luis lives in Madrid",
            "Marta studies medicine in Granada since 2024",
            "Tea, never coffee",
        )
    ]
    call("pin_memory", agent="ana", id=ids[2])
    first = call("dream", agent="ana")["sweep"]
    file: Path = app.home / "workspaces/ana/MEMORY.md"
    file.write_text("".join(line for line in file.read_text().splitlines(True) if ids[2] not in line))
    call("remember", agent="ana", content="Luis lives in Valencia")
    call("dream", agent="ana")
    call("undo_sweep", agent="ana", sweep=first)
    number = app.scope("ana").number

    def again(db: Connection) -> None:
        for table in TABLES:
            db.execute(f"delete from {table}")
        db.execute("delete from sqlite_sequence where name = 'memory_promotions'")
        for event in events.read(db, number):
            promotions.fold(db, number, event)

    with app.store.reading() as db:
        before = rows(db)
    assert all(before)
    app.store.write(again)
    with app.store.reading() as db:
        assert rows(db) == before


def test_a_memory_has_one_active_promotion(app: App, call: Call) -> None:
    id = call("remember", agent="ana", content="Tea, never coffee", pinned=True)["id"]
    call("dream", agent="ana")
    number = app.scope("ana").number
    by = By(actor="owner", cause="test", now=app.clock.now())
    app.store.write(lambda db: promotions.promote(db, number, id, Grounds(reason="again"), by))
    with app.store.reading() as db:
        assert len(promotions.active(db, number)) == 1
        assert [event.op for event in events.read(db, number, subject=id)].count("promotion.promote") == 1
