"""What was asked and what was answered: append-only records, and the use of memories counted from them."""

from __future__ import annotations

from dataclasses import dataclass

from nrem.store.driver import Connection, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """One answered question, with all that decided the answer."""

    id: str
    at: int
    now: int
    actor: str
    ingress: str
    query: str
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
        " embedder, degraded) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            scope, recall.id, recall.at, recall.now, recall.actor, recall.ingress, recall.query,
            recall.request, recall.seq, recall.config_hash, recall.ranker, recall.embedder, recall.degraded,
        ),
    )  # fmt: skip
    db.executemany(
        "insert into recall_events (scope, recall_id, memory_id, rank, score, coverage, ts_ms)"
        " values (?, ?, ?, ?, ?, ?, ?)",
        [
            (scope, recall.id, memory, rank, score, coverage, recall.at)
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


def find(db: Connection, scope: int, id: str) -> Recall | None:
    """Return the record of an answer; None when there is none, or no more."""
    row = db.execute(
        "select id, at, now, actor, ingress, query, request, seq, config_hash, ranker, embedder, degraded"
        " from recalls where scope = ? and id = ?",
        (scope, id),
    ).fetchone()
    return _recall(db, scope, row) if row else None


def _recall(db: Connection, scope: int, row: Row) -> Recall:
    hits = db.execute(
        "select memory_id, score, coverage from recall_events where scope = ? and recall_id = ? order by rank",
        (scope, row["id"]),
    )
    return Recall(**dict(row), hits=tuple(tuple(hit) for hit in hits))
