"""The schema, as a list of steps that is only ever added to."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import sqlite_utils
from sqlite_utils import Migrations

from nrem.clock import Clock
from nrem.errors import Corrupt
from nrem.policy import terms
from nrem.store import backup, driver, reindex, schema, schema_changes

steps = Migrations("nrem")


def migrate(path: Path, clock: Clock) -> None:
    """Bring a store to the newest schema, after a backup; a store that has it already stays as it is."""
    # Made here with its mode, which SQLite gives to the files beside it too.
    os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    fresh = path.stat().st_size == 0
    db = driver.connect(path, read_only=False, fresh=fresh)
    try:
        admin = sqlite_utils.Database(db, execute_plugins=False)
        refuse_newer(step.name for step in steps.applied(admin))
        pending = steps.pending(admin)
        if pending:
            if not fresh:
                backup.create(path, clock, origin="before-migration")
            steps.apply(admin)
        reindex.keep_current(db)
    finally:
        db.close()


def refuse_newer(applied: Iterable[str]) -> None:
    """Raise Corrupt when a store has a step that this nrem does not know."""
    known = {step.name for step in steps._migrations}
    newer = [name for name in applied if name not in known]
    if newer:
        raise Corrupt(
            f"the store was written by a newer nrem (it has {newer[-1]})",
            hint="install that version again, or restore the backup that it made before it migrated",
            code="schema_too_new",
        )


def version() -> int:
    """Return how many steps this nrem's schema has."""
    return len(steps._migrations)


def is_current(applied: Iterable[str]) -> bool:
    """Tell whether a store has every step that there is."""
    return {step.name for step in steps._migrations} <= set(applied)


@steps()
def m001_memories(db: sqlite_utils.Database) -> None:
    _run(db, schema.M001)


@steps()
def m002_recalls(db: sqlite_utils.Database) -> None:
    _run(db, schema.M002)


@steps()
def m003_tokens(db: sqlite_utils.Database) -> None:
    _run(db, schema.M003)


@steps()
def m004_commits(db: sqlite_utils.Database) -> None:
    _run(db, schema.M004)


@steps()
def m005_past(db: sqlite_utils.Database) -> None:
    _run(db, schema_changes.M005)


@steps()
def m006_erasures(db: sqlite_utils.Database) -> None:
    _run(db, schema_changes.M006)


@steps()
def m007_signals(db: sqlite_utils.Database) -> None:
    _run(db, schema_changes.M007)
    for row in db.conn.execute("select rowid, query from recalls").fetchall():
        key = terms.question_key(terms.for_query(row[1]), row[1])
        db.conn.execute("update recalls set question = ? where rowid = ?", (key, row[0]))
    db.conn.execute(
        "update recall_events set day = ts_ms / 86400000, question = (select question from recalls r"
        " where r.scope = recall_events.scope and r.id = recall_events.recall_id)"
    )


@steps()
def m008_recalls_in_git(db: sqlite_utils.Database) -> None:
    _run(db, schema_changes.M008)


@steps()
def m009_jobs(db: sqlite_utils.Database) -> None:
    _run(db, schema_changes.M009)


@steps()
def m010_dreams(db: sqlite_utils.Database) -> None:
    _run(db, schema_changes.M010)


@steps()
def m011_model_calls(db: sqlite_utils.Database) -> None:
    _run(db, schema_changes.M011)


@steps()
def m012_model_lines(db: sqlite_utils.Database) -> None:
    _run(db, schema_changes.M012)


@steps()
def m013_superseded(db: sqlite_utils.Database) -> None:
    _run(db, schema_changes.M013)


@steps()
def m014_keyword_index(db: sqlite_utils.Database) -> None:
    """It joins segments when two are of a size (search.join_step), and lists terms (search.every)."""
    _run(db, schema_changes.M014)


@steps()
def m015_every_missing_vector_is_pending(db: sqlite_utils.Database) -> None:
    _run(db, schema_changes.M015)


@steps()
def m016_sweep_failures(db: sqlite_utils.Database) -> None:
    _run(db, schema_changes.M016)


@steps()
def m017_jobs_first_due(db: sqlite_utils.Database) -> None:
    """A job that has to wait is due later and later."""
    _run(db, schema_changes.M017)


def _run(db: sqlite_utils.Database, statements: str) -> None:
    for statement in statements.split(";\n\n"):
        db.conn.execute(statement)
