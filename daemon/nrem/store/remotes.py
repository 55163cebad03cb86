"""How far each workspace was pushed, and what became of the last try."""

from __future__ import annotations

from dataclasses import dataclass

from nrem.store.driver import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """A repository elsewhere, as it was found when it was last pushed to."""

    url: str
    commit: str | None
    """The last commit that it is known to have."""
    pushed_at: int | None
    tried_at: int
    failures: int
    """Tries since the last that went well."""
    error: str | None
    diverged: bool


def find(db: Connection, scope: int, url: str) -> Remote | None:
    """Return what is known of a scope's remote; None before the first try."""
    row = db.execute(
        "select url, commit_id, pushed_at, tried_at, failures, error, diverged from remotes"
        " where scope = ? and url = ?",
        (scope, url),
    ).fetchone()
    if row is None:
        return None
    return Remote(
        url=row[0],
        commit=row[1],
        pushed_at=row[2],
        tried_at=row[3],
        failures=row[4],
        error=row[5],
        diverged=bool(row[6]),
    )


def note(db: Connection, scope: int, remote: Remote) -> None:
    """Keep what became of a try."""
    db.execute(
        "insert or replace into remotes (scope, url, commit_id, pushed_at, tried_at, failures, error,"
        " diverged) values (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            scope, remote.url, remote.commit, remote.pushed_at, remote.tried_at, remote.failures,
            remote.error, remote.diverged,
        ),
    )  # fmt: skip


def ahead(db: Connection, scope: int, commit: str | None) -> int:
    """Return how many commits of a workspace came after one; all, when that is not known."""
    number: int = db.execute(
        "select count(*) from commits where scope = :scope and rowid >"
        " coalesce((select rowid from commits where scope = :scope and id = :commit), 0)",
        {"scope": scope, "commit": commit},
    ).fetchone()[0]
    return number
