"""The composition root: what an operation needs, opened once and closed together."""

from __future__ import annotations

from pathlib import Path

from nrem import config
from nrem.clock import Clock, SystemClock
from nrem.config import Config
from nrem.core import agents
from nrem.model import Scope
from nrem.models.embeddings import Embedder
from nrem.store import scopes
from nrem.store.database import Database, open_database


class App:
    """An open store with its clock, embedder and settings."""

    def __init__(self, home: Path, store: Database, clock: Clock, embedder: Embedder | None) -> None:
        self.home = home
        self.store = store
        self.clock = clock
        self.embedder = embedder
        self._settings: dict[int, Config] = {}

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
        config.load(home)  # a wrong configuration stops here, before the store is touched
        clock = clock or SystemClock()
        store = open_database(home, clock, create=create, wait=wait)
        agents.finish_removals(store)
        return cls(home, store, clock, embedder)

    def scope(self, agent: str) -> Scope:
        """Return an agent's scope; NotFound when there is none."""
        with self.store.reading() as db:
            return scopes.get(db, agent)

    def settings(self, scope: Scope) -> Config:
        """Return what holds for one agent. Only this process changes it, so it is read once."""
        if scope.number not in self._settings:
            with self.store.reading() as db:
                own = scopes.config(db, scope.number)
            self._settings[scope.number] = config.load(self.home, agent=own).config
        return self._settings[scope.number]

    def forget_settings(self, scope: Scope) -> None:
        """Read an agent's settings again at the next use."""
        self._settings.pop(scope.number, None)

    def close(self) -> None:
        self.store.close()

    def __enter__(self) -> App:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
