"""Vectors of memories: one per memory and embedder, and the one embedder that a store's searches use."""

from __future__ import annotations

import json
from dataclasses import dataclass

from nrem.errors import Conflict
from nrem.store.driver import Connection

TRIES = 3
"""How often a vector is asked for before it is given up."""


@dataclass(frozen=True, slots=True)
class Vector:
    """A normalised float32 embedding and who made it."""

    embedder: str
    embedding: bytes


@dataclass(frozen=True, slots=True)
class Serving:
    """The embedder and the dimension that a store's vectors have."""

    embedder: str
    dimension: int


class EmbeddingModelChanged(Conflict):
    code = "embedding_model_changed"


def serving(db: Connection) -> Serving | None:
    """Return which vectors the store has; None before the first one."""
    known = dict(
        db.execute("select key, value from store_meta where key in ('embedder', 'dimension')").fetchall()
    )
    return Serving(known["embedder"], int(known["dimension"])) if known else None


def check(serving: str, embedder: str) -> None:
    """Raise unless vectors of this embedder can be compared with those of the one that serves."""
    if serving != embedder:
        raise EmbeddingModelChanged(
            f"the store's vectors are from {serving}, the configured embedder is {embedder}",
            hint="nrem reembed makes them anew; or set the embedder back",
        )


def fits(db: Connection, vector: Vector) -> bool:
    """Tell whether a vector can stand beside the store's; the first one fixes embedder and dimension."""
    known = serving(db)
    dimension = len(vector.embedding) // 4
    if known is None:
        switch(db, Serving(vector.embedder, dimension))
        return True
    return known == Serving(vector.embedder, dimension)


def serve_first(db: Connection, wanted: Serving) -> None:
    """Fix the store's embedder and dimension, unless they are."""
    if serving(db) is None:
        switch(db, wanted)


def insert(db: Connection, rowid: int, scope: int, seq: int, vector: Vector) -> None:
    """Store the vector of a memory that has none of this embedder."""
    # Not `insert or replace`: with foreign keys on, that makes the keyword index write out its buffer.
    db.execute(
        "insert into vec_memories (memory, embedder, scope, seq, embedding, generation)"
        " select ?, ?, scope, ?, ?, vector_generation from scopes where scope = ?",
        (rowid, vector.embedder, seq, vector.embedding, scope),
    )


def switch(db: Connection, to: Serving) -> None:
    """Make an embedder the one that serves, and note for each scope since when."""
    known = serving(db)
    db.execute("update scopes set vector_generation = vector_generation + 1")
    db.execute(
        "insert into vector_switches (scope, generation, seq, was)"
        " select s.scope, s.vector_generation, (select max(seq) from events e where e.scope = s.scope), ?"
        " from scopes s where s.removed_at is null",
        (known.embedder if known else None,),
    )
    db.executemany(
        "insert or replace into store_meta values (?, ?)",
        [("embedder", to.embedder), ("dimension", str(to.dimension))],
    )
    db.execute("delete from store_meta where key = 'reembed'")


# Those that are missing


@dataclass(frozen=True, slots=True)
class Missing:
    """A memory that has no vector of an embedder yet, and the text to make it from."""

    rowid: int
    scope: int
    content: str
    user: str | None
    content_hash: bytes


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the vectors of another embedder are made: up to which row, and in which of two passes."""

    wanted: Serving
    behind: int = 0
    second_pass: bool = False


def progress(db: Connection, embedder: str) -> Progress | None:
    """Return how far an embedder's vectors are made; None when they were not begun."""
    row = db.execute("select value from store_meta where key = 'reembed'").fetchone()
    kept = json.loads(row[0]) if row else {}
    if kept.get("embedder") != embedder:
        return None
    return Progress(Serving(embedder, kept["dimension"]), kept["behind"], kept["second_pass"])


def keep_progress(db: Connection, progress: Progress) -> None:
    kept = {
        "embedder": progress.wanted.embedder,
        "dimension": progress.wanted.dimension,
        "behind": progress.behind,
        "second_pass": progress.second_pass,
    }
    db.execute("insert or replace into store_meta values ('reembed', ?)", (json.dumps(kept),))


def reembedding(db: Connection) -> str | None:
    """Return the embedder whose vectors are being made, if any."""
    row = db.execute("select value from store_meta where key = 'reembed'").fetchone()
    return str(json.loads(row[0])["embedder"]) if row else None


def note_pending(db: Connection, rowid: int) -> None:
    """Remember that a memory has no vector: every one that has none of the serving embedder is noted."""
    db.execute("insert or replace into pending_vectors (memory, tries) values (?, 0)", (rowid,))


def forget_pending(db: Connection, rowid: int) -> None:
    """Take a memory off the list of those whose vector is to come."""
    db.execute("delete from pending_vectors where memory = ?", (rowid,))


def forget_tries(db: Connection) -> None:
    """Try every missing vector anew: what another embedder failed at says nothing about this one."""
    db.execute("update pending_vectors set tries = 0 where tries > 0")


def pending(db: Connection, *, limit: int) -> list[Missing]:
    """Return memories whose vector is to be tried again, oldest first."""
    return _missing(
        db,
        "select m.rowid, m.scope, m.content, m.user_id, m.content_hash from pending_vectors p"
        " join memories m on m.rowid = p.memory where p.tries < :tries order by p.memory limit :limit",
        {"tries": TRIES, "limit": limit},
    )


def count_pending(db: Connection) -> tuple[int, int]:
    """Return how many memories wait for a vector, and for how many it was given up."""
    row = db.execute(
        "select count(*) filter (where tries < :tries), count(*) filter (where tries >= :tries)"
        " from pending_vectors",
        {"tries": TRIES},
    ).fetchone()
    return row[0], row[1]


_LACKS = (
    "not exists (select 1 from vec_memories v where v.memory = m.rowid and v.embedder = :embedder"
    " and length(v.embedding) = 4 * :dimension)"
)


def lacking(db: Connection, wanted: Serving, *, behind: int, limit: int) -> list[Missing]:
    """Return memories behind a row that have no vector of this embedder and dimension."""
    return _missing(
        db,
        "select m.rowid, m.scope, m.content, m.user_id, m.content_hash from memories m"
        f" where m.rowid > :behind and {_LACKS} order by m.rowid limit :limit",
        {"behind": behind, "limit": limit, "embedder": wanted.embedder, "dimension": wanted.dimension},
    )


def fill(db: Connection, missing: Missing, vector: Vector) -> bool:
    """Store a vector that came late, if the text it was made from is still the memory's."""
    row = db.execute(
        "select content_hash, scope, (select max(seq) from events e where e.scope = m.scope) from memories m"
        " where rowid = ? and scope = ? and user_id is ?",
        (missing.rowid, missing.scope, missing.user),
    ).fetchone()
    if row is None or row[0] != missing.content_hash:
        return False
    db.execute("delete from vec_memories where memory = ? and embedder = ?", (missing.rowid, vector.embedder))
    known = serving(db)
    if known is not None and known.embedder == vector.embedder:  # others are not searched yet
        db.execute("delete from pending_vectors where memory = ?", (missing.rowid,))
        db.execute("update scopes set vector_generation = vector_generation + 1 where scope = ?", (row[1],))
    insert(db, missing.rowid, row[1], row[2], vector)
    return True


def count_lacking(db: Connection, wanted: Serving) -> int:
    """Return how many memories have no vector of this embedder and dimension."""
    number: int = db.execute(
        "select (select count(*) from memories) - (select count(*) from vec_memories"
        " where embedder = ? and length(embedding) = 4 * ?)",
        (wanted.embedder, wanted.dimension),
    ).fetchone()[0]
    return number


def note_all_lacking(db: Connection, wanted: Serving) -> int:
    """Make every memory without such a vector pending; return how many they are."""
    values = {"embedder": wanted.embedder, "dimension": wanted.dimension}
    db.execute(
        f"delete from pending_vectors where not exists (select 1 from memories m"
        f" where m.rowid = pending_vectors.memory and {_LACKS})",
        values,
    )
    db.execute(
        f"insert or ignore into pending_vectors select rowid, 0 from memories m where {_LACKS}", values
    )
    return int(db.execute(f"select count(*) from memories m where {_LACKS}", values).fetchone()[0])


def note_failed(db: Connection, rowid: int) -> None:
    """Count a try that gave no vector."""
    db.execute(
        "insert into pending_vectors (memory, tries) values (?, 1)"
        " on conflict (memory) do update set tries = tries + 1",
        (rowid,),
    )


def drop_others(db: Connection, kept: Serving, *, limit: int) -> int:
    """Delete some vectors of other embedders or dimensions; return how many."""
    return int(
        db.execute(
            "delete from vec_memories where rowid in (select rowid from vec_memories"
            " where embedder <> ? or length(embedding) <> 4 * ? limit ?)",
            (kept.embedder, kept.dimension, limit),
        ).rowcount
    )


def _missing(db: Connection, query: str, values: dict[str, object]) -> list[Missing]:
    return [Missing(*row) for row in db.execute(query, values)]
