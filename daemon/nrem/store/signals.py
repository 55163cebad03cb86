"""What recalls say of memories: shown, used, wrong; and which questions found nothing.

Only what people and agents asked counts. A memory that is shown for one question several times in a day was
shown once, the first time. What pruned recalls said stays in sums, by whole days, so that this still holds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from nrem.store.driver import Connection

MISS = 0.34
"""A recall whose best hit has a smaller share of the question's terms found nothing of use."""
DELETE_STEP = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """What one memory's recalls say of it."""

    memory: str
    exposures: int = 0
    weight: float = 0.0
    """The sum of coverage / rank over its exposures."""
    uses: int = 0
    wrongs: int = 0
    last_at: int = 0
    """When it was last shown or judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """A question that was asked and not answered, in the words of the last time."""

    query: str
    count: int
    days: int
    last_at: int


def read(db: Connection, scope: int, *, since: int | None = None) -> dict[str, Signal]:
    """Return by memory what came after a moment; without one, all there ever was, pruned recalls included."""
    first = db.execute("select rolled_day from scopes where scope = ?", (scope,)).fetchone()[0]
    found = _read_days(db, scope, days=(first, _LAST_DAY), since=-1 if since is None else since)
    if since is None:
        for row in db.execute(
            "select memory_id, exposures, weight, uses, wrongs, last_at from recall_sums where scope = ?",
            (scope,),
        ):
            sums = Signal(
                memory=row[0], exposures=row[1], weight=row[2], uses=row[3], wrongs=row[4], last_at=row[5]
            )
            found[row[0]] = _added(sums, found.get(row[0]))
    return found


def misses(db: Connection, scope: int, *, since: int | None = None) -> list[Miss]:
    """Return the questions after a moment that found nothing of use, the most frequent first."""
    rows = db.execute(
        "select query, count(*), count(distinct day), max(at) from recalls"
        " where scope = :scope and at > :since and asked_by in ('human', 'agent') and best < :miss"
        " and query <> '' group by question order by count(*) desc, max(at) desc",
        {"scope": scope, "since": -1 if since is None else since, "miss": MISS},
    )
    return [Miss(query=row[0], count=row[1], days=row[2], last_at=row[3]) for row in rows]


# Retention


def roll_up(db: Connection, scope: int, *, before: int) -> bool:
    """Add the oldest day that is not in the sums yet to them; False when none before this day is left."""
    day = db.execute(
        "select min(day) from recalls where scope = :scope and day < :before and day >="
        " (select rolled_day from scopes where scope = :scope)",
        {"scope": scope, "before": before},
    ).fetchone()[0]
    if day is None:
        return False
    db.executemany(
        "insert into recall_sums (scope, memory_id, exposures, weight, uses, wrongs, last_at)"
        " values (?, ?, ?, ?, ?, ?, ?) on conflict (scope, memory_id) do update set"
        " exposures = exposures + excluded.exposures, weight = weight + excluded.weight,"
        " uses = uses + excluded.uses, wrongs = wrongs + excluded.wrongs,"
        " last_at = max(last_at, excluded.last_at)",
        [
            (scope, s.memory, s.exposures, s.weight, s.uses, s.wrongs, s.last_at)
            for s in _read_days(db, scope, days=(day, day), since=-1).values()
        ],
    )
    db.execute("update scopes set rolled_day = ? where scope = ?", (day + 1, scope))
    return True


def delete_step(db: Connection, scope: int, *, before: int) -> tuple[int, int]:
    """Delete some recalls of days before this one, which are in the sums; return how many, and their hits."""
    ids = [
        (scope, row[0])
        for row in db.execute(
            "select id from recalls where scope = :scope and day < min(:before,"
            " (select rolled_day from scopes where scope = :scope)) limit :step",
            {"scope": scope, "before": before, "step": DELETE_STEP},
        )
    ]
    hits = db.executemany("delete from recall_events where scope = ? and recall_id = ?", ids).rowcount
    db.executemany("delete from recall_uses where scope = ? and recall_id = ?", ids)
    db.executemany("delete from recalls where scope = ? and id = ?", ids)
    return len(ids), max(hits, 0)


_LAST_DAY = 1 << 40


def _read_days(db: Connection, scope: int, *, days: tuple[int, int], since: int) -> dict[str, Signal]:
    given = {"scope": scope, "first": days[0], "last": days[1], "since": since}
    shown = db.execute(
        "select memory_id, sum(first), sum(iif(first, coverage / rank, 0)), max(ts_ms) from ("
        " select memory_id, ts_ms, coverage, rank, not exists (select 1 from recall_events o"
        "  where o.scope = e.scope and o.organic = 1 and o.memory_id = e.memory_id and o.day = e.day"
        "  and o.question = e.question and (o.ts_ms, o.id) < (e.ts_ms, e.id)) as first"
        " from recall_events e where scope = :scope and organic = 1 and day between :first and :last"
        " and ts_ms > :since) group by memory_id",
        given,
    )
    found = {row[0]: Signal(memory=row[0], exposures=row[1], weight=row[2], last_at=row[3]) for row in shown}
    judged = db.execute(
        "select u.memory_id, sum(u.verdict = 'used'), sum(u.verdict = 'wrong'), max(u.at) from recall_uses u"
        " join recalls r on r.scope = u.scope and r.id = u.recall_id where u.scope = :scope"
        " and r.day between :first and :last and r.asked_by in ('human', 'agent') and u.at > :since"
        " group by u.memory_id",
        given,
    )
    for memory, uses, wrongs, at in judged:
        known = found.get(memory, Signal(memory=memory))
        found[memory] = replace(known, uses=uses, wrongs=wrongs, last_at=max(at, known.last_at))
    return found


def _added(one: Signal, other: Signal | None) -> Signal:
    if other is None:
        return one
    return Signal(
        memory=one.memory,
        exposures=one.exposures + other.exposures,
        weight=one.weight + other.weight,
        uses=one.uses + other.uses,
        wrongs=one.wrongs + other.wrongs,
        last_at=max(one.last_at, other.last_at),
    )
