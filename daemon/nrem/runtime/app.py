"""The composition root: what an operation needs, opened once and closed together."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from nrem.clock import Clock, SystemClock
from nrem.config import Source
from nrem.core import agents, erase, jobs
from nrem.core.dream import dream
from nrem.core.dreamer import Dreamer
from nrem.core.finish_sweep import finish_sweep
from nrem.core.publish import Reason, publish
from nrem.core.tokens import Doorkeeper
from nrem.core.workspaces import Workspaces
from nrem.model import Caller, Scope
from nrem.models import chat, embeddings, transport
from nrem.models.chat import Chat
from nrem.models.embeddings import Embedder
from nrem.sections import Config
from nrem.store import scopes, sweeps, vectors
from nrem.store.database import Database, open_database
from nrem.store.vectors import EmbeddingModelChanged
from nrem.wire import CheckpointMade, Dreamed, Job

T = TypeVar("T")

WARM_ROWS = 5000
"""A recall over more rows than this is not done on the event loop."""

log = logging.getLogger("nrem.app")


class Tally:
    """How jobs and sweeps ended since this process began."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.results: Counter[tuple[str, str]] = Counter()
        self.takeovers = 0
        self.sweeps: Counter[str] = Counter()
        self.sweep_seconds = 0.0

    def claimed(self, *, taken_over: bool) -> None:
        with self._lock:
            self.takeovers += taken_over

    def ended(self, kind: str, result: str) -> None:
        with self._lock:
            self.results[kind, result] += 1

    def swept(self, result: str, seconds: float) -> None:
        with self._lock:
            self.sweeps[result] += 1
            self.sweep_seconds += seconds


class App:
    """An open store with its clock, embedder and settings."""

    def __init__(
        self,
        source: Source,
        store: Database,
        clock: Clock,
        embedder: Embedder | None,
        workspaces: Workspaces,
        chat_model: Chat | None,
    ) -> None:
        self.home = source.home
        self.config = source.load()
        self._source = source
        self.store = store
        self.clock = clock
        self.embedder = embedder
        self.chat = chat_model
        self.workspaces = workspaces
        self.doorkeeper = Doorkeeper(store, clock)
        self.tally = Tally()
        self.on_job: Callable[[], None] = lambda: None  # whoever does jobs is told of one that cannot wait
        self._settings: dict[int, Config] = {}
        self._settings_changes = 0
        self._scopes: dict[str, Scope] = {}
        self._serving: Embedder | None = None
        self._old: Embedder | None = None
        self._replaced: list[Embedder | Chat | None] = []

    @classmethod
    def open(
        cls,
        home: Path,
        *,
        create: bool = False,
        wait: float = 0.0,
        clock: Clock | None = None,
        embedder: Embedder | None = None,
        flags: Mapping[str, object] | None = None,
    ) -> App:
        """Open the store of a home, and finish what an earlier process began."""
        source = Source.read(home, flags or {})
        settings = source.load()  # a wrong one stops here, before the store is touched
        embedder = embedder or embeddings.choose(settings)
        chat_model = chat.choose(settings.chat)
        clock = clock or SystemClock()
        store = open_database(home, clock, create=create, wait=wait)
        workspaces = Workspaces(home)
        workspaces.clear_arriving()
        jobs.release(store)
        agents.finish_removals(store, workspaces)
        for problem in erase.finish(store, workspaces, clock=clock):
            log.warning("an erasure is not finished: %s", problem.message)
        agents.make_workspaces(store, workspaces)
        store.write(sweeps.release)
        return cls(source, store, clock, embedder, workspaces, chat_model)

    def reload(self) -> None:
        """Read the configuration again; a wrong one raises, and the old one stays.

        An embedder that changes serves after `nrem reembed`; what the daemon listens on, after a restart.
        """
        source = Source.read(self.home, self._source.flags)
        settings = source.load()
        with self.store.reading() as db:
            for scope, _ in scopes.list_(db):
                source.load(scopes.config(db, scope.number))
        if (
            settings.memory.embeddings != self.config.memory.embeddings
            or settings.vector != self.config.vector
        ):
            self._replaced.append(self.embedder)
            self.embedder = embeddings.choose(settings)
            self._serving = None
        if settings.chat != self.config.chat:
            self._replaced.append(self.chat)
            self.chat = chat.choose(settings.chat)
        self._source, self.config = source, settings
        self._settings_changes += 1
        self._settings = {}

    def scope(self, agent: str) -> Scope:
        """Return an agent's scope; NotFound when there is none."""
        cache = self._scopes  # what is found now belongs into this one, even if it is replaced meanwhile
        known = cache.get(agent)
        if known is None:
            with self.store.reading() as db:
                known = cache[agent] = scopes.get(db, agent)
        return known

    def forget_scopes(self) -> None:
        """Look agents up again; writes do so anyway, inside their transaction."""
        self._scopes = {}

    def serving_embedder(self) -> Embedder | None:
        """Return the embedder that searches and writes use: while another one's vectors are made, the old."""
        if self._serving is None and self.embedder is not None:
            self._serving = self._choose_serving(self.embedder)
        return self._serving

    def search(self, run: Callable[[Embedder | None], T]) -> T:
        """Run a search with the embedder that serves, also when it was switched just now."""
        embedder = self.serving_embedder()
        try:
            return run(embedder)
        except EmbeddingModelChanged:
            self.reembedded()
            if self.serving_embedder() is embedder:
                raise
        return run(self.serving_embedder())

    def reembedded(self) -> None:
        """Look again which embedder serves, after a step towards another one."""
        if self.embedder is None:
            return
        chosen = self._choose_serving(self.embedder)
        if self._serving is None or chosen.identity != self._serving.identity:
            self._serving = chosen  # the old one is closed with the app: a recall may be using it

    def _choose_serving(self, configured: Embedder) -> Embedder:
        with self.store.reading() as db:
            known, coming = vectors.serving(db), vectors.reembedding(db)
        if known is None or known.embedder == configured.identity or coming != configured.identity:
            return configured
        if self._old is None or self._old.identity != known.embedder:
            self._old = embeddings.remake(known.embedder, self.config.memory.embeddings, configured.identity)
        return self._old

    def settings(self, scope: Scope) -> Config:
        """Return what holds for one agent. Only this process changes it, so it is read once."""
        known = self._settings.get(scope.number)
        if known is not None:
            return known
        changes = self._settings_changes
        with self.store.reading() as db:
            own = scopes.config(db, scope.number)
        loaded = self._source.load(own)
        if changes == self._settings_changes:  # else it may be the one from before the change
            self._settings[scope.number] = loaded
        return loaded

    def publish(self, scope: Scope, cause: str, note: str | None = None) -> CheckpointMade:
        """Commit what happened to an agent's workspace; see core.publish."""
        workspace, settings = self.workspaces.of(scope), self.settings(scope)
        return publish(self.store, workspace, settings, scope, Reason(cause, note), now=self.clock.now())

    def publish_first(self, scope: Scope) -> None:
        """Commit the workspace of a new agent, which has no settings of its own."""
        workspace = self.workspaces.of(scope)
        publish(self.store, workspace, self.config, scope, Reason("template"), now=self.clock.now())

    def dreamer(self, scope: Scope) -> Dreamer:
        """Return what a sweep of an agent works with."""
        return Dreamer(
            store=self.store,
            workspace=self.workspaces.of(scope),
            settings=self.settings(scope),
            scope=scope,
            embedder=self.serving_embedder(),
            chat=self.chat,
        )

    def dream(self, scope: Scope, *, dry_run: bool = False, caller: Caller) -> Dreamed:
        """Choose anew what stands in an agent's MEMORY.md; see core.dream."""
        begun, result = time.monotonic(), "failed"
        try:
            dreamed = dream(self.dreamer(scope), dry_run=dry_run, caller=caller, clock=self.clock)
            result = "changed" if dreamed.commit else "unchanged" if dreamed.sweep else "none"
            return dreamed
        finally:
            if not dry_run:
                self.tally.swept(result, time.monotonic() - begun)

    def retry_job(self, id: str) -> Job:
        """Queue a dead job anew, to be begun at once."""
        job = jobs.retry(self.store, id, clock=self.clock)
        self.on_job()
        return job

    def unfinished_sweeps(self) -> list[Scope]:
        """Return the agents with a sweep that was applied and is not published."""
        with self.store.reading() as db:
            return sweeps.all_applied(db)

    def finish_sweep(self, scope: Scope) -> None:
        """Publish such a sweep."""
        finish_sweep(self.dreamer(scope), clock=self.clock)

    def is_warm(self, agent: str) -> bool:
        """Tell whether a recall for this agent needs nothing but memory and a moment."""
        scope = self._scopes.get(agent)
        if scope is None or (self.embedder is not None and not (self._serving and self._serving.instant)):
            return False
        with self.store.reading() as db:
            state = scopes.state(db, scope.number)
        return self.store.matrices.is_warm(scope.number, state.seq, state.vector_generation, most=WARM_ROWS)

    def provider_calls(self) -> Mapping[tuple[str, str], int]:
        """Return how many calls each provider got, by how they ended."""
        return dict(transport.CALLS)

    def forget_settings(self, scope: Scope) -> None:
        """Read an agent's settings again at the next use."""
        self._settings_changes += 1
        self._settings.pop(scope.number, None)

    def close(self) -> None:
        self.workspaces.close()
        self.store.close()
        for model in (self.embedder, self._old, self.chat, *self._replaced):
            if model is not None:
                model.close()

    def __enter__(self) -> App:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
