"""The keyword index over memories. It can be built again from the rows.

Every token starts with its scope's number and a letter, `z` for what a memory says and `y` for its context,
so that an agent's queries cost what that agent's rows cost, and no agent's words count in another's
statistics.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nrem.policy import terms
from nrem.store.driver import Connection

if TYPE_CHECKING:
    from nrem.model import Memory

CONTENT = "z"
CONTEXT = "y"


@dataclass(frozen=True, slots=True)
class Entry:
    """What the index holds of one memory: distinct terms, and how many words its text has with repeats."""

    content: tuple[str, ...]
    context: tuple[str, ...]
    length: int


def token(scope: int, term: str, part: str = CONTENT) -> str:
    """Return a term as the index knows it in one scope."""
    return f"{scope}{part}{term}"


def entry(memory: Memory) -> Entry:
    """Return the terms under which a memory can be found: its text, who said it, tags; apart, its context."""
    text = f"{memory.user}: {memory.content}" if memory.user else memory.content
    said = terms.for_index(text)
    tagged = terms.for_index("\n".join([*memory.tags, *memory.concept_tags]))
    content = dict.fromkeys([*said, *tagged])
    around = terms.for_index(memory.context) if memory.context else []
    beside = tuple(term for term in dict.fromkeys(around) if term not in content)
    return Entry(tuple(content), beside, len(said) - len(terms.names(text)))


def add(db: Connection, rowid: int, scope: int, entry: Entry) -> None:
    said, around = token(scope, ""), token(scope, "", CONTEXT)
    tokens = [said + term for term in entry.content]
    tokens += [around + term for term in entry.context]
    db.execute("insert into memories_fts (rowid, terms) values (?, ?)", (rowid, " ".join(tokens)))


def remove(db: Connection, rowid: int) -> None:
    db.execute("delete from memories_fts where rowid = ?", (rowid,))


def postings(
    db: Connection, scope: int, words: Sequence[str], *, part: str = CONTENT, limit: int = -1
) -> list[NDArray[np.int64]]:
    """Return for each term the rows of a scope that have it; how many they are is its document frequency."""
    # One statement, and each answer as one text: a Python object for each row would cost four times as much.
    if not words:
        return []
    found = db.execute(
        _one_of_many(len(words)),
        (limit, *(f'"{token(scope, word, part)}"' for word in words)),
    ).fetchone()
    return [np.fromstring(rows, dtype=np.int64, sep=",") if rows else _NONE for rows in found]


def every(db: Connection, scope: int) -> Iterator[tuple[str, int]]:
    """Yield each term of a scope's contents with each row that has it, rows in order."""
    said = token(scope, "")
    cursor = db.cursor()
    cursor.row_factory = None
    found = cursor.execute(
        "select substr(term, ?), doc from memories_terms where term >= ? and term < ?",
        (len(said) + 1, said, said[:-1] + chr(ord(CONTENT) + 1)),
    )
    yield from found


@functools.cache
def _one_of_many(count: int) -> str:
    each = (
        "(select group_concat(rowid) from"
        f" (select rowid from memories_fts where memories_fts match ?{i + 2} limit ?1))"
        for i in range(count)
    )
    return "select " + ", ".join(each)


_NONE = np.empty(0, dtype=np.int64)


def join_step(db: Connection) -> bool:
    """Join segments of the keyword index that are alike in size; return whether there may be more.

    Every write leaves a segment, and a query looks for each of its terms in all of them.
    """
    return _merge(db, 200)


def merge_step(db: Connection) -> bool:
    """Merge part of the index into one, so that deleted terms leave the file; return whether more is left."""
    return _merge(db, -200)


def _merge(db: Connection, pages: int) -> bool:
    before = db.total_changes
    db.execute("insert into memories_fts (memories_fts, rank) values ('merge', ?)", (pages,))
    return bool(db.total_changes - before > 1)
