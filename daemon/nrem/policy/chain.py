"""The one text of a value, and the hashes that chain events: the same in the store and in git."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from nrem.model import Event

GENESIS = b"\0" * 32

# Made once: json.dumps makes an encoder at every call that has options.
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def canonical(value: Any) -> str:
    """Return the one JSON text of a value: keys sorted, no spaces."""
    return _encode(value)


def hash_payload(salt: bytes, text: str) -> bytes:
    return hashlib.sha256(salt + text.encode()).digest()


def link(previous: bytes, *fields: int | str | bytes) -> bytes:
    parts = [field.hex() if isinstance(field, bytes) else field for field in fields]
    return hashlib.sha256(previous + canonical(parts).encode()).digest()


def fits(event: Event, previous: bytes) -> bool:
    """Tell whether an event is the link that follows `previous`, with the payload that it was made with."""
    expected = link(
        previous, event.seq, event.at, event.op, event.subject, event.actor, event.cause, event.payload_hash
    )
    if event.payload is None and event.salt is None:
        return event.chain == expected  # erased
    known = hash_payload(event.salt or b"", event.payload or "")
    return event.chain == expected and known == event.payload_hash
