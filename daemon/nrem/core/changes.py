"""Tell what became of memories between two events."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nrem.model import Counts
from nrem.policy.differing import differing
from nrem.store.differences import Pair, Side, between
from nrem.store.driver import Connection
from nrem.store.memory_rows import from_payload
from nrem.wire import FieldChange, MemoryChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Most:
    """How much is told: memories, and characters of each text."""

    memories: int
    text: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    memories: tuple[MemoryChange, ...]
    counts: Counts

    @property
    def more(self) -> int:
        return self.counts.added + self.counts.changed + self.counts.forgotten - len(self.memories)


def changes(db: Connection, scope: int, first: int, last: int, most: Most) -> Changes:
    """Compare the memories as they were at two events, whichever of them is the later one.

    A memory that came and went in between, or is again what it was, is none that changed.
    """
    told: list[MemoryChange] = []
    counted = {"added": 0, "changed": 0, "forgotten": 0}
    for pair in between(db, scope, min(first, last), max(first, last)):
        before, after = (pair.before, pair.after) if first <= last else (pair.after, pair.before)
        change = _change(pair, before, after, most.text)
        if change is None:
            continue
        counted[change.change] += 1
        if len(told) < most.memories:
            told.append(change)
    return Changes(memories=tuple(told), counts=Counts(**counted))


def _change(pair: Pair, before: Side | None, after: Side | None, length: int) -> MemoryChange | None:
    if before is None and after is None:
        return None
    if before is None or after is None:
        side = before or after
        assert side is not None
        change = MemoryChange(id=pair.id, change="added" if before is None else "forgotten")
        return _described(change, side, length)
    if before.payload is None or after.payload is None:
        return _described(MemoryChange(id=pair.id, change="changed", erased=True), after, length)
    fields = tuple(
        FieldChange(field=name, before=_cut(old, length), after=_cut(new, length))
        for name, old, new in differing(before.payload, after.payload)
    )
    if not fields:
        return None
    return _described(MemoryChange(id=pair.id, change="changed", fields=fields), after, length)


def _described(change: MemoryChange, side: Side, length: int) -> MemoryChange:
    if side.payload is None:
        return replace(change, erased=True)
    memory = from_payload(side.payload)
    return replace(change, kind=memory.kind.value, content=_cut(memory.content, length))


def _cut(text: str | None, length: int) -> str | None:
    return text if text is None or len(text) <= length else text[: length - 1] + "…"
