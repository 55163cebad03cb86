"""How likely a text is needed again, judged by its words alone: what tells something against what does not.

How rare a word is comes from the scope's own texts, scaled to the size on which the weights were fitted:
what is common differs from scope to scope (a colleague's name, a project's), and no fixed list knows it.
So does how much of a text is new: words that none of the texts just before it had.
The lists of words are English; a text in another language is given their average instead, and the rest
decides.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
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
RAREST = math.log(FITTED_AT)
"""The rarity of a word that one text has."""
BEFORE = 300
"""In how many texts before it, up to twice as many, a word must be missing to be new in a text.

Without an end to it, the first texts of a scope would be new for ever, and its lines theirs.
"""
BASE = -2.6
"""Lower than fitted, because half of the questions that it was fitted on were asked already."""
WEIGHTS: Mapping[str, float] = {
    "new words": 1.2,
    "names": 1.6,
    "numbers": 0.7,
    "dates": 1.4,
    "first person": 0.4,
    "facts": 0.9,
    "quotes": 0.8,
    "questions": -1.0,
    "small talk": -0.9,
    "second person": -1.6,
}
ELSEWHERE = -0.15
"""What the listed features and names are worth together in the average English text."""

_DIGIT = re.compile(r"\d")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_QUOTE = re.compile('"[^"]{2,60}"|\u201c[^\u201d]{2,60}\u201d|\u00ab[^\u00bb]{2,60}\u00bb')


@dataclass(frozen=True, slots=True)
class Counts:
    """In how many of how many texts a word occurs, and which words were new in which text."""

    texts: int
    frequencies: Mapping[str, int]
    new: Sequence[Collection[str]] = ()

    def rarities(self) -> dict[str, float]:
        """Return the IDF of every word, as in a scope of the size that the weights were fitted on.

        A word in one text is as rare in every scope; a stop word is not rare at all.
        """
        scale = RAREST / math.log(self.texts + 1) if self.texts else 0.0
        known = {n: scale * math.log((self.texts + 1) / n) for n in set(self.frequencies.values())}
        return {word: 0.0 if word in STOP_WORDS else known[count] for word, count in self.frequencies.items()}

    def news(self, rarities: Mapping[str, float]) -> list[float]:
        """Return of each text the share of six rare words that its new words come to, at most 1."""
        # fsum, because a set has its words in another order in every process.
        return [min(math.fsum([rarities[word] for word in words]) / RAREST, 6) / 6 for words in self.new]


def split(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return WORD.findall(text.lower().replace("\u2019", "'"))


def count(texts: Sequence[str]) -> Counts:
    """Return in how many of some texts, the oldest first, each of their words occurs, and where it is new."""
    frequencies: Counter[str] = Counter()
    new = []
    near, before = set[str](), set[str]()
    for place, text in enumerate(texts):
        if place % BEFORE == 0:
            near, before = set(), near
        words = set(split(text))
        frequencies.update(words)
        new.append(words.difference(near, before))
        near |= words
    return Counts(len(texts), frequencies, new)


def terms(texts: Sequence[str], rarities: Mapping[str, float], news: Sequence[float]) -> dict[str, Floats]:
    """Return what each feature adds to the log-odds of each text; `base` is the same for all."""
    measured = np.array(
        [_measure(text, rarities, new) for text, new in zip(texts, news, strict=True)], dtype=np.float64
    )
    measured = measured.reshape(len(texts), len(WEIGHTS) + 1)
    found = {name: weight * measured[:, i] for i, (name, weight) in enumerate(WEIGHTS.items())}
    return {"base": np.full(len(texts), BASE), **found, "other language": ELSEWHERE * measured[:, -1]}


def _measure(text: str, rarities: Mapping[str, float], new: float) -> tuple[float, ...]:
    """Return the features of a text in the order of the weights, and whether its language is not English."""
    words = split(text)
    distinct = set(words)
    total = len(words) or 1
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
        new,
        _names(text, rarities) if english else 0.0,
        float(number),
        float(not distinct.isdisjoint(TIME_WORDS) or (number and _YEAR.search(text) is not None)),
        first,
        facts,
        float(_quotes(text)),
        _asking(text),
        talk,
        second,
        float(not english),
    )


def _quotes(text: str) -> bool:
    # Plain search first, for few texts have a quotation mark.
    return any(mark in text for mark in '"\u201c\u00ab') and _QUOTE.search(text) is not None


def _names(text: str, rarities: Mapping[str, float]) -> float:
    """Return the share of two rare names that a text's names come to; whom everybody names tells little."""
    found = sum(rarities.get(name.lower(), RAREST) for name in NAME.findall(text))
    return min(found / RAREST, 2) / 2


def _count(words: Sequence[str], distinct: set[str], listed: frozenset[str]) -> int:
    """Return how many words of a text are listed; most texts have none, which costs nothing to see."""
    return 0 if distinct.isdisjoint(listed) else sum(word in listed for word in words)


def _asking(text: str) -> float:
    """Return the share of a text that is questions."""
    if "?" not in text and text.isascii():
        return 0.0
    parts = sentences(text)
    return sum(len(part) for part in parts if asks(part)) / max(sum(map(len, parts)), 1)
