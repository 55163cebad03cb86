"""Reads the SQLite files of other memory systems, without changing them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nrem.errors import InputError
from nrem.store.driver import Connection, Error, Row, sqlite3


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The rows of a file's memories, and how many things of other sorts it has."""

    rows: tuple[dict[str, Any], ...]
    others: dict[str, int]


def read_initrunner(path: Path) -> Found:
    """Read a store of InitRunner; columns that an older one lacks are absent from its rows."""
    with _opened(path, "initrunner", {"id", "content", "created_at"}) as db:
        rows = _rows(db, "select * from memories order by id")
        others = {"session snapshots": _count(db, "sessions")}
        if _has(db, "memories_vec"):
            known = db.execute("select value from meta where key = 'dimensions'") if _has(db, "meta") else ()
            dimension = next((row[0] for row in known), 1536)
            others[f"vectors of {dimension} dimensions, in place of which new ones are made"] = len(rows)
        return Found(rows=rows, others=_present(others))


def read_nexo(path: Path) -> Found:
    """Read a store of nexo, with the memories of all agents in it."""
    with _opened(path, "nexo", {"id", "agent_id", "content", "tags", "created_at"}) as db:
        return Found(
            rows=_rows(db, "select * from memories order by created_at, id"),
            others=_present({table: _count(db, table) for table in _NEXO_TABLES}),
        )


_NEXO_TABLES = ("interactions", "reminders", "email_followups", "recall_events", "memory_promotions")


@contextmanager
def _opened(path: Path, system: str, columns: set[str]) -> Iterator[Connection]:
    if not path.is_file():
        raise InputError(f"there is no file {path}", hint="give the path of the database", field="file")
    try:
        # Nothing is written beside a database that nobody has open.
        closed = not path.with_name(path.name + "-wal").exists()
        how = "mode=ro&immutable=1" if closed else "mode=ro"
        db = sqlite3.connect(f"file:{quote(str(path.absolute()))}?{how}", uri=True)
        try:
            db.row_factory = Row
            missing = columns - {row["name"] for row in db.execute("pragma table_info(memories)")}
            if missing:
                raise InputError(
                    f"{path} is not a database of {system}: memories has no {', '.join(sorted(missing))}",
                    hint="check --from and the path",
                    field="file",
                )
            yield db
        finally:
            db.close()
    except Error as error:
        raise InputError(
            f"{path} cannot be read as an SQLite database: {error}",
            hint="give the database file itself, not an export or a folder",
            field="file",
        ) from error


def _rows(db: Connection, query: str) -> tuple[dict[str, Any], ...]:
    return tuple(dict(row) for row in db.execute(query))


def _has(db: Connection, table: str) -> bool:
    return db.execute("select 1 from sqlite_master where name = ?", (table,)).fetchone() is not None


def _count(db: Connection, table: str) -> int:
    return int(db.execute(f"select count(*) from {table}").fetchone()[0]) if _has(db, table) else 0


def _present(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}
