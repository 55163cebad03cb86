"""What a sweep notices beside the lines: themes, and pairs of memories that say the same or contradict.

Pure, without a model, and nothing in here decides about a line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from nrem.policy.claims import Said, contradicted
from nrem.policy.likeness import near_duplicates, similarity, weigh
from nrem.policy.prior import count

THEMES = 5
TOGETHER = 3
"""Memories in which two tags must meet before they are a theme."""
MOST_PAIRS = 10
TYPICAL = 50
"""The newest memories of a theme, among which the most typical one is looked for."""
DAY = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged:
    """A memory with what it is about."""

    id: str
    text: str
    tags: tuple[str, ...]
    at: int
    version: int
    said_at: int
    """When its text was last changed, or when it was stored."""
    speaker: str = ""
    """The user who said it, so that what "I" do is theirs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """Two tags that keep meeting, and the memories in which they do."""

    tags: tuple[str, str]
    memories: tuple[Tagged, ...]
    """The one that is most like the others first, then the newest first."""

    @property
    def days(self) -> int:
        return len({memory.at // DAY for memory in self.memories})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Ids of two memories that do not go together."""

    older: str
    newer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    themes: tuple[Theme, ...]
    conflicts: tuple[Pair, ...]
    """Two that give one thing different values; what else the older one says may hold."""
    repeats: tuple[Pair, ...]
    """Two that say the same."""


def reflect(memories: Sequence[Tagged]) -> Reflection:
    """Return what is to be noticed of some memories, given with the newest first."""
    rarities = count([memory.text for memory in memories]).rarities()
    said = [Said(id=m.id, text=m.text, at=m.said_at, speaker=m.speaker) for m in memories]
    conflicts = [Pair(older=older, newer=newer) for older, newer in contradicted(said).items()]
    repeats = near_duplicates([memory.text for memory in memories], rarities, most=MOST_PAIRS)
    return Reflection(
        themes=_themes(memories, rarities),
        conflicts=tuple(conflicts[:MOST_PAIRS]),
        repeats=tuple(Pair(older=memories[later].id, newer=memories[place].id) for place, later in repeats),
    )


def _themes(memories: Sequence[Tagged], rarities: Mapping[str, float]) -> tuple[Theme, ...]:
    """Return the pairs of tags that meet in most memories, each memory counted for one theme only."""
    pairs: Counter[tuple[str, str]] = Counter()
    for memory in memories:
        pairs.update(_pairs(memory.tags))
    taken: set[str] = set()
    found: list[Theme] = []
    for pair, _ in sorted(pairs.items(), key=lambda item: (-item[1], item[0])):
        if pairs[pair] < TOGETHER or len(found) == THEMES:
            break
        group = [m for m in memories if m.id not in taken and set(pair) <= set(m.tags)]
        if len(group) < TOGETHER:
            continue
        taken.update(memory.id for memory in group)
        newest = sorted(group, key=lambda memory: (-memory.at, memory.id))
        first = _most_typical(newest[:TYPICAL], rarities)
        found.append(Theme(tags=pair, memories=(first, *(m for m in newest if m is not first))))
    return tuple(found)


def _pairs(tags: Iterable[str]) -> list[tuple[str, str]]:
    ordered = sorted(set(tags))
    return [(one, other) for i, one in enumerate(ordered) for other in ordered[i + 1 :]]


def _most_typical(group: Sequence[Tagged], rarities: Mapping[str, float]) -> Tagged:
    weighed = [weigh(memory.text, rarities) for memory in group]
    likeness = [sum(similarity(one, other) for other in weighed) for one in weighed]
    return group[max(range(len(group)), key=lambda i: likeness[i])]
