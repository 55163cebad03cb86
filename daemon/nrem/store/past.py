"""A scope as it was at a past event: a private store in memory, with the rows and vectors of that moment.

It is built from the events' payloads and from the vectors that were there, and offers what recall uses of a
store. Rows come in the order in which they came to life, which is the order that their numbers had then.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import sqlite_utils

from nrem.model import Scope
from nrem.store import driver, memories, migrations, vectors
from nrem.store.driver import Connection
from nrem.store.matrices import Matrices
from nrem.store.memory_rows import from_payload
from nrem.store.vectors import Serving

KEPT = 4
"""How many are kept for the next question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The last event that had happened, and the generation of the vectors that had come, if it is known."""

    seq: int
    generation: int | None = None


class Readable(Protocol):
    """What recall uses of a store, whether it is of now or of the past."""

    @property
    def matrices(self) -> Matrices: ...

    def reading(self) -> AbstractContextManager[Connection]: ...


class Past:
    """What a scope was at a moment. It never changes."""

    def __init__(self, db: Connection, *, erased: int, vectors_of: str | None) -> None:
        self.matrices = Matrices()
        self.erased = erased
        """How many of the memories of that time have been erased since."""
        self.vectors_of = vectors_of
        """Another embedder than today's that served then, and whose vectors are not there any more."""
        self._db = db
        self._lock = threading.Lock()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Lend the one connection."""
        with self._lock:
            yield self._db

    def __del__(self) -> None:
        self._db.close()  # whoever asked last may still be reading when it is dropped


class Pasts:
    """The moments asked for last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, Moment, int, str | None], Past] = OrderedDict()

    def get(self, db: Connection, scope: Scope, moment: Moment) -> Past:
        """Return a scope's past as a snapshot of the store knows it."""
        erased = _count_erased(db, scope.number)
        serving = vectors.serving(db)
        key = (scope.number, moment, erased, serving.embedder if serving else None)
        with self._lock:
            for known in [k for k in self._kept if k[0] == scope.number and k[2] != erased]:
                del self._kept[known]  # it still has what was erased
            past = self._kept.get(key)
        if past is None:
            past = build(db, scope, moment)  # with no lock: it takes a while, and who comes meanwhile may too
        with self._lock:
            self._kept[key] = past
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return past

    def drop(self, scope: int) -> None:
        """Keep nothing of a scope's past."""
        with self._lock:
            for known in [k for k in self._kept if k[0] == scope]:
                del self._kept[known]


def build(db: Connection, scope: Scope, moment: Moment) -> Past:
    """Make a scope's past from what a snapshot of the store has."""
    serving, was = vectors.serving(db), None
    switched = _next_switch(db, scope.number, moment)
    if switched is not None:
        serving, [was] = None, switched
    alive, erased = _alive(db, scope.number, moment.seq)
    embeddings = _embeddings(db, scope.number, moment, serving) if serving else {}
    made = driver.connect(Path(":memory:"), read_only=False)
    migrations.steps.apply(sqlite_utils.Database(made, execute_plugins=False))
    made.execute("begin")
    made.execute(
        "insert into scopes (scope, name, created_at) values (?, ?, ?)",
        (scope.number, scope.name, scope.created_at),
    )
    # What a reader asks for is only how far the chain goes.
    made.execute(
        "insert into events (scope, seq, at, op, subject, actor, cause, payload_hash, chain)"
        " values (?, ?, 0, 'past', '', '', '', x'', x'')",
        (scope.number, moment.seq),
    )
    if serving is not None:
        vectors.switch(made, serving)
    for seq, payload in alive:
        rowid, _ = memories.add_row(made, scope.number, from_payload(payload), seq)
        if serving is not None and seq in embeddings:
            vector = vectors.Vector(serving.embedder, embeddings[seq])
            vectors.insert(made, rowid, scope.number, seq, vector)
    made.execute("commit")
    made.execute("pragma query_only = on")
    return Past(made, erased=erased, vectors_of=was)


def _alive(db: Connection, scope: int, seq: int) -> tuple[list[tuple[int, str]], int]:
    """Return the versions that were alive after an event, as they came to life; and how many are erased."""
    cursor = db.cursor()
    cursor.row_factory = None
    found: dict[str, tuple[int, str | None]] = {}
    for number, op, subject, payload in cursor.execute(
        "select seq, op, subject, payload from events where scope = ? and seq <= ? and op like 'memory.%'"
        " order by seq",
        (scope, seq),
    ):
        if op == "memory.forget" or payload == "{}":
            found.pop(subject, None)  # so that it comes last when it comes back, as its new row does
        else:
            found[subject] = number, payload
    alive = [(number, payload) for number, payload in found.values() if payload is not None]
    return alive, len(found) - len(alive)


_VECTORS = """
select m.seq, v.embedding from memories m
join vec_memories v on v.memory = m.rowid and v.embedder = :embedder
where m.scope = :scope and m.seq <= :seq
    and (v.seq < :seq or v.seq = :seq and v.generation <= coalesce(:generation, v.generation))
union all
select seq, embedding from memory_versions
where scope = :scope and seq <= :seq and ended_seq > :seq and embedder = :embedder
    and (embedding_seq < :seq or embedding_seq = :seq
        and coalesce(embedding_generation, 0) <= coalesce(:generation, embedding_generation, 0))
"""


def _embeddings(db: Connection, scope: int, moment: Moment, serving: Serving) -> dict[int, bytes]:
    """Return the vectors that were there, by the event that made the version they belong to."""
    cursor = db.cursor()
    cursor.row_factory = None
    return dict(
        cursor.execute(
            _VECTORS,
            {
                "scope": scope,
                "seq": moment.seq,
                "generation": moment.generation,
                "embedder": serving.embedder,
            },
        ).fetchall()
    )


def _next_switch(db: Connection, scope: int, moment: Moment) -> tuple[str | None] | None:
    """Return what served at a moment, perhaps nothing, if something else does since; None if not."""
    row = db.execute(
        "select was from vector_switches where scope = :scope and (seq > :seq"
        " or seq = :seq and generation > coalesce(:generation, generation)) order by generation limit 1",
        {"scope": scope, "seq": moment.seq, "generation": moment.generation},
    ).fetchone()
    return (row[0],) if row else None


def _count_erased(db: Connection, scope: int) -> int:
    number: int = db.execute(
        "select count(*) from events where scope = ? and payload is null", (scope,)
    ).fetchone()[0]
    return number
