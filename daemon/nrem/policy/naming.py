"""What a model may call a theme: a few words that its memories have, and nothing that could be anything else.

A name stands in the diary only. What fails a check is dropped alone; then the tags are all the name there is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nrem.policy import memory_doc
from nrem.policy.noise import noise
from nrem.policy.proposals import Source
from nrem.policy.wordlists import GUARDS, TIME_WORDS

Tags = tuple[str, str]
LONGEST = 60
MOST_WORDS = 8
_SIGNS = " '\u2019&+,-"
"""What a name may have beside letters, digits and their marks: no markup, no address, no second sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A theme as a model is given it."""

    tags: Tags
    notes: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """What a model would call the theme of some memories."""

    sources: tuple[str, ...]
    text: str


def check(names: Sequence[Name], groups: Sequence[Group]) -> tuple[dict[Tags, Name], tuple[str, ...]]:
    """Return the name of each theme that has a good one, and what is wrong with the others."""
    owners = {note.id: group for group in groups for note in group.notes}
    kept: dict[Tags, Name] = {}
    dropped: list[str] = []
    for name in names:
        reason = _problem(name, owners, kept)
        if reason is None:
            kept[owners[name.sources[0]].tags] = name
        else:
            dropped.append(reason)
    return kept, tuple(dropped)


def _problem(name: Name, owners: Mapping[str, Group], kept: Mapping[Tags, Name]) -> str | None:
    ids = name.sources
    if not ids or any(id not in owners for id in ids):
        return "it cites a memory that it was not given"
    if len(set(ids)) != len(ids):
        return "it cites a memory twice"
    tags = {owners[id].tags for id in ids}
    if len(tags) > 1:
        return "it cites memories of several themes"
    if tags & kept.keys():
        return "it names a theme that has a name"
    group = owners[ids[0]]
    told = [note.text for note in group.notes if note.id in ids]
    return _shape_problem(name.text) or _invented(name.text, [*group.tags, *told])


def _shape_problem(text: str) -> str | None:
    if not text.strip() or "\n" in text:
        return "its text is not one line"
    if len(text) > LONGEST or len(text.split()) > MOST_WORDS:
        return "its text is too long"
    if not all(map(_belongs, text)):
        return "a name has no signs but those within words"
    if memory_doc.needs_day(text):
        return "it has a relative date"
    found = noise(text)
    return f"its text is {found}" if found else None


def _belongs(character: str) -> bool:
    return character in _SIGNS or character.isdecimal() or unicodedata.category(character)[0] in "LM"


_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_SHOWN = 20
"""Characters of an invented number that a reason repeats."""
_SMALL = 4
"""Letters of a word that is too short to be what two texts are about."""


def _invented(text: str, sources: Sequence[str]) -> str | None:
    """Return what a name says that its sources do not. It need not deny what they do: it leaves most out."""
    told = " ".join(sources)
    words, known = _words(text), _words(told)
    if any(word in GUARDS or word.endswith(("n't", "n\u2019t")) for word in words - known):
        return "it denies or limits what its sources do not"
    if (words & TIME_WORDS) - known:
        return "it has a date that its sources do not have"
    # The first word too: a model is told to write small what is no name.
    if {word.casefold() for word in _WORD.findall(text) if word != word.lower()} - known:
        return "it has a name that its sources do not have"
    numbers = set(_NUMBER.findall(text)) - set(_NUMBER.findall(told))
    if numbers:
        return f"it has a number that its sources do not have: {min(numbers)[:_SHOWN]}"
    long = {word for word in words if len(word) >= _SMALL} or words
    if len(long & known) < len(long) / 2:
        return "most of its words are not in its sources"
    return None


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}
