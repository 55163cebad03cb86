"""The matrices in use, one for each scope that is asked."""

from __future__ import annotations

import threading
from collections import OrderedDict

from nrem.store.matrix import Matrix

MOST_BYTES = 512 << 20
FEW_EVENTS = 64
"""So many are followed in a moment."""


class Matrices:
    """The matrices in use, least recently used ones dropped when they grow too large together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, str | None], Matrix] = OrderedDict()

    def is_warm(self, scope: int, seq: int, vector_generation: int, *, most: int) -> bool:
        """Tell whether a scope's matrix is here, no larger than this, almost up to date, and free."""
        with self._lock:
            known = [matrix for (number, _), matrix in self._kept.items() if number == scope]
        return bool(known) and all(
            0 < matrix.count <= most
            and 0 <= seq - matrix.seq <= FEW_EVENTS
            and matrix.vector_generation == vector_generation
            and not matrix.lock.locked()
            and not matrix.may_read_words_next()
            for matrix in known
        )

    def get(self, scope: int, embedder: str | None, dimension: int) -> Matrix:
        """Return a scope's matrix, possibly still empty; lock it, then let it follow."""
        with self._lock:
            matrix = self._kept.get((scope, embedder))
            if matrix is None or matrix.dimension != dimension:
                matrix = self._kept[scope, embedder] = Matrix(scope, embedder, dimension)
            self._kept.move_to_end((scope, embedder))
            while len(self._kept) > 1 and sum(kept.size for kept in self._kept.values()) > MOST_BYTES:
                self._kept.popitem(last=False)
            return matrix

    def drop(self, scope: int) -> None:
        """Let go of a scope's matrices, and of the vectors of memories that are gone."""
        with self._lock:
            for key in [key for key in self._kept if key[0] == scope]:
                del self._kept[key]
