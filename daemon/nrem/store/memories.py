"""Memories: every change writes its event, keeps the version it ends, and moves both indexes with the row."""

from __future__ import annotations

from collections.abc import Iterable

from nrem.errors import Conflict, Corrupt, NotFound
from nrem.model import DEDUPLICATED, By, Event, Kind, Memory, Use, Version
from nrem.policy import secrets
from nrem.policy.chain import canonical
from nrem.store import events, scopes, search, vectors
from nrem.store.driver import Connection, Row
from nrem.store.memory_rows import COLUMNS, SELECT, content_hash, from_payload, from_row, payload, values
from nrem.store.vectors import Vector

# Written out, because SQLite uses a partial index only for a query that repeats its condition.
_KEPT_ONCE = "kind in ('semantic', 'fact', 'procedural', 'conversation') and superseded_by is null"

_INSERT = (
    f"insert into memories (scope, content_hash, seq, terms, {', '.join(COLUMNS)})"
    f" values (?, ?, ?, ?, {', '.join('?' * len(COLUMNS))})"
)
_UPDATE = (
    f"update memories set content_hash = ?, seq = ?, terms = ?, {', '.join(c + ' = ?' for c in COLUMNS)}"
    " where rowid = ?"
)


def insert(
    db: Connection,
    scope: int,
    memory: Memory,
    vector: Vector | None,
    by: By,
    *,
    op: str = "memory.remember",
) -> None:
    """Store a memory that is not live, with its event and its index entries; its vector may come later."""
    event = events.record(db, scope, op, memory.id, payload(memory), by)
    put(db, scope, memory, vector, event.seq)


def put(db: Connection, scope: int, memory: Memory, vector: Vector | None, seq: int) -> None:
    """Store the row of a memory that an event made, with its entries in both indexes."""
    rowid, length = add_row(db, scope, memory, seq)
    if vector is not None and vectors.fits(db, vector):
        vectors.insert(db, rowid, scope, seq, vector)
    else:
        vectors.note_pending(db, rowid)
    scopes.touch(db, scope, memories=1, terms=length)


def add_row(db: Connection, scope: int, memory: Memory, seq: int) -> tuple[int, int]:
    """Add the row of an event that happened, with its words; return its number and how many they are."""
    entry = search.entry(memory)
    rowid = db.execute(
        _INSERT, (scope, content_hash(memory.content), seq, entry.length, *values(memory))
    ).lastrowid
    assert rowid is not None
    search.add(db, rowid, scope, entry)
    return rowid, entry.length


def update(
    db: Connection,
    scope: int,
    memory: Memory,
    vector: Vector | None,
    *,
    op: str,
    by: By,
) -> None:
    """Replace a memory by its next version. Without a vector it keeps its own, if the text is the same."""
    rowid, old_hash, old_terms = db.execute(
        "select rowid, content_hash, terms from memories where scope = ? and id = ?", (scope, memory.id)
    ).fetchone()
    event = events.record(db, scope, op, memory.id, payload(memory), by)
    _end_version(db, scope, rowid, ended=event.seq)
    digest = content_hash(memory.content)
    entry = search.entry(memory)
    db.execute(_UPDATE, (digest, event.seq, entry.length, *values(memory), rowid))
    search.remove(db, rowid)
    search.add(db, rowid, scope, entry)
    outdated = vector is not None or digest != old_hash
    if outdated:
        db.execute("delete from vec_memories where memory = ?", (rowid,))
    if vector is not None and vectors.fits(db, vector):
        vectors.insert(db, rowid, scope, event.seq, vector)
        vectors.forget_pending(db, rowid)
    elif outdated:
        vectors.note_pending(db, rowid)
    scopes.touch(db, scope, memories=0, terms=entry.length - old_terms)


def release(db: Connection, scope: int, id: str) -> None:
    """Let another memory have the text of one that gets another in the same transaction."""
    db.execute("update memories set content_hash = randomblob(32) where scope = ? and id = ?", (scope, id))


def forget(db: Connection, scope: int, id: str, by: By) -> Memory:
    """Remove a live memory with its index entries; its versions and events stay."""
    row = db.execute(
        f"select m.rowid as rowid, m.terms as terms, {SELECT} from memories m where scope = ? and id = ?",
        (scope, id),
    ).fetchone()
    if row is None:
        raise not_found(id)
    event = events.record(db, scope, "memory.forget", id, {}, by)
    _end_version(db, scope, row["rowid"], ended=event.seq)
    search.remove(db, row["rowid"])
    db.execute("delete from memories where rowid = ?", (row["rowid"],))
    scopes.touch(db, scope, memories=-1, terms=-row["terms"])
    return from_row(row)


def get(db: Connection, scope: int, id: str) -> Memory:
    """Return a live memory of this scope; raise NotFound for any other id."""
    found = find(db, scope, id)
    if found is None:
        raise not_found(id)
    return found


def find(db: Connection, scope: int, id: str) -> Memory | None:
    row = db.execute(f"select {SELECT} from memories m where scope = ? and id = ?", (scope, id)).fetchone()
    return from_row(row) if row else None


def exists(db: Connection, scope: int, id: str) -> bool:
    """Tell whether a memory is live."""
    row = db.execute("select 1 from memories where scope = ? and id = ?", (scope, id)).fetchone()
    return row is not None


def first_seq(db: Connection, scope: int, id: str) -> int:
    """Return the first event of a memory, also of a forgotten one; raise NotFound for any other id."""
    row = db.execute(
        "select min(seq) from events indexed by idx_events_subject"
        " where scope = ? and subject = ? and op like 'memory.%'",
        (scope, id),
    ).fetchone()
    if row[0] is None:
        raise not_found(id)
    return int(row[0])


def contents(db: Connection, scope: int, ids: Iterable[str]) -> dict[str, str]:
    """Return the texts of those memories that are live."""
    found = {}
    for id in ids:
        row = db.execute("select content from memories where scope = ? and id = ?", (scope, id)).fetchone()
        if row is not None:
            found[id] = row[0]
    return found


def use(db: Connection, scope: int, id: str) -> Use:
    """Return how often a memory was recalled."""
    row = db.execute(
        "select u.access_count, u.last_accessed_at from memory_use u join memories m on m.rowid = u.memory"
        " where m.scope = ? and m.id = ?",
        (scope, id),
    ).fetchone()
    return Use(access_count=row[0], last_accessed_at=row[1]) if row else Use()


def find_same(db: Connection, scope: int, kind: Kind, content: str) -> str | None:
    """Return the id of the memory that has this text already, for the kinds that are kept once.

    One that is superseded does not count: when its text is said again, it is true again.
    """
    if kind not in DEDUPLICATED:
        return None
    row = db.execute(
        f"select id from memories where scope = ? and content_hash = ? and kind = ? and {_KEPT_ONCE}",
        (scope, content_hash(content), kind.value),
    ).fetchone()
    return row[0] if row else None


def superseded_by(db: Connection, scope: int, id: str) -> list[str]:
    """Return the live memories whose place a memory took, oldest first."""
    rows = db.execute(
        "select id from memories indexed by idx_memories_superseded where scope = ? and superseded_by = ?"
        " order by created_at, id",
        (scope, id),
    )
    return [row[0] for row in rows]


def find_imported(db: Connection, scope: int, legacy_id: str) -> str | None:
    """Return the id of the live memory that came from, or is, the one with this id."""
    row = db.execute(
        "select id from memories where scope = :scope and legacy_id = :legacy union all"
        " select id from memories where scope = :scope and id = :legacy limit 1",
        {"scope": scope, "legacy": legacy_id},
    ).fetchone()
    return row[0] if row else None


def had_text(db: Connection, scope: int, id: str, content: str) -> bool:
    """Tell whether a memory has this text, or had it in some version."""
    wanted = content_hash(content)
    return any(
        version.memory is not None and content_hash(version.memory.content) == wanted
        for version in versions(db, scope, id)
    )


def versions(db: Connection, scope: int, id: str) -> list[Version]:
    """Return every state a memory ever had, oldest first, with who made it and when."""
    found = [
        Version(
            version=state.version if (state := _state(event)) else 0,
            at=event.at,
            operation=event.op.removeprefix("memory."),
            actor=event.actor,
            cause=event.cause,
            memory=state,
        )
        for event in events.read(db, scope, subject=id)
        if event.op.startswith("memory.")
    ]
    if not found:
        raise not_found(id)
    return found


def verify_rows(db: Connection, scope: int) -> int:
    """Compare each live row with the event that made it; raise Corrupt at the first that differs."""
    checked = 0
    rows = db.execute(
        f"select e.payload as payload, m.content_hash as content_hash, {SELECT} from memories m"
        " left join events e on e.scope = m.scope and e.seq = m.seq where m.scope = ?",
        (scope,),
    )
    for row in rows:
        checked += 1
        if not _is_as_made(row):
            raise Corrupt(
                f"memory {row['id']} differs from the event that made it",
                hint="the file was changed by something else than nrem; compare with a backup",
                code="row_changed",
                details={"id": row["id"]},
            )
    return checked


def _is_as_made(row: Row) -> bool:
    try:
        same: bool = row["payload"] == canonical(payload(from_row(row)))
        return same and row["content_hash"] == content_hash(row["content"])
    except (
        AttributeError,
        KeyError,
        TypeError,
        ValueError,
    ):  # a changed byte can also make a value that there is not
        return False


def _state(event: Event) -> Memory | None:
    return from_payload(event.payload) if event.payload and event.op != "memory.forget" else None


def _end_version(db: Connection, scope: int, rowid: int, *, ended: int) -> None:
    db.execute(
        "insert into memory_versions (scope, id, version, seq, ended_seq, embedder, embedding_seq,"
        " embedding, embedding_generation) select m.scope, m.id, m.version, m.seq, ?, v.embedder, v.seq,"
        " v.embedding, v.generation from memories m"
        " left join vec_memories v on v.memory = m.rowid"
        " and v.embedder = (select value from store_meta where key = 'embedder') where m.rowid = ?",
        (ended, rowid),
    )


def refuse_same(db: Connection, scope: int, memory: Memory) -> None:
    """Raise Conflict when an edit would make two memories of one text."""
    if memory.superseded_by is not None:
        return
    other = find_same(db, scope, memory.kind, memory.content)
    if other is not None and other != memory.id:
        raise Conflict(
            f"memory {other} has this text already",
            hint=f"edit or forget {other} instead",
            code="duplicate",
            details={"id": other},
        )


def not_found(id: str) -> NotFound:
    """Return the error for an id that a scope does not have."""
    shown = secrets.redact(id, secrets.scan(id))  # whatever was given as an id is repeated to its giver's log
    return NotFound(
        f"there is no memory {shown}",
        hint="list the agent's memories to see their ids; six characters of the beginning or end will do",
        code="memory_not_found",
    )
