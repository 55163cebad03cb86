"""The profile `classic`: promotion by recalls alone, gated, once ever; nothing is ever demoted.

A memory is promoted when it was recalled often enough, by questions or on days that differ, with a score that
grows with how often, how high and how lately it was recalled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

RECALLS = 3
DIFFERENT = 2
"""Questions or days on which it was recalled, whichever is more."""
SCORE = 0.35
MOST = 20
"""Promotions in one sweep."""
DAY = 86_400_000
HALF_LIFE: Mapping[str, float] = {"user": math.inf, "reference": math.inf, "feedback": 365.0}
HALF_LIFE_OF_OTHERS = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """What a memory's recalls come to."""

    id: str
    category: str
    recalls: int
    ranks: float
    """The sum of 1 / rank."""
    queries: int
    days: int
    last_at: int
    promoted: bool = False
    """At any time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """A memory that passes, its score, and the terms that add up to it."""

    id: str
    score: float
    terms: Mapping[str, float]


def terms(recalled: Recalled, *, newest: int) -> dict[str, float]:
    """Return the terms of a memory's score; they add up to it."""
    half_life = HALF_LIFE.get(recalled.category, HALF_LIFE_OF_OTHERS)
    age = max(newest - recalled.last_at, 0) / DAY
    different = max(recalled.queries, recalled.days)
    return {
        "frequency": 0.24 * min(1.0, math.log1p(recalled.recalls) / math.log1p(6)),
        "relevance": 0.30 * (recalled.ranks / recalled.recalls if recalled.recalls else 0.0),
        "recency": 0.15 * 2 ** (-age / half_life),
        "diversity": 0.15 * min(1.0, different / 5),
        "consolidation": 0.10 * min(1.0, recalled.days / 5),
    }


def promote(memories: Sequence[Recalled], *, newest: int) -> tuple[Promotion, ...]:
    """Return what this sweep promotes, best first; age is counted from the scope's newest organic event."""
    passed = []
    for one in memories:
        if one.promoted or one.recalls < RECALLS or max(one.queries, one.days) < DIFFERENT:
            continue
        parts = terms(one, newest=newest)
        total = sum(parts.values())
        if total >= SCORE:
            passed.append(Promotion(id=one.id, score=total, terms=parts))
    return tuple(sorted(passed, key=lambda promotion: (-promotion.score, promotion.id))[:MOST])
