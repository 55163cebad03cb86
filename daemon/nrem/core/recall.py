"""Answer a question from what is remembered now, and record what was answered."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from nrem.clock import Clock
from nrem.core.answer import Asked, answer
from nrem.core.scrub import Scrubber
from nrem.model import AskedBy, Caller, Scope
from nrem.models.embeddings import Embedder
from nrem.policy import ranking, terms, timewords
from nrem.policy.chain import canonical
from nrem.sections import Config
from nrem.store import recalls, scopes
from nrem.store.database import Database
from nrem.wire import Recall, Recalled

FEW = 16
"""Writes that may wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answered:
    """What is recorded of an answer, without the arrays that it was made of."""

    id: str
    caller: Caller
    at: int
    asked: Asked
    state: scopes.State
    embedder: str | None
    hits: tuple[tuple[str, float, float], ...]


def recall(
    store: Database,
    embedder: Embedder | None,
    settings: Config,
    scope: Scope,
    request: Recall,
    *,
    caller: Caller,
    clock: Clock,
) -> Recalled:
    """Return the hits that fit limit and budget, best first. One snapshot decides; the record is queued."""
    answered = answer(store, embedder, settings, scope, request, now=clock.now())
    if not request.observe:
        return answered.recalled(request)
    id, found = clock.new_id(), answered.found
    scores = found.scores.total[list(found.places)].tolist()
    done = _Answered(
        id=id,
        caller=caller,
        at=clock.now(),
        asked=answered.asked,
        state=found.state,
        embedder=found.embedder,
        hits=tuple(zip((memory.id for memory in found.memories), scores, found.coverage(), strict=True)),
    )
    make = functools.partial(_record, settings, request, done)
    # Who asked waits for none of it; but when many records wait, no writer shall wait for their making too.
    made = make() if store.waiting() > FEW else None
    store.write_soon(lambda db: recalls.add(db, scope.number, made or make()))
    return answered.recalled(request, id)


def ranker() -> str:
    """Return the version of what decides an answer."""
    return f"{ranking.VERSION}.{terms.VERSION}"


def _record(settings: Config, request: Recall, done: _Answered) -> recalls.Recall:
    """Return what is written down about an answer."""
    asked = done.asked
    left_out = {"agent", "query", "embedding", "purpose"}
    given = request.model_dump(mode="json", exclude=left_out, exclude_defaults=True)
    if request.budget is not None and "limit" in request.model_fields_set:
        given["limit"] = request.limit  # beside a budget it matters whether it was given
    if request.embedding is not None:
        given["embedding"] = True  # not which one: it is large, and only says that there is no asking again
    if given:
        scrub = Scrubber(settings, refuse=False)
        given = scrub.json("request", given)
        if scrub.fired:
            given["redacted"] = True
    return recalls.Recall(
        id=done.id,
        at=done.at,
        now=asked.now,
        actor=done.caller.actor,
        ingress=done.caller.ingress,
        asked_by=_asked_by(request, done.caller),
        day=timewords.local_day(done.at, ZoneInfo(settings.time.zone)),
        query=asked.text,
        question=terms.question_key(asked.terms, asked.text),
        request=canonical(given),
        seq=done.state.seq,
        config_hash=settings.fingerprint,
        ranker=ranker(),
        embedder=done.embedder,
        vector_generation=done.state.vector_generation,
        degraded=",".join(asked.degraded),
        hits=done.hits,
    )


def _asked_by(request: Recall, caller: Caller) -> AskedBy:
    """Return what stands behind a recall. What is asked for can only take it out of what counts."""
    if request.purpose is not None:
        return AskedBy(request.purpose)
    # Nobody but the owner can come in by this door: who has a token is told apart by it.
    return AskedBy.HUMAN if caller.ingress == "cli" else AskedBy.AGENT
