"""The SQLite module, its connections, and the translation of its errors into ours."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlite_utils.utils import sqlite3 as sqlite3  # type: ignore[attr-defined]  # pysqlite3 if installed

from nrem.errors import Corrupt, NremError, Unavailable

Connection = sqlite3.Connection
Error = sqlite3.Error
Row = sqlite3.Row

OLDEST = (3, 51, 3)
VERSION: tuple[int, ...] = sqlite3.sqlite_version_info

_PRAGMAS = """
pragma foreign_keys = on;
pragma synchronous = full;
pragma wal_autocheckpoint = 0;
pragma trusted_schema = off;
pragma cell_size_check = on;
pragma busy_timeout = 5000;
pragma cache_size = -32768;
"""


def connect(path: Path, *, read_only: bool, fresh: bool = False) -> Connection:
    """Open one connection to the store, able to compute vector distances. `fresh` makes a new file."""
    db: Connection = sqlite3.connect(
        str(path), isolation_level=None, check_same_thread=False, cached_statements=256
    )
    try:
        _load_vectors(db)
        if fresh:  # works only before the first table; later it would just want the write lock
            db.execute("pragma auto_vacuum = incremental")
        db.execute("pragma journal_mode = wal")
        db.execute("pragma secure_delete = on")
        db.executescript(_PRAGMAS)
        if read_only:
            db.execute("pragma query_only = on")
        db.row_factory = sqlite3.Row
        db.create_function("json_contains", 2, _json_contains, deterministic=True)
    except UnicodeDecodeError as error:  # SQLite's own message repeats a piece of a damaged schema
        db.close()
        raise sqlite3.DatabaseError("the schema is damaged") from error
    except BaseException:
        db.close()
        raise
    return db


def connect_copy(path: Path) -> Connection:
    """Open a file that nothing writes to, only for reading, and leave no other file beside it."""
    db: Connection = sqlite3.connect(f"file:{quote(str(path))}?immutable=1", uri=True, isolation_level=None)
    db.row_factory = sqlite3.Row
    return db


def _load_vectors(db: Connection) -> None:
    if sqlite3.sqlite_version_info < OLDEST:
        raise Unavailable(
            f"SQLite {sqlite3.sqlite_version} can corrupt a store (a bug in its WAL, mended in 3.51.3)",
            hint="install the pysqlite3 package, or a Python with a newer SQLite",
            code="sqlite_too_old",
        )
    if not hasattr(db, "enable_load_extension"):
        raise Unavailable(
            "this Python's SQLite cannot load extensions, so vectors cannot be searched",
            hint="install the pysqlite3 package, or a Python built with extension loading",
            code="no_vectors",
        )
    # Found, not imported: importing sqlite_vec would pull in numpy.
    spec = importlib.util.find_spec("sqlite_vec")
    if spec is None or spec.origin is None:
        raise Unavailable(
            "sqlite-vec is not installed", hint="pip install sqlite-vec==0.1.9", code="no_vectors"
        )
    db.enable_load_extension(True)
    db.load_extension(str(Path(spec.origin).with_name("vec0")))
    db.enable_load_extension(False)


def _json_contains(document: str | None, pattern: str) -> bool:
    return document is not None and contains(json.loads(document), json.loads(pattern))


def contains(value: Any, wanted: Any) -> bool:
    """Tell whether a JSON value holds everything a pattern asks for, as PostgreSQL's @> does."""
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all(
            key in value and contains(value[key], part) for key, part in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(value, list) and all(any(contains(v, part) for v in value) for part in wanted)
    # True == 1 in Python; in JSON they differ.
    return isinstance(value, bool) == isinstance(wanted, bool) and bool(value == wanted)


def translate(error: Error) -> NremError:
    """Return the error of ours that says what to do about one of SQLite's."""
    name: str = getattr(error, "sqlite_errorname", None) or ""
    if name == "SQLITE_FULL":
        return Unavailable(
            "the disk is full: nothing was written",
            hint="free some space, then try again",
            code="storage_full",
        )
    if name.startswith("SQLITE_IOERR") or name.startswith("SQLITE_READONLY") or name == "SQLITE_CANTOPEN":
        return Unavailable(
            f"the store's file cannot be written or read ({name})",
            hint="check the disk, the mount and the permissions of NREM_HOME",
            code="storage_failed",
        )
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return Unavailable("the store is busy", hint="try again", code="storage_busy")
    if name.startswith("SQLITE_CORRUPT") or name == "SQLITE_NOTADB":
        return Corrupt(
            f"the store's file is damaged ({name})", hint="restore a backup; nothing is repaired by itself"
        )
    return Corrupt(f"the store refused an operation: {error}", code="storage_error")
