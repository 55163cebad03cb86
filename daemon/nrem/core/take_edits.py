"""What people did to lines of MEMORY.md becomes part of the memory: a file edit is the owner's word.

A removed line is not promoted again, a changed one edits its memory, a new one is a pinned memory. Each step
finds out by itself whether it was done before, so that after a crash all of it can be repeated.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial

from nrem.clock import Clock
from nrem.core import memory_file
from nrem.core.dreamer import Dreamer, look
from nrem.core.edit import edit, pin
from nrem.core.memory_file import Found
from nrem.core.remember import remember
from nrem.errors import Conflict, InputError, NotFound
from nrem.model import By, Caller, Memory, Trust
from nrem.policy import memory_doc
from nrem.policy.block import Line
from nrem.policy.noise import noise
from nrem.store import memories, model_lines, promotions, scopes
from nrem.store.driver import Connection
from nrem.store.promotions import Grounds
from nrem.wire import ByHand, Draft, Edit, LineLeft

OWNER = Caller(actor="owner", ingress="file")
REMOVED = "a person removed its line"
WRITTEN = "a person wrote its line"
ASIDE = "is no line of a memory"


def take_edits(dreamer: Dreamer, *, clock: Clock) -> Found:
    """Bring the memory in line with the block as people left it; return the file as it is then.

    What is no line, and a line that is refused, goes below the block as it is, and is named.
    """
    for _ in range(memory_file.TRIES):
        found = look(dreamer)
        memory_file.keep_base(dreamer.store, dreamer.scope, found)
        if not found.edits:
            return found
        by_hand, rows = _take(dreamer, found, clock=clock)
        moved = memory_file.move_out(dreamer.workspace, found, rows)
        if moved is not None:
            accepted = memory_file.accept(dreamer.store, dreamer.settings, dreamer.scope, moved)
            return dataclasses.replace(accepted, by_hand=by_hand)
    raise memory_file.busy()


def _take(dreamer: Dreamer, found: Found, *, clock: Clock) -> tuple[ByHand, set[int]]:
    """Do what the edits say; return what was done, and the rows of the block that are left to people."""
    edits = found.edits
    with dreamer.store.reading() as db:
        ids = promotions.by_label(db, dreamer.scope.number)
    for label in edits.removed:
        _remove(dreamer, ids.get(label, label), clock=clock)
    changed = {
        line.rows: _refusal(partial(_change, dreamer, ids.get(label, label), line.text, clock=clock))
        for label, line in edits.changed.items()
    }
    added = {line.rows: _refusal(partial(_add, dreamer, line, clock=clock)) for line in edits.added}
    refused = {rows: why for rows, why in {**changed, **added}.items() if why is not None}
    left = {**dict.fromkeys((aside.rows for aside in edits.asides), ASIDE), **refused}
    by_hand = ByHand(
        removed=len(edits.removed),
        edited=sum(why is None for why in changed.values()),
        added=sum(why is None for why in added.values()),
        left=tuple(
            LineLeft(line=memory_doc.number_of(found.parts, rows.start), reason=why)
            for rows, why in sorted(left.items(), key=lambda item: item[0].start)
        ),
    )
    return by_hand, {row for rows in left for row in rows}


def _refusal(step: Callable[[], None]) -> str | None:
    """Do what one line asks for; return why that is not done. The other lines have no part in it."""
    try:
        step()
    except (InputError, Conflict) as error:
        return error.message.removeprefix(f"{error.field}: ")
    return None


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
            _want(dreamer, str(error.details["id"]), clock=clock)
        else:
            _vouch(dreamer, id, clock=clock)  # somebody who is not trusted may have edited it before
            if noise(text) is not None:  # an owner's words stand, whatever a sweep thinks of their like
                pin(dreamer.store, dreamer.scope, id, True, caller=OWNER, clock=clock)


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
    _want(dreamer, stored.id, clock=clock)


def _want(dreamer: Dreamer, id: str, *, clock: Clock) -> None:
    """Give a memory the line that a person wrote, whoever told it first."""
    _vouch(dreamer, id, clock=clock)
    pin(dreamer.store, dreamer.scope, id, True, caller=OWNER, clock=clock)
    _promote(dreamer, id, clock=clock)


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
