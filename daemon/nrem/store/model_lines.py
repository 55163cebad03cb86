"""What a chat model said of lines of MEMORY.md, and which memories it said it of.

It holds as long as every one of these memories is as it was; then the memory's own words stand again. So
nothing has to be taken back when a memory is edited or forgotten.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from nrem.model import By, Event
from nrem.store import events
from nrem.store.driver import Connection, Row

OP = "promotion.line"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelLine:
    memory: str
    sources: Mapping[str, int]
    """The memories that it goes by, each with the version that it had."""
    line: str | None
    """What its line says; None: its own words."""
    successor: str | None
    """The memory that makes this one untrue, so that it has no line."""
    model: str | None
    """None when a person wanted its own words."""
    sweep: str | None


def put(db: Connection, scope: int, said: ModelLine, by: By) -> None:
    """Note what is said of a memory's line, in the place of what was said before."""
    payload = {
        "sources": dict(said.sources),
        "line": said.line,
        "successor": said.successor,
        "model": said.model,
        "sweep": said.sweep,
    }
    fold(db, scope, events.record(db, scope, OP, said.memory, payload, by))


def take_back(db: Connection, scope: int, said: ModelLine, by: By) -> None:
    """Let a memory have its own words, and keep models from changing them while it is as it is."""
    own = {id: version for id, version in said.sources.items() if id == said.memory}
    put(
        db,
        scope,
        ModelLine(memory=said.memory, sources=own, line=None, successor=None, model=None, sweep=None),
        by,
    )


def fold(db: Connection, scope: int, event: Event) -> None:
    """Write the row that such an event stands for; of one that was erased there is none."""
    key = (scope, event.subject)
    db.execute("delete from model_lines where scope = ? and memory_id = ?", key)
    if event.payload is None:
        return
    said = json.loads(event.payload)
    db.execute(
        "insert into model_lines (scope, memory_id, sources, line, successor, model, sweep, at)"
        " values (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *key, json.dumps(said["sources"]), said["line"], said["successor"], said["model"], said["sweep"],
            event.at,
        ),
    )  # fmt: skip


def holding(db: Connection, scope: int) -> dict[str, ModelLine]:
    """Return, by memory, what is said of lines and still holds."""
    rows = db.execute(
        "select * from model_lines l where scope = ? and not exists (select 1 from json_each(l.sources) s"
        " left join memories m on m.scope = l.scope and m.id = s.key where m.version is not s.value)",
        (scope,),
    )
    return {row["memory_id"]: _line(row) for row in rows}


def holds(db: Connection, scope: int, sources: Mapping[str, int]) -> bool:
    """Tell whether all of some memories are there, in the versions that are named."""
    [changed] = db.execute(
        "select count(*) from json_each(?) s left join memories m on m.scope = ? and m.id = s.key"
        " where m.version is not s.value",
        (json.dumps(dict(sources)), scope),
    ).fetchone()
    return not changed


def made_by(db: Connection, scope: int, sweep: str) -> list[ModelLine]:
    """Return what the model said in a sweep, as far as nothing was said since."""
    rows = db.execute("select * from model_lines where scope = ? and sweep = ?", (scope, sweep))
    return [_line(row) for row in rows]


def _line(row: Row) -> ModelLine:
    return ModelLine(
        memory=row["memory_id"],
        sources=json.loads(row["sources"]),
        line=row["line"],
        successor=row["successor"],
        model=row["model"],
        sweep=row["sweep"],
    )


# Erasing

_CITING = (
    " op = 'promotion.line' and payload is not null"
    " and exists (select 1 from json_each(events.payload, '$.sources') where key = ?)"
)


def texts_from(db: Connection, scope: int, id: str) -> list[str]:
    """Return every line that was ever made from a memory, except those that only repeat another one."""
    rows = db.execute(
        f"select payload from events where scope = ? and {_CITING} order by seq", (scope, id)
    ).fetchall()
    found: dict[str, None] = {}
    for row in rows:
        said = json.loads(row[0])
        others = [source for source in said["sources"] if source != id]
        if said["line"] and not _is_text_of(db, scope, said["line"], others):
            found[said["line"]] = None
    return list(found)


def erase(db: Connection, scope: int, id: str) -> int:
    """Take out what was made from a memory: rows, lines of the block as it was written, and events.

    Returns how many events of other memories were emptied. Its own events must still be there.
    """
    told = [text.encode() for text in texts_from(db, scope, id)]
    db.execute(
        "delete from model_lines where scope = ?"
        " and exists (select 1 from json_each(model_lines.sources) where key = ?)",
        (scope, id),
    )
    for row in db.execute("select written, intended from memory_blocks where scope = ?", (scope,)).fetchall():
        left = [_without(block, told) for block in row]
        db.execute("update memory_blocks set written = ?, intended = ? where scope = ?", (*left, scope))
    return db.execute(
        f"update events set payload = null, salt = null where scope = ? and subject <> ? and {_CITING}",
        (scope, id, id),
    ).rowcount


def _is_text_of(db: Connection, scope: int, text: str, ids: list[str]) -> bool:
    marks = ", ".join("?" * len(ids))
    rows = db.execute(f"select content from memories where scope = ? and id in ({marks})", (scope, *ids))
    return any(" ".join(row[0].split()).casefold() == text.casefold() for row in rows)


def _without(block: bytes, told: list[bytes]) -> bytes:
    lines = block.splitlines(keepends=True)
    return b"".join(line for line in lines if not any(text in line for text in told))
