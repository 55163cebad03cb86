"""Tokens: made once and shown once, kept as a hash, checked at every request."""

from __future__ import annotations

import binascii
import dataclasses
import hashlib
import re
import secrets
from collections import OrderedDict

from nrem.clock import Clock
from nrem.errors import Denied, InvalidField, NotFound
from nrem.model import Caller
from nrem.store import scopes, tokens
from nrem.store.database import Database
from nrem.store.driver import Connection
from nrem.wire import CreatedToken, CreateToken, RevokedToken, Token, Tokens

USED_MILLIS = 60_000
"""A use is noted at most this often."""

KNOWN = 1024
"""Tokens whose rows are kept at hand."""

_FORM = re.compile(r"(nrem_[0-9a-f]{8}_[0-9a-f]{64})_([0-9a-f]{8})")


def create(store: Database, request: CreateToken, *, clock: Clock) -> CreatedToken:
    """Make a token; the answer is the only place where it can ever be read."""
    if request.agent is not None and request.org is not None:
        raise InvalidField("org", "cannot be given together with agent", hint="choose one of the two")
    now = clock.now()
    if request.expires_at is not None and request.expires_at <= now:
        raise InvalidField("expires_at", "must lie in the future")
    id = secrets.token_hex(4)
    body = f"nrem_{id}_{secrets.token_hex(32)}"
    text = f"{body}_{_checksum(body)}"

    def write(db: Connection) -> Token:
        scope = scopes.get(db, request.agent).number if request.agent is not None else None
        made = Token(
            id=id,
            label=request.label or request.agent or request.org or "everything",
            agent=request.agent,
            org=request.org,
            rights=tuple(sorted(set(request.rights))),
            created_at=now,
            expires_at=request.expires_at,
            last_used_at=None,
        )
        tokens.add(db, made, scope=scope, hash=_hash(text))
        return made

    return CreatedToken(token=text, **dataclasses.asdict(store.write(write)))


def list_(store: Database) -> Tokens:
    with store.reading() as db:
        return Tokens(tokens=tuple(tokens.list_(db)))


def revoke(store: Database, id: str) -> RevokedToken:
    if not store.write(lambda db: tokens.revoke(db, id)):
        raise NotFound(f"there is no token {id}", hint="nrem token list", code="token_not_found")
    return RevokedToken(id=id)


class Doorkeeper:
    """Says who a token stands for. What it has seen is kept at hand until tokens or agents change."""

    def __init__(self, store: Database, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._known: OrderedDict[bytes, Token] = OrderedDict()
        self._noted: dict[str, int] = {}

    def admit(self, text: str, ingress: str) -> Caller:
        """Return who comes with this token; raise Denied for one that is not or no longer good."""
        match = _FORM.fullmatch(text)
        if match is None or _checksum(match[1]) != match[2]:
            raise _unknown()
        now = self._clock.now()
        known = self._find(_hash(text))
        if known.expires_at is not None and known.expires_at <= now:
            raise Denied("this token has expired", hint="nrem token create", code="token_expired")
        if now - self._noted.get(known.id, 0) >= USED_MILLIS:
            self._noted[known.id] = now
            self._store.write_soon(lambda db: tokens.note_used(db, known.id, now))
        actor, reach = f"token:{known.label}", None
        if known.agent is not None:
            actor, reach = f"agent:{known.agent}", known.agent
        elif known.org is not None:
            actor, reach = f"org:{known.org}", f"{known.org}."
        return Caller(actor=actor, ingress=ingress, rights=frozenset(known.rights), reach=reach)

    def forget(self) -> None:
        """Look everything up again: a token was revoked, or an agent removed."""
        self._known = OrderedDict()
        self._noted = {}

    def _find(self, hash: bytes) -> Token:
        known = self._known  # what is found now belongs into this one, even if it is replaced meanwhile
        token = known.get(hash)
        if token is None:
            with self._store.reading() as db:
                token = tokens.find(db, hash)
            if token is None:
                raise _unknown()
            known[hash] = token
            while len(known) > KNOWN:
                known.popitem(last=False)
        return token


def _unknown() -> Denied:
    return Denied("this token is not known", hint="nrem token create", code="bad_token")


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _checksum(text: str) -> str:
    """Tells a mistyped token from an unknown one without a look at the store."""
    return f"{binascii.crc32(text.encode()):08x}"
