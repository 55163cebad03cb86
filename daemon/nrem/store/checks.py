"""Questions that only doctor asks: whether the file, its rows and its indexes agree."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nrem.model import AgentConfig
from nrem.store import driver
from nrem.store.driver import Connection

MOST_PROBLEMS = 5


def vector_version() -> str:
    """Return the version of sqlite-vec; raise Unavailable when this SQLite cannot be used."""
    try:
        db = driver.connect(Path(":memory:"), read_only=True)
    except driver.Error as error:
        raise driver.translate(error) from error
    try:
        version: str = db.execute("select vec_version()").fetchone()[0]
        return version
    finally:
        db.close()


@contextmanager
def inspecting(path: Path) -> Iterator[Connection]:
    """Lend a connection inside one snapshot that also reads text which is not UTF-8 any more."""
    try:
        db = driver.connect(path, read_only=True)
        try:
            db.text_factory = lambda text: text.decode(errors="surrogateescape")
            db.execute("begin")
            yield db
        finally:
            db.close()
    except driver.Error as error:
        raise driver.translate(error) from error


def pages(db: Connection, *, deep: bool) -> list[str]:
    """Return what is wrong with the structure of the file; with `deep`, also of its indexes."""
    check = "integrity_check" if deep else "quick_check"
    found = [str(row[0]) for row in db.execute(f"pragma {check}({MOST_PROBLEMS})")]
    return [] if found == ["ok"] else found


def foreign_keys(db: Connection) -> list[str]:
    """Return the tables that have rows whose parent is missing."""
    return sorted({str(row[0]) for row in db.execute("pragma foreign_key_check")})


def indexed(db: Connection) -> tuple[int, int]:
    """Return how many memories the keyword index lacks, and how many of its entries have no memory."""
    lacks, orphans = db.execute(
        "select (select count(*) from memories where rowid not in (select id from memories_fts_docsize)),"
        " (select count(*) from memories_fts_docsize where id not in (select rowid from memories))"
    ).fetchone()
    return lacks, orphans


def count(db: Connection, scope: int) -> int:
    """Return how many memories of a scope there are, counted."""
    number: int = db.execute("select count(*) from memories where scope = ?", (scope,)).fetchone()[0]
    return number


def memory_seqs(db: Connection, scope: int) -> dict[str, int]:
    """Return the memories of a scope, each with the event that it was made by."""
    return {row[0]: row[1] for row in db.execute("select id, seq from memories where scope = ?", (scope,))}


def versions(db: Connection, scope: int) -> set[tuple[str, int, int]]:
    """Return the ended versions of a scope: whose, and the events that made and ended each."""
    rows = db.execute("select id, seq, ended_seq from memory_versions where scope = ?", (scope,))
    return {(row[0], row[1], row[2]) for row in rows}


def configs_by_events(db: Connection, scope: int) -> list[AgentConfig]:
    """Return the versions of an agent's configuration as its events tell them, newest first."""
    rows = db.execute(
        "select payload, actor, at from events where scope = ? and op = 'agent.config' order by seq desc",
        (scope,),
    )
    return [AgentConfig(**json.loads(row[0]), actor=row[1], at=row[2]) for row in rows]


def promoted_by_events(db: Connection, scope: int) -> set[str]:
    """Return the memories whose last promotion, by the events, has not ended."""
    rows = db.execute(
        "select subject from (select subject, op, max(seq) from events where scope = ?"
        " and op in ('promotion.promote', 'promotion.demote') group by subject)"
        " where op = 'promotion.promote'",
        (scope,),
    )
    return {row[0] for row in rows}


def unindexed(db: Connection, scope: int) -> list[str]:
    """Return the memories of a scope that the keyword index lacks."""
    rows = db.execute(
        "select id from memories where scope = ? and rowid not in (select id from memories_fts_docsize)"
        " order by rowid",
        (scope,),
    )
    return [row[0] for row in rows]


def odd_vectors(db: Connection, embedder: str, dimension: int) -> int:
    """Return how many vectors of an embedder have not the length that they should have."""
    number: int = db.execute(
        "select count(*) from vec_memories where embedder = ? and length(embedding) <> 4 * ?",
        (embedder, dimension),
    ).fetchone()[0]
    return number


def first_event(db: Connection) -> int | None:
    """Return when the store's oldest agent was added."""
    at: int | None = db.execute("select min(created_at) from scopes").fetchone()[0]
    return at
