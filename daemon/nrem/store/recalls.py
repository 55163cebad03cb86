"""What was asked and what was answered: append-only records, and the use of memories counted from them."""

from __future__ import annotations

from dataclasses import dataclass

from nrem.errors import InvalidField, NotFound
from nrem.model import AskedBy, RecallLine
from nrem.store.driver import Connection, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """One answered question, with all that decided the answer."""

    id: str
    at: int
    now: int
    actor: str
    ingress: str
    asked_by: AskedBy
    day: int
    """In the zone that was set when it was asked, counted from 1970-01-01."""
    query: str
    question: int
    """The same for questions with the same terms."""
    request: str
    seq: int
    config_hash: str
    ranker: str
    """Of ranking and of terms: with another one, the same question may have another answer."""
    embedder: str | None
    degraded: str
    vector_generation: int | None
    """Which late vectors it had seen; None for a record from before that was kept."""
    hits: tuple[tuple[str, float, float], ...]
    """Memory, score and coverage, best first."""


def add(db: Connection, scope: int, recall: Recall) -> None:
    """Record an answer; memories that are gone by now keep their line and get no use."""
    counted = db.execute(
        "update scopes set last_recall = last_recall + 1 where scope = ? and removed_at is null"
        " returning last_recall",
        (scope,),
    ).fetchone()
    if counted is None:
        return
    insert(
        db,
        scope,
        RecallLine(
            number=counted[0], id=recall.id, at=recall.at, now=recall.now, actor=recall.actor,
            ingress=recall.ingress, asked_by=recall.asked_by, day=recall.day, query=recall.query,
            query_hash=None, question=recall.question, request=recall.request,
            seq=recall.seq, config_hash=recall.config_hash, ranker=recall.ranker, embedder=recall.embedder,
            degraded=recall.degraded, hits=recall.hits,
        ),
        vector_generation=recall.vector_generation,
    )  # fmt: skip


def insert(db: Connection, scope: int, line: RecallLine, *, vector_generation: int | None = None) -> None:
    """Write a recall down, with its hits and the use that they count."""
    db.execute(
        "insert into recalls (scope, number, id, at, now, actor, ingress, asked_by, day, query, query_hash,"
        " question, request, seq, config_hash, ranker, embedder, degraded, vector_generation, best)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            scope, line.number, line.id, line.at, line.now, line.actor, line.ingress, line.asked_by,
            line.day, line.query or "", line.query_hash, line.question, line.request, line.seq,
            line.config_hash, line.ranker, line.embedder, line.degraded, vector_generation,
            max((coverage for _, _, coverage in line.hits), default=0.0),
        ),
    )  # fmt: skip
    organic = line.asked_by.is_organic
    db.executemany(
        "insert into recall_events (scope, recall_id, memory_id, rank, score, coverage, ts_ms, organic, day,"
        " question) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (scope, line.id, memory, rank, score, coverage, line.at, organic, line.day, line.question)
            for rank, (memory, score, coverage) in enumerate(line.hits, 1)
        ],
    )
    db.executemany(
        "insert into memory_use (memory, access_count, last_accessed_at)"
        " select rowid, 1, :at from memories where scope = :scope and id = :id"
        " on conflict (memory) do update set access_count = access_count + 1,"
        " last_accessed_at = max(last_accessed_at, :at)",
        [{"scope": scope, "id": memory, "at": line.at} for memory, _, _ in line.hits],
    )


def recount(db: Connection, scope: int, memory: str) -> None:
    """Give a memory that came back the use that its recalls count."""
    db.execute(
        "insert into memory_use (memory, access_count, last_accessed_at)"
        " select m.rowid, count(*), max(e.ts_ms) from memories m"
        " join recall_events e on e.scope = m.scope and e.memory_id = m.id"
        " where m.scope = :scope and m.id = :memory group by m.rowid"
        " on conflict (memory) do update set access_count = excluded.access_count,"
        " last_accessed_at = excluded.last_accessed_at",
        {"scope": scope, "memory": memory},
    )


_SELECT = (
    "select id, at, now, actor, ingress, asked_by, day, query, question, request, seq, config_hash, ranker,"
    " embedder, degraded, vector_generation from recalls"
)


def find(db: Connection, scope: int, id: str) -> Recall | None:
    """Return the record of an answer; None when there is none, or no more."""
    row = db.execute(f"{_SELECT} where scope = ? and id = ?", (scope, id)).fetchone()
    return _recall(db, scope, row) if row else None


def between(db: Connection, scope: int, first: int, last: int, *, limit: int) -> list[Recall]:
    """Return the answers given from one time to another, both included, oldest first."""
    rows = db.execute(
        f"{_SELECT} where scope = ? and at between ? and ? order by at, rowid limit ?",
        (scope, first, last, limit),
    )
    return [_recall(db, scope, row) for row in rows.fetchall()]


def of_session(db: Connection, scope: int, session: str, *, limit: int) -> list[Recall]:
    """Return the answers that were looked for in one session only, oldest first."""
    rows = db.execute(
        f"{_SELECT} where scope = ? and request ->> '$.session' = ? order by at, rowid limit ?",
        (scope, session, limit),
    )
    return [_recall(db, scope, row) for row in rows.fetchall()]


@dataclass(frozen=True, slots=True)
class Used:
    """How often, and from when to when, a memory was in an answer, and what was said of it there."""

    count: int
    first: int | None
    last: int | None
    used: int
    wrong: int


@dataclass(frozen=True, slots=True)
class Query:
    """A question that a memory was an answer to."""

    text: str
    count: int
    last: int
    best_rank: int


def use_of(db: Connection, scope: int, memory: str) -> Used:
    """Return in how many answers a memory was, and how often it was marked there."""
    shown = db.execute(
        "select count(*), min(ts_ms), max(ts_ms) from recall_events where scope = ? and memory_id = ?",
        (scope, memory),
    ).fetchone()
    marked = db.execute(
        "select coalesce(sum(u.verdict = 'used'), 0), coalesce(sum(u.verdict = 'wrong'), 0)"
        " from recall_events e join recall_uses u"
        " on u.scope = e.scope and u.recall_id = e.recall_id and u.memory_id = e.memory_id"
        " where e.scope = ? and e.memory_id = ?",
        (scope, memory),
    ).fetchone()
    return Used(*shown, *marked)


def queries_for(db: Connection, scope: int, memory: str, *, limit: int) -> list[Query]:
    """Return the questions that a memory answered most often."""
    rows = db.execute(
        "select r.query, count(*), max(e.ts_ms), min(e.rank) from recall_events e"
        " join recalls r on r.scope = e.scope and r.id = e.recall_id"
        " where e.scope = ? and e.memory_id = ? group by r.query"
        " order by count(*) desc, max(e.ts_ms) desc, r.query limit ?",
        (scope, memory, limit),
    )
    return [Query(*row) for row in rows]


def _recall(db: Connection, scope: int, row: Row) -> Recall:
    hits = db.execute(
        "select memory_id, score, coverage from recall_events where scope = ? and recall_id = ?"
        " order by rank",
        (scope, row["id"]),
    )
    known = dict(row) | {"asked_by": AskedBy(row["asked_by"])}
    return Recall(**known, hits=tuple(tuple(hit) for hit in hits))


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What somebody says of memories that an answer had."""

    recall: str
    memories: tuple[str, ...]
    verdict: str
    actor: str
    at: int


def mark(db: Connection, scope: int, given: Verdict) -> int:
    """Note a verdict, once for each memory; return for how many it is new.

    NotFound for a recall that this scope has not; InvalidField for memories that were not in its answer.
    """
    known = db.execute("select 1 from recalls where scope = ? and id = ?", (scope, given.recall)).fetchone()
    if known is None:
        raise NotFound(
            f"there is no recall {given.recall}",
            hint="the recall_id of an answer names it; one with observe=false has none",
            code="recall_not_found",
        )
    answered = {
        row[0]
        for row in db.execute(
            "select memory_id from recall_events where scope = ? and recall_id = ?", (scope, given.recall)
        )
    }
    foreign = [memory for memory in given.memories if memory not in answered]
    if foreign:
        raise InvalidField(
            "memory_ids",
            f"were not in that answer: {', '.join(foreign)}",
            hint="give ids of its hits",
        )
    return sum(
        db.execute(
            "insert or ignore into recall_uses (scope, recall_id, memory_id, verdict, actor, at)"
            " values (?, ?, ?, ?, ?, ?)",
            (scope, given.recall, memory, given.verdict, given.actor, given.at),
        ).rowcount
        for memory in dict.fromkeys(given.memories)
    )
