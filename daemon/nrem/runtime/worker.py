"""Does the jobs that are due, one at a time in each thread."""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections.abc import Callable, Mapping

from nrem.errors import Conflict, NremError
from nrem.runtime.app import App
from nrem.runtime.kinds import JobKind, Work
from nrem.store import jobs
from nrem.store.jobs import Claim

LEASE_MILLIS = 15 * 60_000
"""How long a job is left alone that gives no sign; one that takes longer renews its lease."""
LONGEST_SLEEP = 30.0

log = logging.getLogger("nrem.worker")


class Worker:
    """Claims jobs and runs them; several threads may live in one."""

    def __init__(
        self, app: App, kinds: Mapping[str, JobKind], *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._kinds = kinds
        self._monotonic = monotonic
        self._changed = threading.Condition()
        self._wakes = 0
        self._stopping = False

    def live(self) -> None:
        """Do what is due until told to stop."""
        while not self._stopping:
            seen = self._wakes
            try:
                if self.run_one():
                    continue
                patience = self._patience()
            except NremError as error:  # the store does not answer; it may later
                log.warning("no job can be claimed: %s", error.message)
                patience = LONGEST_SLEEP
            with self._changed:
                self._changed.wait_for(lambda: self._stopping or self._wakes != seen, patience)  # noqa: B023

    def wake(self) -> None:
        """Let threads that sleep look for jobs."""
        with self._changed:
            self._wakes += 1
            self._changed.notify_all()

    def stop(self) -> None:
        """Claim nothing more; what was begun is ended."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def run_one(self) -> bool:
        """Claim a job and do it; False when none is due."""
        now, tick = self._app.clock.now(), self._tick()
        with self._app.store.reading() as db:
            if not jobs.any_due(db, self._kinds, now=now, tick=tick):
                return False
        claim = self._app.store.write(
            functools.partial(jobs.claim, kinds=self._kinds, now=now, tick=tick, ttl=LEASE_MILLIS)
        )
        if claim is None:
            return False
        if claim.taken_over:
            log.warning("job %s (%s of %s) was taken over", claim.id, claim.kind, claim.agent)
        self._app.tally.claimed(taken_over=claim.taken_over)
        self._app.tally.ended(claim.kind, self._do(claim))
        return True

    def _do(self, claim: Claim) -> str:
        """Do a job and note how it ended; return that in a word."""
        try:
            work = Work(
                claim=claim,
                scope=self._app.scope(claim.agent),
                renew=functools.partial(self._renew, claim),
            )
            later = self._kinds[claim.kind].run(self._app, work)
            if later is not None:
                self._app.store.write(lambda db: jobs.postpone(db, claim, later))
                return "postponed"
            self._app.store.write(lambda db: jobs.finish(db, claim, now=self._app.clock.now()))
        except Exception as error:  # the loop goes on, whatever a job does
            if isinstance(error, Conflict) and error.code == "job_taken_over":
                log.warning("job %s (%s of %s): its late end is refused", claim.id, claim.kind, claim.agent)
                return "late"
            log.exception("job %s (%s of %s) failed", claim.id, claim.kind, claim.agent)
            return self._failed(claim, error)
        return "done"

    def _failed(self, claim: Claim, error: Exception) -> str:
        # What another error says may hold text of memories.
        reason = error.message if isinstance(error, NremError) else f"{type(error).__name__}; the log has it"
        try:
            again = self._app.store.write(lambda db: jobs.fail(db, claim, reason, now=self._app.clock.now()))
        except NremError as problem:  # its lease will run out, and it is begun anew
            log.warning("job %s: its failure is not noted: %s", claim.id, problem.message)
            return "failed"
        return "failed" if again else "dead"

    def _renew(self, claim: Claim) -> None:
        tick = self._tick()
        self._app.store.write(lambda db: jobs.renew(db, claim, tick=tick, ttl=LEASE_MILLIS))

    def _tick(self) -> int:
        return int(self._monotonic() * 1000)

    def _patience(self) -> float:
        """Return the seconds to the next job that waits, at most LONGEST_SLEEP."""
        with self._app.store.reading() as db:
            due = jobs.next_due(db, self._kinds)
        if due is None:
            return LONGEST_SLEEP
        return min(max(due - self._app.clock.now(), 0) / 1000, LONGEST_SLEEP)
