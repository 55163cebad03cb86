"""What is to be done in the background: a queue that survives, with leases.

Whoever claims a job gets a fence, a number that grows with every claim. When a lease runs out, another may
claim the job; what the first one still says of it has an old fence, and is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from nrem.errors import Conflict, NotFound
from nrem.policy.backoff import backoff
from nrem.store.driver import Connection
from nrem.wire import Job

MOST_ATTEMPTS = 8
KEPT_MILLIS = 30 * 86_400_000
"""How long one knows of a job that is done."""
TIDY_STEP = 500

_DUE = (
    "kind in (select value from json_each(:kinds)) and"
    " (state = 'queued' and due_at <= :now or state = 'running' and lease_until <= :tick)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A job in somebody's hands."""

    id: str
    kind: str
    scope: int
    agent: str
    key: str
    payload: dict[str, Any]
    fence: int
    attempts: int
    created_at: int
    taken_over: bool
    """Another one had it, and its lease ran out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class New:
    """A job to be done: what, for whom, and when. A key tells it from others of its kind."""

    id: str
    kind: str
    scope: int
    key: str = ""
    payload: Mapping[str, Any] | None = None
    due_at: int


def enqueue(db: Connection, job: New, *, now: int) -> bool:
    """Add a job; False when one of the same kind, scope and key waits or runs, or the scope was removed."""
    added: int = db.execute(
        "insert or ignore into jobs (id, kind, scope, key, payload, state, due_at, first_due_at, created_at)"
        " select :id, :kind, scope, :key, :payload, 'queued', :due_at, :due_at, :now from scopes"
        " where scope = :scope and removed_at is null",
        {
            "id": job.id,
            "kind": job.kind,
            "scope": job.scope,
            "key": job.key,
            "payload": json.dumps(job.payload or {}),
            "due_at": job.due_at,
            "now": now,
        },
    ).rowcount
    return added > 0


def claim(db: Connection, kinds: Iterable[str], *, now: int, tick: int, ttl: int) -> Claim | None:
    """Take the job that is due longest, for ttl milliseconds of `tick`; None when none is due.

    A lease is counted in ticks of a clock that is never set, so that setting the machine's ends none. A job
    that was claimed too often without an end (it may kill whoever does it) is dead.
    """
    while True:
        row = db.execute(
            "select j.id, kind, j.scope, s.name, key, payload, fence, attempts, j.created_at, state"
            " from jobs j join scopes s on s.scope = j.scope and s.removed_at is null"
            f" where {_DUE} order by due_at, j.rowid limit 1",
            {"kinds": json.dumps(list(kinds)), "now": now, "tick": tick},
        ).fetchone()
        if row is None:
            return None
        if row["attempts"] >= MOST_ATTEMPTS:
            _bury(db, row["id"], "it was begun again and again, and never ended", now=now)
            continue
        db.execute(
            "update jobs set state = 'running', fence = fence + 1, attempts = attempts + 1, lease_until = ?"
            " where id = ?",
            (tick + ttl, row["id"]),
        )
        return Claim(
            id=row["id"],
            kind=row["kind"],
            scope=row["scope"],
            agent=row["name"],
            key=row["key"],
            payload=json.loads(row["payload"]),
            fence=row["fence"] + 1,
            attempts=row["attempts"] + 1,
            created_at=row["created_at"],
            taken_over=row["state"] == "running",
        )


def hold(db: Connection, claim: Claim) -> None:
    """Raise Conflict unless the job is still in these hands: for what must not be written by two."""
    held = db.execute(
        "select 1 from jobs where id = ? and fence = ? and state = 'running'", (claim.id, claim.fence)
    ).fetchone()
    if held is None:
        raise Conflict(
            f"job {claim.id} was taken over", hint="its new owner goes on with it", code="job_taken_over"
        )


def renew(db: Connection, claim: Claim, *, tick: int, ttl: int) -> None:
    """Keep a job for longer; Conflict when it was taken over."""
    hold(db, claim)
    db.execute("update jobs set lease_until = ? where id = ?", (tick + ttl, claim.id))


def finish(db: Connection, claim: Claim, *, now: int) -> None:
    """Note that a job is done; Conflict when it was taken over."""
    hold(db, claim)
    db.execute(
        "update jobs set state = 'done', lease_until = null, last_error = null, finished_at = ? where id = ?",
        (now, claim.id),
    )


def postpone(db: Connection, claim: Claim, due_at: int) -> None:
    """Put a job back until later, as if it had not been claimed; Conflict when it was taken over."""
    hold(db, claim)
    db.execute(
        "update jobs set state = 'queued', lease_until = null, attempts = attempts - 1, due_at = ?"
        " where id = ?",
        (due_at, claim.id),
    )


def fail(db: Connection, claim: Claim, error: str, *, now: int) -> bool:
    """Note that a job failed, to be tried later; False when it is dead. Conflict when it was taken over."""
    hold(db, claim)
    if claim.attempts >= MOST_ATTEMPTS:
        _bury(db, claim.id, error, now=now)
        return False
    db.execute(
        "update jobs set state = 'queued', lease_until = null, last_error = ?, due_at = ? where id = ?",
        (error, now + backoff(claim.attempts), claim.id),
    )
    return True


def retry(db: Connection, id: str, *, now: int) -> Job:
    """Queue a dead job anew; NotFound when there is none, Conflict when it is not dead or is there again."""
    found = _list(db, "where j.id = ?", (id,))
    if not found:
        raise NotFound(f"there is no job {id}", hint="nrem jobs list", code="job_not_found")
    if found[0].state != "dead":
        raise Conflict(f"job {id} is {found[0].state}", hint="only a dead job can be tried again")
    changed = db.execute(
        "update or ignore jobs set state = 'queued', attempts = 0, due_at = :now, first_due_at = :now,"
        " finished_at = null where id = :id",
        {"now": now, "id": id},
    ).rowcount
    if not changed:
        raise Conflict(f"another job does what {id} was to do", hint="nrem jobs list")
    return _list(db, "where j.id = ?", (id,))[0]


def release(db: Connection) -> int:
    """Queue what an earlier process had claimed: whoever opens the store knows that it is dead."""
    released: int = db.execute(
        "update jobs set state = 'queued', lease_until = null where state = 'running'"
    ).rowcount
    return released


def any_running(db: Connection) -> bool:
    return db.execute("select 1 from jobs where state = 'running' limit 1").fetchone() is not None


def any_due(db: Connection, kinds: Iterable[str], *, now: int, tick: int) -> bool:
    """Tell whether a claim may find something, without a write."""
    row = db.execute(
        f"select 1 from jobs where {_DUE} limit 1",
        {"kinds": json.dumps(list(kinds)), "now": now, "tick": tick},
    ).fetchone()
    return row is not None


def next_due(db: Connection, kinds: Iterable[str]) -> int | None:
    """Return when the first of the jobs that wait is due."""
    at: int | None = db.execute(
        "select min(due_at) from jobs where state = 'queued' and kind in (select value from json_each(?))",
        (json.dumps(list(kinds)),),
    ).fetchone()[0]
    return at


def list_(db: Connection, *, state: str | None, limit: int) -> list[Job]:
    """Return jobs, the newest first."""
    return _list(
        db, "where :state is null or state = :state order by j.rowid desc limit :limit",
        {"state": state, "limit": limit},
    )  # fmt: skip


def count(db: Connection) -> dict[str, int]:
    """Return how many jobs there are in each state."""
    return {row[0]: row[1] for row in db.execute("select state, count(*) from jobs group by state")}


def oldest_due(db: Connection) -> int | None:
    """Return when the job that waits longest was first due."""
    at: int | None = db.execute(
        "select min(first_due_at) from jobs where state in ('queued', 'running')"
    ).fetchone()[0]
    return at


def postponed_since(db: Connection, scope: int, kind: str) -> int | None:
    """Return when a scope's job was first due that was put back until later; None when there is none."""
    at: int | None = db.execute(
        "select min(first_due_at) from jobs where scope = ? and kind = ? and state = 'queued'"
        " and attempts = 0 and due_at > first_due_at",
        (scope, kind),
    ).fetchone()[0]
    return at


def any_old(db: Connection, *, now: int) -> bool:
    """Tell whether tidy would find something, without a write."""
    row = db.execute(
        "select 1 from jobs where state = 'done' and finished_at < ? limit 1", (now - KEPT_MILLIS,)
    ).fetchone()
    return row is not None


def tidy(db: Connection, *, now: int) -> int:
    """Forget some jobs that were done long ago; return how many."""
    forgotten: int = db.execute(
        "delete from jobs where rowid in (select rowid from jobs where state = 'done' and finished_at < ?"
        " limit ?)",
        (now - KEPT_MILLIS, TIDY_STEP),
    ).rowcount
    return forgotten


# Schedules


def slots(db: Connection) -> dict[tuple[int, str], int]:
    """Return the last slot that was looked at, for each scope and kind that is on a schedule."""
    return {(row[0], row[1]): row[2] for row in db.execute("select scope, kind, slot from schedules")}


def set_slot(db: Connection, scope: int, kind: str, slot: int) -> None:
    """Note the last slot that was looked at, unless the scope was removed."""
    db.execute(
        "insert or replace into schedules (scope, kind, slot)"
        " select scope, ?, ? from scopes where scope = ? and removed_at is null",
        (kind, slot, scope),
    )


def drop_slot(db: Connection, scope: int, kind: str) -> None:
    db.execute("delete from schedules where scope = ? and kind = ?", (scope, kind))


def enqueue_slot(db: Connection, job: New, *, now: int) -> bool:
    """Add the job of a slot, unless it ever had one, or an earlier slot's still waits and stands for it.

    So a clock that is set back brings none again, and what cannot be done for days does not pile up.
    """
    known = db.execute(
        "select 1 from jobs where kind = ? and scope = ? and (key = ? or state in ('queued', 'running'))",
        (job.kind, job.scope, job.key),
    ).fetchone()
    return known is None and enqueue(db, job, now=now)


def _bury(db: Connection, id: str, error: str, *, now: int) -> None:
    db.execute(
        "update jobs set state = 'dead', lease_until = null, last_error = ?, finished_at = ? where id = ?",
        (error, now, id),
    )


def _list(db: Connection, where: str, given: Any) -> list[Job]:
    rows = db.execute(
        "select j.id, kind, s.name, key, state, due_at, attempts, last_error, j.created_at, finished_at"
        f" from jobs j join scopes s on s.scope = j.scope {where}",
        given,
    )
    return [
        Job(
            id=row[0],
            kind=row[1],
            agent=row[2],
            key=row[3],
            state=row[4],
            due_at=row[5],
            attempts=row[6],
            last_error=row[7],
            created_at=row[8],
            finished_at=row[9],
        )
        for row in rows
    ]
