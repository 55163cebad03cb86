"""The kinds of jobs: what each does, and when it is done without being asked for. One row adds a kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nrem.core.prune import prune
from nrem.model import Caller, Scope
from nrem.policy.schedule import Cron, Missed, Schedule
from nrem.runtime.app import App
from nrem.sections import Config
from nrem.store import sweeps
from nrem.store.jobs import Claim

MINUTE = 60_000
LONGEST_WAIT = 6 * 60 * MINUTE
"""How long a queued sweep waits for an agent that writes all the time; then it sweeps beside its work."""
SCHEDULE = Caller(actor="nrem", ingress="schedule")


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A job that is being done."""

    claim: Claim
    scope: Scope
    renew: Callable[[], None]
    """Keeps the job for longer; raises Conflict when another one has it now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind:
    run: Callable[[App, Work], int | None]
    """Does it, and does it again without harm: a job can be begun more than once.

    Returns when to come again, if this is not the time for it.
    """
    schedule: Callable[[Config], Schedule | None] = lambda settings: None
    """When it is due for an agent with these settings."""


def _dream(app: App, work: Work) -> int | None:
    idle = app.settings(work.scope).dream.idle_minutes * MINUTE
    with app.store.reading() as db:
        _, written_at = sweeps.newest_write(db, work.scope.number)
    begins_at = min(written_at + idle, work.claim.created_at + LONGEST_WAIT)
    if app.clock.now() < begins_at:
        return begins_at
    app.dream(work.scope, caller=SCHEDULE)
    return None


def _nightly(settings: Config) -> Schedule | None:
    """Return when a sweep begins by itself, if it does."""
    if settings.dream.mode == "off" or settings.dream.at == "never":
        return None
    hour, minute = settings.dream.at.split(":")
    expression = f"{int(minute)} {int(hour)} * * *"
    return Cron(expression=expression, zone=settings.time.zone, missed=Missed(settings.dream.missed))


def _prune(app: App, work: Work) -> None:
    prune(app.store, app.settings(work.scope), work.scope, days=None, now=app.clock.now())


KINDS: Mapping[str, JobKind] = {
    "dream": JobKind(run=_dream, schedule=_nightly),
    "prune": JobKind(
        run=_prune, schedule=lambda settings: Cron(expression="40 3 * * *", zone=settings.time.zone)
    ),
}
