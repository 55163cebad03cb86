"""What was asked and what was answered: append-only records, and the use of memories counted from them."""

from __future__ import annotations

import hashlib
import hmac
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nrem.model import RecallLine
from nrem.store.driver import Connection


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
    counted = db.execute(
        "update scopes set last_recall = last_recall + 1 where scope = ? and removed_at is null"
        " returning last_recall",
        (scope,),
    ).fetchone()
    if counted is None:
        return
    _insert(
        db,
        scope,
        RecallLine(
            number=counted[0], id=recall.id, at=recall.at, now=recall.now, actor=recall.actor,
            ingress=recall.ingress, query=recall.query, query_hash=None, request=recall.request,
            seq=recall.seq, config_hash=recall.config_hash, ranker=recall.ranker, embedder=recall.embedder,
            degraded=recall.degraded, hits=recall.hits,
        ),
    )  # fmt: skip


def add_lines(db: Connection, scope: int, lines: Iterable[RecallLine]) -> int:
    """Take in recalls that come from git, with the use that they count; return how many were not known."""
    new = 0
    for line in lines:
        known = db.execute(
            "select 1 from recalls where scope = ? and (id = ? or number = ?)", (scope, line.id, line.number)
        ).fetchone()
        if known is None:
            _insert(db, scope, line)
            new += 1
        db.execute(
            "update scopes set last_recall = max(last_recall, ?) where scope = ?", (line.number, scope)
        )
    return new


def _insert(db: Connection, scope: int, line: RecallLine) -> None:
    db.execute(
        "insert into recalls (scope, number, id, at, now, actor, ingress, query, query_hash, request, seq,"
        " config_hash, ranker, embedder, degraded) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            scope, line.number, line.id, line.at, line.now, line.actor, line.ingress, line.query or "",
            line.query_hash, line.request, line.seq, line.config_hash, line.ranker, line.embedder,
            line.degraded,
        ),
    )  # fmt: skip
    db.executemany(
        "insert into recall_events (scope, recall_id, memory_id, rank, score, coverage, ts_ms)"
        " values (?, ?, ?, ?, ?, ?, ?)",
        [
            (scope, line.id, memory, rank, score, coverage, line.at)
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


# For git


def last_number(db: Connection, scope: int) -> int:
    """Return the number of a scope's last recall, also when it was pruned since."""
    number: int = db.execute("select last_recall from scopes where scope = ?", (scope,)).fetchone()[0]
    return number


def lines(db: Connection, scope: int, first: int, *, hashed: bool) -> list[RecallLine]:
    """Return a scope's recalls from a number on, in order; hashed, without the words that were asked."""
    salt = db.execute("select value from store_meta where key = 'recall_salt'").fetchone()[0].encode()
    values = {"scope": scope, "first": first}
    found = db.execute(
        "select e.recall_id, e.memory_id, e.score, e.coverage from recalls r"
        " join recall_events e on e.scope = r.scope and e.recall_id = r.id"
        " where r.scope = :scope and r.number >= :first order by r.number, e.rank",
        values,
    )
    hits = {
        id: tuple((row[1], row[2], row[3]) for row in group)
        for id, group in itertools.groupby(found, key=lambda row: str(row[0]))
    }
    rows = db.execute(
        "select number, id, at, now, actor, ingress, query, query_hash, request, seq, config_hash, ranker,"
        " embedder, degraded from recalls where scope = :scope and number >= :first order by number",
        values,
    ).fetchall()
    return [_line(dict(row), hits.get(row["id"], ()), salt if hashed else None) for row in rows]


def _line(row: dict[str, Any], hits: tuple[tuple[str, float, float], ...], salt: bytes | None) -> RecallLine:
    if row["query_hash"] is not None:
        row |= {"query": None}
    elif salt is not None:
        # The salt is not in git: whoever has only that cannot try questions out.
        digest = hmac.new(salt, row["query"].encode(), hashlib.sha256).hexdigest()
        row |= {"query": None, "query_hash": digest, "request": "{}"}
    return RecallLine(**row, hits=hits)
