"""Looks at the clock and queues what is due. It does none of it."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from nrem.model import Scope
from nrem.policy import schedule
from nrem.runtime.app import App
from nrem.runtime.kinds import JobKind
from nrem.store import jobs, scopes
from nrem.store.driver import Connection

LONGEST_SLEEP = 30_000
"""However far the next slot is: the clock may be set, and the machine may sleep."""


class Scheduler:
    """Queues a job for each slot of each agent's schedules, once, whatever the clock does."""

    def __init__(self, app: App, kinds: Mapping[str, JobKind]) -> None:
        self._app = app
        self._kinds = kinds

    def tick(self, now: int) -> int:
        """Queue what has become due, and return how many milliseconds may pass until the next look."""
        with self._app.store.reading() as db:
            known = jobs.slots(db)
            agents = [scope for scope, _ in scopes.list_(db)]
            any_old = jobs.any_old(db, now=now)
        wait = LONGEST_SLEEP
        for scope in agents:
            for kind, how in self._kinds.items():
                planned = how.schedule(self._app.settings(scope))
                last = known.get((scope.number, kind))
                if planned is not None:
                    wait = min(wait, self._look(scope, kind, planned, last, now))
                elif last is not None:  # what was switched off begins anew when it is on again
                    self._app.store.write(functools.partial(jobs.drop_slot, scope=scope.number, kind=kind))
        if any_old:
            self._app.store.write(lambda db: jobs.tidy(db, now=now))
        return max(wait, 0)

    def _look(self, scope: Scope, kind: str, planned: schedule.Schedule, last: int | None, now: int) -> int:
        if last is None or last > now:  # it is new; or the clock was ahead, and must not hold all up
            self._app.store.write(lambda db: jobs.set_slot(db, scope.number, kind, now))
            return schedule.next_slot(planned, now) - now
        upcoming = schedule.next_slot(planned, last)
        latest = schedule.latest_slot(planned, last, now) if upcoming <= now else None
        if latest is None:
            return upcoming - now
        slot, id = schedule.due(planned, last, now), self._app.clock.new_id()

        def write(db: Connection) -> None:
            if slot is not None:
                job = jobs.New(id=id, kind=kind, scope=scope.number, key=str(slot), due_at=slot)
                jobs.enqueue_slot(db, job, now=now)
            jobs.set_slot(db, scope.number, kind, latest)

        self._app.store.write(write)
        return schedule.next_slot(planned, latest) - now
