"""Memories as they were: the states that events carry, and the vectors that ended versions keep."""

from __future__ import annotations

from dataclasses import dataclass

from nrem.model import Event, Memory
from nrem.store import memories
from nrem.store.driver import Connection
from nrem.store.memory_rows import from_payload
from nrem.store.vectors import Vector

_FORGET = "memory.forget"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What a memory was after an event; without memory it was not there, or is erased."""

    seq: int
    memory: Memory | None
    erased: bool = False


def changed_since(db: Connection, scope: int, seq: int) -> list[str]:
    """Return the memories that have events after one, in the order in which they came."""
    rows = db.execute(
        "select distinct subject from events where scope = ? and seq > ? and op like 'memory.%' order by"
        " (select min(f.seq) from events f where f.scope = events.scope and f.subject = events.subject)",
        (scope, seq),
    )
    return [row[0] for row in rows]


def state_at(db: Connection, scope: int, id: str, seq: int) -> State | None:
    """Return what a memory was when an event had happened; None when it had not come yet."""
    row = db.execute(
        "select seq, op, payload from events indexed by idx_events_subject where scope = ? and subject = ?"
        " and seq <= ? and op like 'memory.%' order by seq desc limit 1",
        (scope, id, seq),
    ).fetchone()
    if row is None:
        return None
    if row["op"] == _FORGET or row["payload"] is None:
        return State(seq=row["seq"], memory=None, erased=row["op"] != _FORGET)
    return State(seq=row["seq"], memory=from_payload(row["payload"]))


def last_event(db: Connection, scope: int, id: str) -> Event:
    """Return the last event about a memory; raise NotFound when this scope never had it."""
    row = db.execute(
        "select seq, at, op, subject, actor, cause, payload_hash, chain, payload, salt from events"
        " indexed by idx_events_subject where scope = ? and subject = ? and op like 'memory.%'"
        " order by seq desc limit 1",
        (scope, id),
    ).fetchone()
    if row is None:
        raise memories.not_found(id)
    return Event(**dict(row))


def last_version(db: Connection, scope: int, id: str) -> int:
    """Return the number of the last version that a forgotten memory had."""
    number: int = db.execute(
        "select coalesce(max(version), 0) from memory_versions where scope = ? and id = ?", (scope, id)
    ).fetchone()[0]
    return number


def vector(db: Connection, scope: int, id: str, seq: int) -> Vector | None:
    """Return the vector of an ended version, if the embedder that serves made it."""
    row = db.execute(
        "select embedder, embedding from memory_versions where scope = ? and id = ? and seq = ?"
        " and embedder = (select value from store_meta where key = 'embedder') limit 1",
        (scope, id, seq),
    ).fetchone()
    return Vector(row[0], row[1]) if row else None


def holders(db: Connection, scope: int, state: Memory) -> set[str]:
    """Return the live memories beside which one in this state cannot stand, for its text or foreign id."""
    found = set()
    if state.superseded_by is None:
        found.add(memories.find_same(db, scope, state.kind, state.content))
    if state.legacy_id is not None:
        row = db.execute(
            "select id from memories where scope = ? and legacy_id = ?", (scope, state.legacy_id)
        ).fetchone()
        found.add(row[0] if row else None)
    return {id for id in found if id is not None}
