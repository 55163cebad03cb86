"""The sentences of a memory that its line in MEMORY.md shows: in its own words, in order, the telling ones.

A greeting in front of a fact costs the room of another fact. A pure function of the text alone, so a line
does not change because other memories come. What a sentence tells is counted in words, names, numbers and
times; one that tells much less than the best of its text is left out, but never one with a number or a
negation, nor one that the next sentence points back to ("Have you been to Rome? I was there in May.").
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from nrem.policy.terms import STOP_WORDS
from nrem.policy.wordlists import (
    EMPTY,
    FIRST_PERSON,
    GREETING,
    NAME,
    NEGATIONS,
    OPENER,
    POINTING,
    SECOND_PERSON,
    TIME_WORDS,
    WORD,
    asks,
    sentences,
)

SHORT = 80
"""Characters up to which a text is shown whole."""
SHARE = 0.65
"""What a sentence must tell, of what the most telling one does."""
BEGINNING = 6
"""Words of a sentence in which something that points back points to the sentence before."""

_DIGIT = re.compile(r"\d")
_IDLE = EMPTY | STOP_WORDS


def excerpt(text: str) -> str:
    """Return the telling sentences of a text, or all of a short one."""
    if len(text) <= SHORT:
        return text
    parts = sentences(text)
    words = [_words(part) for part in parts]
    shown = [_plain(parts[i], words[i]) for i in _kept(parts, words)]
    return " ".join(shown) if shown != parts else text


def _kept(parts: Sequence[str], words: Sequence[Sequence[str]]) -> list[int]:
    """Return the places of the sentences that are shown."""
    told = [_tells(part, set(having)) for part, having in zip(parts, words, strict=True)]
    least = SHARE * max(told, default=0)
    kept: list[int] = []
    wanted = False
    for i in reversed(range(len(parts))):
        if wanted or told[i] >= least or _binds(parts[i], words[i]):
            kept.append(i)
            wanted = not POINTING.isdisjoint(words[i][:BEGINNING])
    return kept[::-1]


def _words(sentence: str) -> list[str]:
    return WORD.findall(sentence.lower().replace("\u2019", "'"))


def _binds(sentence: str, words: Sequence[str]) -> bool:
    """Tell whether a text without this sentence could say something else."""
    return bool(_DIGIT.search(sentence)) or not NEGATIONS.isdisjoint(words)


def _plain(sentence: str, words: Sequence[str]) -> str:
    """Return a sentence without what only opens it; a name stays where it may be the one who is told."""
    if SECOND_PERSON.isdisjoint(words):
        sentence = _without(GREETING, sentence)
    return _without(OPENER, sentence)


def _without(opening: re.Pattern[str], sentence: str) -> str:
    found = opening.match(sentence)
    return sentence[found.end() :] if found else sentence


def _tells(sentence: str, words: set[str]) -> float:
    amount = 0.4 * min(len(words - _IDLE), 6)
    amount += 0.35 * min(len(NAME.findall(sentence)), 4)
    amount += 0.3 * bool(_DIGIT.search(sentence))
    amount += 1.2 * (not words.isdisjoint(TIME_WORDS))
    amount += 0.5 * (not words.isdisjoint(FIRST_PERSON))
    return amount - asks(sentence)
