"""What of the events is in git: an index of each workspace's commits, and how far they reach.

A memory's number in the state files is the seq of its first event, so it is known from the chain alone.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from nrem.model import Counts, Event, Published, Scope, StateRecord
from nrem.store.driver import Connection, Row

_RECORDS = """
select e.seq as ordinal, e.subject as subject, m.seq as seq, l.payload as payload
from events e
join memories m on m.scope = e.scope and m.id = e.subject
join events l on l.scope = m.scope and l.seq = m.seq
where e.scope = :scope and e.seq between :first and :last and e.op = 'memory.remember'
    and not exists (
        select 1 from events f where f.scope = e.scope and f.subject = e.subject and f.seq < e.seq
    )
order by e.seq
"""
_SUBJECTS = """
select e.subject as subject, min(e.seq) as first_here, max(e.seq) as last_here,
    (select min(seq) from events f where f.scope = e.scope and f.subject = e.subject) as ordinal
from events e
where e.scope = :scope and e.seq between :first and :last and e.op like 'memory.%'
group by e.subject
"""
# Back from a commit until one that publishes events; what a person commits publishes none.
_SEQ_OF = """
with recursive before (id, parent, last_seq) as (
    select id, parent, last_seq from commits where scope = :scope and id = :commit
    union
    select c.id, c.parent, c.last_seq from before b
    join commits c on c.scope = :scope and c.id = b.parent where b.last_seq is null
)
select last_seq from before where last_seq is not null
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watermark:
    """The last event and the last recall in git, and the last commit of the branch that was looked at."""

    seq: int
    commit: str
    recall: int
    """The number of the last recall that is in git, or was left out of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A memory that some events are about."""

    subject: str
    ordinal: int
    new: bool
    gone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpublished:
    """How many events of a scope are not in git yet, and when the last of all was."""

    scope: Scope
    count: int
    last_at: int
    is_first: bool
    """Whether none is in git."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """How many events are not in git yet, and when the oldest of them was."""

    count: int = 0
    since: int | None = None


def last(db: Connection, scope: int) -> tuple[int, bytes]:
    """Return the seq and the hash of a scope's last event."""
    row = db.execute(
        "select seq, chain from events where scope = ? order by seq desc limit 1", (scope,)
    ).fetchone()
    return row[0], row[1]


def chain_at(db: Connection, scope: int, seq: int) -> bytes | None:
    """Return the hash of an event, None where the chain does not reach."""
    row = db.execute("select chain from events where scope = ? and seq = ?", (scope, seq)).fetchone()
    return row[0] if row else None


def read_events(db: Connection, scope: int, first: int) -> list[Event]:
    """Return a scope's events from a seq on."""
    rows = db.execute(
        "select seq, at, op, subject, actor, cause, payload_hash, chain, payload, salt from events"
        " where scope = ? and seq >= ? order by seq",
        (scope, first),
    )
    return [Event(**dict(row)) for row in rows]


def records(db: Connection, scope: int, ordinals: range) -> list[StateRecord]:
    """Return the live memories whose numbers are in a range, in order."""
    rows = db.execute(_RECORDS, {"scope": scope, "first": ordinals.start, "last": ordinals.stop - 1})
    return [StateRecord(**dict(row)) for row in rows]


def changes(db: Connection, scope: int, first: int, last: int) -> list[Change]:
    """Return what became of each memory that the events of a range are about; one that came back is new."""
    found = []
    for row in db.execute(_SUBJECTS, {"scope": scope, "first": first, "last": last}).fetchall():
        subject = row["subject"]
        found.append(
            Change(
                subject=subject,
                ordinal=row["ordinal"],
                new=row["first_here"] == row["ordinal"]
                or _is_forgotten(db, scope, subject, row["first_here"] - 1),
                gone=_is_forgotten(db, scope, subject, row["last_here"]),
            )
        )
    return found


def counts(changed: Collection[Change], files: int) -> Counts:
    """Return how many memories came, changed and went; one that came and went again is none."""
    return Counts(
        added=sum(c.new and not c.gone for c in changed),
        changed=sum(not c.new and not c.gone for c in changed),
        forgotten=sum(c.gone and not c.new for c in changed),
        files=files,
    )


def was_forgotten(db: Connection, scope: int, subject: str) -> bool:
    """Tell whether the last event of a memory says that it was forgotten."""
    return _is_forgotten(db, scope, subject, last(db, scope)[0])


def _is_forgotten(db: Connection, scope: int, subject: str, seq: int) -> bool:
    row = db.execute(
        "select op from events indexed by idx_events_subject"
        " where scope = ? and subject = ? and seq <= ? and op like 'memory.%' order by seq desc limit 1",
        (scope, subject, seq),
    ).fetchone()
    return row is not None and row[0] == "memory.forget"


def watermark(db: Connection, scope: int) -> Watermark | None:
    row = db.execute("select seq, commit_id, recall from watermarks where scope = ?", (scope,)).fetchone()
    return Watermark(seq=row[0], commit=row[1], recall=row[2]) if row else None


def begin_anew(db: Connection, scope: int) -> None:
    """Note that no event of a scope is in git."""
    db.execute("delete from watermarks where scope = ?", (scope,))


def unpublished(db: Connection) -> list[Unpublished]:
    """Return the scopes that have events which are not in git, by name."""
    rows = db.execute(
        "select s.scope as number, s.name as name, s.created_at as created_at, e.seq as last, e.at as at,"
        " coalesce(w.seq, 0) as seq from scopes s"
        " join events e on e.scope = s.scope"
        " and e.seq = (select max(seq) from events l where l.scope = s.scope)"
        " left join watermarks w on w.scope = s.scope"
        " where s.removed_at is null and e.seq > coalesce(w.seq, 0) order by s.name"
    )
    return [
        Unpublished(
            scope=Scope(number=row["number"], name=row["name"], created_at=row["created_at"]),
            count=row["last"] - row["seq"],
            last_at=row["at"],
            is_first=row["seq"] == 0,
        )
        for row in rows
    ]


def waiting(db: Connection, scope: int) -> Waiting:
    """Return how many events of a scope are not in git, and since when."""
    mark = watermark(db, scope)
    published = mark.seq if mark else 0
    oldest = db.execute(
        "select at from events where scope = ? and seq = ?", (scope, published + 1)
    ).fetchone()
    return Waiting(count=last(db, scope)[0] - published, since=oldest[0] if oldest else None)


def record(db: Connection, scope: int, made: Collection[Published], mark: Watermark | None) -> None:
    """Note commits, oldest first, and how far they reach, if that is known; none is noted twice."""
    db.executemany(
        "insert into commits (scope, id, parent, cause, at, subject, first_seq, last_seq, chain, state,"
        " added, changed, forgotten, files) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " on conflict (scope, id) do nothing",
        [
            (
                scope, commit.commit, commit.parent, commit.cause, commit.at, commit.subject,
                *(commit.events or (None, None)), commit.chain, commit.state, commit.counts.added,
                commit.counts.changed, commit.counts.forgotten, commit.counts.files,
            )
            for commit in made
        ],
    )  # fmt: skip
    if mark is None:
        return
    db.execute(
        "insert into watermarks (scope, seq, commit_id, recall) values (?, ?, ?, ?) on conflict (scope)"
        " do update set seq = excluded.seq, commit_id = excluded.commit_id, recall = excluded.recall",
        (scope, mark.seq, mark.commit, mark.recall),
    )


def count_files(db: Connection, scope: int, files: Mapping[str, int]) -> None:
    """Note how many files commits change, by the commits' ids."""
    db.executemany(
        "update commits set files = ? where scope = ? and id = ?",
        [(number, scope, commit) for commit, number in files.items()],
    )


def find_last(db: Connection, scope: int, *, cause: str, since: int) -> str | None:
    """Return the newest commit that was made for a cause, not before a moment."""
    row = db.execute(
        "select id from commits where scope = ? and cause = ? and at >= ? order by rowid desc limit 1",
        (scope, cause, since),
    ).fetchone()
    return row[0] if row else None


def list_(db: Connection, scope: int, *, limit: int) -> list[Published]:
    """Return a workspace's commits, newest first."""
    rows = db.execute("select * from commits where scope = ? order by rowid desc limit ?", (scope, limit))
    return [_published(row) for row in rows]


def last_at(db: Connection, scope: int, at: int) -> Published | None:
    """Return the last commit that had been made at a time."""
    row = db.execute(
        "select * from commits where scope = ? and at <= ? order by rowid desc limit 1", (scope, at)
    ).fetchone()
    return _published(row) if row else None


def starting_with(db: Connection, scope: int, prefix: str) -> list[Published]:
    """Return the known commits whose id begins so, at most two."""
    rows = db.execute(
        "select * from commits where scope = ? and id >= ? and id < ? limit 2", (scope, prefix, prefix + "g")
    )
    return [_published(row) for row in rows]


def seq_of(db: Connection, scope: int, commit: str) -> int:
    """Return the last event that is in git with a commit; 0 when none is."""
    row = db.execute(_SEQ_OF, {"scope": scope, "commit": commit}).fetchone()
    return row[0] if row else 0


def published_seqs(db: Connection, scope: int) -> list[int]:
    """Return the last event of each commit that publishes some, in order."""
    rows = db.execute(
        "select distinct last_seq from commits where scope = ? and last_seq is not null order by last_seq",
        (scope,),
    )
    return [row[0] for row in rows]


def holding(db: Connection, scope: int, seqs: Collection[int]) -> dict[int, str]:
    """Return for each event that is in git the commit that published it first."""
    rows = db.execute(
        "select s.value, c.id, min(c.rowid) from json_each(?) s"
        " join commits c on c.scope = ? and s.value between c.first_seq and c.last_seq group by s.value",
        (json.dumps(list(seqs)), scope),
    )
    return {row[0]: row[1] for row in rows}


def _published(row: Row) -> Published:
    return Published(
        commit=row["id"],
        parent=row["parent"],
        cause=row["cause"],
        at=row["at"],
        subject=row["subject"],
        events=None if row["first_seq"] is None else (row["first_seq"], row["last_seq"]),
        chain=row["chain"],
        state=row["state"],
        counts=Counts(
            added=row["added"], changed=row["changed"], forgotten=row["forgotten"], files=row["files"]
        ),
    )
