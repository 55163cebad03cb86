"""The managed block of MEMORY.md on disk: what stands there, what people did to it, and how it is replaced.

The database knows the block as it was last written, and, while it is being written, as it is to be. So after
a crash in between, what nrem wrote is not taken for something that a person did.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from nrem.core.scrub import Scrubber
from nrem.core.workspaces import Workspace
from nrem.errors import Conflict, Denied, InputError, NotFound
from nrem.model import Memory, Scope
from nrem.policy import memory_doc
from nrem.policy.block import Line
from nrem.policy.memory_doc import PATH, Edits, Parts
from nrem.sections import Config
from nrem.store import model_lines, promotions, scopes
from nrem.store.database import Database
from nrem.store.driver import Connection
from nrem.store.model_lines import ModelLine
from nrem.store.promotions import Block, Promoted
from nrem.store.sweeps import Material
from nrem.wire import ByHand
from nrem.workspace.files import Files

TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """MEMORY.md as it is, and the block that people's edits are to be compared with."""

    data: bytes | None
    parts: Parts
    base: bytes
    by_hand: ByHand = field(default_factory=ByHand)
    """What of people's edits was taken in on the way here."""

    @property
    def edits(self) -> Edits:
        return memory_doc.compare(self.base, self.parts.block)


def look(store: Database, workspace: Workspace, scope: Scope, *, zone: str) -> Found:
    """Return what MEMORY.md has now; raise NotFound when the whole workspace is gone."""
    workspace.check_there()
    try:
        with _named():
            data = Files(workspace.root, managed=True).read(PATH)
    except NotFound:
        data = None
    parts = memory_doc.split(data or b"")
    with store.reading() as db:
        known = promotions.block(db, scope.number)
        ledger = lines(db, scope.number, zone=zone) if known is None else []
    if known is None:
        # Nothing was written yet; or the store was built anew, and then the ledger says what was.
        base = memory_doc.render(ledger, like=parts)
    else:
        # Whether the last write came to pass is seen by which of the two the file is nearer to.
        base = min(known.intended, known.written, key=lambda block: _distance(block, parts.block))
    return Found(data=data, parts=parts, base=base)


def check(found: Found) -> None:
    """Raise Conflict where the block has what nobody meant to say: nothing of it is to be taken in."""
    trouble = memory_doc.trouble(found.parts)
    if trouble is not None:
        number, what = trouble
        raise Conflict(
            f"{PATH}: line {number} {what}; nothing was changed",
            hint="put it in order, save the file as UTF-8, and repeat",
            code="memory_file",
        )


@contextmanager
def _named() -> Iterator[None]:
    """Say which file it is that cannot be read or written, and what to do about it."""
    try:
        yield
    except (Denied, InputError) as error:
        raise Conflict(
            f"{PATH}: {error.message.removeprefix('path: ')}",
            hint=f"{error.hint or 'move it away'}; where there is none, a sweep writes a new one",
            code="memory_file",
        ) from error


def _distance(base: bytes, block: bytes | None) -> int:
    edits = memory_doc.compare(base, block)
    return len(edits.removed) + len(edits.changed) + len(edits.added)


def lines(db: Connection, scope: int, *, zone: str) -> list[Line]:
    """Return the lines that the block is to have, in their order."""
    said = model_lines.holding(db, scope)
    labels = promotions.labels(db, scope)
    return [
        Line(
            label=labels[memory.id],
            text=text_of(memory, said.get(memory.id), zone=zone),
            section=memory_doc.section_of(memory.category),
        )
        for memory in promotions.lines(db, scope)
    ]


def line_of(db: Connection, scope: int, memory: Memory, *, zone: str) -> Line:
    """Return the line that a memory has, or would have if it were promoted next."""
    said = model_lines.holding(db, scope).get(memory.id)
    return Line(
        label=memory_doc.labels([*promotions.ever(db, scope), memory.id])[memory.id],
        text=text_of(memory, said, zone=zone),
        section=memory_doc.section_of(memory.category),
    )


def text_of(memory: Promoted | Material | Memory, said: ModelLine | None, *, zone: str) -> str:
    """Return what the line of a memory says: a model's sentence, else its own words."""
    if said is not None and said.line is not None:
        return said.line
    return memory_doc.line_text(memory.content, created_at=memory.created_at, zone=zone)


def room(parts: Parts, budget: int) -> int:
    """Return how many characters the block may have, markers included."""
    return max(0, budget - parts.human)


def render(found: Found, wanted: list[Line], *, budget: int) -> bytes:
    """Return the block; it is nothing at all where people's text leaves no room for its markers."""
    if not wanted and (found.parts.block is None or room(found.parts, budget) < memory_doc.MARKERS_LENGTH):
        return b""
    return memory_doc.render(wanted, like=found.parts)


def put(
    store: Database, workspace: Workspace, scope: Scope, found: Found, block: bytes, base: bytes | None = None
) -> bool:
    """Write the block beside people's text; False, and nothing done, when the file is no longer as found.

    `base` is what later edits are compared with, where the block has some already.
    """
    to_be = block if base is None else base
    if found.base == to_be and block == (found.parts.block or b""):
        return True
    _note(store, scope, Block(written=found.base, intended=to_be))
    if block != (found.parts.block or b"") and not _replace(workspace, found, found.parts.with_block(block)):
        return False
    _note(store, scope, Block(written=to_be, intended=to_be))
    return True


def move_out(workspace: Workspace, found: Found, rows: Collection[int]) -> Found | None:
    """Put rows of the block below it, as they are; None, and nothing done, when the file is another now."""
    if not rows:
        return found
    data = memory_doc.move_out(found.parts, rows)
    if not _replace(workspace, found, data):
        return None
    return replace(found, data=data, parts=memory_doc.split(data))


def _replace(workspace: Workspace, found: Found, data: bytes) -> bool:
    try:
        with _named():
            return Files(workspace.root, managed=True).replace(PATH, data, expected=found.data)
    except NotFound:  # it was removed just now
        return False


def keep_base(store: Database, scope: Scope, found: Found) -> None:
    """Note what edits are compared with before the ledger changes, if that was never noted."""
    with store.reading() as db:
        if promotions.block(db, scope.number) is not None:
            return

    def write(db: Connection) -> None:
        number = scopes.get(db, scope.name).number
        if promotions.block(db, number) is None:
            promotions.put_block(db, number, Block(written=found.base, intended=found.base))

    store.write(write)


def accept(store: Database, settings: Config, scope: Scope, found: Found) -> Found:
    """Note that what people did to the block is known, so that it is no longer an edit."""
    text = (found.parts.block or b"").decode(errors="replace")
    block = Scrubber(settings, refuse=False).text("block", text).encode()
    _note(store, scope, Block(written=block, intended=block))
    return replace(found, base=block)


def refresh(store: Database, workspace: Workspace, scope: Scope, *, zone: str) -> None:
    """Take out the lines of memories that are gone, and bring those of changed ones up to date.

    Nothing is added, and what people changed is left to the next sweep.
    """
    for _ in range(TRIES):
        with store.reading() as db:
            known = promotions.block(db, scope.number)
            wanted = {line.label or "": line.text for line in lines(db, scope.number, zone=zone)}
        if known is None or all(wanted.get(line.label or "") == line.text for line in _ours(known)):
            return
        found = look(store, workspace, scope, zone=zone)
        if found.parts.block is None:
            return
        base, block = memory_doc.refresh(found.base, found.parts.block, wanted)
        if put(store, workspace, scope, found, block, base):
            return
    raise busy()


def _ours(known: Block) -> list[Line]:
    return [line for line in memory_doc.parse(known.written) if line.label is not None]


def _note(store: Database, scope: Scope, known: Block) -> None:
    def write(db: Connection) -> None:
        promotions.put_block(db, scopes.get(db, scope.name).number, known)

    store.write(write)


def busy() -> Conflict:
    return Conflict(f"{PATH} changes all the time", hint="repeat it when nobody writes it", code="file_busy")
