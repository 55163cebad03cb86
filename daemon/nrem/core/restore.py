"""Bring a state of the past back, as ordinary events on top of all that happened since.

Only memories are restored: the agent's configuration and files stay as they are. A memory that comes back
has its id, its created_at and its number in git; its versions count on, and its updated_at is the time of the
restore.
"""

from __future__ import annotations

import dataclasses
from zoneinfo import ZoneInfo

from nrem.clock import Clock
from nrem.core.point import Point, resolve
from nrem.errors import Denied, InvalidField
from nrem.model import By, Caller, Scope, Trust
from nrem.policy.restoring import Known, Plan, decide
from nrem.sections import Config
from nrem.store import memories, recalls, scopes, states
from nrem.store.database import Database
from nrem.store.driver import Connection
from nrem.wire import NotRestored, Restore, Restored, RestoredMemory

MOST_NAMED = 100
"""Memories that an answer names; all are counted."""
TAKEN = "another memory has its text now"
ERASED = "its text was erased"


def restore(
    store: Database,
    settings: Config,
    scope: Scope,
    request: Restore,
    *,
    caller: Caller,
    clock: Clock,
) -> Restored:
    """Give every memory, or one, the state of a point in the past, in one transaction; a dry run only tells.

    Without a point, one memory is given the state that it was forgotten in. What cannot come back is named
    and left as it is.
    """
    if caller.trust is not Trust.TRUSTED:
        raise Denied("only a trusted caller may restore", hint="ask the owner to restore it")
    by = By(actor=caller.actor, cause="restore", now=clock.now())

    def plan(db: Connection, number: int) -> tuple[Point, Plan]:
        point = _point(db, number, request, now=by.now, zone=ZoneInfo(settings.time.zone))
        return point, decide(_known(db, number, request, point))

    def write(db: Connection) -> tuple[Point, Plan]:
        number = scopes.get(db, scope.name).number
        point, decided = plan(db, number)
        _apply(db, number, decided, by)
        return point, decided

    if request.dry_run:
        with store.reading() as db:
            point, decided = plan(db, scope.number)
    else:
        point, decided = store.write(write)
    return _answer(request, point, decided)


def _point(db: Connection, scope: int, request: Restore, *, now: int, zone: ZoneInfo) -> Point:
    last = states.last_event(db, scope, request.only) if request.only is not None else None
    if request.to is not None:
        return resolve(db, scope, request.to, now=now, zone=zone, field="to")
    if last is None:
        raise InvalidField("to", "is missing", hint="say which point is meant, such as yesterday or a commit")
    if memories.find(db, scope, last.subject) is not None:
        raise InvalidField(
            "to", "is missing", hint="the memory is not forgotten; say which of its states is meant"
        )
    return Point(seq=last.seq - 1, at=last.at, word="before it was forgotten")


def _known(db: Connection, scope: int, request: Restore, point: Point) -> list[Known]:
    ids = [request.only] if request.only is not None else states.changed_since(db, scope, point.seq)
    return [_one(db, scope, id, point.seq) for id in ids]


def _one(db: Connection, scope: int, id: str, seq: int) -> Known:
    then, now = states.state_at(db, scope, id, seq), memories.find(db, scope, id)
    if then is None or then.memory is None:
        return Known(id=id, then=None, now=now, erased=then is not None and then.erased)
    holders = states.holders(db, scope, then.memory)
    return Known(id=id, seq=then.seq, then=then.memory, now=now, taken_by=frozenset(holders - {id}))


def _apply(db: Connection, scope: int, plan: Plan, by: By) -> None:
    for id in plan.gone:
        memories.forget(db, scope, id, by)
    for one in plan.back:  # they may have each other's texts
        if one.now is not None and one.then is not None and one.now.content != one.then.content:
            memories.release(db, scope, one.id)
    # What is superseded again goes first: its text may be what another one had.
    for one in sorted(plan.back, key=lambda one: one.then is not None and one.then.superseded_by is None):
        assert one.then is not None
        last = states.last_version(db, scope, one.id) if one.now is None else one.now.version
        updated_at = max(by.now, (one.now or one.then).updated_at)
        memory = dataclasses.replace(one.then, version=last + 1, updated_at=updated_at)
        if one.now is None:
            vector = states.vector(db, scope, one.id, one.seq)
            memories.insert(db, scope, memory, vector, by, op="memory.restore")
            recalls.recount(db, scope, one.id)
        else:
            same = one.now.content == one.then.content
            vector = None if same else states.vector(db, scope, one.id, one.seq)
            memories.update(db, scope, memory, vector, op="memory.restore", by=by)


def _answer(request: Restore, point: Point, plan: Plan) -> Restored:
    changes = [
        *(RestoredMemory(id=one.id, change="added" if one.now is None else "changed") for one in plan.back),
        *(RestoredMemory(id=id, change="forgotten") for id in plan.gone),
    ]
    skipped = [
        *(NotRestored(id=id, reason=TAKEN, other=other) for id, other in plan.taken),
        *(NotRestored(id=id, reason=ERASED) for id in plan.erased),
    ]
    return Restored(
        to=point.word,
        at=point.at,
        event=point.seq,
        added=sum(one.now is None for one in plan.back),
        changed=sum(one.now is not None for one in plan.back),
        forgotten=len(plan.gone),
        not_restored=len(skipped),
        memories=tuple(changes[:MOST_NAMED]),
        left=tuple(skipped[:MOST_NAMED]),
        dry_run=request.dry_run,
    )
