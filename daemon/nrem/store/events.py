"""The chain of events of each scope: what happened, in order, in a form that cannot be changed unnoticed.

Each link hashes the one before it, its own seq, time, op, subject, actor and cause, and the hash of a salted
payload. Payload and salt stand beside the chain, so that erasing them leaves a chain that still verifies.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from nrem.errors import Corrupt
from nrem.model import By, Event
from nrem.policy.chain import GENESIS, canonical, fits, hash_payload, link
from nrem.store.driver import Connection


def record(db: Connection, scope: int, op: str, subject: str, payload: Any, by: By) -> Event:
    """Append one event to a scope's chain; its time is never before the last one's."""
    last = db.execute(
        "select seq, at, chain from events where scope = ? order by seq desc limit 1", (scope,)
    ).fetchone()
    seq, at, previous = (last[0] + 1, max(by.now, last[1]), last[2]) if last else (1, by.now, GENESIS)
    text = canonical(payload)
    salt = os.urandom(16)
    payload_hash = hash_payload(salt, text)
    chain = link(previous, seq, at, op, subject, by.actor, by.cause, payload_hash)
    db.execute(
        "insert into events (scope, seq, at, op, subject, actor, cause, payload_hash, chain, payload, salt)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (scope, seq, at, op, subject, by.actor, by.cause, payload_hash, chain, text, salt),
    )
    return Event(
        seq=seq, at=at, op=op, subject=subject, actor=by.actor, cause=by.cause,
        payload_hash=payload_hash, chain=chain, payload=text, salt=salt,
    )  # fmt: skip


def read(db: Connection, scope: int, *, subject: str | None = None) -> Iterator[Event]:
    """Yield a scope's events in order, all of them or those of one subject."""
    # Told which index: SQLite takes the key for it, because that gives the order, and reads the whole chain.
    which = "" if subject is None else " indexed by idx_events_subject"
    rows = db.execute(
        f"select seq, at, op, subject, actor, cause, payload_hash, chain, payload, salt from events{which}"
        " where scope = :scope"
        + (" and subject = :subject" if subject is not None else "")
        + " order by seq",
        {"scope": scope, "subject": subject},
    )
    for row in rows:
        yield Event(**dict(row))


def get(db: Connection, scope: int, seq: int) -> Event | None:
    """Return one event; None where the chain does not reach."""
    row = db.execute(
        "select seq, at, op, subject, actor, cause, payload_hash, chain, payload, salt from events"
        " where scope = ? and seq = ?",
        (scope, seq),
    ).fetchone()
    return Event(**dict(row)) if row else None


def last_at(db: Connection, scope: int) -> int:
    """Return when a scope's last event was."""
    row = db.execute("select at from events where scope = ? order by seq desc limit 1", (scope,)).fetchone()
    return int(row[0])


def seq_at(db: Connection, scope: int, at: int) -> int:
    """Return the last event that had happened at a time; 0 when none had."""
    # From the newest back: times are in the order of the chain, and what is asked for is mostly recent.
    row = db.execute(
        "select seq from events where scope = ? and at <= ? order by seq desc limit 1", (scope, at)
    ).fetchone()
    return row[0] if row else 0


def last_of_session(db: Connection, scope: int, session: str) -> Event | None:
    """Return the event that made the last memory of a session; None for a session without any."""
    row = db.execute(
        "select seq, at, op, subject, actor, cause, payload_hash, chain, payload, salt from events"
        " where scope = ? and op = 'memory.remember' and payload ->> '$.session' = ?"
        " order by seq desc limit 1",
        (scope, session),
    ).fetchone()
    return Event(**dict(row)) if row else None


def verify(db: Connection, scope: int) -> int:
    """Recompute a scope's whole chain and return its length; raise Corrupt at the first broken link."""
    previous, seq = GENESIS, 0
    for event in read(db, scope):
        seq += 1
        if not _fits(event, previous, seq):
            raise Corrupt(
                f"event {seq} of scope {scope} does not fit its chain",
                hint="the file was changed by something else than nrem; compare with a backup",
                code="chain_broken",
                details={"scope": scope, "seq": seq},
            )
        previous = event.chain
    return seq


def _fits(event: Event, previous: bytes, seq: int) -> bool:
    try:
        return event.seq == seq and fits(event, previous)
    except (AttributeError, TypeError, ValueError):  # a changed byte can also change what type a value has
        return False
