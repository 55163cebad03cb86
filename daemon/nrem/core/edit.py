"""Change a memory: the next version takes its place, the one before is kept."""

from __future__ import annotations

import dataclasses
from typing import Any

from nrem.clock import Clock
from nrem.core.remember import check_content, embed, embed_text
from nrem.core.scrub import Scrubber
from nrem.errors import Conflict, Denied, InputError, InvalidField
from nrem.model import By, Caller, Memory, Scope, Trust
from nrem.models.embeddings import Embedder
from nrem.policy import concepts
from nrem.sections import Config
from nrem.store import memories, scopes
from nrem.store.database import Database
from nrem.store.driver import Connection
from nrem.wire import Changed, Edit, slug


def edit(
    store: Database,
    embedder: Embedder | None,
    settings: Config,
    scope: Scope,
    change: Edit,
    *,
    caller: Caller,
    clock: Clock,
) -> Changed:
    """Apply the given fields; only a new text is embedded again."""
    given = change.model_fields_set - {"agent", "id", "version"}
    if not given:
        raise InputError("nothing to change", hint="give at least one field, such as content or category")
    scrub = Scrubber(settings)
    for name in sorted(given - _CLEARABLE):
        if getattr(change, name) is None:
            raise InvalidField(name, "must have a value", hint="leave it out to keep what it is")
    fields = {name: _scrubbed(scrub, name, getattr(change, name)) for name in given}
    for name in ("content", "context"):
        if fields.get(name) is not None:
            check_content(fields[name], settings, name)
    vector = None
    if "content" in fields:
        fields["concept_tags"] = concepts.derive(fields["content"])
        with store.reading() as db:
            old = memories.get(db, scope.number, change.id)
        if old.content != fields["content"]:
            [vector] = embed(embedder, settings.memory.embeddings, [embed_text(fields["content"], old.user)])
    by = By(actor=caller.actor, cause=caller.ingress, now=clock.now())

    def write(db: Connection) -> Changed:
        number = scopes.get(db, scope.name).number
        old = memories.get(db, number, change.id)
        if change.version is not None and change.version != old.version:
            raise Conflict(
                f"memory {old.id} is at version {old.version}, not {change.version}",
                hint="read it again, then repeat the edit",
                code="stale_version",
            )
        if caller.trust is Trust.UNTRUSTED:
            origin = dataclasses.replace(
                old.provenance, trust=Trust.UNTRUSTED, actor=caller.actor, ingress=caller.ingress
            )
            # A pin vouches for what is no longer there.
            fields.update(provenance=origin, pinned=False)
        new = dataclasses.replace(
            old, **fields, version=old.version + 1, updated_at=max(by.now, old.updated_at)
        )
        memories.refuse_same(db, number, new)
        memories.update(db, number, new, vector, op="memory.edit", by=by)
        return Changed(id=new.id, version=new.version, redacted=scrub.fired)

    return store.write(write)


def pin(store: Database, scope: Scope, id: str, pinned: bool, *, caller: Caller, clock: Clock) -> Changed:
    """Pin or unpin a memory; only a trusted caller's pin counts. Saying it twice changes nothing."""
    if caller.trust is not Trust.TRUSTED:
        raise Denied("only a trusted caller may pin or unpin", hint="ask the owner to pin it")
    by = By(actor=caller.actor, cause=caller.ingress, now=clock.now())

    def write(db: Connection) -> Changed:
        number = scopes.get(db, scope.name).number
        old: Memory = memories.get(db, number, id)
        if old.pinned == pinned:
            return Changed(id=old.id, version=old.version)
        new = dataclasses.replace(
            old, pinned=pinned, version=old.version + 1, updated_at=max(by.now, old.updated_at)
        )
        memories.update(db, number, new, None, op="memory.pin" if pinned else "memory.unpin", by=by)
        return Changed(id=new.id, version=new.version)

    return store.write(write)


_CLEARABLE = frozenset({"data", "metadata", "context", "expires_at"})
"""Fields that can be set to nothing by giving null."""


def _scrubbed(scrub: Scrubber, name: str, value: Any) -> Any:
    if name == "category":
        return slug(scrub.text(name, value))
    if isinstance(value, str):
        return scrub.text(name, value)
    if name == "tags" and value is not None:
        return tuple(dict.fromkeys(scrub.text(name, tag) for tag in value))
    return scrub.json(name, value)
