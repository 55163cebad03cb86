"""Which memories have a line in MEMORY.md, since when and why; which ones people do not want there.

Each change writes its event, so that git has it. A memory has at most one promotion that has not ended.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from nrem.errors import NotFound
from nrem.model import By, Event
from nrem.policy import memory_doc
from nrem.store import events, model_lines
from nrem.store.driver import Connection, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """What a promotion or its end is due to."""

    reason: str
    sweep: str | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    memory: str
    promoted_at: int
    score: float | None
    sweep: str | None
    reason: str
    demoted_at: int | None
    demoted_by: str | None
    demoted_for: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """A live memory that has a line: what is needed to write it."""

    id: str
    content: str
    category: str
    created_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A change to the lines that waits for somebody's word."""

    id: str
    sweep: str
    memory: str
    version: int
    verdict: str
    reason: str
    score: float
    state: str
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The managed block as it was last written, and as it was about to be."""

    written: bytes
    intended: bytes


# Promotions


def promote(db: Connection, scope: int, id: str, grounds: Grounds, by: By) -> None:
    """Give a memory its line; nothing happens when it has one."""
    if find_active(db, scope, id) is not None:
        return
    payload = {"sweep": grounds.sweep, "reason": grounds.reason, "score": grounds.score}
    fold(db, scope, events.record(db, scope, "promotion.promote", id, payload, by))


def demote(db: Connection, scope: int, id: str, grounds: Grounds, by: By) -> None:
    """End a memory's promotion; nothing happens when it has none."""
    if find_active(db, scope, id) is None:
        return
    payload = {"sweep": grounds.sweep, "reason": grounds.reason, "score": grounds.score}
    fold(db, scope, events.record(db, scope, "promotion.demote", id, payload, by))


def bar(db: Connection, scope: int, id: str, version: int, grounds: Grounds, by: By) -> None:
    """Keep a memory from being promoted by a sweep, until it is promoted by hand or pinned anew."""
    if id in bars(db, scope):
        return
    payload = {"sweep": grounds.sweep, "reason": grounds.reason, "version": version}
    fold(db, scope, events.record(db, scope, "promotion.bar", id, payload, by))


def fold(db: Connection, scope: int, event: Event) -> None:
    """Write the rows that an event about a promotion stands for; any other event is left alone.

    A promotion lifts the bar. What was erased is left blank. All events of a scope, folded in order, give the
    same rows again.
    """
    said = json.loads(event.payload) if event.payload else {}
    match event.op:
        case "promotion.promote":
            db.execute(
                "insert into memory_promotions (scope, memory_id, promoted_at, score, sweep, reason)"
                " values (?, ?, ?, ?, ?, ?)",
                (
                    scope,
                    event.subject,
                    event.at,
                    said.get("score"),
                    said.get("sweep"),
                    said.get("reason", ""),
                ),
            )
            db.execute("delete from promotion_bars where scope = ? and memory_id = ?", (scope, event.subject))
        case "promotion.demote":
            db.execute(
                "update memory_promotions set demoted_at = ?, demoted_by = ?, demoted_for = ?"
                " where scope = ? and memory_id = ? and demoted_at is null",
                (event.at, said.get("sweep"), said.get("reason", ""), scope, event.subject),
            )
        case "promotion.bar":
            db.execute(
                "insert into promotion_bars (scope, memory_id, version, at, reason) values (?, ?, ?, ?, ?)",
                (scope, event.subject, said.get("version", 0), event.at, said.get("reason", "")),
            )
        case model_lines.OP:
            model_lines.fold(db, scope, event)


def bars(db: Connection, scope: int) -> dict[str, int]:
    """Return the barred memories, each with the version that it had then."""
    rows = db.execute("select memory_id, version from promotion_bars where scope = ?", (scope,))
    return {row[0]: row[1] for row in rows}


def find_active(db: Connection, scope: int, id: str) -> Promotion | None:
    row = db.execute(
        "select * from memory_promotions where scope = ? and memory_id = ? and demoted_at is null",
        (scope, id),
    ).fetchone()
    return _promotion(row) if row else None


def active(db: Connection, scope: int) -> dict[str, Promotion]:
    """Return the promotions that have not ended, also of memories that are gone."""
    rows = db.execute("select * from memory_promotions where scope = ? and demoted_at is null", (scope,))
    return {row["memory_id"]: _promotion(row) for row in rows}


def ever(db: Connection, scope: int) -> list[str]:
    """Return every memory that was promoted once, also if it is gone now, in order of the first time."""
    rows = db.execute(
        "select memory_id from memory_promotions where scope = ? group by memory_id order by min(rowid)",
        (scope,),
    )
    return [row[0] for row in rows]


def labels(db: Connection, scope: int) -> dict[str, str]:
    """Return what each memory that ever had a line is called there."""
    return memory_doc.labels(ever(db, scope))


def by_label(db: Connection, scope: int) -> dict[str, str]:
    """Return the memory that each label stands for."""
    return {label: id for id, label in labels(db, scope).items()}


def made_by(db: Connection, scope: int, sweep: str) -> list[Promotion]:
    """Return the promotions that a sweep began, in order."""
    rows = db.execute(
        "select * from memory_promotions where scope = ? and sweep = ? order by rowid", (scope, sweep)
    )
    return [_promotion(row) for row in rows]


def ended_by(db: Connection, scope: int, sweep: str) -> list[Promotion]:
    """Return the promotions that a sweep ended, in order."""
    rows = db.execute(
        "select * from memory_promotions where scope = ? and demoted_by = ? order by rowid", (scope, sweep)
    )
    return [_promotion(row) for row in rows]


def lines(db: Connection, scope: int) -> list[Promoted]:
    """Return the live memories that have a line, oldest first; none whose text is not trusted any more."""
    rows = db.execute(
        "select m.id as id, m.content as content, m.category as category, m.created_at as created_at"
        " from memory_promotions p join memories m on m.scope = p.scope and m.id = p.memory_id"
        " where p.scope = ? and p.demoted_at is null and m.trust = 'trusted' order by m.created_at, m.id",
        (scope,),
    )
    return [Promoted(**dict(row)) for row in rows]


def last_promoted_at(db: Connection, scope: int) -> int | None:
    row = db.execute("select max(promoted_at) from memory_promotions where scope = ?", (scope,)).fetchone()
    return None if row[0] is None else int(row[0])


def _promotion(row: Row) -> Promotion:
    return Promotion(
        memory=row["memory_id"],
        promoted_at=row["promoted_at"],
        score=row["score"],
        sweep=row["sweep"],
        reason=row["reason"],
        demoted_at=row["demoted_at"],
        demoted_by=row["demoted_by"],
        demoted_for=row["demoted_for"],
    )


# Proposals


def propose(db: Connection, scope: int, made: list[Proposal]) -> None:
    """Put new proposals in the place of the open ones."""
    db.execute("delete from proposals where scope = ? and state = 'open'", (scope,))
    db.executemany(
        "insert into proposals (scope, id, sweep, memory_id, version, verdict, reason, score, state, at)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (scope, p.id, p.sweep, p.memory, p.version, p.verdict, p.reason, p.score, p.state, p.at)
            for p in made
        ],
    )


def get_proposal(db: Connection, scope: int, id: str) -> Proposal:
    """Return a proposal of this scope, whatever became of it; raise NotFound for any other id."""
    row = db.execute("select * from proposals where scope = ? and id = ?", (scope, id)).fetchone()
    if row is None:
        raise NotFound(
            "there is no proposal with this id",
            hint="nrem dream status shows the open ones",
            code="proposal_not_found",
        )
    return _proposal(row)


def open_proposals(db: Connection, scope: int) -> list[Proposal]:
    """Return what waits for somebody's word: nobody decided it, and nothing since has settled it.

    A later sweep, an undo, a memory that is gone and a line that came or went otherwise settle a proposal.
    """
    rows = db.execute(
        "select p.* from proposals p"
        " join memories m on m.scope = p.scope and m.id = p.memory_id"
        " join sweeps w on w.scope = p.scope and w.id = p.sweep and w.undone_at is null"
        " where p.scope = :scope and p.state = 'open'"
        " and w.id = (select max(id) from sweeps where scope = :scope and state <> 'running')"
        " and (p.verdict = 'promote') <> exists (select 1 from memory_promotions a"
        " where a.scope = p.scope and a.memory_id = p.memory_id and a.demoted_at is null)"
        " order by p.id",
        {"scope": scope},
    )
    return [_proposal(row) for row in rows]


def rejected(db: Connection, scope: int) -> frozenset[tuple[str, int, str]]:
    """Return what people did not want: memory, its version then, and what was to become of its line."""
    rows = db.execute(
        "select memory_id, version, verdict from proposals where scope = ? and state = 'rejected'", (scope,)
    )
    return frozenset((row[0], row[1], row[2]) for row in rows)


def decide(db: Connection, scope: int, id: str, state: str, *, now: int) -> None:
    """Close a proposal."""
    db.execute(
        "update proposals set state = ?, decided_at = ? where scope = ? and id = ?", (state, now, scope, id)
    )


def _proposal(row: Row) -> Proposal:
    return Proposal(
        id=row["id"],
        sweep=row["sweep"],
        memory=row["memory_id"],
        version=row["version"],
        verdict=row["verdict"],
        reason=row["reason"],
        score=row["score"],
        state=row["state"],
        at=row["at"],
    )


# The block


def drop_line(db: Connection, scope: int, id: str) -> None:
    """Take the line of a memory that is erased out of what is kept of the block."""
    known, label = block(db, scope), labels(db, scope).get(id)
    if known is None or label is None:
        return
    mark = f" <!-- m:{label} -->".encode()
    written, intended = (
        b"".join(line for line in text.splitlines(keepends=True) if mark not in line)
        for text in (known.written, known.intended)
    )
    db.execute(
        "update memory_blocks set written = ?, intended = ? where scope = ?", (written, intended, scope)
    )


def block(db: Connection, scope: int) -> Block | None:
    """Return what nrem last wrote between the markers; None before the first time."""
    row = db.execute("select written, intended from memory_blocks where scope = ?", (scope,)).fetchone()
    return Block(written=row[0], intended=row[1]) if row else None


def put_block(db: Connection, scope: int, known: Block) -> None:
    db.execute(
        "insert into memory_blocks (scope, written, intended) values (?, ?, ?)"
        " on conflict (scope) do update set written = excluded.written, intended = excluded.intended",
        (scope, known.written, known.intended),
    )
