"""Let one memory take the place of others, which stay in the history and are recalled only when asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from nrem.errors import Conflict, Denied, InvalidField, NotFound
from nrem.model import By, Memory, Trust
from nrem.store import memories
from nrem.store.driver import Connection


def supersede(
    db: Connection, scope: int, ids: Sequence[str], successor: str, *, by: By, trust: Trust, field: str
) -> None:
    """Mark memories as superseded by another one, in a transaction; saying it twice changes nothing.

    `trust` is that of the text that asks for it. Errors name the field. What is superseded stays so when its
    successor is forgotten: that it is untrue was said, and nobody has said the contrary.
    """
    for place, id in enumerate(ids):
        where = f"{field}[{place}]"
        old, new = _get(db, scope, id, where), memories.get(db, scope, successor)
        if old.superseded_by == new.id:
            continue
        _check(db, scope, old, new, trust, where)
        marked = dataclasses.replace(
            old, superseded_by=new.id, version=old.version + 1, updated_at=max(by.now, old.updated_at)
        )
        memories.update(db, scope, marked, None, op="memory.supersede", by=by)


def check_successor(db: Connection, scope: int, id: str, *, field: str) -> None:
    """Raise NotFound unless a memory is here, or was."""
    try:
        memories.first_seq(db, scope, id)
    except NotFound as unknown:
        raise _named(unknown, field) from None


def _get(db: Connection, scope: int, id: str, where: str) -> Memory:
    try:
        return memories.get(db, scope, id)
    except NotFound as unknown:
        raise _named(unknown, where) from None


def _named(unknown: NotFound, field: str) -> NotFound:
    return NotFound(f"{field}: {unknown.message}", hint=unknown.hint, code=unknown.code, field=field)


def _check(db: Connection, scope: int, old: Memory, new: Memory, trust: Trust, where: str) -> None:
    """Raise what stands against it."""
    if old.id == new.id:
        raise InvalidField(
            where, "has this text itself", hint="a memory cannot supersede itself; leave it out"
        )
    if old.superseded_by is not None:
        there = memories.exists(db, scope, old.superseded_by)
        hint = (
            f"supersede {old.superseded_by} instead" if there else "leave it out; its successor is forgotten"
        )
        raise _superseded(old, where, hint)
    if new.superseded_by is not None:
        raise _superseded(new, where, "it cannot take the place of another one")
    if old.provenance.trust is Trust.TRUSTED and Trust.UNTRUSTED in (trust, new.provenance.trust):
        raise Denied(
            f"{where}: untrusted text cannot supersede memory {old.id}, which is trusted",
            hint="store it without supersedes, and let the owner decide",
            field=where,
        )


def _superseded(memory: Memory, where: str, hint: str) -> Conflict:
    return Conflict(
        f"{where}: memory {memory.id} is superseded by {memory.superseded_by} already",
        hint=hint,
        code="superseded",
        field=where,
        details={"id": memory.id, "superseded_by": memory.superseded_by},
    )
