"""The two derived indexes over memories: keywords and vectors. Both can be built again from the rows.

Every token of the keyword index starts with its scope's number and a `z`, so that an agent's queries cost
what that agent's rows cost, and no agent's words count in another's statistics.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from nrem.errors import Conflict
from nrem.policy import terms
from nrem.store.driver import Connection


def token(scope: int, term: str) -> str:
    """Return a term as the index knows it in one scope."""
    return f"{scope}z{term}"


def index_terms(content: str, context: str | None, tags: Iterable[str], concepts: Iterable[str]) -> list[str]:
    """Return the terms under which a memory can be found."""
    return terms.for_index("\n".join([content, context or "", *tags, *concepts]))


def add_terms(db: Connection, rowid: int, scope: int, words: list[str]) -> None:
    db.execute(
        "insert into memories_fts (rowid, terms) values (?, ?)",
        (rowid, " ".join(token(scope, word) for word in words)),
    )


def remove_terms(db: Connection, rowid: int) -> None:
    db.execute("delete from memories_fts where rowid = ?", (rowid,))


def postings(db: Connection, scope: int, term: str) -> list[int]:
    """Return the rows of a scope that have a term; how many they are is the term's document frequency."""
    rows = db.execute(
        "select rowid from memories_fts where memories_fts match ?", (f'"{token(scope, term)}"',)
    )
    return [row[0] for row in rows]


def merge_step(db: Connection) -> bool:
    """Merge part of the keyword index, so that deleted terms leave the file; return whether more is left."""
    before = db.total_changes
    db.execute("insert into memories_fts (memories_fts, rank) values ('merge', -200)")
    return bool(db.total_changes - before > 1)


def keep_current(db: Connection, version: int) -> None:
    """Build the keyword index again when the store was indexed by other rules."""
    row = db.execute("select value from store_meta where key = 'terms_version'").fetchone()
    if row is not None and row[0] == str(version):
        return
    db.execute("begin immediate")
    try:
        db.execute("insert into memories_fts (memories_fts) values ('delete-all')")
        db.execute("update scopes set term_count = 0")
        rows = db.execute(
            "select rowid, scope, content, context, tags, concept_tags from memories"
        ).fetchall()
        for row in rows:
            words = index_terms(row[2], row[3], json.loads(row[4]), json.loads(row[5]))
            add_terms(db, row[0], row[1], words)
            db.execute("update memories set terms = ? where rowid = ?", (len(words), row[0]))
            db.execute("update scopes set term_count = term_count + ? where scope = ?", (len(words), row[1]))
        db.execute("insert or replace into store_meta values ('terms_version', ?)", (str(version),))
        db.execute("commit")
    except BaseException:
        db.execute("rollback")
        raise


def put_vector(db: Connection, rowid: int, scope: int, seq: int, embedder: str, vector: bytes) -> None:
    """Store a memory's vector. The first one fixes the store's embedder and dimension."""
    _check_embedder(db, embedder, len(vector) // 4)
    db.execute(
        "insert or replace into vec_memories (memory, embedder, scope, seq, embedding)"
        " values (?, ?, ?, ?, ?)",
        (rowid, embedder, scope, seq, vector),
    )


def _check_embedder(db: Connection, embedder: str, dimension: int) -> None:
    known = dict(
        db.execute("select key, value from store_meta where key in ('embedder', 'dimension')").fetchall()
    )
    if not known:
        db.executemany(
            "insert into store_meta values (?, ?)", [("embedder", embedder), ("dimension", str(dimension))]
        )
    elif known["embedder"] != embedder:
        raise Conflict(
            f"the store's vectors are from {known['embedder']}, this one is from {embedder}",
            hint="one embedder serves a store; set the one it was made with",
            code="embedding_model_changed",
        )
    elif known["dimension"] != str(dimension):
        raise Conflict(
            f"the store's vectors have {known['dimension']} dimensions, this one has {dimension}",
            hint="one embedder serves a store; set the one it was made with",
            code="dimension_mismatch",
        )
