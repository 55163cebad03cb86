"""Commits that nobody asks for: some minutes after the last write, and when the daemon stops."""

from __future__ import annotations

import logging

from nrem.errors import NremError
from nrem.model import Scope
from nrem.runtime.app import App
from nrem.store import commits
from nrem.store.commits import Unpublished

RETRY_MILLIS = 300_000
STOP_MILLIS = 5_000
"""How long a stop waits for the commits of all agents; the next start looks after the rest."""

log = logging.getLogger("nrem.publisher")


class Publisher:
    """Looks now and then which agents have events that are not in git."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._not_before: dict[int, int] = {}

    def tick(self, now: int) -> None:
        """Commit for the agents that were idle for long enough, and for those without any commit.

        What a sweep of an earlier process has left to do comes first.
        """
        self._finish_sweeps(now)
        for pending in self._pending():
            scope = pending.scope
            if self._is_due(pending, now) and now >= self._not_before.get(scope.number, 0):
                self._not_before[scope.number] = now + RETRY_MILLIS
                if self._publish(scope, "idle"):
                    del self._not_before[scope.number]
        self._app.workspaces.tidy()

    def finish(self) -> None:
        """Commit what is left, before the daemon ends."""
        deadline = self._app.clock.now() + STOP_MILLIS
        for pending in self._pending():
            if self._app.clock.now() > deadline:
                log.warning("no time was left to commit the events of %s", pending.scope.name)
            else:
                self._publish(pending.scope, "shutdown")

    def _finish_sweeps(self, now: int) -> None:
        for scope in self._app.unfinished_sweeps():
            if now >= self._not_before.get(scope.number, 0):
                try:
                    self._app.finish_sweep(scope)
                except (NremError, OSError) as error:
                    self._not_before[scope.number] = now + RETRY_MILLIS
                    log.warning("the last sweep of %s is not published: %s", scope.name, error)

    def _pending(self) -> list[Unpublished]:
        with self._app.store.reading() as db:
            return commits.unpublished(db)

    def _is_due(self, pending: Unpublished, now: int) -> bool:
        minutes = self._app.settings(pending.scope).workspace.idle_minutes
        return pending.is_first or (minutes > 0 and now - pending.last_at >= minutes * 60_000)

    def _publish(self, scope: Scope, cause: str) -> bool:
        try:
            made = self._app.publish(scope, cause)
        except (NremError, OSError) as error:
            log.warning("the events of %s are not committed: %s", scope.name, error)
            return False
        for left in made.left_out:
            log.info("%s of %s is not committed: it %s", left.path, scope.name, left.reason)
        return True
