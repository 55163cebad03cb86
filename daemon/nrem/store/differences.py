"""What became of memories between two events, from the events alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nrem.store.driver import Connection

_BETWEEN = """
with touched as (
    select e.subject as id, min(e.seq) as first, max(e.seq) as last,
        (
            select max(f.seq) from events f indexed by idx_events_subject
            where f.scope = e.scope and f.subject = e.subject and f.seq <= :first and f.op like 'memory.%'
        ) as earlier
    from events e
    where e.scope = :scope and e.seq > :first and e.seq <= :last and e.op like 'memory.%'
    group by e.subject
)
select t.id as id, b.op as op_before, b.payload as before, a.op as op_after, a.payload as after
from touched t
left join events b on b.scope = :scope and b.seq = t.earlier
join events a on a.scope = :scope and a.seq = t.last
order by t.first
"""


_LINES = """
with moved as (
    select e.subject as id, min(e.seq) as first, max(e.seq) as last,
        (
            select max(f.seq) from events f indexed by idx_events_subject
            where f.scope = e.scope and f.subject = e.subject and f.seq <= :first
                and f.op in ('promotion.promote', 'promotion.demote')
        ) as earlier
    from events e
    where e.scope = :scope and e.seq > :first and e.seq <= :last
        and e.op in ('promotion.promote', 'promotion.demote')
    group by e.subject
)
select m.id, coalesce(b.op = 'promotion.promote', 0), a.op = 'promotion.promote'
from moved m
left join events b on b.scope = :scope and b.seq = m.earlier
join events a on a.scope = :scope and a.seq = m.last
order by m.first
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A memory that was there at a point; without a payload its text was erased since."""

    payload: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A memory at two points; None where it was not there."""

    id: str
    before: Side | None
    after: Side | None


def between(db: Connection, scope: int, first: int, last: int) -> Iterator[Pair]:
    """Yield the memories that events after `first` up to `last` are about, in the order of those events."""
    for row in db.execute(_BETWEEN, {"scope": scope, "first": first, "last": last}):
        yield Pair(
            id=row["id"],
            before=_side(row["op_before"], row["before"]),
            after=_side(row["op_after"], row["after"]),
        )


def lines_between(db: Connection, scope: int, first: int, last: int) -> tuple[list[str], list[str]]:
    """Return the memories whose line in MEMORY.md came, and those whose line went, from `first` to `last`."""
    rows = db.execute(_LINES, {"scope": scope, "first": first, "last": last}).fetchall()
    came = [id for id, before, after in rows if after and not before]
    return came, [id for id, before, after in rows if before and not after]


def _side(op: str | None, payload: str | None) -> Side | None:
    return None if op in (None, "memory.forget") else Side(payload=payload)
