"""Pushes that nobody waits for: some seconds after a commit, and again when the remote did not take it."""

from __future__ import annotations

import logging
import threading

from nrem.core.push import push
from nrem.errors import NremError
from nrem.runtime.app import App
from nrem.store import scopes

log = logging.getLogger("nrem.pusher")


class Pusher:
    """Looks now and then which agents have commits that their remote lacks."""

    def __init__(self, app: App, stop: threading.Event) -> None:
        self._app = app
        self._stop = stop

    def tick(self, now: int) -> None:
        """Push for the agents for which it is time to."""
        with self._app.store.reading() as db:
            known = [scope for scope, _ in scopes.list_(db)]
        for scope in known:
            if self._stop.is_set():
                return
            try:
                settings = self._app.settings(scope)
                found = push(self._app.store, self._app.workspaces.of(scope), settings, scope, now=now)
            except NremError as error:  # it was removed meanwhile
                log.info("the commits of %s are not pushed: %s", scope.name, error.message)
                continue
            if found is not None and found.error is not None:
                log.warning("the commits of %s are not pushed: %s", scope.name, found.error)
