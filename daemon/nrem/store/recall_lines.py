"""Recalls as they go to git, and as they come back from it."""

from __future__ import annotations

import hashlib
import hmac
import itertools
from collections.abc import Iterable
from typing import Any

from nrem.model import AskedBy, RecallLine
from nrem.store import recalls
from nrem.store.driver import Connection


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
        "select number, id, at, now, actor, ingress, asked_by, day, query, query_hash, question, request,"
        " seq, config_hash, ranker, embedder, degraded from recalls"
        " where scope = :scope and number >= :first order by number",
        values,
    ).fetchall()
    return [_line(dict(row), hits.get(row["id"], ()), salt if hashed else None) for row in rows]


def _line(row: dict[str, Any], hits: tuple[tuple[str, float, float], ...], salt: bytes | None) -> RecallLine:
    if row["query_hash"] is not None:
        row |= {"query": None}
    elif salt is not None:
        # The salt is not in git: whoever has only that cannot try questions out.
        digest = hmac.new(salt, row["query"].encode(), hashlib.sha256).hexdigest()
        terms = hmac.new(salt, str(row["question"]).encode(), hashlib.sha256).digest()
        question = int.from_bytes(terms[:8], "big", signed=True)
        row |= {"query": None, "query_hash": digest, "question": question, "request": "{}"}
    return RecallLine(**row | {"asked_by": AskedBy(row["asked_by"])}, hits=hits)


def add_lines(db: Connection, scope: int, lines: Iterable[RecallLine]) -> int:
    """Take in recalls that come from git, with the use that they count; return how many were not known."""
    new = 0
    for line in lines:
        known = db.execute(
            "select 1 from recalls where scope = ? and (id = ? or number = ?)", (scope, line.id, line.number)
        ).fetchone()
        if known is None:
            recalls.insert(db, scope, line)
            new += 1
        db.execute(
            "update scopes set last_recall = max(last_recall, ?) where scope = ?", (line.number, scope)
        )
    return new
