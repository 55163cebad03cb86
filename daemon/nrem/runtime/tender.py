"""Makes the vectors that are missing, and sees to it that the log tells how the embedder does."""

from __future__ import annotations

import logging
import threading

from nrem.core import embedder, reembed
from nrem.errors import NremError
from nrem.models.embeddings import PATIENT, Embedder, hurried
from nrem.runtime.app import App

log = logging.getLogger("nrem.vectors")


class Tender:
    """Looks after the embedder that serves, one turn at a time."""

    def __init__(self, app: App, stop: threading.Event) -> None:
        self._app = app
        self._stop = stop
        self._checked: Embedder | None = None
        self._told: str | None = None

    def tick(self) -> None:
        """Ask an embedder on a server that is new or failed; tell when that changed; make what is missing."""
        serving = self._app.serving_embedder()
        if serving is None:
            return
        if serving.remote and (serving is not self._checked or serving.problem is not None):
            self._check(serving)
            self._checked = serving
        self._tell(serving)
        try:
            while not self._stop.is_set() and reembed.backfill(self._app.store, serving):
                pass
        except NremError:
            self._tell(serving)

    def _check(self, serving: Embedder) -> None:
        hasty = hurried(self._app.config.memory.embeddings)
        embedder.check(serving, hasty)
        if serving.problem is not None:
            self._tell(serving)
            embedder.check(serving, PATIENT)  # a server may have to load its model first
            embedder.check(serving, hasty)  # only one that is fast enough for a recall serves

    def _tell(self, serving: Embedder) -> None:
        if self._stop.is_set():  # the store may be closed by now
            return
        problem = embedder.trouble(self._app.store, serving)
        if problem is not None and self._told is None:
            log.warning("recall goes by words, because %s does not serve: %s", serving.identity, problem)
        elif problem is None and self._told is not None:
            log.info("%s serves again", serving.identity)
        self._told = problem
