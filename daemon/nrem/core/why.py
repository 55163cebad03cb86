"""Tell where a memory comes from, what became of it, and what it was good for."""

from __future__ import annotations

import json
from typing import Any

from nrem.model import Event, Scope
from nrem.policy.differing import differing
from nrem.store import commits, events, memories, recalls
from nrem.store.database import Database
from nrem.wire import FieldChange, Why, WhyEvent, WhyQuery

QUERIES = 5
OWN, LINES = "memory.", "promotion."
"""How the events about a memory itself begin, and those about its line in MEMORY.md."""


def why(store: Database, scope: Scope, id: str) -> Why:
    """Return a memory's events with their commits, those of its line too, and its use; also if forgotten."""
    store.settle()  # the newest use may not be written yet
    with store.reading() as db:
        memories.first_seq(db, scope.number, id)
        chain = [e for e in events.read(db, scope.number, subject=id) if e.op.startswith((OWN, LINES))]
        published = commits.holding(db, scope.number, [event.seq for event in chain])
        live = memories.find(db, scope.number, id)
        supersedes = memories.superseded_by(db, scope.number, id)
        use = recalls.use_of(db, scope.number, id)
        queries = recalls.queries_for(db, scope.number, id, limit=QUERIES)
    history = []
    before = "{}"
    for event in chain:
        if event.op.startswith(LINES):
            history.append(_of_line(event, published.get(event.seq)))
            continue
        after = event.payload or "{}"
        history.append(_told(event, before, after, published.get(event.seq)))
        before = after
    known = [event for event in chain if event.op.startswith(OWN) and event.op != "memory.forget"]
    erased = all(event.payload is None for event in known)
    return Why(
        id=id,
        state="live" if live is not None else "erased" if erased else "forgotten",
        superseded_by=live.superseded_by if live is not None else None,
        supersedes=tuple(supersedes),
        events=tuple(history),
        recalled=use.count,
        used=use.used,
        wrong=use.wrong,
        first_recalled_at=use.first,
        last_recalled_at=use.last,
        queries=tuple(
            WhyQuery(query=query.text, count=query.count, last_at=query.last, best_rank=query.best_rank)
            for query in queries
        ),
    )


def _of_line(event: Event, commit: str | None) -> WhyEvent:
    said: dict[str, Any] = json.loads(event.payload or "{}")
    return WhyEvent(
        event=event.seq,
        at=event.at,
        operation=event.op.removeprefix(LINES),
        actor=event.actor,
        cause=event.cause,
        reason=said.get("reason"),
        sweep=said.get("sweep"),
        score=said.get("score"),
        commit=commit,
        erased=event.payload is None,
    )


def _told(event: Event, before: str, after: str, commit: str | None) -> WhyEvent:
    state: dict[str, Any] = json.loads(after)
    origin = state.get("provenance", {})
    is_first = before == "{}"
    changed = () if is_first or not state else differing(before, after)
    return WhyEvent(
        event=event.seq,
        at=event.at,
        operation=event.op.removeprefix(OWN),
        actor=event.actor,
        cause=event.cause,
        version=state.get("version"),
        content=state.get("content") if is_first else None,
        ingress=origin.get("ingress") if is_first else None,
        source=origin.get("source") if is_first else None,
        trust=origin.get("trust") if is_first else None,
        session=state.get("session") if is_first else None,
        changes=tuple(FieldChange(field=name, before=old, after=new) for name, old, new in changed),
        commit=commit,
        erased=event.payload is None,
    )
