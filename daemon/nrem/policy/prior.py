"""How likely a text is needed again, judged by the text alone: what tells something against what does not.

How rare a word is comes from the scope's own texts, scaled to the size on which the weights were fitted:
what is common differs from scope to scope (a colleague's name, a project's), and no fixed list knows it.
The lists of words are English; a text in another language is given their average instead, and the rest
decides.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nrem.policy.terms import STOP_WORDS
from nrem.policy.wordlists import (
    FACT_VERBS,
    FIRST_PERSON,
    NAME,
    SECOND_PERSON,
    SMALL_TALK,
    TIME_WORDS,
    WORD,
    asks,
    is_english,
    sentences,
)

Floats = NDArray[np.float64]

FITTED_AT = 600
"""How many memories the scopes had in which the weights were fitted."""
BASE = -5.2
WEIGHTS: Mapping[str, float] = {
    "rare words": 0.55,
    "names": 1.2,
    "numbers": 0.5,
    "dates": 1.1,
    "first person": 0.5,
    "facts": 0.6,
    "quotes": 0.8,
    "questions": -0.9,
    "small talk": -0.5,
    "second person": -1.3,
}
ELSEWHERE = 0.1
"""What the listed features and names are worth together in the average English text."""

_DIGIT = re.compile(r"\d")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_QUOTE = re.compile('"[^"]{2,60}"|\u201c[^\u201d]{2,60}\u201d|\u00ab[^\u00bb]{2,60}\u00bb')


@dataclass(frozen=True, slots=True)
class Background:
    """In how many of how many texts a word occurs."""

    texts: int
    frequencies: Mapping[str, int]

    def rarities(self) -> dict[str, float]:
        """Return the IDF of every word, as in a scope of the size that the weights were fitted on.

        A word in one text is as rare in every scope; a stop word is not rare at all.
        """
        scale = math.log(FITTED_AT) / math.log(self.texts + 1) if self.texts else 0.0
        known = {n: scale * math.log((self.texts + 1) / n) for n in set(self.frequencies.values())}
        return {word: 0.0 if word in STOP_WORDS else known[count] for word, count in self.frequencies.items()}


def split(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return WORD.findall(text.lower().replace("\u2019", "'"))


def count(texts: Sequence[str]) -> Background:
    """Return in how many of some texts each of their words occurs."""
    frequencies: Counter[str] = Counter()
    for text in texts:
        frequencies.update(set(split(text)))
    return Background(len(texts), frequencies)


def terms(texts: Sequence[str], rarities: Mapping[str, float]) -> dict[str, Floats]:
    """Return what each feature adds to the log-odds of each text; `base` is the same for all."""
    measured = np.array([_measure(text, rarities) for text in texts], dtype=np.float64)
    measured = measured.reshape(len(texts), len(WEIGHTS) + 1)
    found = {name: weight * measured[:, i] for i, (name, weight) in enumerate(WEIGHTS.items())}
    return {"base": np.full(len(texts), BASE), **found, "other language": ELSEWHERE * measured[:, -1]}


def _measure(text: str, rarities: Mapping[str, float]) -> tuple[float, ...]:
    """Return the features of a text in the order of the weights, and whether its language is not English."""
    words = split(text)
    distinct = set(words)
    total = len(words) or 1
    rarest = sorted([rarities.get(word, 0.0) for word in distinct], reverse=True)[:5]
    english = is_english(distinct, text)
    by_list = (
        float(not distinct.isdisjoint(FIRST_PERSON)),
        min(_count(words, distinct, FACT_VERBS), 4) / 4,
        _count(words, distinct, SMALL_TALK) / total * 5,
        _count(words, distinct, SECOND_PERSON) / total * 5,
    )
    first, facts, talk, second = by_list if english else (0.0, 0.0, 0.0, 0.0)
    number = _DIGIT.search(text) is not None
    return (
        sum(rarest) / 5,
        min(len(NAME.findall(text)), 4) / 4 if english else 0.0,
        float(number),
        float(not distinct.isdisjoint(TIME_WORDS) or (number and _YEAR.search(text) is not None)),
        first,
        facts,
        float(_QUOTE.search(text) is not None),
        _asking(text),
        talk,
        second,
        float(not english),
    )


def _count(words: Sequence[str], distinct: set[str], listed: frozenset[str]) -> int:
    """Return how many words of a text are listed; most texts have none, which costs nothing to see."""
    return 0 if distinct.isdisjoint(listed) else sum(word in listed for word in words)


def _asking(text: str) -> float:
    """Return the share of a text that is questions."""
    if "?" not in text and text.isascii():
        return 0.0
    parts = sentences(text)
    return sum(len(part) for part in parts if asks(part)) / max(sum(map(len, parts)), 1)
