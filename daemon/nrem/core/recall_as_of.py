"""Answer a question from what was known at a point of the past. No memory is used by that."""

from __future__ import annotations

from dataclasses import replace
from zoneinfo import ZoneInfo

from nrem.clock import Clock
from nrem.core.answer import answer
from nrem.core.point import resolve
from nrem.core.recall import ranker
from nrem.model import Scope
from nrem.models.embeddings import Embedder
from nrem.sections import Config
from nrem.store import recalls
from nrem.store.database import Database
from nrem.store.past import Moment, Past
from nrem.wire import AsOf, Recall, Recalled


def recall_as_of(
    store: Database,
    embedder: Embedder | None,
    settings: Config,
    scope: Scope,
    request: Recall,
    *,
    clock: Clock,
) -> Recalled:
    """Return what the same code answers from the rows and vectors of that point, at its time.

    As of a recall, that is what was answered then, while ranker, configuration and embedder are the same and
    nothing was erased; what differs is in the notes.
    """
    store.settle()  # the recall that is meant may not be written yet
    zone = ZoneInfo(settings.time.zone)
    with store.reading() as db:
        point = resolve(db, scope.number, str(request.as_of), now=clock.now(), zone=zone)
        recorded = recalls.find(db, scope.number, point.recall) if point.recall else None
        generation = recorded.vector_generation if recorded else None
        past = store.pasts.get(db, scope, Moment(seq=point.seq, generation=generation))
    by_words = past.vectors_of is not None and request.mode != "keyword"
    asked = words_only(request) if by_words else request
    found = answer(past, embedder, settings, scope, asked, now=point.at).recalled(request)
    return replace(
        found,
        degraded=("vector",) if by_words else found.degraded,
        notes=(*found.notes, *causes(past, settings, recorded)),
        as_of=AsOf(event=point.seq, at=point.at, commit=point.commit),
    )


def words_only(request: Recall) -> Recall:
    """Return a question without what needs vectors."""
    return request.model_copy(update={"mode": "keyword", "threshold": None, "embedding": None})


def causes(past: Past, settings: Config, recorded: recalls.Recall | None) -> tuple[str, ...]:
    """Say what has changed since, of all that decides an answer."""
    told = []
    if recorded is not None and recorded.ranker != ranker():
        told.append(f"ranker: was {recorded.ranker}, is {ranker()}")
    if recorded is not None and recorded.config_hash != settings.fingerprint:
        told.append("configuration: has changed since that recall")
    if past.vectors_of is not None:
        told.append(f"vectors: those of that time were by {past.vectors_of} and are gone; words alone count")
    return (*told, *erased(past))


def erased(past: Past) -> tuple[str, ...]:
    """Say how many memories are missing from the past because they were erased."""
    return (f"erased: {past.erased} of the memories of that time",) if past.erased else ()
