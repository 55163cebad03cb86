from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builders import Call, caller_of
from nrem.model import Caller, Event, Trust
from nrem.policy import terms
from nrem.runtime.app import App
from nrem.store import events


@pytest.fixture
def chain(app: App) -> Callable[[str], list[Event]]:
    """Return the events of an agent, after checking that they are an unbroken chain."""

    def read(agent: str) -> list[Event]:
        number = app.scope(agent).number
        with app.store.reading() as db:
            events.verify(db, number)
            return list(events.read(db, number))

    return read


@pytest.fixture
def found(app: App) -> Callable[[str, str], list[str]]:
    """Return the texts of an agent's memories that the keyword index has under a word."""

    def find(agent: str, word: str) -> list[str]:
        number = app.scope(agent).number
        [term] = terms.for_query(word)
        with app.store.reading() as db:
            tokens = f'"{number}z{term}" OR "{number}y{term}"'  # z: what a memory says, y: its context
            rows = [
                row[0]
                for row in db.execute("select rowid from memories_fts where memories_fts match ?", (tokens,))
            ]
            marks = ", ".join("?" * len(rows))
            contents = db.execute(f"select content from memories where rowid in ({marks})", rows).fetchall()
            assert len(contents) == len(rows)  # no index entry without its row
        return sorted(row[0] for row in contents)

    return find


@pytest.fixture
def vectors(app: App) -> Callable[[str], dict[str, bytes]]:
    """Return the vector of each memory of an agent that has one, by id."""

    def read(agent: str) -> dict[str, bytes]:
        with app.store.reading() as db:
            rows = db.execute(
                "select m.id, v.embedding from vec_memories v join memories m on m.rowid = v.memory"
                " where v.scope = ?",
                (app.scope(agent).number,),
            ).fetchall()
        return {row[0]: row[1] for row in rows}

    return read


@pytest.fixture
def visitor(app: App) -> Call:
    """Run an operation by name as a caller whose text is not trusted."""
    return caller_of(app, Caller(actor="web", ingress="http", trust=Trust.UNTRUSTED))


@pytest.fixture
def on_disk(app: App, home: Path) -> Callable[[], bytes]:
    """Return the bytes of every file of the home, as they are and once the store is closed."""

    def read() -> bytes:
        running = b"".join(file.read_bytes() for file in sorted(home.rglob("*")) if file.is_file())
        app.close()
        assert (home / "nrem.db").stat().st_size > 0
        return running + b"".join(file.read_bytes() for file in sorted(home.rglob("*")) if file.is_file())

    return read


@pytest.fixture
def get(call: Call) -> Callable[..., dict[str, Any]]:
    """Return a memory of ana's by its id."""

    def read(id: str, agent: str = "ana") -> dict[str, Any]:
        shown: dict[str, Any] = call("get_memory", agent=agent, id=id)["memory"]
        return shown

    return read
