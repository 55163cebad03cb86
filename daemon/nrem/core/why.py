"""Tell where a memory comes from, what became of it, and what it was good for."""

from __future__ import annotations

import json
from typing import Any

from nrem.model import Event, Scope
from nrem.store import commits, events, memories, recalls
from nrem.store.database import Database
from nrem.wire import FieldChange, Why, WhyEvent, WhyQuery

QUERIES = 5
_OF_EVERY_EDIT = frozenset({"version", "updated_at"})


def why(store: Database, scope: Scope, id: str) -> Why:
    """Return a memory's events with what each changed and its commit, and its use; of forgotten ones too."""
    store.settle()  # the newest use may not be written yet
    with store.reading() as db:
        memories.first_seq(db, scope.number, id)
        chain = [e for e in events.read(db, scope.number, subject=id) if e.op.startswith("memory.")]
        published = commits.holding(db, scope.number, [event.seq for event in chain])
        live = memories.exists(db, scope.number, id)
        use = recalls.use_of(db, scope.number, id)
        queries = recalls.queries_for(db, scope.number, id, limit=QUERIES)
    history = []
    before: dict[str, Any] = {}
    for event in chain:
        after = _state(event)
        history.append(_told(event, before, after, published.get(event.seq)))
        before = after
    known = [event for event in chain if event.op != "memory.forget"]
    erased = all(event.payload is None for event in known)
    return Why(
        id=id,
        state="live" if live else "erased" if erased else "forgotten",
        events=tuple(history),
        recalled=use.count,
        first_recalled_at=use.first,
        last_recalled_at=use.last,
        queries=tuple(
            WhyQuery(query=query.text, count=query.count, last_at=query.last, best_rank=query.best_rank)
            for query in queries
        ),
    )


def _state(event: Event) -> dict[str, Any]:
    state: dict[str, Any] = json.loads(event.payload) if event.payload else {}
    return state


def _told(event: Event, before: dict[str, Any], after: dict[str, Any], commit: str | None) -> WhyEvent:
    origin = after.get("provenance", {})
    is_first = not before
    changed = () if is_first or not after else _changes(before, after)
    return WhyEvent(
        event=event.seq,
        at=event.at,
        operation=event.op.removeprefix("memory."),
        actor=event.actor,
        cause=event.cause,
        version=after.get("version"),
        content=after.get("content") if is_first else None,
        ingress=origin.get("ingress") if is_first else None,
        source=origin.get("source") if is_first else None,
        trust=origin.get("trust") if is_first else None,
        session=after.get("session") if is_first else None,
        changes=changed,
        commit=commit,
        erased=event.payload is None,
    )


def _changes(before: dict[str, Any], after: dict[str, Any]) -> tuple[FieldChange, ...]:
    names = sorted(before.keys() | after.keys())
    return tuple(
        FieldChange(field=name, before=before.get(name), after=after.get(name))
        for name in names
        if name not in _OF_EVERY_EDIT and before.get(name) != after.get(name)
    )
