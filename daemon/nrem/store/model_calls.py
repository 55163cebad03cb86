"""What models were asked: a row for each call, with hashes in place of texts."""

from __future__ import annotations

import json
from dataclasses import dataclass

from nrem.store import scopes
from nrem.store.driver import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    id: str
    at: int
    purpose: str
    template: str
    prompt_hash: bytes
    model: str
    memory_ids: tuple[str, ...]
    output_hash: bytes | None
    """None when there was no answer."""
    input_tokens: int
    output_tokens: int
    millis: int
    error: str | None


def record(db: Connection, scope: int, call: ModelCall) -> None:
    scopes.count(db, scope)  # it may have been removed meanwhile
    db.execute(
        "insert into model_calls (id, scope, at, purpose, template, prompt_hash, model, memory_ids,"
        " output_hash, input_tokens, output_tokens, millis, error)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            call.id, scope, call.at, call.purpose, call.template, call.prompt_hash, call.model,
            json.dumps(call.memory_ids), call.output_hash, call.input_tokens, call.output_tokens,
            call.millis, call.error,
        ),
    )  # fmt: skip


def tokens_since(db: Connection, at: int) -> int:
    """Return how many tokens all calls since a moment took, of all agents together: they share the bill."""
    [used] = db.execute(
        "select coalesce(sum(input_tokens + output_tokens), 0) from model_calls where at >= ?", (at,)
    ).fetchone()
    return int(used)


def failures(db: Connection, scope: int) -> tuple[int, str | None]:
    """Return how many calls of a scope failed since the last one that did not, and why the last one did."""
    last = "(select coalesce(max(rowid), 0) from model_calls where scope = :scope and error is null)"
    rows = db.execute(
        f"select error from model_calls where scope = :scope and rowid > {last} order by rowid desc",
        {"scope": scope},
    ).fetchall()
    return len(rows), rows[0][0] if rows else None
