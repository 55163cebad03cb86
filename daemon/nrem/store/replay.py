"""A scope made from events that were written elsewhere: their seqs, times, salts and hashes stay as they are.

In steps, so that a large one does not keep other writers waiting. Until the last of them the scope counts as
removed: nobody reaches it, and a start after a crash takes it away again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from nrem.model import Ended, Event, Scope, StateRecord
from nrem.policy.chain import canonical
from nrem.store import memories, promotions
from nrem.store.driver import Connection
from nrem.store.memory_rows import from_payload

STEP = 500
Step = Callable[[Connection], None]
T = TypeVar("T")


def begin(db: Connection, name: str, *, created_at: int) -> Scope:
    """Make a scope that nobody reaches yet."""
    number = db.execute(
        "insert into scopes (name, created_at, removed_at) values (?, ?, ?)", (name, created_at, created_at)
    ).lastrowid
    assert number is not None
    return Scope(number=number, name=name, created_at=created_at)


def steps(
    scope: int,
    events: Sequence[Event],
    records: Sequence[StateRecord],
    ended: Sequence[Ended],
) -> Iterator[tuple[int, Step]]:
    """Yield what fills a scope, in order, each with the number of events or memories that it brings."""
    for some in _parts(events):
        yield len(some), partial(_put_events, scope=scope, events=some)
    for versions in _parts(ended):
        yield 0, partial(_put_versions, scope=scope, ended=versions)
    for live in _parts(records):
        yield len(live), partial(_put_memories, scope=scope, records=live)


def finish(db: Connection, scope: int) -> None:
    """Let a scope be reached."""
    db.execute("update scopes set removed_at = null where scope = ?", (scope,))


def _parts(all: Sequence[T]) -> Iterator[Sequence[T]]:
    return (all[start : start + STEP] for start in range(0, len(all), STEP))


def _put_events(db: Connection, scope: int, events: Sequence[Event]) -> None:
    db.executemany(
        "insert into events (scope, seq, at, op, subject, actor, cause, payload_hash, chain, payload, salt)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                scope, e.seq, e.at, e.op, e.subject, e.actor, e.cause, e.payload_hash, e.chain, e.payload,
                e.salt,
            )
            for e in events
        ],
    )  # fmt: skip
    for event in events:
        promotions.fold(db, scope, event)
        if event.op == "agent.config" and event.payload is not None:
            told = json.loads(event.payload)
            db.execute(
                "insert into agent_configs (scope, version, config, message, actor, at)"
                " values (?, ?, ?, ?, ?, ?)",
                (
                    scope,
                    told["version"],
                    canonical(told["config"]),
                    told["message"],
                    event.actor,
                    event.at,
                ),
            )


def _put_versions(db: Connection, scope: int, ended: Sequence[Ended]) -> None:
    db.executemany(
        "insert into memory_versions (scope, id, version, seq, ended_seq)"
        " select scope, subject, json_extract(payload, '$.version'), seq, ? from events"
        " where scope = ? and seq = ?",
        [(version.ended_seq, scope, version.seq) for version in ended],
    )


def _put_memories(db: Connection, scope: int, records: Sequence[StateRecord]) -> None:
    for record in records:
        memories.put(db, scope, from_payload(record.payload), None, record.seq)
