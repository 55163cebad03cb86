"""The composition root: what an operation needs, opened once and closed together."""

from __future__ import annotations

from pathlib import Path

from nrem import config
from nrem.clock import Clock, SystemClock
from nrem.config import Config
from nrem.core import agents
from nrem.core.tokens import Doorkeeper
from nrem.model import Scope
from nrem.models import embeddings
from nrem.models.embeddings import Embedder
from nrem.store import scopes, vectors
from nrem.store.database import Database, open_database


class App:
    """An open store with its clock, embedder and settings."""

    def __init__(self, home: Path, store: Database, clock: Clock, embedder: Embedder | None) -> None:
        self.home = home
        self.store = store
        self.clock = clock
        self.embedder = embedder
        self.doorkeeper = Doorkeeper(store, clock)
        self._settings: dict[int, Config] = {}
        self._settings_changes = 0
        self._scopes: dict[str, Scope] = {}
        self._serving: Embedder | None = None
        self._old: Embedder | None = None

    @classmethod
    def open(
        cls,
        home: Path,
        *,
        create: bool = False,
        wait: float = 0.0,
        clock: Clock | None = None,
        embedder: Embedder | None = None,
    ) -> App:
        """Open the store of a home, and finish what an earlier process began."""
        settings = config.load(home).config  # a wrong configuration stops here, before the store is touched
        embedder = embedder or embeddings.choose(settings)
        clock = clock or SystemClock()
        store = open_database(home, clock, create=create, wait=wait)
        agents.finish_removals(store)
        return cls(home, store, clock, embedder)

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
            settings = config.load(self.home).config.memory.embeddings
            self._old = embeddings.remake(known.embedder, settings, configured.identity)
        return self._old

    def settings(self, scope: Scope) -> Config:
        """Return what holds for one agent. Only this process changes it, so it is read once."""
        known = self._settings.get(scope.number)
        if known is not None:
            return known
        changes = self._settings_changes
        with self.store.reading() as db:
            own = scopes.config(db, scope.number)
        loaded = config.load(self.home, agent=own).config
        if changes == self._settings_changes:  # else it may be the one from before the change
            self._settings[scope.number] = loaded
        return loaded

    def forget_settings(self, scope: Scope) -> None:
        """Read an agent's settings again at the next use."""
        self._settings_changes += 1
        self._settings.pop(scope.number, None)

    def close(self) -> None:
        self.store.close()
        for embedder in (self.embedder, self._old):
            if embedder is not None:
                embedder.close()

    def __enter__(self) -> App:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
