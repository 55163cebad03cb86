"""Texts that say the same.

Two texts are near duplicates when they share most of their words, weighed by rarity, and what they do not
share is no number, no name of a thing and no negation: "port 8080" is not "port 8081".
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence

from nrem.policy.prior import split
from nrem.policy.wordlists import NEGATIONS

ALIKE = 0.85
RAREST = 4
"""Words of a text by which others are found that may say the same."""
NEAR = 10
"""Texts that are found by one such word."""
UNKNOWN = 6.0
"""The rarity of a word that the scope's other texts do not have."""

_IDENTIFIER = re.compile(r"\w+(?:[-_./:@#]\w+)+|\w*\d\w*|[/~]\S+|[+-]\d")
_NOT_A_NAME = re.compile(r"(?:^|[.!?:]\s+)\W*\w+|\b(?:I|I['\u2019]\w+)\b")
_CAPITALISED = re.compile(r"\b[A-Z]\w*")


# Near duplicates


def similarity(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Return the share of the weight of two texts' words that both have."""
    shared = sum(weight for word, weight in one.items() if word in other)
    total = sum(one.values()) + sum(other.values()) - shared
    return shared / total if total > 0 else 0.0


def weigh(text: str, rarities: Mapping[str, float]) -> dict[str, float]:
    """Return the words of a text with their rarity; stop words have none."""
    return {word: weight for word in split(text) if (weight := rarities.get(word, UNKNOWN)) > 0}


def says_the_same(one: str, other: str, rarities: Mapping[str, float]) -> bool:
    """Tell whether two texts are near duplicates."""
    if similarity(weigh(one, rarities), weigh(other, rarities)) < ALIKE:
        return False
    return _binding(one) == _binding(other)


def _binding(text: str) -> frozenset[str]:
    """Return what may not differ between two texts that say the same."""
    names = _CAPITALISED.findall(_NOT_A_NAME.sub(" ", text))
    negated = (word for word in split(text) if word in NEGATIONS)
    return frozenset([*_IDENTIFIER.findall(text), *(name.lower() for name in names), *negated])


def near_duplicates(
    texts: Sequence[str], rarities: Mapping[str, float], *, most: int
) -> list[tuple[int, int]]:
    """Return the first pairs of texts that say the same, as places, the earlier one first.

    A text is compared only with the last few that have one of its rarest words. So the time grows with the
    number of texts, whatever they are, and a pair may be missed.
    """
    weighed = [weigh(text, rarities) for text in texts]
    heavy = [sum(words.values()) for words in weighed]
    seen: dict[str, deque[int]] = {}
    pairs: list[tuple[int, int]] = []
    for place, words in enumerate(weighed):
        near = set[int]()
        for word in sorted(words, key=lambda word: (-words[word], word))[:RAREST]:
            others = seen.setdefault(word, deque(maxlen=NEAR))
            near.update(others)
            others.append(place)
        lightest, heaviest = ALIKE * heavy[place], heavy[place] / ALIKE
        pairs += [
            (other, place)
            for other in sorted(near)
            if lightest <= heavy[other] <= heaviest
            and similarity(words, weighed[other]) >= ALIKE
            and _binding(texts[other]) == _binding(texts[place])
        ]
        if len(pairs) >= most:
            break
    return pairs[:most]
