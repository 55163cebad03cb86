"""Give memories away: all that match, oldest first, page by page."""

from __future__ import annotations

from nrem.core.browse import read_cursor, write_cursor
from nrem.model import Kind, Memory, Scope
from nrem.store import listing
from nrem.store.database import Database
from nrem.wire import Export, Exported, InitRunnerMemory

_INITRUNNER_TYPES = {
    Kind.SEMANTIC: "semantic",
    Kind.FACT: "semantic",
    Kind.CONVERSATION: "semantic",
    Kind.EPISODIC: "episodic",
    Kind.PROCEDURAL: "procedural",
}


def export(store: Database, scope: Scope, request: Export) -> Exported:
    """Return the page behind a cursor; what the format cannot tell is counted, not given."""
    with store.reading() as db:
        found = listing.after(
            db,
            scope.number,
            request.filter(),
            limit=request.limit + 1,
            last=read_cursor(request.cursor),
            oldest_first=True,
        )
    page = found[: request.limit]
    given: list[Memory | InitRunnerMemory] = [
        _initrunner(memory) if request.format == "initrunner" else memory
        for memory in page
        if request.format == "nrem" or _is_told_by_initrunner(memory)
    ]
    return Exported(
        memories=tuple(given),
        left_out=len(page) - len(given),
        next=write_cursor(page[-1]) if len(found) > len(page) else None,
    )


def _is_told_by_initrunner(memory: Memory) -> bool:
    """Tell whether InitRunner has such a memory. It would take one that is superseded for true."""
    return memory.kind in _INITRUNNER_TYPES and memory.superseded_by is None


def _initrunner(memory: Memory) -> InitRunnerMemory:
    return InitRunnerMemory(
        id=memory.legacy_id or memory.id,
        content=memory.content,
        category=memory.category,
        created_at=memory.created_at,
        memory_type=_INITRUNNER_TYPES[memory.kind],
        metadata=memory.metadata,
    )
