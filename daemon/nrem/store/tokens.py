"""Tokens: who they are for and what they allow. Only their hashes are here."""

from __future__ import annotations

import json
from typing import Any

from nrem.model import Right
from nrem.store.driver import Connection
from nrem.wire import Token


def add(db: Connection, token: Token, *, scope: int | None, hash: bytes) -> None:
    db.execute(
        "insert into tokens (id, hash, label, scope, org, rights, created_at, expires_at)"
        " values (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(token.id, hash, token.label, scope, token.org, json.dumps(token.rights)),
            *(token.created_at, token.expires_at),
        ),
    )


def find(db: Connection, hash: bytes) -> Token | None:
    """Return the token with this hash."""
    row = db.execute(f"{_SELECT} where hash = ?", (hash,)).fetchone()
    return _token(row) if row else None


def list_(db: Connection) -> list[Token]:
    """Return all tokens, the newest first."""
    return [_token(row) for row in db.execute(f"{_SELECT} order by t.created_at desc, id desc")]


def revoke(db: Connection, id: str) -> bool:
    """Delete a token; return whether there was one."""
    deleted: int = db.execute("delete from tokens where id = ?", (id,)).rowcount
    return deleted > 0


def note_used(db: Connection, id: str, now: int) -> None:
    db.execute("update tokens set last_used_at = ? where id = ?", (now, id))


_SELECT = (
    "select id, label, s.name, org, rights, t.created_at, expires_at, last_used_at"
    " from tokens t left join scopes s on s.scope = t.scope"
)


def _token(row: tuple[Any, ...]) -> Token:
    return Token(
        id=row[0],
        label=row[1],
        agent=row[2],
        org=row[3],
        rights=tuple(map(Right, json.loads(row[4]))),
        created_at=row[5],
        expires_at=row[6],
        last_used_at=row[7],
    )
