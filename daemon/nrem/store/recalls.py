"""What was asked and what was answered: append-only records, and the use of memories counted from them."""

from __future__ import annotations

from dataclasses import dataclass

from nrem.errors import InvalidField, NotFound
from nrem.model import AskedBy
from nrem.store.driver import Connection


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
    hits: tuple[tuple[str, float, float], ...]
    """Memory, score and coverage, best first."""


def add(db: Connection, scope: int, recall: Recall) -> None:
    """Record an answer; memories that are gone by now keep their line and get no use."""
    if db.execute("select 1 from scopes where scope = ? and removed_at is null", (scope,)).fetchone() is None:
        return
    db.execute(
        "insert into recalls (scope, id, at, now, actor, ingress, query, request, seq, config_hash, ranker,"
        " embedder, degraded, asked_by, day, question, best)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            scope, recall.id, recall.at, recall.now, recall.actor, recall.ingress, recall.query,
            recall.request, recall.seq, recall.config_hash, recall.ranker, recall.embedder, recall.degraded,
            recall.asked_by, recall.day, recall.question,
            max((coverage for _, _, coverage in recall.hits), default=0.0),
        ),
    )  # fmt: skip
    organic = recall.asked_by.is_organic
    db.executemany(
        "insert into recall_events (scope, recall_id, memory_id, rank, score, coverage, ts_ms, organic, day,"
        " question) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (scope, recall.id, memory, rank, score, coverage, recall.at, organic, recall.day, recall.question)
            for rank, (memory, score, coverage) in enumerate(recall.hits, 1)
        ],
    )
    db.executemany(
        "insert into memory_use (memory, access_count, last_accessed_at)"
        " select rowid, 1, :at from memories where scope = :scope and id = :id"
        " on conflict (memory) do update set access_count = access_count + 1,"
        " last_accessed_at = max(last_accessed_at, :at)",
        [{"scope": scope, "id": memory, "at": recall.at} for memory, _, _ in recall.hits],
    )


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
