"""What people did to lines of MEMORY.md becomes part of the memory: a file edit is the owner's word.

A removed line is not promoted again, a changed one edits its memory, a new one is a pinned memory. Each step
finds out by itself whether it was done before, so that after a crash all of it can be repeated.
"""

from __future__ import annotations

import dataclasses

from nrem.clock import Clock
from nrem.core.dreamer import Dreamer
from nrem.core.edit import edit, pin
from nrem.core.memory_file import Found, accept
from nrem.core.remember import remember
from nrem.errors import Conflict, NotFound
from nrem.model import By, Caller, Memory, Trust
from nrem.policy import memory_doc
from nrem.policy.memory_doc import Line
from nrem.store import memories, model_lines, promotions, scopes
from nrem.store.driver import Connection
from nrem.store.promotions import Grounds
from nrem.wire import Draft, Edit

OWNER = Caller(actor="owner", ingress="file")
REMOVED = "a person removed its line"
WRITTEN = "a person wrote its line"


def take_edits(dreamer: Dreamer, found: Found, *, clock: Clock) -> Found:
    """Bring the memory in line with the block as people left it; raise what is wrong with a line."""
    edits = found.edits
    with dreamer.store.reading() as db:
        ids = promotions.by_label(db, dreamer.scope.number)
    for label in edits.removed:
        _remove(dreamer, ids.get(label, label), clock=clock)
    for label, text in edits.changed.items():
        _change(dreamer, ids.get(label, label), text, clock=clock)
    for line in edits.added:
        _add(dreamer, line, clock=clock)
    return accept(dreamer.store, dreamer.settings, dreamer.scope, found)


def _remove(dreamer: Dreamer, id: str, *, clock: Clock) -> None:
    by = _by(clock)

    def write(db: Connection) -> None:
        number = scopes.get(db, dreamer.scope.name).number
        if promotions.find_active(db, number, id) is None:
            return
        promotions.demote(db, number, id, Grounds(reason=REMOVED), by)
        memory = _find(db, number, id)
        if memory is not None:
            promotions.bar(db, number, id, memory.version, Grounds(reason=REMOVED), by)

    dreamer.store.write(write)


def _change(dreamer: Dreamer, id: str, text: str, *, clock: Clock) -> None:
    with dreamer.store.reading() as db:
        memory = _find(db, dreamer.scope.number, id)
        has_line = promotions.find_active(db, dreamer.scope.number, id) is not None
    if memory is None or not has_line:
        _add(dreamer, Line(label=None, text=text, section=""), clock=clock)
    elif memory.content == text:
        _take_back(dreamer, id, clock=clock)
    else:
        change = Edit(agent=dreamer.scope.name, id=id, content=text)
        try:
            edit(
                dreamer.store, dreamer.embedder, dreamer.settings, dreamer.scope, change,
                caller=OWNER, clock=clock,
            )  # fmt: skip
        except Conflict as error:
            if error.code != "duplicate":
                raise
            _remove(dreamer, id, clock=clock)  # another memory says so already: that one gets the line
            _promote(dreamer, str(error.details["id"]), clock=clock)
        else:
            _vouch(dreamer, id, clock=clock)  # somebody who is not trusted may have edited it before


def _take_back(dreamer: Dreamer, id: str, *, clock: Clock) -> None:
    """Let a line have the memory's own words, which a person wrote in the place of a model's."""
    by = _by(clock)

    def write(db: Connection) -> None:
        number = scopes.get(db, dreamer.scope.name).number
        said = model_lines.holding(db, number).get(id)
        if said is not None and said.line is not None:
            model_lines.take_back(db, number, said, by)

    dreamer.store.write(write)


def _add(dreamer: Dreamer, line: Line, *, clock: Clock) -> None:
    draft = Draft(content=line.text, pinned=True, category=memory_doc.category_of(line.section))
    [stored] = remember(
        dreamer.store, dreamer.embedder, dreamer.settings, dreamer.scope, [draft], caller=OWNER, clock=clock
    )
    if not stored.stored:
        _vouch(dreamer, stored.id, clock=clock)
        pin(dreamer.store, dreamer.scope, stored.id, True, caller=OWNER, clock=clock)
    _promote(dreamer, stored.id, clock=clock)


def _vouch(dreamer: Dreamer, id: str, *, clock: Clock) -> None:
    """Trust a text that came from outside, now that the owner wrote the same."""
    by = _by(clock)

    def write(db: Connection) -> None:
        number = scopes.get(db, dreamer.scope.name).number
        old = memories.get(db, number, id)
        if old.provenance.trust is Trust.TRUSTED:
            return
        origin = dataclasses.replace(
            old.provenance, trust=Trust.TRUSTED, actor=OWNER.actor, ingress=OWNER.ingress
        )
        new = dataclasses.replace(
            old, provenance=origin, version=old.version + 1, updated_at=max(by.now, old.updated_at)
        )
        memories.update(db, number, new, None, op="memory.edit", by=by)

    dreamer.store.write(write)


def _promote(dreamer: Dreamer, id: str, *, clock: Clock) -> None:
    by = _by(clock)

    def write(db: Connection) -> None:
        number = scopes.get(db, dreamer.scope.name).number
        promotions.promote(db, number, id, Grounds(reason=WRITTEN), by)

    dreamer.store.write(write)


def _find(db: Connection, scope: int, id: str) -> Memory | None:
    try:
        return memories.get(db, scope, id)
    except NotFound:
        return None


def _by(clock: Clock) -> By:
    return By(actor=OWNER.actor, cause=OWNER.ingress, now=clock.now())
