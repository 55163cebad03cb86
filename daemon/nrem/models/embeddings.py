"""Text to vectors: what an embedder is, and which of its answers may be stored."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Protocol


class Embedder(Protocol):
    """Makes one vector per text."""

    identity: str
    """`provider:model`; vectors of two identities are never compared."""
    batch_size: int

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        """Return a vector for each text, in order."""


def embed_all(embedder: Embedder, texts: Sequence[str]) -> list[bytes | None]:
    """Embed texts in batches; None stands for an answer that is no vector."""
    packed: list[bytes | None] = []
    for start in range(0, len(texts), embedder.batch_size):
        packed += [pack(vector) for vector in embedder.embed(texts[start : start + embedder.batch_size])]
    return packed


def pack(vector: Sequence[float]) -> bytes | None:
    """Return a vector at length 1 as float32 bytes; None when it has no direction or is not finite."""
    norm = math.sqrt(sum(value * value for value in vector))
    if not math.isfinite(norm) or norm == 0:
        return None
    return array("f", [value / norm for value in vector]).tobytes()
