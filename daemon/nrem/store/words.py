"""A small scope's part of the keyword index, in memory: the same rows for the same terms, without SQLite."""

from __future__ import annotations

import bisect
from array import array
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from nrem.store import search
from nrem.store.driver import Connection

MOST_TERMS = 30_000
"""Terms of all rows together up to which it is worth its memory, and reading it takes some 30 ms."""
BYTES = 100
"""What a term of a row takes."""
ASKED_OFTEN = 8
"""Questions after which a scope is worth the reading."""


class Words:
    """Which places have which terms of their content."""

    def __init__(self) -> None:
        self._places: dict[str, array[int]] = {}
        self._terms: dict[int, list[str]] = {}
        self.count = 0
        """How many terms the rows have together, each once for a row."""

    @classmethod
    def read(cls, db: Connection, scope: int, places: Mapping[int, int]) -> Words:
        """Read a scope's terms; `places` has the place of each of its rows."""
        words = cls()
        last, having = "", array("i")
        for term, row in search.every(db, scope):
            if term != last:  # else it is the string at hand, so that each is in memory once
                last, having = term, words._places.setdefault(term, array("i"))
            having.append(places[row])
            words._terms.setdefault(places[row], []).append(last)
            words.count += 1
        return words

    def of(self, term: str) -> NDArray[np.int32]:
        """Return the places that have a term, in order."""
        found = self._places.get(term)
        # A copy: an array that lends its memory could not grow.
        return _NONE if found is None else np.array(found, dtype=np.int32)

    def put(self, place: int, terms: Iterable[str]) -> None:
        """Say which terms a place has now."""
        self.drop(place)
        self._terms[place] = list(terms)
        self.count += len(self._terms[place])
        for term in self._terms[place]:
            bisect.insort(self._places.setdefault(term, array("i")), place)

    def drop(self, place: int) -> None:
        terms = self._terms.pop(place, ())
        self.count -= len(terms)
        for term in terms:
            self._places[term].remove(place)


_NONE = np.empty(0, dtype=np.int32)
