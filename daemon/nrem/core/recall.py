"""Answer a question from what is remembered now, and record what was answered."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from nrem.clock import Clock
from nrem.core.answer import Answer, answer
from nrem.core.scrub import Scrubber
from nrem.model import AskedBy, Caller, Scope
from nrem.models.embeddings import Embedder
from nrem.policy import ranking, terms, timewords
from nrem.policy.chain import canonical
from nrem.sections import Config
from nrem.store import recalls
from nrem.store.database import Database
from nrem.wire import Recall, Recalled


@dataclass(frozen=True, slots=True, kw_only=True)
class _By:
    id: str
    caller: Caller
    at: int


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
    id = clock.new_id() if request.observe else None
    if id is not None:
        by = _By(id=id, caller=caller, at=clock.now())
        record = _record(settings, request, answered, by)
        store.write_soon(functools.partial(recalls.add, scope=scope.number, recall=record))
    return answered.recalled(request, id)


def ranker() -> str:
    """Return the version of what decides an answer."""
    return f"{ranking.VERSION}.{terms.VERSION}"


def _record(settings: Config, request: Recall, answered: Answer, by: _By) -> recalls.Recall:
    """Return what is written down about an answer."""
    found, asked = answered.found, answered.asked
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
        id=by.id,
        at=by.at,
        now=asked.now,
        actor=by.caller.actor,
        ingress=by.caller.ingress,
        asked_by=_asked_by(request, by.caller),
        day=timewords.local_day(by.at, ZoneInfo(settings.time.zone)),
        query=asked.text,
        question=terms.question_key(asked.terms, asked.text),
        request=canonical(given),
        seq=found.state.seq,
        config_hash=settings.fingerprint,
        ranker=ranker(),
        embedder=found.embedder,
        vector_generation=found.state.vector_generation,
        degraded=",".join(asked.degraded),
        hits=tuple(
            (memory.id, float(found.scores.total[place]), share)
            for memory, place, share in zip(found.memories, found.places, found.coverage(), strict=True)
        ),
    )


def _asked_by(request: Recall, caller: Caller) -> AskedBy:
    """Return what stands behind a recall. What is asked for can only take it out of what counts."""
    if request.purpose is not None:
        return AskedBy(request.purpose)
    # Nobody but the owner can come in by this door: who has a token is told apart by it.
    return AskedBy.HUMAN if caller.ingress == "cli" else AskedBy.AGENT
