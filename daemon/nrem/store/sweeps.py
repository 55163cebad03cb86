"""The sweeps of each scope: one at a time, applied in one transaction, and what a sweep has to go by."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from nrem.errors import Conflict, NotFound
from nrem.model import Kind, Role, Scope, Trust
from nrem.policy.reflection import Tagged
from nrem.store.driver import Connection, Row
from nrem.wire import SweepFailure

LEASE_MILLIS = 600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    id: str
    state: str
    """running; applied, while its files are to be written; published."""
    mode: str
    actor: str
    started_at: int
    finished_at: int | None
    digest: str | None
    promoted: int
    demoted: int
    superseded: int
    report: dict[str, Any]
    commit: str | None
    undone_at: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What a sweep reads of a memory."""

    id: str
    content: str
    kind: Kind
    category: str
    trusted: bool
    role: Role | None
    pinned: bool
    importance: float
    version: int
    created_at: int
    updated_at: int
    said_at: int
    """When its text was last changed, or when it was stored."""
    expires_at: int | None
    user: str | None
    superseded_by: str | None


# The ledger


def begin(db: Connection, scope: int, id: str, *, mode: str, actor: str, now: int) -> None:
    """Open a sweep; raise Conflict while another one of this scope is open and its lease runs."""
    refuse_open(db, scope, now=now)
    db.execute(
        "insert into sweeps (scope, id, state, mode, actor, started_at, lease_until)"
        " values (?, ?, 'running', ?, ?, ?, ?)",
        (scope, id, mode, actor, now, now + LEASE_MILLIS),
    )


def refuse_open(db: Connection, scope: int, *, now: int) -> None:
    """Raise Conflict while a sweep of this scope is at work; one whose lease has ended is forgotten."""
    db.execute("delete from sweeps where scope = ? and state = 'running' and lease_until <= ?", (scope, now))
    other = db.execute("select id from sweeps where scope = ? and state <> 'published'", (scope,)).fetchone()
    if other is not None:
        raise Conflict(
            f"sweep {other[0]} of this agent is not done yet",
            hint="wait for it; nrem dream status tells when it is",
            code="sweep_running",
        )


def give_up(db: Connection, scope: int, id: str) -> None:
    """Forget a sweep that was begun and came to nothing."""
    db.execute("delete from sweeps where scope = ? and id = ? and state = 'running'", (scope, id))


def note_failure(db: Connection, scope: int, error: str, hint: str | None, *, now: int) -> None:
    """Note why the last try to sweep came to nothing."""
    db.execute(
        "insert or replace into sweep_failures (scope, at, error, hint) values (?, ?, ?, ?)",
        (scope, now, error, hint),
    )


def forget_failure(db: Connection, scope: int) -> None:
    """Note that the last try to sweep came to its end."""
    db.execute("delete from sweep_failures where scope = ?", (scope,))


def failure(db: Connection, scope: int) -> SweepFailure | None:
    """Return when and why the last try to sweep came to nothing, if it did."""
    row = db.execute("select at, error, hint from sweep_failures where scope = ?", (scope,)).fetchone()
    return SweepFailure(at=row[0], error=row[1], hint=row[2]) if row else None


def release(db: Connection) -> None:
    """Forget the sweeps that an earlier process began; those that it applied stay, to be published."""
    db.execute("delete from sweeps where state = 'running'")


def apply(db: Connection, scope: int, id: str, report: dict[str, Any], counts: tuple[int, int, int]) -> None:
    """Note what a sweep decided: lines that came, went, were replaced. Conflict when it lost its lease."""
    noted = db.execute(
        "update sweeps set state = 'applied', report = ?, promoted = ?, demoted = ?, superseded = ?,"
        " lease_until = null where scope = ? and id = ? and state = 'running'",
        (_json(report), *counts, scope, id),
    ).rowcount
    if not noted:
        raise Conflict(f"sweep {id} took too long, and another one has begun", code="sweep_lost")


def _json(report: dict[str, Any]) -> str:
    return json.dumps(report, ensure_ascii=False, sort_keys=True)


def finish(db: Connection, scope: int, id: str, *, commit: str | None, digest: str, now: int) -> None:
    """Note that a sweep's files are written, and what a next one would find."""
    db.execute(
        "update sweeps set state = 'published', commit_id = ?, digest = ?, finished_at = ?"
        " where scope = ? and id = ?",
        (commit, digest, now, scope, id),
    )


def note_by_hand(db: Connection, scope: int, id: str, by_hand: dict[str, Any]) -> None:
    """Note what people did to lines, also while the sweep ran."""
    db.execute(
        "update sweeps set report = json_set(report, '$.by_hand', json(?)) where scope = ? and id = ?",
        (_json(by_hand), scope, id),
    )


def note_undone(db: Connection, scope: int, id: str, *, now: int) -> None:
    db.execute("update sweeps set undone_at = ? where scope = ? and id = ?", (now, scope, id))


def find_applied(db: Connection, scope: int) -> Sweep | None:
    """Return the sweep whose files are still to be written, if there is one."""
    row = db.execute("select * from sweeps where scope = ? and state = 'applied'", (scope,)).fetchone()
    return _sweep(row) if row else None


def all_applied(db: Connection) -> list[Scope]:
    """Return the scopes that have such a sweep."""
    rows = db.execute(
        "select s.scope as number, s.name as name, s.created_at as created_at from sweeps w"
        " join scopes s on s.scope = w.scope where w.state = 'applied' and s.removed_at is null"
        " order by s.name"
    )
    return [Scope(**dict(row)) for row in rows]


def get(db: Connection, scope: int, id: str) -> Sweep:
    """Return a sweep of this scope; raise NotFound for any other id."""
    row = db.execute("select * from sweeps where scope = ? and id = ?", (scope, id)).fetchone()
    if row is None:
        raise NotFound(
            "there is no sweep with this id", hint="nrem dream list shows them", code="sweep_not_found"
        )
    return _sweep(row)


def list_(db: Connection, scope: int, *, limit: int) -> list[Sweep]:
    """Return a scope's sweeps, newest first."""
    rows = db.execute("select * from sweeps where scope = ? order by id desc limit ?", (scope, limit))
    return [_sweep(row) for row in rows]


def _sweep(row: Row) -> Sweep:
    return Sweep(
        id=row["id"],
        state=row["state"],
        mode=row["mode"],
        actor=row["actor"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        digest=row["digest"],
        promoted=row["promoted"],
        demoted=row["demoted"],
        superseded=row["superseded"],
        report=json.loads(row["report"]),
        commit=row["commit_id"],
        undone_at=row["undone_at"],
    )


# What a sweep reads

# Pins make versions too: what counts is the first event with this text after the last one with another.
_SAID_AT = """case when m.version = 1 then m.created_at else coalesce(
    (select min(e.at) from events e where e.scope = m.scope and e.subject = m.id and e.op like 'memory.%'
     and e.payload ->> '$.content' = m.content and e.seq > (
        select max(o.seq) from events o where o.scope = m.scope and o.subject = m.id
        and o.op like 'memory.%' and o.payload ->> '$.content' <> m.content)),
    m.created_at) end"""


def material(db: Connection, scope: int, kinds: Collection[Kind]) -> list[Material]:
    """Return the memories that can have a line: of these kinds, pinned, or with a line now; oldest first."""
    marks = ", ".join("?" * len(kinds))
    rows = db.execute(
        "select m.id, m.content, m.kind, m.category, m.trust, m.role, m.pinned, m.importance, m.version,"
        f" m.created_at, m.updated_at, {_SAID_AT}, m.expires_at, m.user_id, m.superseded_by from memories m"
        f" where m.scope = ? and (m.kind in ({marks}) or m.pinned or m.id in (select memory_id"
        " from memory_promotions where scope = m.scope and demoted_at is null)) order by m.created_at, m.id",
        (scope, *(kind.value for kind in kinds)),
    )
    return [
        Material(
            id=id, content=content, kind=Kind(kind), category=category, trusted=trust == Trust.TRUSTED,
            role=Role(role) if role else None, pinned=bool(pinned), importance=importance, version=version,
            created_at=created, updated_at=updated, said_at=said, expires_at=expires, user=user,
            superseded_by=superseded_by,
        )
        for id, content, kind, category, trust, role, pinned, importance, version, created, updated, said,
        expires, user, superseded_by in rows
    ]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """How often people and agents were shown a memory, in all."""

    recalls: int
    ranks: float
    """The sum of 1 / rank."""
    queries: int
    days: int
    last_at: int


def hits(db: Connection, scope: int) -> dict[str, Hits]:
    """Return, by memory, every hit of an organic recall that is still recorded."""
    rows = db.execute(
        "select memory_id, count(*), sum(1.0 / rank), count(distinct question), count(distinct day),"
        " max(ts_ms) from recall_events where scope = ? and organic group by memory_id",
        (scope,),
    )
    return {
        id: Hits(recalls=recalls, ranks=ranks, queries=queries, days=days, last_at=last)
        for id, recalls, ranks, queries, days, last in rows
    }


def newest_tagged(
    db: Connection, scope: int, kinds: Collection[Kind], *, limit: int, now: int
) -> list[Tagged]:
    """Return the newest trusted memories that hold, of some kinds, with what they are about."""
    marks = ", ".join("?" * len(kinds))
    rows = db.execute(
        "select m.id, m.content, m.tags, m.concept_tags, m.created_at, m.version, m.user_id,"
        f" {_SAID_AT} from memories m where m.scope = ?"
        f" and trust = 'trusted' and superseded_by is null and kind in ({marks})"
        " and (expires_at is null or expires_at > ?)"
        " order by created_at desc, id desc limit ?",
        (scope, *(kind.value for kind in kinds), now, limit),
    )
    return [
        Tagged(
            id=id,
            text=content,
            tags=(*json.loads(tags), *json.loads(concepts)),
            at=created,
            version=version,
            said_at=said,
            speaker=user or "",
        )
        for id, content, tags, concepts, created, version, user, said in rows
    ]


def forget_themes(db: Connection, scope: int, memory: str) -> None:
    """Take the themes that go by a memory out of every report: a model may have made their names from it."""
    rows = db.execute(
        "select id, report from sweeps where scope = ? and instr(report, ?)", (scope, memory)
    ).fetchall()
    for id, text in rows:
        report = json.loads(text)
        report["themes"] = [theme for theme in report.get("themes", ()) if memory not in theme["sources"]]
        db.execute("update sweeps set report = ? where scope = ? and id = ?", (_json(report), scope, id))


def newest_write(db: Connection, scope: int) -> tuple[int, int]:
    """Return seq and time of the last event about a memory, 0 and 0 when there is none."""
    row = db.execute(
        "select seq, at from events where scope = ? and op like 'memory.%' order by seq desc limit 1",
        (scope,),
    ).fetchone()
    return (row[0], row[1]) if row else (0, 0)


def newest_organic(db: Connection, scope: int) -> tuple[int, int, int, int]:
    """Return the last recall of a person or agent and the last verdict, by number; then the times of both."""
    recall = db.execute(
        "select rowid, at from recalls where scope = ? and asked_by in ('human', 'agent')"
        " order by at desc, rowid desc limit 1",
        (scope,),
    ).fetchone() or (0, 0)
    verdict = db.execute(
        "select coalesce(max(rowid), 0), coalesce(max(at), 0) from recall_uses where scope = ?", (scope,)
    ).fetchone()
    return recall[0], verdict[0], recall[1], verdict[1]


def promotion_marks(db: Connection, scope: int, *, now: int) -> tuple[int, int, int, int, int]:
    """Return what else of the store decides a sweep: promotions, bars, and how many memories have expired."""
    begun, ended = db.execute(
        "select coalesce(max(rowid), 0), count(demoted_at) from memory_promotions where scope = ?", (scope,)
    ).fetchone()
    barred, barred_at = db.execute(
        "select count(*), coalesce(max(at), 0) from promotion_bars where scope = ?", (scope,)
    ).fetchone()
    expired = db.execute(
        "select count(*) from memories where scope = ? and expires_at <= ?", (scope, now)
    ).fetchone()[0]
    return begun, ended, barred, barred_at, expired
