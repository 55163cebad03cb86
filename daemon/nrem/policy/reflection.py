"""What a sweep notices without writing anything durable: themes, contradictions, questions without an answer.

Sentences are made from templates; a model is not asked, and nothing in here decides about a line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nrem.policy.excerpt import excerpt
from nrem.policy.likeness import Said, replaced, similarity, weigh
from nrem.policy.prior import count

THEMES = 5
TOGETHER = 3
"""Memories in which two tags must meet before they are a theme."""
DAY = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged:
    """A memory with what it is about."""

    id: str
    text: str
    tags: tuple[str, ...]
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """Two tags that keep meeting, the memories in which they do, and the one that is most like the others."""

    tags: tuple[str, str]
    medoid: str
    ids: tuple[str, ...]
    days: int
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two memories that give one thing different values; the newer one holds."""

    older: str
    newer: str
    sentence: str


def themes(memories: Sequence[Tagged]) -> tuple[Theme, ...]:
    """Return the pairs of tags that meet in most memories, each memory counted for one theme only."""
    pairs: Counter[tuple[str, str]] = Counter()
    for memory in memories:
        pairs.update(_pairs(memory.tags))
    rarities = count([memory.text for memory in memories]).rarities()
    taken: set[str] = set()
    found: list[Theme] = []
    for pair, _ in sorted(pairs.items(), key=lambda item: (-item[1], item[0])):
        if pairs[pair] < TOGETHER or len(found) == THEMES:
            break
        group = [m for m in memories if m.id not in taken and set(pair) <= set(m.tags)]
        if len(group) < TOGETHER:
            continue
        taken.update(memory.id for memory in group)
        medoid = _medoid(group, rarities)
        days = len({memory.at // DAY for memory in group})
        sentence = (
            f"{pair[0]} and {pair[1]}: {len(group)} memories on {_counted(days, 'day')},"
            f' best said by "{excerpt(medoid.text)}"'
        )
        ids = tuple(memory.id for memory in group)
        found.append(Theme(tags=pair, medoid=medoid.id, ids=ids, days=days, sentence=sentence))
    return tuple(found)


def _pairs(tags: Iterable[str]) -> list[tuple[str, str]]:
    ordered = sorted(set(tags))
    return [(one, other) for i, one in enumerate(ordered) for other in ordered[i + 1 :]]


def _medoid(group: Sequence[Tagged], rarities: dict[str, float]) -> Tagged:
    """Return the memory that is most like the others; of a large group only the newest are compared."""
    newest = sorted(group, key=lambda memory: (-memory.at, memory.id))[:50]
    weighed = [weigh(memory.text, rarities) for memory in newest]
    likeness = [sum(similarity(one, other) for other in weighed) for one in weighed]
    return newest[max(range(len(newest)), key=lambda i: likeness[i])]


def conflicts(said: Sequence[Said]) -> tuple[Conflict, ...]:
    """Return the memories that a newer one contradicts."""
    texts = {one.id: one.text for one in said}
    return tuple(
        Conflict(
            older=older,
            newer=newer,
            sentence=f'"{excerpt(texts[older])}" no longer holds: "{excerpt(texts[newer])}"',
        )
        for older, newer in replaced(said).items()
    )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
