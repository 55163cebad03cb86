"""What a memory is about, in at most eight words, found without a model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from nrem.policy.secrets import MARK
from nrem.policy.terms import STOP_WORDS, fold

MOST = 8

# Identifiers, paths and hyphenated names say most; then single words. Marks stay inside words.
_COMPOUND = re.compile(r"(?<![^\W_])[^\W_]++(?:[._/-][^\W_]++)+")
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:\.\w+)?$")

# Words that fit every memory and so tell nothing about one.
_NOISE = STOP_WORDS | frozenset(
    """
    also always another around away back became become come comes day days done else even ever every
    everything example file files first get gets give given go goes going gone good got great help keep kind
    know known last let like likes line lines little look made make makes many may maybe might month much
    must need needs never new next nice note notes nothing old one ones part people perhaps please put quite
    rather really right said say says see seems seen set several since something sometimes still sure take
    takes tell text thing things think thought three time times today told tomorrow took try two upon use
    used uses using usually want wants way week well went without word words work works year years yes
    yesterday yet como con del desde donde ella ellos ese eso esta este esto fue hay las los más mas muy
    para pero por porque que quien ser sin sobre son sus también tiene una uno unos
    """.split()
)


def derive(text: str) -> tuple[str, ...]:
    """Return up to eight concept tags: compounds first, then words by how often and how early they occur."""
    folded = fold(MARK.sub(" ", text))
    compounds = dict.fromkeys(_kept(match.group() for match in _COMPOUND.finditer(folded)))
    words = Counter(_kept(match.group() for match in _WORD.finditer(folded)))
    ranked = sorted(words, key=lambda word: -words[word])  # sorted() keeps first-seen order among equals
    return tuple(dict.fromkeys([*compounds, *ranked]))[:MOST]


def _kept(candidates: Iterator[str]) -> Iterator[str]:
    for candidate in candidates:
        tag = candidate.removesuffix("'s").removesuffix("\u2019s").replace("_", "-")
        if tag in _NOISE or len(tag) > 32:
            continue
        if not tag.isalpha() and (_DATE.match(tag) or not any(c.isalpha() for c in tag)):
            continue
        if len(tag) >= 3 or (len(tag) == 2 and not tag.isascii()):
            yield tag
