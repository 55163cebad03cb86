"""The embedder as an operator sees it: which one, how far it got, and what keeps it from serving."""

from __future__ import annotations

from contextlib import suppress

from nrem.errors import ConfigError, Unavailable
from nrem.models.embeddings import Embedder, Patience, choose, dimension_of
from nrem.sections import Config
from nrem.store import vectors
from nrem.store.database import Database
from nrem.wire import EmbedderState


def identity(settings: Config) -> str | None:
    """Return which embedder a configuration means; None when vectors are off, or it means none."""
    try:
        chosen = choose(settings)
    except ConfigError:
        return None
    return chosen.identity if chosen is not None else None


def show(store: Database, configured: Embedder | None, serving: Embedder | None) -> EmbedderState:
    """Return how it stands with vectors; nobody is asked for that."""
    with store.reading() as db:
        known = vectors.serving(db)
        # Without an embedder nothing is waited for, though every memory would have to be made up for.
        waiting, given_up = vectors.count_pending(db) if configured is not None else (0, 0)
    return EmbedderState(
        configured=configured.identity if configured is not None else None,
        serving=known.embedder if known is not None else None,
        dimension=known.dimension if known is not None else None,
        pending=waiting,
        given_up=given_up,
        problem=trouble(store, serving),
    )


def trouble(store: Database, serving: Embedder | None) -> str | None:
    """Return what keeps questions and memories from their vectors."""
    if serving is None:
        return None
    with store.reading() as db:
        known = vectors.serving(db)
    if known is not None and known.embedder != serving.identity:
        return f"the store's vectors are from {known.embedder}: nrem reembed, or set the embedder back"
    return serving.problem


def check(embedder: Embedder, patience: Patience) -> None:
    """Ask for a plain word; what came of it is the embedder's problem, if it is one."""
    with suppress(Unavailable, ConfigError):
        dimension_of(embedder, patience)


def pending(store: Database, configured: Embedder | None) -> int:
    """Return how many memories wait for their vector; none do while vectors are off."""
    if configured is None:
        return 0
    with store.reading() as db:
        return vectors.count_pending(db)[0]
