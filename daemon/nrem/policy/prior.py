"""How likely a text is worth keeping, judged by the text alone."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nrem.policy.terms import STOP_WORDS

Floats = NDArray[np.float64]

_WORD = re.compile(r"[^\W_]+")
_FITTED_AT = 600


@dataclass(frozen=True, slots=True)
class Background:
    """In how many of how many texts a word occurs."""

    texts: int
    frequencies: Mapping[str, int]

    def rarity(self, word: str) -> float:
        """Return the word's IDF, as if there were as many texts as the weights were fitted on."""
        total = max(self.texts, 2)
        scale = math.log(_FITTED_AT) / math.log(max(total, 3))
        return scale * math.log(total / (self.frequencies.get(word, 0) or 1))


def count(texts: Sequence[str]) -> Background:
    """Return the document frequencies of the words in some texts."""
    frequencies: Counter[str] = Counter()
    for text in texts:
        frequencies.update(set(_WORD.findall(text.lower())))
    return Background(len(texts), frequencies)


def terms(texts: Sequence[str], background: Background) -> dict[str, Floats]:
    """Return what each feature adds to the log-odds of each text; `base` is the same for all."""
    rare = np.array([_rarest(text, background) for text in texts], dtype=np.float64)
    return {"base": np.full(len(texts), -6.0), "rare words": 0.9 * rare}


def _rarest(text: str, background: Background) -> float:
    words = set(_WORD.findall(text.lower())) - STOP_WORDS
    best = sorted((background.rarity(word) for word in words), reverse=True)[:5]
    return sum(best) / 5
