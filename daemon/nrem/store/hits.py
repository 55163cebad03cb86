"""The memories of a scope that were hits, kept for the next question."""

from __future__ import annotations

from collections.abc import Sequence

from nrem.model import Memory
from nrem.store import listing
from nrem.store.driver import Connection

MOST = 1000
MOST_BYTES = 2 << 20
OVERHEAD = 1000
"""What a memory takes beside its text."""


class Hits:
    """Memories by the place of their row; whoever changes a row drops it."""

    def __init__(self) -> None:
        self._kept: dict[int, Memory] = {}
        self.size = 0
        """About how many bytes they take, or took before some were dropped."""

    def read(self, db: Connection, scope: int, rows: Sequence[tuple[int, int]]) -> list[Memory]:
        """Return the memories of some rows, each given by its place and its rowid."""
        unknown = [row for row in rows if row[0] not in self._kept]
        if unknown:
            if len(self._kept) + len(unknown) > MOST or self.size > MOST_BYTES:
                self._kept, self.size, unknown = {}, 0, list(rows)
            for (place, _), memory in zip(
                unknown, listing.by_rowids(db, scope, [rowid for _, rowid in unknown]), strict=True
            ):
                self._kept[place] = memory
                self.size += OVERHEAD + len(memory.content)
        return [self._kept[place] for place, _ in rows]

    def drop(self, place: int) -> None:
        self._kept.pop(place, None)
