"""What tests are made of: a clock that stands still, an embedder that needs no model, a caller."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from nrem.clock import Ids
from nrem.model import Caller
from nrem.models.embeddings import PATIENT, Patience
from nrem.runtime.app import App
from nrem.store import search
from nrem.store.driver import Connection
from nrem.surface.operations import call

OWNER = Caller(actor="owner", ingress="test")
NOON = 1_780_315_200_000  # 2026-06-01T12:00:00Z

Call = Callable[..., dict[str, Any]]


class ManualClock:
    """A clock that moves when it is told to."""

    def __init__(self, now: int = NOON) -> None:
        self.time = now
        self._ids = Ids()

    def now(self) -> int:
        return self.time

    def new_id(self) -> str:
        return self._ids.make(self.time)

    def advance(self, *, seconds: int = 0, days: int = 0) -> None:
        self.time += (seconds + days * 86_400) * 1000


class HashEmbedder:
    """A deterministic stand-in for a model: each word has a direction of its own, a text is their sum."""

    identity = "test:hash-16"
    remote = False
    instant = True
    problem: str | None = None

    def __init__(self, batch_size: int = 64) -> None:
        self.batch_size = batch_size
        self.calls: list[list[str]] = []

    def embed(self, texts: Sequence[str], patience: Patience = PATIENT) -> list[Sequence[float]]:
        self.calls.append(list(texts))
        return [self._vector(text) for text in texts]

    def close(self) -> None:
        pass

    def _vector(self, text: str) -> list[float]:
        total = [0.0] * 16
        for word in text.lower().split():
            for i, byte in enumerate(hashlib.sha256(word.encode()).digest()[:16]):
                total[i] += byte / 127.5 - 1
        return total


def rows_with(db: Connection, scope: int, term: str, part: str = search.CONTENT) -> list[int]:
    """Return the rows that the keyword index has under a term."""
    [rows] = search.postings(db, scope, [term], part=part)
    return [int(row) for row in rows]


def caller_of(app: App, who: Caller = OWNER) -> Call:
    """Return a function that runs an operation by name with its fields as keywords."""

    def run(name: str, **body: Any) -> dict[str, Any]:
        return call(app, who, name, body)

    return run
