"""Agents and their numbers, and each agent's own configuration with its versions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from nrem.errors import Conflict, NotFound
from nrem.model import AgentConfig, By, Scope
from nrem.policy.chain import canonical
from nrem.store import events
from nrem.store.driver import Connection

ERASE_STEP = 500


def add(db: Connection, name: str, by: By) -> Scope:
    """Make a new scope with a number of its own, and its first event."""
    if find(db, name) is not None:
        raise taken(name)
    number = db.execute("insert into scopes (name, created_at) values (?, ?)", (name, by.now)).lastrowid
    assert number is not None
    events.record(db, number, "agent.add", name, {"name": name}, by)
    return Scope(number=number, name=name, created_at=by.now)


def find(db: Connection, name: str) -> Scope | None:
    row = db.execute(
        "select scope, name, created_at from scopes where name = ? and removed_at is null", (name,)
    ).fetchone()
    return Scope(number=row[0], name=row[1], created_at=row[2]) if row else None


def get(db: Connection, name: str) -> Scope:
    """Return the scope of a name; raise NotFound otherwise."""
    scope = find(db, name)
    if scope is None:
        raise not_found(name)
    return scope


def not_found(name: str) -> NotFound:
    return NotFound(f"there is no agent called {name}", hint=f"nrem agent add {name}", code="agent_not_found")


def taken(name: str) -> Conflict:
    return Conflict(f"there is an agent called {name} already", hint="choose another name")


def list_(db: Connection) -> list[tuple[Scope, int]]:
    """Return every agent with the number of its memories, by name."""
    rows = db.execute(
        "select scope, name, created_at, memory_count from scopes where removed_at is null order by name"
    )
    return [(Scope(number=row[0], name=row[1], created_at=row[2]), row[3]) for row in rows]


def count(db: Connection, scope: int) -> int:
    """Return how many memories a scope has."""
    row = db.execute(
        "select memory_count from scopes where scope = ? and removed_at is null", (scope,)
    ).fetchone()
    if row is None:
        raise _gone()
    return int(row[0])


@dataclass(frozen=True, slots=True)
class State:
    """What a snapshot sees of a scope: its last event, how often vectors came late, and whose they are."""

    seq: int
    vector_generation: int
    embedder: str | None
    dimension: int


def state(db: Connection, scope: int) -> State:
    row = db.execute(
        "select (select max(seq) from events e where e.scope = s.scope), vector_generation,"
        " (select value from store_meta where key = 'embedder'),"
        " (select value from store_meta where key = 'dimension') from scopes s"
        " where s.scope = ? and removed_at is null",
        (scope,),
    ).fetchone()
    if row is None:
        raise _gone()
    return State(row[0], row[1], row[2], int(row[3] or 0))


def _gone() -> NotFound:
    return NotFound("this agent was removed", hint="nrem agent list", code="agent_not_found")


def touch(db: Connection, scope: int, *, memories: int, terms: int) -> None:
    """Note what the size of a scope changed by."""
    db.execute(
        "update scopes set memory_count = memory_count + ?, term_count = term_count + ? where scope = ?",
        (memories, terms, scope),
    )


def mark_removed(db: Connection, scope: int, *, now: int) -> None:
    """Make a scope unreachable, with its tokens; erase_step then takes its rows away."""
    db.execute("delete from tokens where scope = ?", (scope,))
    db.execute("update scopes set removed_at = ? where scope = ?", (now, scope))


def removed(db: Connection) -> list[tuple[int, str | None]]:
    """Return the scopes whose removal was begun, each with its name unless a new agent has it."""
    rows = db.execute(
        "select r.scope, case when l.scope is null then r.name end from scopes r"
        " left join scopes l on l.name = r.name and l.removed_at is null where r.removed_at is not null"
    )
    return [(row[0], row[1]) for row in rows]


def erase_step(db: Connection, scope: int) -> bool:
    """Delete some rows of a removed scope; return whether there may be more."""
    rows = [
        (row[0],)
        for row in db.execute("select rowid from memories where scope = ? limit ?", (scope, ERASE_STEP))
    ]
    if rows:
        db.executemany("delete from memories_fts where rowid = ?", rows)
        db.executemany("delete from memories where rowid = ?", rows)
        return True
    for table, key in (
        ("memory_versions", "rowid"),
        ("jobs", "rowid"),
        ("schedules", "rowid"),
        ("memory_promotions", "rowid"),
        ("promotion_bars", "memory_id"),
        ("model_lines", "memory_id"),
        ("proposals", "id"),
        ("sweeps", "id"),
        ("sweep_failures", "rowid"),
        ("memory_blocks", "rowid"),
        ("recall_uses", "rowid"),
        ("recall_events", "rowid"),
        ("recalls", "rowid"),
        ("recall_sums", "rowid"),  # after what they are made from, which may be going on
        ("model_calls", "rowid"),
        ("commits", "rowid"),
        ("watermarks", "rowid"),
        ("remotes", "rowid"),
        ("vector_switches", "generation"),
        ("rewritten_commits", "old"),
        ("erasures", "rowid"),
        ("events", "seq"),
        ("agent_configs", "rowid"),
    ):
        deleted = db.execute(
            f"delete from {table} where scope = :scope and {key} in"
            f" (select {key} from {table} where scope = :scope limit :step)",
            {"scope": scope, "step": ERASE_STEP},
        ).rowcount
        if deleted:
            return True
    return False


def drop(db: Connection, scope: int) -> None:
    """Delete a scope of which nothing is left."""
    db.execute("delete from scopes where scope = ?", (scope,))


def put_config(db: Connection, scope: Scope, config: dict[str, Any], message: str, by: By) -> AgentConfig:
    """Record a new version of an agent's configuration."""
    last = db.execute("select max(version) from agent_configs where scope = ?", (scope.number,)).fetchone()[0]
    version = (last or 0) + 1
    payload = {"version": version, "config": config, "message": message}
    event = events.record(db, scope.number, "agent.config", scope.name, payload, by)
    db.execute(
        "insert into agent_configs (scope, version, config, message, actor, at) values (?, ?, ?, ?, ?, ?)",
        (scope.number, version, canonical(config), message, by.actor, event.at),
    )
    return AgentConfig(version=version, config=config, message=message, actor=by.actor, at=event.at)


def configs(db: Connection, scope: int) -> list[AgentConfig]:
    """Return all versions of an agent's configuration, newest first."""
    rows = db.execute(
        "select version, config, message, actor, at from agent_configs where scope = ? order by version desc",
        (scope,),
    )
    return [
        AgentConfig(version=row[0], config=json.loads(row[1]), message=row[2], actor=row[3], at=row[4])
        for row in rows
    ]


def config(db: Connection, scope: int) -> dict[str, Any]:
    """Return an agent's configuration as it is now, empty when it has none."""
    row = db.execute(
        "select config from agent_configs where scope = ? order by version desc limit 1", (scope,)
    ).fetchone()
    settings: dict[str, Any] = json.loads(row[0]) if row else {}
    return settings
