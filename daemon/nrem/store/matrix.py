"""A scope's rows as arrays in memory, for ranking: loaded once, then kept in step by the events since.

The database stays the truth. A matrix knows the seq up to which it has seen the scope's events, and a reader
brings it up to its own snapshot before it looks. Vectors of very large scopes are not kept; their distances
are computed in SQL, with the same numbers.
"""

from __future__ import annotations

import bisect
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nrem.model import Kind, Memory
from nrem.policy import ranking
from nrem.policy.ranking import Rows
from nrem.store import search
from nrem.store.driver import Connection
from nrem.store.hits import Hits
from nrem.store.words import ASKED_OFTEN, BYTES, MOST_TERMS, Words

KINDS = {kind.value: number for number, kind in enumerate(Kind)}
IN_SESSION_ORDER = frozenset({KINDS[Kind.MESSAGE.value], KINDS[Kind.EPISODIC.value]})
"""Kinds whose neighbours in a session say something about them; a message's also without a session."""

ONLY_WHEN_ASKED = [KINDS[Kind.MESSAGE.value], KINDS[Kind.DOCUMENT.value]]
"""Turns drown what was learned from them, and a document's chunks stand for it."""

MOST_VECTOR_BYTES = 256 << 20
"""A scope with more than this has its distances computed in SQL."""
RELOAD_OVER = 2000
"""Events beyond which loading everything is cheaper than following them."""
PAUSE = 30 * 60_000
"""Turns without a session that are no further apart than this belong to one conversation."""
NEVER = np.iinfo(np.int64).max

Talk = tuple[str | None, str | None]
"""A session, or else the room of turns that came without one: rows that may stand beside each other."""

_ROW = (
    "select m.rowid, m.kind, m.terms, m.user_id, m.session_id, m.room_id, m.created_at, m.expires_at,"
    " m.superseded_by is not null, m.importance, m.confidence, m.id, m.context is not null,"
    " iif(m.content glob :asking, m.content, ''), v.embedding from memories m"
    " left join vec_memories v on v.memory = m.rowid and v.embedder = :embedder"
)
_ASKING = "*[?\u037e\u055e\u061f\u1367\ufe56\uff1f]*"  # texts that may ask; only these are read
_ARRAYS: tuple[tuple[str, type, int], ...] = (
    ("rowids", np.int64, 0),
    ("kinds", np.int8, 0),
    ("lengths", np.int32, 0),
    ("users", np.int32, -1),
    ("created", np.int64, 0),
    ("expires", np.int64, NEVER),
    ("superseded", np.bool_, 0),
    ("importance", np.float32, 0),
    ("confidence", np.float32, 0),
    ("sessions", np.int32, -1),
    ("asks", np.bool_, 0),
    ("alive", np.bool_, 0),
    ("has_vector", np.bool_, 0),
)
DAY = 86_400_000
YEAR = 365.25 * DAY


class Matrix:
    """The rows of one scope, in order of rowid. Use it only while holding its lock."""

    def __init__(self, scope: int, embedder: str | None, dimension: int) -> None:
        self.lock = threading.Lock()
        self.scope = scope
        self.embedder = embedder
        self.dimension = dimension
        self._clear(0)

    def _clear(self, capacity: int) -> None:
        self.seq, self.vector_generation = 0, -1  # until all is read, it has seen nothing
        self.user_numbers: dict[str, int] = {}
        self.count = 0
        self.dead = 0
        self.with_context = False
        """Whether some row has a context, or had one since it was loaded."""
        self.with_expiry = False
        self.with_superseded = False
        self._usual: NDArray[np.bool_] | None = None
        self._rows: Rows | None = None
        self._words: Words | None = None
        self._asked = 0
        self._hits = Hits()
        self._places: dict[str, int] = {}
        self._talks: dict[Talk, list[int]] = {}
        self._session_numbers: dict[str, int] = {}
        self._talk_of: dict[int, Talk] = {}
        self._room = capacity
        for name, dtype, empty in _ARRAYS:
            setattr(self, name, np.full(capacity, empty, dtype=dtype))
        self.neighbours: NDArray[np.int32] = np.full((capacity, 4), -1, dtype=np.int32)
        self.vectors: NDArray[np.float32] | None = np.zeros((capacity, self.dimension), dtype=np.float32)

    rowids: NDArray[np.int64]
    kinds: NDArray[np.int8]
    lengths: NDArray[np.int32]
    users: NDArray[np.int32]
    created: NDArray[np.int64]
    expires: NDArray[np.int64]
    superseded: NDArray[np.bool_]
    importance: NDArray[np.float32]
    confidence: NDArray[np.float32]
    sessions: NDArray[np.int32]
    asks: NDArray[np.bool_]
    alive: NDArray[np.bool_]
    has_vector: NDArray[np.bool_]

    @property
    def size(self) -> int:
        """Return about how many bytes it takes."""
        row = 200 + (self.dimension * 4 if self.vectors is not None else 0)
        words = 0 if self._words is None else self._words.count * BYTES
        return self._room * row + words + self._hits.size

    def rows(self) -> Rows:
        """Return the rows as they are now; the same record until they change."""
        if self._rows is None:
            self._rows = self._as_rows()
        return self._rows

    def _as_rows(self) -> Rows:
        n = self.count
        return Rows(
            lengths=self.lengths[:n],
            neighbours=self.neighbours[:n],
            users=self.users[:n],
            created=self.created[:n],
            importance=self.importance[:n],
            confidence=self.confidence[:n],
            sessions=self.sessions[:n],
            asks=self.asks[:n],
            live=self.alive[:n] if self.dead else None,
        )

    def of_kinds(self, kinds: Sequence[Kind]) -> NDArray[np.bool_]:
        """Return which live rows are of some kinds; without any, of all that are found unasked."""
        n = self.count
        if kinds:
            return self.alive[:n] & np.isin(self.kinds[:n], [KINDS[kind.value] for kind in kinds])
        if self._usual is None:
            self._usual = self.alive[:n] & ~np.isin(self.kinds[:n], ONLY_WHEN_ASKED)
        return self._usual.copy()

    def lacks_vectors(self) -> bool:
        """Tell whether there are rows, and none of them has a vector."""
        return self.count > self.dead and not self.has_vector[: self.count].any()

    def years(self) -> tuple[int, ...]:
        """Return the years in which live rows were created; a row near midnight may count for both."""
        created = self.created[: self.count][self.alive[: self.count]]
        years = [1970 + np.unique((created + shift) // YEAR) for shift in (-DAY, DAY)]
        return tuple(np.unique(np.concatenate(years)).astype(int).tolist())

    def named(self, query: str) -> frozenset[int]:
        """Return the numbers of the users whom a question names and who have a live row."""
        if not self.user_numbers:
            return frozenset()
        found = ranking.named(query, self.user_numbers)
        users = self.users[: self.count][self.alive[: self.count]] if found else ()
        return frozenset(number for number in found if np.any(users == number))

    def may_read_words_next(self) -> bool:
        """Tell whether the next question may make it read the scope's words, which takes a while."""
        return self._words is None and self._asked == ASKED_OFTEN

    def postings(self, db: Connection, terms: Sequence[str], *, most: int = -1) -> list[NDArray[np.int32]]:
        """Return for each term the places of the rows that have it; where `most` have, maybe only -1s."""
        if self._words is None and self._asked >= ASKED_OFTEN and self.rows().totals[1] <= MOST_TERMS:
            places = np.flatnonzero(self.alive[: self.count])
            rows = zip(self.rowids[places].tolist(), places.tolist(), strict=True)
            self._words = Words.read(db, self.scope, dict(rows))
        self._asked += 1
        if self._words is not None:
            return [self._words.of(term) for term in terms]
        found = search.postings(db, self.scope, terms, limit=most)
        return [np.full(most, -1, np.int32) if len(rows) == most else self.places(rows) for rows in found]

    def contexts(self, db: Connection, term: str) -> NDArray[np.int32]:
        """Return the places of the rows that have a term in their context alone."""
        if not self.with_context:
            return np.empty(0, dtype=np.int32)
        [rows] = search.postings(db, self.scope, [term], part=search.CONTEXT)
        return self.places(rows)

    def memories(self, db: Connection, places: Sequence[int]) -> list[Memory]:
        """Return the memories of some places; those that were hits before are still here."""
        rows = list(zip(places, self.rowids[list(places)].tolist(), strict=True))
        return self._hits.read(db, self.scope, rows)

    def places(self, rowids: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the places of live rows."""
        return np.searchsorted(self.rowids[: self.count], rowids).astype(np.int32)

    def cosines(self, db: Connection, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine of every row to a unit vector, NaN for a row without one."""
        n = self.count
        if self.vectors is not None:
            # Not a matrix product, whose last bits depend on how many rows there are.
            result: NDArray[np.float32] = np.vecdot(self.vectors[:n], query)
            result[~self.has_vector[:n]] = np.nan
            return result
        result = np.full(n, np.nan, dtype=np.float32)
        cursor = db.cursor()
        cursor.row_factory = None
        found = cursor.execute(
            "select m.rowid, 1 - vec_distance_cosine(v.embedding, :query) from memories m"
            " join vec_memories v on v.memory = m.rowid and v.embedder = :embedder"
            " and length(v.embedding) = length(:query) where m.scope = :scope",
            {"query": query.tobytes(), "scope": self.scope, "embedder": self.embedder},
        ).fetchall()
        if found:
            memories, values = zip(*found, strict=True)
            result[self.places(memories)] = values
        return result

    # Keeping it in step

    def follow(self, db: Connection, seq: int, vector_generation: int) -> None:
        """Bring it from the state it has to the one that this snapshot sees."""
        if (seq, vector_generation) == (self.seq, self.vector_generation):
            return
        self._rows = None
        if seq - self.seq > RELOAD_OVER or vector_generation != self.vector_generation:
            self.load(db, seq, vector_generation)
            return
        changed = db.execute(
            "select distinct subject from events where scope = ? and seq > ? and op like 'memory.%'",
            (self.scope, self.seq),
        ).fetchall()
        touched: set[Talk] = set()
        new = []
        for (id,) in changed:
            row = db.execute(
                _ROW + " where m.scope = :scope and m.id = :id",
                {"embedder": self.embedder, "asking": _ASKING, "scope": self.scope, "id": id},
            ).fetchone()
            place = self._places.get(id)
            if place is not None:
                touched |= self._leave_talk(place)
                if row is None or row[0] != self.rowids[place]:
                    self._drop(place, id)
                    place = None
            if row is not None and place is not None:
                touched |= self._put(place, tuple(row))
                self._put_words(db, place)
            elif row is not None:
                new.append(tuple(row))
        new.sort()  # by rowid, because places are in that order
        if new and self.count and new[0][0] <= self.rowids[self.count - 1]:
            self.load(db, seq, vector_generation)  # SQLite has used a freed rowid again
            return
        for row in new:
            touched |= self._put(self._new_place(row[0]), row)
            self._put_words(db, self.count - 1)
        if self._words is not None and self._words.count > MOST_TERMS:
            self._words = None
        self._link(touched)
        self.seq = seq
        if self.dead > max(64, self.count // 4):
            self.load(db, seq, vector_generation)

    def load(self, db: Connection, seq: int, vector_generation: int) -> None:
        """Read everything anew."""
        cursor = db.cursor()
        cursor.row_factory = None
        values = {"embedder": self.embedder, "asking": _ASKING, "scope": self.scope}
        total: int = cursor.execute(
            "select count(*) from memories where scope = ?", (self.scope,)
        ).fetchone()[0]
        self._clear(max(16, total + total // 8))
        if total * self.dimension * 4 > MOST_VECTOR_BYTES:
            self.vectors = None
        cursor.execute(_ROW + " where m.scope = :scope order by m.rowid", values)
        while batch := cursor.fetchmany(1000):
            for row in batch:
                self._put(self._new_place(row[0]), row)
        self._link(set(self._talks))
        self.seq, self.vector_generation = seq, vector_generation

    def _new_place(self, rowid: int) -> int:
        if self.count == self._room:
            self._grow(max(16, self._room * 2))
        self.count += 1
        self.rowids[self.count - 1] = rowid
        return self.count - 1

    def _grow(self, capacity: int) -> None:
        for name, dtype, empty in _ARRAYS:
            grown: NDArray[Any] = np.full(capacity, empty, dtype=dtype)
            grown[: self.count] = getattr(self, name)[: self.count]
            setattr(self, name, grown)
        neighbours = np.full((capacity, 4), -1, dtype=np.int32)
        neighbours[: self.count] = self.neighbours[: self.count]
        self.neighbours = neighbours
        if capacity * self.dimension * 4 > MOST_VECTOR_BYTES:
            self.vectors = None
        if self.vectors is not None:
            vectors = np.zeros((capacity, self.dimension), dtype=np.float32)
            vectors[: self.count] = self.vectors[: self.count]
            self.vectors = vectors
        self._room = capacity

    def _put(self, place: int, row: tuple[Any, ...]) -> set[Talk]:
        """Write a row to its place; return the talk it is now part of."""
        (
            _,
            kind,
            terms,
            user,
            session,
            room,
            created,
            expires,
            superseded,
            importance,
            confidence,
            id,
            context,
            asking,
            embedding,
        ) = row
        self.kinds[place] = KINDS[kind]
        self.lengths[place] = terms
        self.users[place] = -1 if user is None else self.user_numbers.setdefault(user, len(self.user_numbers))
        self.created[place] = created
        self.expires[place] = NEVER if expires is None else expires
        self.superseded[place] = superseded
        self.importance[place] = importance
        self.confidence[place] = confidence
        self.asks[place] = bool(asking) and ranking.asks(asking)
        self.alive[place] = True
        self._hits.drop(place)
        self.with_context = self.with_context or bool(context)
        self.with_expiry = self.with_expiry or expires is not None
        self.with_superseded = self.with_superseded or bool(superseded)
        self._usual = None
        fits = embedding is not None and len(embedding) == self.dimension * 4
        self.has_vector[place] = fits
        if self.vectors is not None:
            self.vectors[place] = np.frombuffer(embedding, dtype=np.float32) if fits else 0
        self._places[id] = place
        if KINDS[kind] not in IN_SESSION_ORDER or (session is None and kind != Kind.MESSAGE.value):
            return set()
        if session is not None:
            self.sessions[place] = self._session_numbers.setdefault(session, len(self._session_numbers))
        talk = (session, None) if session is not None else (None, room)
        self._talk_of[place] = talk
        bisect.insort(self._talks.setdefault(talk, []), place, key=self._when)
        return {talk}

    def _drop(self, place: int, id: str) -> None:
        self.alive[place] = False
        self._usual = None
        self.has_vector[place] = False
        self.dead += 1
        self._hits.drop(place)
        if self._words is not None:
            self._words.drop(place)
        del self._places[id]

    def _put_words(self, db: Connection, place: int) -> None:
        if self._words is not None:
            [memory] = self.memories(db, [place])
            self._words.put(place, search.entry(memory).content)

    def _leave_talk(self, place: int) -> set[Talk]:
        self.neighbours[place] = -1
        self.sessions[place] = -1
        talk = self._talk_of.pop(place, None)
        if talk is None:
            return set()
        self._talks[talk].remove(place)
        return {talk}

    def _when(self, place: int) -> tuple[int, int]:
        return int(self.created[place]), place

    def _link(self, talks: set[Talk]) -> None:
        """Tell the rows of some talks who stands beside them."""
        for talk in talks:
            order = np.array(self._talks.get(talk, ()), dtype=np.int32)
            padded = np.concatenate([[-1, -1], order, [-1, -1]]).astype(np.int32)
            beside = np.stack([padded[offset : offset + len(order)] for offset in (0, 1, 3, 4)], axis=1)
            if talk[0] is None:
                apart = np.abs(self.created[beside] - self.created[order][:, None])
                beside[apart > PAUSE] = -1
            self.neighbours[order] = beside
