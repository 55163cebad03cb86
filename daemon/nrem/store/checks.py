"""Questions that only doctor asks: whether the file, its rows and its indexes agree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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


def live(db: Connection, scope: int) -> tuple[int, int]:
    """Return how many memories a scope has, and how many it has by its events."""
    rows, by_events = db.execute(
        "select (select count(*) from memories where scope = :scope),"
        " (select count(*) from (select op, max(seq) from events"
        " where scope = :scope and substr(op, 1, 7) = 'memory.' group by subject)"
        " where op <> 'memory.forget')",
        {"scope": scope},
    ).fetchone()
    return rows, by_events


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
