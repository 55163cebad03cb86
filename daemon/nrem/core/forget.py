"""Forget memories: one by id, or all that match. History stays either way."""

from __future__ import annotations

from nrem.clock import Clock
from nrem.errors import InputError
from nrem.model import By, Caller, Filter, Kind, Scope
from nrem.store import listing, memories, scopes
from nrem.store.database import Database
from nrem.store.driver import Connection
from nrem.wire import Clear, Cleared, Forgotten

STEP = 500
"""How many are forgotten in one transaction, so that other writers are not kept waiting."""


def forget(store: Database, scope: Scope, id: str, *, caller: Caller, clock: Clock) -> Forgotten:
    """Forget one memory; NotFound when this scope has none of that id."""
    by = By(actor=caller.actor, cause=caller.ingress, now=clock.now())

    def write(db: Connection) -> None:
        number = scopes.get(db, scope.name).number
        memories.forget(db, number, id, by)

    store.write(write)
    return Forgotten(
        id=id,
        note="Forgotten. Its versions and events stay in the history:"
        " 'nrem versions ID' shows them, 'nrem restore --only ID' undoes it.",
    )


def clear(store: Database, scope: Scope, request: Clear, *, caller: Caller, clock: Clock) -> Cleared:
    """Forget everything that matches and return how many; a dry run only counts."""
    chosen = _filter(request)
    if request.dry_run:
        with store.reading() as db:
            return Cleared(count=listing.count(db, scope.number, chosen), dry_run=True)

    def write(db: Connection) -> int:
        number = scopes.get(db, scope.name).number
        ids = listing.ids(db, number, chosen, limit=STEP)
        by = By(actor=caller.actor, cause="clear", now=clock.now())
        for id in ids:
            memories.forget(db, number, id, by)
        return len(ids)

    count = 0
    while step := store.write(write):
        count += step
        if step < STEP:
            break
    store.reclaim()
    return Cleared(count=count, dry_run=False)


def _filter(request: Clear) -> Filter:
    if request.sessions_only and request.memories_only:
        raise InputError(
            "sessions_only and memories_only exclude each other", hint="give one of them, or neither"
        )
    if request.sessions_only and request.kinds:
        raise InputError(
            "kinds cannot be given with sessions_only", hint="the turns of sessions are all of kind message"
        )
    if request.sessions_only:
        return request.model_copy(update={"kinds": [Kind.MESSAGE.value]}).filter()
    return request.filter(exclude=(Kind.MESSAGE,) if request.memories_only else ())
