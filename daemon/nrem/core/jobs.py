"""What is done in the background, and what could not be."""

from __future__ import annotations

import functools

from nrem.clock import Clock
from nrem.store import jobs
from nrem.store.database import Database
from nrem.wire import Job, Jobs, ListJobs


def list_(store: Database, request: ListJobs) -> Jobs:
    """Return jobs, the newest first."""
    with store.reading() as db:
        return Jobs(jobs=tuple(jobs.list_(db, state=request.state, limit=request.limit)))


def retry(store: Database, id: str, *, clock: Clock) -> Job:
    """Queue a dead job anew."""
    return store.write(functools.partial(jobs.retry, id=id, now=clock.now()))


def release(store: Database) -> None:
    """Queue what an earlier process had begun: whoever has the store's lock knows that it is dead."""
    with store.reading() as db:
        left = jobs.any_running(db)
    if left:
        store.write(jobs.release)


def waiting(store: Database, *, now: int) -> tuple[int, float]:
    """Return how many jobs are not done yet, and for how many seconds the first of them is due."""
    with store.reading() as db:
        counted, oldest = jobs.count(db), jobs.oldest_due(db)
    late = 0 if oldest is None else max(now - oldest, 0)
    return counted.get("queued", 0) + counted.get("running", 0), late / 1000
