"""The kinds of jobs: what each does, and when it is done without being asked for. One row adds a kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nrem.config import Config
from nrem.core.prune import prune
from nrem.model import Scope
from nrem.policy.schedule import Cron, Schedule
from nrem.runtime.app import App
from nrem.store.jobs import Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A job that is being done."""

    claim: Claim
    scope: Scope
    renew: Callable[[], None]
    """Keeps the job for longer; raises Conflict when another one has it now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind:
    run: Callable[[App, Work], None]
    """Does it, and does it again without harm: a job can be begun more than once."""
    schedule: Callable[[Config], Schedule | None] = lambda settings: None
    """When it is due for an agent with these settings."""


def _prune(app: App, work: Work) -> None:
    prune(app.store, app.settings(work.scope), work.scope, days=None, now=app.clock.now())


KINDS: Mapping[str, JobKind] = {
    "prune": JobKind(
        run=_prune, schedule=lambda settings: Cron(expression="40 3 * * *", zone=settings.time.zone)
    ),
}
