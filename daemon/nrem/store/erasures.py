"""Erasing one memory for good: what was begun, what became of the commits, and the receipts.

The order is forget, git, rows, file. Until the rows go, the events still have the texts, by which git and the
recalls are searched; so whatever was cut short can be begun again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nrem.model import By, Memory, NewCommit, Scope
from nrem.policy.erasing import ERASED, Needle
from nrem.store import events, memories, model_lines, promotions, search
from nrem.store.driver import Connection, Row

_SELECT = (
    "select e.rowid as number, e.id as id, e.at as at, e.actor as actor, e.receipt as receipt,"
    " e.done_at as done_at, s.scope as scope, s.name as name, s.created_at as created_at"
    " from erasures e join scopes s on s.scope = e.scope and s.removed_at is null"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """An erasure that was asked for."""

    number: int
    scope: Scope
    id: str
    at: int
    actor: str
    receipt: str | None
    is_done: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """How many rows were emptied, deleted or changed."""

    events: int
    versions: int
    recalls: int
    commits: int


def begin(db: Connection, scope: int, id: str, by: By) -> None:
    """Forget a memory, if it is not forgotten yet, and note that it must be erased."""
    if db.execute("select 1 from memories where scope = ? and id = ?", (scope, id)).fetchone():
        memories.forget(db, scope, id, by)
    db.execute(
        "insert into erasures (scope, id, at, actor) values (?, ?, ?, ?)", (scope, id, by.now, by.actor)
    )


def find(db: Connection, scope: int, id: str) -> Erasure | None:
    """Return the last erasure of a memory."""
    row = db.execute(
        _SELECT + " where e.scope = ? and e.id = ? order by e.rowid desc limit 1", (scope, id)
    ).fetchone()
    return _erasure(row) if row else None


def pending(db: Connection) -> list[Erasure]:
    """Return the erasures that were begun and are not done, oldest first."""
    return [_erasure(row) for row in db.execute(_SELECT + " where e.done_at is null order by e.rowid")]


def needle(db: Connection, scope: int, id: str) -> Needle:
    """Return what to look for; NotFound for an id that this scope never had.

    What a model made of the memory is looked for as well.
    """
    states = [v.memory for v in memories.versions(db, scope, id) if v.memory is not None]
    texts = [text for state in states for text in (state.content, state.context) if text]
    texts += model_lines.texts_from(db, scope, id)
    label = promotions.labels(db, scope).get(id)
    return Needle.of(id, texts, _words_of_its_own(db, scope, id, states), label)


def _words_of_its_own(db: Connection, scope: int, id: str, states: list[Memory]) -> set[str]:
    entries = [search.entry(state) for state in states]
    words = list(dict.fromkeys(term for entry in entries for term in (*entry.content, *entry.context)))
    row = db.execute("select rowid from memories where scope = ? and id = ?", (scope, id)).fetchone()
    own = {row[0]} if row else set()
    found = [set(words)]
    for part in (search.CONTENT, search.CONTEXT):
        rows = search.postings(db, scope, words, part=part, limit=2)
        found.append({word for word, having in zip(words, rows, strict=True) if own.issuperset(having)})
    return set.intersection(*found)


def first_seq(db: Connection, scope: int, id: str) -> int:
    """Return the event that brought a memory."""
    row = db.execute(
        "select min(seq) from events indexed by idx_events_subject where scope = ? and subject = ?",
        (scope, id),
    ).fetchone()
    return int(row[0])


def others(db: Connection, scope: int, needle: Needle) -> list[str]:
    """Return the memories, forgotten ones too, that repeat a text or name the id, oldest first."""
    found: dict[str, None] = {}
    for event in events.read(db, scope):
        if event.payload is None or event.subject == needle.id or not event.op.startswith("memory."):
            continue
        if event.subject not in found and (needle.id in event.payload or needle.is_in_json(event.payload)):
            found[event.subject] = None
    return list(found)


def questions(db: Connection, scope: int, needle: Needle) -> list[int]:
    """Return the rows of the recalls whose question gives the memory away."""
    rows = db.execute("select rowid, query from recalls where scope = ?", (scope,))
    return [row[0] for row in rows if needle.is_asked_by(row[1])]


def note_commits(db: Connection, erasure: Erasure, commits: Mapping[str, NewCommit]) -> None:
    """Note what commits are about to become; earlier ids of theirs lead to the new one too."""
    scope = erasure.scope.number
    for old, new in commits.items():
        db.execute(
            "update rewritten_commits set new = ?, state = coalesce(?, state) where scope = ? and new = ?",
            (new.id, new.state, scope, old),
        )
        db.execute(
            "insert or replace into rewritten_commits (scope, old, new, state, erasure)"
            " values (?, ?, ?, ?, ?)",
            (scope, old, new.id, new.state, erasure.number),
        )


def current_commit(db: Connection, scope: int, name: str) -> str | None:
    """Return what became of a commit, by its old id or the beginning of it; None when that is not known."""
    rows = db.execute(
        "select distinct new from rewritten_commits where scope = ? and old >= ? and old < ? limit 2",
        (scope, name, name + "g"),
    ).fetchall()
    return rows[0][0] if len(rows) == 1 else None


def erase_rows(db: Connection, erasure: Erasure, asked: list[int]) -> Erased:
    """Empty a memory's events, delete its versions and recall lines, and rename commits in the ledger."""
    scope = erasure.scope.number
    key = (scope, erasure.id)
    emptied = db.execute(
        "update events set payload = null, salt = null where scope = ? and seq in"
        " (select seq from events indexed by idx_events_subject where scope = ? and subject = ?)",
        (scope, *key),
    ).rowcount
    versions = db.execute("delete from memory_versions where scope = ? and id = ?", key).rowcount
    for table in ("recall_events", "recall_uses", "recall_sums"):
        db.execute(f"delete from {table} where scope = ? and memory_id = ?", key)
    db.executemany(
        "update recalls set query = ?, question = 0 where rowid = ?", [(ERASED, row) for row in asked]
    )
    db.executemany(
        "update recall_events set question = 0 where scope = ?"
        " and recall_id = (select id from recalls where rowid = ?)",
        [(scope, row) for row in asked],
    )
    promotions.drop_line(db, scope, erasure.id)
    return Erased(events=emptied, versions=versions, recalls=len(asked), commits=_rename_commits(db, erasure))


def _rename_commits(db: Connection, erasure: Erasure) -> int:
    where = {"scope": erasure.scope.number, "erasure": erasure.number}
    # Where a publish came first after a crash, the ledger has the new ones already.
    db.execute(
        "delete from commits where scope = :scope and id in (select r.old from rewritten_commits r"
        " join commits n on n.scope = r.scope and n.id = r.new where r.erasure = :erasure)",
        where,
    )
    for change in (
        "update commits set id = r.new, state = coalesce(r.state, commits.state) from rewritten_commits r"
        " where r.old = commits.id",
        "update commits set parent = r.new from rewritten_commits r where r.old = commits.parent",
    ):
        db.execute(
            change + " and commits.scope = :scope and r.scope = :scope and r.erasure = :erasure", where
        )
    db.execute(
        "update watermarks set commit_id = r.new from rewritten_commits r where r.old = watermarks.commit_id"
        " and watermarks.scope = :scope and r.scope = :scope and r.erasure = :erasure",
        where,
    )
    [count] = db.execute(
        "select count(*) from rewritten_commits where erasure = ?", (erasure.number,)
    ).fetchone()
    return int(count)


def put_receipt(db: Connection, erasure: Erasure, receipt: str) -> None:
    """Note what was erased; from now on only the file must be written anew."""
    db.execute("update erasures set receipt = ? where rowid = ?", (receipt, erasure.number))


def finish(db: Connection, erasure: Erasure, *, now: int) -> None:
    db.execute("update erasures set done_at = ? where rowid = ?", (now, erasure.number))


def _erasure(row: Row) -> Erasure:
    return Erasure(
        number=row["number"],
        scope=Scope(number=row["scope"], name=row["name"], created_at=row["created_at"]),
        id=row["id"],
        at=row["at"],
        actor=row["actor"],
        receipt=row["receipt"],
        is_done=row["done_at"] is not None,
    )
