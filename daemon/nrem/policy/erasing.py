"""What an erasure looks for: one memory's id, every text that it had, and the words that only it had."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass

from nrem.policy import terms

ERASED = "[erased]"
"""What stands in the place of a question that repeated an erased text."""

_SPACED = 0x2E80
"""Characters from here on are of scripts that put no spaces between words."""


@dataclass(frozen=True, slots=True)
class Needle:
    """A memory that is to be found wherever it is."""

    id: str
    patterns: tuple[re.Pattern[str], ...]
    words: frozenset[str]
    """Terms of it that no other memory of its agent has."""
    label: str | None
    """What MEMORY.md calls it, if it ever had a line there."""

    @classmethod
    def of(cls, id: str, texts: Collection[str], words: Collection[str], label: str | None = None) -> Needle:
        known = dict.fromkeys(_normal(text) for text in texts)
        return cls(id, tuple(_pattern(text) for text in known if text), frozenset(words), label)

    def is_in(self, text: str) -> bool:
        """Tell whether a text repeats one of the memory's, however it is spaced and capitalised."""
        if not self.patterns:
            return False
        normal = _normal(text)
        return any(pattern.search(normal) for pattern in self.patterns)

    def is_in_json(self, text: str) -> bool:
        """Tell whether some value of a JSON text repeats one of the memory's."""
        return self.is_in(" ".join(_values(json.loads(text))) if "\\" in text else text)

    def is_asked_by(self, query: str) -> bool:
        """Tell whether a question gives the memory away: by a text of it, or a word that only it had."""
        return self.is_in(query) or not self.words.isdisjoint(terms.for_query(query))


def _normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def _pattern(text: str) -> re.Pattern[str]:
    """Match a text as whole words: one of three letters is not in every word that has them."""
    before = r"(?<!\w)" if _is_spaced(text[0]) else ""
    after = r"(?!\w)" if _is_spaced(text[-1]) else ""
    return re.compile(before + re.escape(text) + after)


def _is_spaced(character: str) -> bool:
    return character.isalnum() and ord(character) < _SPACED


def _values(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in _values(part)]
    return [text for part in value for text in _values(part)] if isinstance(value, list) else []
