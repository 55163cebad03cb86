"""Store memories: scrub, derive what was not given, embed, then one transaction for all of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from nrem.clock import Clock
from nrem.config import Config, Episodic, Procedural, Semantic
from nrem.core.scrub import Scrubber
from nrem.errors import Conflict, InvalidField, Unavailable
from nrem.model import KIND_ALIASES, By, Caller, Filter, Kind, Memory, Provenance, Scope, Trust
from nrem.models.embeddings import Embedder, embed_all
from nrem.policy import concepts, salience
from nrem.store import listing, memories, scopes
from nrem.store.database import Database
from nrem.store.driver import Connection
from nrem.store.memories import Vector
from nrem.wire import Draft, Stored


@dataclass(frozen=True, slots=True)
class _Ready:
    memory: Memory
    redacted: tuple[str, ...]


def remember(
    store: Database,
    embedder: Embedder | None,
    settings: Config,
    scope: Scope,
    drafts: Sequence[Draft],
    *,
    caller: Caller,
    clock: Clock,
) -> list[Stored]:
    """Store memories in one transaction, all or none, and return what became of each, in order.

    A text the scope has already gives the first one's id and changes nothing; so does a known legacy id.
    """
    now = clock.now()
    alone = len(drafts) == 1
    ready = [
        _prepare(
            draft, settings, caller, id=clock.new_id(), now=now, where="" if alone else f"memories[{i}]."
        )
        for i, draft in enumerate(drafts)
    ]
    vectors = embed(embedder, [item.memory.content for item in ready])
    by = By(actor=caller.actor, cause=caller.ingress, now=now)

    def write(db: Connection) -> list[Stored]:
        number = scopes.get(db, scope.name).number
        stored = []
        for item, vector in zip(ready, vectors, strict=True):
            known = _find_known(db, number, item.memory)
            if known is None:
                memories.insert(db, number, item.memory, vector, by)
            stored.append(
                Stored(
                    id=known or item.memory.id,
                    stored=known is None,
                    deduplicated=known is not None,
                    redacted=item.redacted,
                )
            )
        _hold_caps(db, number, settings, {item.memory.kind for item in ready}, by)
        return stored

    return store.write(write)


def embed(embedder: Embedder | None, texts: Sequence[str]) -> list[Vector | None]:
    """Embed texts if that can be done now; a memory without a vector is stored all the same."""
    if embedder is None:
        return [None] * len(texts)
    try:
        packed = embed_all(embedder, texts)
    except Unavailable:
        return [None] * len(texts)
    return [Vector(embedder.identity, vector) if vector else None for vector in packed]


def check_content(content: str, settings: Config, field: str = "content") -> None:
    """Raise InvalidField when a text is longer than the configuration allows."""
    size = len(content.encode())
    if size > settings.limits.content_bytes:
        raise InvalidField(
            field,
            f"has {size} bytes; the limit is {settings.limits.content_bytes}",
            hint="store a long text in parts, or raise limits.content_bytes",
            code="too_large",
        )


def _prepare(draft: Draft, settings: Config, caller: Caller, *, id: str, now: int, where: str) -> _Ready:
    kind = KIND_ALIASES[draft.kind]
    _check_enabled(kind, settings, where)
    check_content(draft.content, settings, where + "content")
    if draft.context is not None:
        check_content(draft.context, settings, where + "context")
    scrub = Scrubber(settings, where)
    content = scrub.text("content", draft.content)
    # Trust given with a memory can only be less than what its bringer has.
    trust = Trust.UNTRUSTED if Trust.UNTRUSTED in (draft.trust, caller.trust) else Trust.TRUSTED
    created = draft.created_at if draft.created_at is not None else now
    memory = Memory(
        id=id,
        kind=kind,
        kind_given=draft.kind,
        content=content,
        category=scrub.text("category", draft.category),
        tags=tuple(dict.fromkeys(scrub.text("tags", tag) for tag in draft.tags)),
        concept_tags=concepts.derive(content),
        data=scrub.json("data", draft.data),
        metadata=scrub.json("metadata", draft.metadata),
        context=scrub.optional("context", draft.context),
        importance=draft.importance
        if draft.importance is not None
        else salience.importance(content, draft.role),
        confidence=draft.confidence,
        role=draft.role,
        session=scrub.optional("session", draft.session),
        room=scrub.optional("room", draft.room),
        user=scrub.optional("user", draft.user),
        pinned=draft.pinned and trust is Trust.TRUSTED,
        provenance=Provenance(
            source=scrub.optional("source", draft.source),
            ingress=caller.ingress,
            trust=trust,
            actor=caller.actor,
            trigger=scrub.optional("trigger", draft.trigger),
        ),
        legacy_id=scrub.optional("legacy_id", draft.legacy_id),
        created_at=created,
        updated_at=max(created, draft.updated_at or created),
        expires_at=draft.expires_at,
        consolidated_at=draft.consolidated_at,
    )
    return _Ready(memory, scrub.fired)


def _check_enabled(kind: Kind, settings: Config, where: str) -> None:
    sections: dict[Kind, Semantic | Episodic | Procedural] = {
        Kind.SEMANTIC: settings.memory.semantic,
        Kind.EPISODIC: settings.memory.episodic,
        Kind.PROCEDURAL: settings.memory.procedural,
    }
    section = sections.get(kind)
    if section is not None and not section.enabled:
        raise InvalidField(
            where + "kind",
            f"{kind} memories are disabled",
            hint=f"set memory.{kind}.enabled = true to allow them",
            code="kind_disabled",
        )


def _find_known(db: Connection, scope: int, memory: Memory) -> str | None:
    if memory.legacy_id is not None:
        known = memories.find_imported(db, scope, memory.legacy_id)
        if known is not None:
            if not memories.had_text(db, scope, known, memory.content):
                raise Conflict(
                    f"memory {known} came from legacy id {memory.legacy_id} and never had this text",
                    hint="import into another agent, or give the record another legacy_id",
                    code="legacy_id_taken",
                    details={"id": known, "legacy_id": memory.legacy_id},
                )
            return known
    return memories.find_same(db, scope, memory.kind, memory.content)


def _hold_caps(db: Connection, scope: int, settings: Config, kinds: set[Kind], by: By) -> None:
    caps = {
        Kind.SEMANTIC: settings.memory.semantic.max_memories,
        Kind.EPISODIC: settings.memory.episodic.max_episodes,
        Kind.PROCEDURAL: settings.memory.procedural.max_procedures,
    }
    for kind in sorted(kinds):
        cap = caps.get(kind)
        if cap is None:
            continue
        for id in listing.beyond_cap(db, scope, kind, cap):
            memories.forget(db, scope, id, dataclasses.replace(by, cause="cap"))
        if listing.count(db, scope, Filter(kinds=(kind,))) > cap:
            raise Conflict(
                f"all {cap} {kind} memories that the cap allows are pinned",
                hint="unpin some, or raise the cap",
                code="cap_full",
            )
