"""The sentences of a memory that its line in MEMORY.md shows: verbatim, in order, the telling ones.

A greeting in front of a fact costs the room of another fact. A pure function of the text alone, so a line
does not change because other memories come. What a sentence tells is counted in words, names, numbers and
times; one that tells much less than the best of its text is left out, but never one with a number or a
negation.
"""

from __future__ import annotations

import re

from nrem.policy.terms import STOP_WORDS
from nrem.policy.wordlists import EMPTY, FIRST_PERSON, NAME, NEGATIONS, TIME_WORDS, WORD, asks, sentences

SHORT = 80
"""Characters up to which a text is shown whole."""
SHARE = 0.6
"""What a sentence must tell, of what the most telling one does."""

_DIGIT = re.compile(r"\d")
_IDLE = EMPTY | STOP_WORDS


def excerpt(text: str) -> str:
    """Return the telling sentences of a text, or all of a short one."""
    if len(text) <= SHORT:
        return text
    parts = sentences(text)
    words = [_words(part) for part in parts]
    told = [_tells(*both) for both in zip(parts, words, strict=True)]
    least = SHARE * max(told, default=0)
    kept = [
        part
        for part, having, amount in zip(parts, words, told, strict=True)
        if amount >= least or _binds(part, having)
    ]
    return " ".join(kept) if len(kept) < len(parts) else text


def _words(sentence: str) -> set[str]:
    return set(WORD.findall(sentence.lower().replace("\u2019", "'")))


def _binds(sentence: str, words: set[str]) -> bool:
    """Tell whether a text without this sentence could say something else."""
    return bool(_DIGIT.search(sentence)) or not words.isdisjoint(NEGATIONS)


def _tells(sentence: str, words: set[str]) -> float:
    amount = 0.4 * min(len(words - _IDLE), 6)
    amount += 0.35 * min(len(NAME.findall(sentence)), 4)
    amount += 0.3 * bool(_DIGIT.search(sentence))
    amount += 1.2 * (not words.isdisjoint(TIME_WORDS))
    amount += 0.5 * (not words.isdisjoint(FIRST_PERSON))
    return amount - asks(sentence)
