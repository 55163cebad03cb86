"""Answer a question with the memories that fit it best, from a store of now or of the past."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from nrem.core.scrub import Scrubber
from nrem.errors import ConfigError, InputError, InvalidField, Unavailable
from nrem.model import Filter, Memory, Scope
from nrem.models.embeddings import Embedder, embed_all, hurried, pack, unpack
from nrem.policy import ranking, terms, timewords
from nrem.policy.ranking import Mode, Profile, Scores
from nrem.sections import Config, Embeddings
from nrem.store import listing, scopes, vectors
from nrem.store.driver import Connection
from nrem.store.matrix import Matrix
from nrem.store.past import Readable
from nrem.wire import Explained, Hit, Recall, Recalled

QUERY_CHARACTERS = 4000
QUERY_TERMS = 64
BUDGET_CANDIDATES = 100
CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question, taken apart."""

    text: str
    words: tuple[terms.Word, ...]
    terms: tuple[str, ...]
    mode: Mode
    vector: NDArray[np.float32] | None
    now: int
    notes: tuple[str, ...]
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The best memories, their places in the matrix, and what their scores are made of."""

    memories: tuple[Memory, ...]
    places: tuple[int, ...]
    question: ranking.Question
    scores: Scores
    state: scopes.State
    embedder: str | None

    def explained(self) -> list[Explained]:
        shares = zip(self.places, self.coverage(), strict=True)
        return [_explain(self.scores, self.question, place, share) for place, share in shares]

    def coverage(self) -> list[float]:
        """Return for each memory which share of the question's terms it has."""
        places = [term.places for term in self.question.terms]
        if not places:
            return [0.0] * len(self.places)
        having = np.bincount(np.concatenate(places), minlength=len(self.scores.total))[list(self.places)]
        shares: list[float] = (having / len(places)).tolist()
        return shares


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was found, and for which reading of the question."""

    found: Found
    asked: Asked

    def recalled(self, request: Recall, id: str | None = None) -> Recalled:
        """Return it as callers are told it; `id` is the record's."""
        found, asked = self.found, self.asked
        explained = found.explained() if request.explain else [None] * len(found.memories)
        return Recalled(
            recall_id=id,
            hits=tuple(Hit(memory=m, explain=e) for m, e in zip(found.memories, explained, strict=True)),
            mode=asked.mode.value,
            degraded=asked.degraded,
            notes=asked.notes,
        )


def answer(
    store: Readable,
    embedder: Embedder | None,
    settings: Config,
    scope: Scope,
    request: Recall,
    *,
    now: int,
) -> Answer:
    """Find the hits in one snapshot of a store, of now or of the past, and record nothing."""
    asked = _take_apart(request, embedder, settings, now=now)
    if embedder is not None and embedder.remote and _lacks_vector(asked):
        with _snapshot(store, scope, embedder, asked) as (db, matrix, _):
            text = _counted(db, matrix, asked).dense_text if matrix.embedder else None
        if text is not None:  # over the network, so outside of the snapshot
            asked = _with_vector(asked, embedder, settings.memory.embeddings, text)
    return _find(store, embedder, settings, scope, request, asked)


def _take_apart(request: Recall, embedder: Embedder | None, settings: Config, *, now: int) -> Asked:
    mode = Mode(request.mode)
    text, notes = request.query, []
    if not text.strip() and request.embedding is None:
        raise InvalidField("query", "is empty", hint="ask something, or give an embedding")
    # Scrubbed before it is cut, or half of a secret would pass; and before it goes to an embedder.
    scrubbed = Scrubber(settings, refuse=False).text("query", text[: 2 * QUERY_CHARACTERS])
    if len(text) > QUERY_CHARACTERS:
        notes.append(f"query: only its first {QUERY_CHARACTERS} characters were used")
    text = scrubbed[:QUERY_CHARACTERS]
    if mode is Mode.KEYWORD and request.threshold is not None:
        raise InvalidField("threshold", "is a cosine, which mode keyword does not have", hint="leave it out")
    if request.embedding is not None and mode is Mode.KEYWORD:
        raise InvalidField("embedding", "cannot be used in mode keyword", hint="use mode vector or hybrid")
    if mode is not Mode.KEYWORD and embedder is None and request.embedding is None:
        if mode is Mode.VECTOR:
            raise InputError("vectors are off", hint="set vector.enabled = true, or use mode keyword")
        mode = Mode.KEYWORD
    packed = pack(request.embedding) if request.embedding is not None else None
    if request.embedding is not None and packed is None:
        raise InvalidField("embedding", "has no direction", hint="give numbers that are not all zero")
    words = tuple(terms.for_question(text))
    distinct = tuple(dict.fromkeys(term for word in words for term in word.terms))
    if len(distinct) > QUERY_TERMS:
        notes.append(f"query: only its first {QUERY_TERMS} terms were looked up")
    return Asked(
        text=text,
        words=words,
        terms=distinct[:QUERY_TERMS],
        mode=mode,
        vector=unpack(packed) if packed is not None else None,
        now=request.asked_at if request.asked_at is not None else now,
        notes=tuple(notes),
    )


def _find(
    store: Readable,
    embedder: Embedder | None,
    settings: Config,
    scope: Scope,
    request: Recall,
    asked: Asked,
) -> Answer:
    with _snapshot(store, scope, embedder, asked) as (db, matrix, state):
        counted = _counted(db, matrix, asked)
        if embedder is not None and not embedder.remote and matrix.embedder and _lacks_vector(asked):
            asked = _with_vector(asked, embedder, settings.memory.embeddings, counted.dense_text)
        asked = _comparable(asked, request, matrix)
        cosines = None
        if asked.vector is not None and matrix.embedder is not None:
            cosines = matrix.cosines(db, asked.vector)
        if asked.mode is not Mode.KEYWORD and matrix.lacks_vectors():
            asked, cosines = _by_words(asked, "no memory has a vector yet"), None
        question = ranking.Question(
            terms=_terms(db, matrix, counted),
            cosines=cosines,
            named=counted.named,
            windows=_windows(asked, settings, matrix),
            now=asked.now,
        )
        eligible = _eligible(db, scope.number, request, asked, matrix)
        asked, eligible = _above_threshold(request, asked, cosines, eligible)
        profile = Profile(request.profile or settings.recall.profile)
        rows = matrix.rows()
        scores = ranking.score(
            rows, question, eligible, mode=asked.mode, profile=profile, weights=settings.recall.agentos
        )
        best = ranking.order(rows, scores, _candidates(request))
        memories = matrix.memories(db, best.tolist())
        kept = _pack(memories, request)
        found = Found(
            memories=tuple(memories[i] for i in kept),
            places=tuple(int(best[i]) for i in kept),
            question=question,
            scores=scores,
            state=state,
            embedder=matrix.embedder if cosines is not None else None,
        )
        return Answer(found=found, asked=asked)


@contextmanager
def _snapshot(
    store: Readable, scope: Scope, embedder: Embedder | None, asked: Asked
) -> Iterator[tuple[Connection, Matrix, scopes.State]]:
    """Lend a snapshot and the scope's matrix as that snapshot sees it."""
    while True:
        with store.reading() as db:
            state = scopes.state(db, scope.number)
            if asked.mode is Mode.KEYWORD or state.embedder is None:
                matrix = store.matrices.get(scope.number, None, 0)
            else:
                if embedder is not None:
                    vectors.check(state.embedder, embedder.identity)
                matrix = store.matrices.get(scope.number, state.embedder, state.dimension)
            with matrix.lock:
                if matrix.seq > state.seq:
                    continue  # another reader has seen more: take a newer snapshot
                matrix.follow(db, state.seq, state.vector_generation)
                yield db, matrix, state
                return


# Words


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counted:
    """The terms of a question with the places that have them, and what that says about the question."""

    places: dict[str, NDArray[np.int32]]
    """Of a term that too many rows have, maybe just more than may be."""
    keep: tuple[str, ...]
    named: frozenset[int]
    dense_text: str
    """The question without the words that most of the scope's rows have."""


def _counted(db: Connection, matrix: Matrix, asked: Asked) -> _Counted:
    total = matrix.count - matrix.dead
    most = _most(total) + 1 if total >= ranking.COMMON_FROM else -1
    places = dict(zip(asked.terms, matrix.postings(db, asked.terms, most=most), strict=True))
    named = matrix.named(asked.text)
    frequencies = ranking.count_users(
        {term: len(found) for term, found in places.items()}, named, matrix.user_numbers, matrix.rows()
    )
    keep = ranking.keep_terms(list(frequencies.values()), total)
    words = ((word.text, min((frequencies.get(t, 0) for t in word.terms), default=0)) for word in asked.words)
    return _Counted(
        places=places,
        keep=tuple(term for term, kept in zip(places, keep, strict=True) if kept),
        named=named,
        dense_text=ranking.dense_words(words, total),
    )


def _most(total: int) -> int:
    """Return how many rows a term may have and still tell something."""
    return int(total * ranking.COMMON_SHARE)


def _terms(db: Connection, matrix: Matrix, counted: _Counted) -> tuple[ranking.Term, ...]:
    """Return where the terms that count stand."""
    total = matrix.count - matrix.dead
    terms = []
    for term in counted.keep:
        places = counted.places[term]
        if total >= ranking.COMMON_FROM and len(places) > _most(total):
            [places] = matrix.postings(db, [term])  # too frequent, but all that there is
        terms.append(ranking.Term(places=places, context=matrix.contexts(db, term)))
    return tuple(terms)


def _windows(asked: Asked, settings: Config, matrix: Matrix) -> tuple[tuple[int, int], ...]:
    if not timewords.hinted(asked.text):
        return ()
    return timewords.windows(asked.text, asked.now, ZoneInfo(settings.time.zone), matrix.years())


# Vectors


def _lacks_vector(asked: Asked) -> bool:
    return asked.vector is None and asked.mode is not Mode.KEYWORD


def _comparable(asked: Asked, request: Recall, matrix: Matrix) -> Asked:
    """Return a question whose vector can be compared with the store's, or that goes by its words."""
    if asked.vector is None or matrix.embedder is None or len(asked.vector) == matrix.dimension:
        return asked
    lengths = f"{len(asked.vector)} numbers; the store's vectors have {matrix.dimension}"
    if request.embedding is not None:
        raise InvalidField("embedding", f"has {lengths}")
    # One answer does not show that the embedder is another now; nrem doctor asks it.
    return _by_words(asked, f"{matrix.embedder} gave {lengths} (nrem doctor)")


def _with_vector(asked: Asked, embedder: Embedder, wanted: Embeddings, text: str) -> Asked:
    """Embed a question; when that cannot be done, go on with its words and say so."""
    try:
        [packed] = embed_all(embedder, [text or asked.text], hurried(wanted))
    except (Unavailable, ConfigError) as error:
        return _by_words(asked, error.message)
    if packed is None:
        return _by_words(asked, f"{embedder.identity} gave no usable vector for the question")
    return replace(asked, vector=unpack(packed))


def _by_words(asked: Asked, problem: str) -> Asked:
    """Return a question that goes on with its words, because of a problem with its vector."""
    notes = (*asked.notes, f"vector search: {problem}")
    return replace(asked, mode=Mode.KEYWORD, vector=None, degraded=("vector",), notes=notes)


# Which, and how many


def _eligible(db: Connection, scope: int, request: Recall, asked: Asked, matrix: Matrix) -> NDArray[np.bool_]:
    """Return which rows the filters leave, before anything is cut."""
    n = matrix.count
    chosen = request.filter()
    eligible = matrix.of_kinds(chosen.kinds)
    if matrix.with_expiry and not request.expired:
        eligible &= matrix.expires[:n] > asked.now
    if matrix.with_superseded and not request.superseded:
        eligible &= ~matrix.superseded[:n]
    if chosen != Filter(kinds=chosen.kinds):
        matching = np.zeros(n, dtype=np.bool_)
        matching[matrix.places(listing.rowids(db, scope, chosen))] = True
        eligible &= matching
    return eligible


def _above_threshold(
    request: Recall, asked: Asked, cosines: NDArray[np.float32] | None, eligible: NDArray[np.bool_]
) -> tuple[Asked, NDArray[np.bool_]]:
    if request.threshold is None:
        return asked, eligible
    if cosines is None and eligible.any():
        note = "threshold: ignored, because vectors could not be used"
        return replace(asked, notes=(*asked.notes, note)), eligible
    if cosines is None:
        return asked, np.zeros_like(eligible)
    return asked, eligible & (cosines >= np.float32(request.threshold))


def _candidates(request: Recall) -> int:
    unlimited = request.budget is not None and "limit" not in request.model_fields_set
    return BUDGET_CANDIDATES if unlimited else request.limit


def _pack(memories: list[Memory], request: Recall) -> list[int]:
    """Return which hits fit the budget; one that is too long gives way to a shorter one behind it."""
    if request.budget is None:
        return list(range(len(memories)))
    kept, left = [], request.budget
    for i, memory in enumerate(memories):
        tokens = -(-len(memory.content) // CHARACTERS_PER_TOKEN)
        if tokens <= left:
            kept.append(i)
            left -= tokens
    return kept


def _explain(scores: Scores, question: ranking.Question, place: int, coverage: float) -> Explained:
    cosine = float(question.cosines[place]) if question.cosines is not None else None
    return Explained(
        score=float(scores.total[place]),
        parts={name: float(part[place]) for name, part in scores.parts.items()},
        cosine=None if cosine is None or cosine != cosine else cosine,
        coverage=coverage,
    )
