"""A memory as its row and as the payload of its events, and back."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import unicodedata
from typing import Any

from nrem.model import Kind, Memory, Provenance, Role, Trust
from nrem.store.driver import Row

COLUMNS = (
    "id", "kind", "kind_given", "content", "category", "tags", "concept_tags", "data", "metadata", "context",
    "importance", "confidence", "role", "session_id", "room_id", "user_id", "pinned", "source", "ingress",
    "trust", "actor", "trigger_type", "legacy_id", "version", "created_at", "updated_at", "expires_at",
    "consolidated_at", "superseded_by",
)  # fmt: skip
SELECT = ", ".join("m." + column for column in COLUMNS)


def content_hash(content: str) -> bytes:
    """Return what two texts share when they count as the same."""
    return hashlib.sha256(unicodedata.normalize("NFC", content).encode()).digest()


def payload(memory: Memory) -> dict[str, Any]:
    """Return a memory's whole state as its events carry it: what differs from nothing."""
    state = {field: getattr(memory, field) for field in _FIELDS}
    origin = memory.provenance
    state["provenance"] = {
        name: getattr(origin, name) for name in _PROVENANCE if getattr(origin, name) is not None
    }
    return {
        name: value
        for name, value in state.items()
        if value is not None and value != () and value is not False
    }


_FIELDS = tuple(field.name for field in dataclasses.fields(Memory))
_PROVENANCE = tuple(field.name for field in dataclasses.fields(Provenance))


def from_payload(text: str) -> Memory:
    """Return the memory that payload() described."""
    state = json.loads(text)
    state["kind"] = Kind(state["kind"])
    state["role"] = Role(state["role"]) if "role" in state else None
    state["tags"] = tuple(state.get("tags", ()))
    state["concept_tags"] = tuple(state.get("concept_tags", ()))
    origin = state["provenance"]
    state["provenance"] = Provenance(
        source=origin.get("source"),
        ingress=origin["ingress"],
        trust=Trust(origin["trust"]),
        actor=origin["actor"],
        trigger=origin.get("trigger"),
    )
    return Memory(**state)


def values(memory: Memory) -> tuple[Any, ...]:
    """Return what a memory's row has in each of COLUMNS."""
    origin = memory.provenance
    return (
        memory.id, memory.kind.value, memory.kind_given, memory.content, memory.category, _json(memory.tags),
        _json(memory.concept_tags), _json(memory.data), _json(memory.metadata), memory.context,
        memory.importance, memory.confidence, memory.role.value if memory.role else None, memory.session,
        memory.room, memory.user, int(memory.pinned), origin.source, origin.ingress, origin.trust.value,
        origin.actor, origin.trigger, memory.legacy_id, memory.version, memory.created_at, memory.updated_at,
        memory.expires_at, memory.consolidated_at, memory.superseded_by,
    )  # fmt: skip


def _json(value: Any) -> str | None:
    return None if value is None else _encode(value)


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def from_row(row: Row) -> Memory:
    """Return the memory of a row whose last columns are those of SELECT."""
    # By position, and each word looked up: this is half of what a small recall costs.
    (
        id, kind, kind_given, content, category, tags, concept_tags, data, metadata, context, importance,
        confidence, role, session, room, user, pinned, source, ingress, trust, actor, trigger, legacy_id,
        version, created_at, updated_at, expires_at, consolidated_at, superseded_by,
    ) = tuple(row)[-len(COLUMNS) :]  # fmt: skip
    return Memory(
        id=id,
        kind=_KINDS[kind],
        kind_given=kind_given,
        content=content,
        category=category,
        tags=_texts(tags),
        concept_tags=_texts(concept_tags),
        data=None if data is None else json.loads(data),
        metadata=None if metadata is None else json.loads(metadata),
        context=context,
        importance=importance,
        confidence=confidence,
        role=None if role is None else Role(role),
        session=session,
        room=room,
        user=user,
        pinned=bool(pinned),
        provenance=Provenance(
            source=source, ingress=ingress, trust=_TRUSTS[trust], actor=actor, trigger=trigger
        ),
        legacy_id=legacy_id,
        version=version,
        created_at=created_at,
        updated_at=updated_at,
        expires_at=expires_at,
        consolidated_at=consolidated_at,
        superseded_by=superseded_by,
    )


_KINDS = {kind.value: kind for kind in Kind}
_TRUSTS = {trust.value: trust for trust in Trust}


def _texts(value: str) -> tuple[str, ...]:
    return () if value == "[]" else tuple(json.loads(value))
