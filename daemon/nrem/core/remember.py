"""Store memories: scrub, derive what was not given, embed, then one transaction for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from nrem.clock import Clock
from nrem.core.scrub import Scrubber
from nrem.core.supersede import check_successor, supersede
from nrem.errors import Conflict, InvalidField
from nrem.model import KIND_ALIASES, By, Caller, Filter, Kind, Memory, Provenance, Scope, Trust
from nrem.models.embeddings import Embedder, dimension_of, embed_soon, hurried, pack
from nrem.policy import concepts, salience
from nrem.sections import Config, Embeddings, Episodic, Procedural, Semantic
from nrem.store import listing, memories, scopes
from nrem.store.database import Database
from nrem.store.driver import Connection
from nrem.store.vectors import Vector, serving
from nrem.wire import Draft, Remember, Stored, slug


@dataclass(frozen=True, slots=True)
class _Ready:
    memory: Memory
    redacted: tuple[str, ...]
    supersedes: tuple[str, ...]
    where: str
    """What stands before the name of a field in an error."""
    notes: tuple[str, ...]


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
    What a memory supersedes is marked so, also when the memory is known already.
    """
    now = clock.now()
    ready = prepare(drafts, settings, caller=caller, clock=clock)
    vectors = _vectors(store, embedder, settings.memory.embeddings, drafts, ready)
    by = By(actor=caller.actor, cause=caller.ingress, now=now)

    def write(db: Connection) -> list[Stored]:
        number = scopes.get(db, scope.name).number
        stored = []
        for item, vector in zip(ready, vectors, strict=True):
            answer = _known(db, number, item)
            if answer is None:
                memories.insert(db, number, item.memory, vector, by)
                answer = Stored(id=item.memory.id, stored=True, redacted=item.redacted, notes=item.notes)
            if answer.reason is None:  # else this text is not there to take another one's place
                _supersede(db, number, item, answer.id, by)
            stored.append(answer)
        new = {answer.id for answer in stored if answer.stored}
        evicted = _hold_caps(db, number, settings, [item for item in ready if item.memory.id in new], by)
        return [
            replace(answer, stored=False, reason="evicted") if answer.id in evicted else answer
            for answer in stored
        ]

    return store.write(write)


def prepare(
    drafts: Sequence[Draft], settings: Config, *, caller: Caller, clock: Clock, dry_run: bool = False
) -> list[_Ready]:
    """Check, scrub and complete drafts; nothing is written. A batch's error names the item."""
    return [
        _prepare(
            draft,
            settings,
            caller,
            id="" if dry_run else clock.new_id(),
            now=clock.now(),
            where="" if isinstance(draft, Remember) else f"memories[{i}].",
        )
        for i, draft in enumerate(drafts)
    ]


def embed_text(content: str, user: str | None) -> str:
    """Return the text that a memory's vector is made from: who said it, and what."""
    return f"{user}: {content}" if user else content


def _vectors(
    store: Database,
    embedder: Embedder | None,
    wanted: Embeddings,
    drafts: Sequence[Draft],
    ready: Sequence[_Ready],
) -> list[Vector | None]:
    """Return each memory's vector: the one its caller gave, else a new one."""
    given = {i: draft.embedding for i, draft in enumerate(drafts) if draft.embedding is not None}
    if given:
        dimension = _dimension(store, embedder, wanted) or len(next(iter(given.values())))
        for i, embedding in given.items():
            where = "embedding" if isinstance(drafts[i], Remember) else f"memories[{i}].embedding"
            if len(embedding) != dimension:
                raise InvalidField(
                    where, f"has {len(embedding)} numbers; the store's vectors have {dimension}"
                )
            if pack(embedding) is None:
                raise InvalidField(where, "has no direction", hint="give numbers that are not all zero")
    texts = {i: item.memory for i, item in enumerate(ready) if i not in given}
    made = embed(embedder, wanted, [embed_text(memory.content, memory.user) for memory in texts.values()])
    vectors: dict[int, Vector | None] = dict(zip(texts, made, strict=True))
    for i, embedding in given.items():
        packed = pack(embedding)
        vectors[i] = Vector(embedder.identity if embedder else "caller", packed) if packed else None
    return [vectors[i] for i in range(len(ready))]


def _dimension(store: Database, embedder: Embedder | None, wanted: Embeddings) -> int | None:
    """Return how many numbers a vector must have; None when nothing says so yet."""
    with store.reading() as db:
        known = serving(db)
    if known is not None:
        return known.dimension
    return dimension_of(embedder, hurried(wanted)) if embedder is not None else None


def embed(embedder: Embedder | None, wanted: Embeddings, texts: Sequence[str]) -> list[Vector | None]:
    """Embed texts if that can be done now; a memory without a vector is stored all the same."""
    if embedder is None:
        return [None] * len(texts)
    packed = embed_soon(embedder, texts, wanted)
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
    _check_succession(draft, where)
    check_content(draft.content, settings, where + "content")
    if draft.context is not None:
        check_content(draft.context, settings, where + "context")
    scrub = Scrubber(settings, where)
    content = scrub.text("content", draft.content)
    check_content(content, settings, where + "content")  # again: a mark may be longer than what it stands for
    context = scrub.optional("context", draft.context)
    if context is not None:
        check_content(context, settings, where + "context")
    # Trust given with a memory can only be less than what its bringer has.
    trust = Trust.UNTRUSTED if Trust.UNTRUSTED in (draft.trust, caller.trust) else Trust.TRUSTED
    created = draft.created_at if draft.created_at is not None else now
    memory = Memory(
        id=id,
        kind=kind,
        kind_given=draft.kind,
        content=content,
        category=slug(scrub.text("category", draft.category)),
        tags=tuple(dict.fromkeys(scrub.text("tags", tag) for tag in draft.tags)),
        concept_tags=concepts.derive(content),
        data=scrub.json("data", draft.data),
        metadata=scrub.json("metadata", draft.metadata),
        context=context,
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
        legacy_id=draft.legacy_id
        if scrub.optional("legacy_id", draft.legacy_id) == draft.legacy_id
        else None,
        created_at=created,
        updated_at=max(created, draft.updated_at or created),
        expires_at=draft.expires_at,
        consolidated_at=draft.consolidated_at,
        superseded_by=draft.superseded_by,
    )
    unpinned = draft.pinned and not memory.pinned
    notes = ("pinned: dropped, because the memory is not trusted",) if unpinned else ()
    return _Ready(memory, scrub.fired, tuple(draft.supersedes), where, notes)


def _check_succession(draft: Draft, where: str) -> None:
    if draft.supersedes and draft.superseded_by is not None:
        raise InvalidField(
            where + "superseded_by", "cannot be given with supersedes", hint="give one of them"
        )
    if draft.superseded_by is not None and draft.legacy_id is None:  # by its text a repetition is not known
        raise InvalidField(
            where + "superseded_by", "needs a legacy_id", hint="it is for what is brought from elsewhere"
        )


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


def _known(db: Connection, scope: int, item: _Ready) -> Stored | None:
    """Return the answer for a memory that is there already, by its legacy id or its text."""
    memory = item.memory
    if memory.legacy_id is not None:
        known = memories.find_imported(db, scope, memory.legacy_id)
        if known is not None:
            same = memories.had_text(db, scope, known, memory.content)
            reason: Literal["differs"] | None = None if same else "differs"
            return Stored(id=known, stored=False, deduplicated=same, reason=reason, redacted=item.redacted)
    if memory.superseded_by is not None:
        check_successor(db, scope, memory.superseded_by, field=item.where + "superseded_by")
        return None
    known = memories.find_same(db, scope, memory.kind, memory.content)
    if known is None:
        return None
    return Stored(id=known, stored=False, deduplicated=True, redacted=item.redacted)


def _supersede(db: Connection, scope: int, item: _Ready, successor: str, by: By) -> None:
    trust = item.memory.provenance.trust
    supersede(db, scope, item.supersedes, successor, by=by, trust=trust, field=item.where + "supersedes")


def _hold_caps(
    db: Connection, scope: int, settings: Config, ready: Sequence[_Ready], by: By
) -> frozenset[str]:
    """Forget what the caps leave no room for; return which of the new ones that are.

    The new ones go last, and only when there are more of them than a cap allows.
    """
    caps = {
        Kind.SEMANTIC: settings.memory.semantic.max_memories,
        Kind.EPISODIC: settings.memory.episodic.max_episodes,
        Kind.PROCEDURAL: settings.memory.procedural.max_procedures,
    }
    new = frozenset(item.memory.id for item in ready)
    evicted = set()
    for kind in sorted({item.memory.kind for item in ready}):
        cap = caps.get(kind)
        if cap is None:
            continue
        room = cap - listing.count(db, scope, Filter(kinds=(kind,), pinned=True))
        unpinned = any(item.memory.kind is kind and not item.memory.pinned for item in ready)
        if room < 0 or (room == 0 and unpinned):
            raise Conflict(
                f"all {cap} {kind} memories that the cap allows are pinned",
                hint="unpin some, or raise the cap",
                code="cap_full",
            )
        for id in listing.beyond_cap(db, scope, kind, cap, last=new):
            memories.forget(db, scope, id, replace(by, cause="cap"))
            evicted.add(id)
    return new & evicted
