"""Ask recorded questions again of the state of their moment, and compare with what was answered."""

from __future__ import annotations

import json
from typing import Any
from zoneinfo import ZoneInfo

from nrem.clock import Clock
from nrem.core.answer import Answer, answer
from nrem.core.point import resolve
from nrem.core.recall_as_of import causes, erased, words_only
from nrem.errors import InputError, InvalidField
from nrem.model import Scope
from nrem.models.embeddings import Embedder
from nrem.policy.erasing import ERASED
from nrem.sections import Config
from nrem.store import events, recalls
from nrem.store.database import Database
from nrem.store.driver import Connection
from nrem.store.past import Moment, Past
from nrem.wire import Recall, Replay, Replayed, ReplayedHit, Replays

NEAR = 1e-6
"""Scores of very large scopes may differ in their last digits: their distances are computed in two ways."""
NO_SESSION = (
    "no recorded recall was limited to this session, and only by that is a recall known to belong to one;"
    " replay a span of time instead"
)


def replay(
    store: Database,
    embedder: Embedder | None,
    settings: Config,
    scope: Scope,
    request: Replay,
    *,
    clock: Clock,
) -> Replays:
    """Replay a recall, those of a session, or those of a span of time, oldest first."""
    store.settle()
    with store.reading() as db:
        chosen = _choose(db, settings, scope.number, request, now=clock.now())
    done = tuple(_replay(store, embedder, settings, scope, recorded) for recorded in chosen[: request.limit])
    return Replays(
        recalls=done,
        equal=sum(one.outcome == "equal" for one in done),
        drifted=sum(one.outcome == "drifted" for one in done),
        impossible=sum(one.outcome == "impossible" for one in done),
        more=len(chosen) > request.limit,
        note=None if done or request.of is None else NO_SESSION,
    )


def _choose(
    db: Connection, settings: Config, scope: int, request: Replay, *, now: int
) -> list[recalls.Recall]:
    spanned = request.since is not None or request.until is not None
    if (request.of is not None) == spanned:
        raise InputError(
            "give either a recall or session, or a span of time",
            hint="nrem replay RECALL, or nrem replay --from yesterday",
        )
    limit = request.limit + 1
    if request.of is None:
        zone = ZoneInfo(settings.time.zone)
        bounds = {"since": request.since, "until": request.until}
        first, last = (
            None if word is None else resolve(db, scope, word, now=now, zone=zone, field=field).at
            for field, word in bounds.items()
        )
        return recalls.between(db, scope, first or 0, now if last is None else last, limit=limit)
    recorded = recalls.find(db, scope, request.of)
    if recorded is not None:
        return [recorded]
    found = recalls.of_session(db, scope, request.of, limit=limit)
    if not found and events.last_of_session(db, scope, request.of) is None:
        raise InvalidField(
            "of",
            "is no recall and no session of this agent",
            hint="a recall's id is in its answer (--json); records are kept as long as recalls are",
        )
    return found


def _replay(
    store: Database, embedder: Embedder | None, settings: Config, scope: Scope, recorded: recalls.Recall
) -> Replayed:
    given = json.loads(recorded.request)
    was = tuple(ReplayedHit(id=id, score=score) for id, score, _ in recorded.hits)
    if (cause := _impossible(recorded, given)) is not None:
        return _told(recorded, "impossible", (cause,), was, ())
    given |= {"agent": scope.name, "query": recorded.query}
    request = Recall.model_validate(given)
    with store.reading() as db:
        moment = Moment(seq=recorded.seq, generation=recorded.vector_generation)
        past = store.pasts.get(db, scope, moment)
    if past.vectors_of is not None or recorded.degraded:
        request = words_only(request)
    answered = answer(past, embedder, settings, scope, request, now=recorded.now)
    found = answered.found
    is_now = tuple(
        ReplayedHit(id=memory.id, score=float(found.scores.total[place]))
        for memory, place in zip(found.memories, found.places, strict=True)
    )
    if _same(was, is_now):
        # An erased memory left the record too, so that it may have been in the answer.
        return _told(recorded, "equal", erased(past), was, is_now)
    return _told(recorded, "drifted", _drift(past, settings, recorded, answered), was, is_now)


def _impossible(recorded: recalls.Recall, given: dict[str, Any]) -> str | None:
    """Say what of a question is not kept, without which it cannot be asked; `given` loses those marks."""
    if given.pop("embedding", False):
        return "embedding: it was asked with a vector of the caller's, which is not kept"
    if given.pop("redacted", False):
        return "redacted: a secret in its filters is not kept"
    if recorded.query == ERASED:
        return "erased: the question gave away a memory that was erased"
    if not recorded.query:
        return "hashed: the record came from git, where workspace.recalls = hashed keeps no words"
    return None


def _told(
    recorded: recalls.Recall,
    outcome: str,
    causes: tuple[str, ...],
    was: tuple[ReplayedHit, ...],
    is_now: tuple[ReplayedHit, ...],
) -> Replayed:
    return Replayed(
        recall_id=recorded.id,
        at=recorded.at,
        query=recorded.query,
        event=recorded.seq,
        outcome=outcome,
        causes=causes,
        was=was,
        now=is_now,
    )


def _same(was: tuple[ReplayedHit, ...], now: tuple[ReplayedHit, ...]) -> bool:
    return [hit.id for hit in was] == [hit.id for hit in now] and all(
        abs(old.score - new.score) <= NEAR for old, new in zip(was, now, strict=True)
    )


def _drift(past: Past, settings: Config, recorded: recalls.Recall, answered: Answer) -> tuple[str, ...]:
    """Say why an answer differs; when nothing is known that could make it differ, say that."""
    told = [*causes(past, settings, recorded)]
    used = answered.found.embedder
    if past.vectors_of is None and used != recorded.embedder and not recorded.degraded:
        told.append(f"vectors: were by {recorded.embedder or 'none'}, are by {used or 'none'}")
    if recorded.vector_generation is None:
        told.append("vectors: this record does not say which late ones it had seen")
    return tuple(told) or ("unknown: nothing that decides an answer has changed; nrem verify looks deeper",)
