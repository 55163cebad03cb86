"""Which memories answer a question best: pure arithmetic over a scope's rows, no text, no clock, no I/O.

A score is a sum of named parts; docs/retrieval.md has the formulas and what each constant is worth.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nrem.policy.terms import STOP_WORDS, fold, for_index
from nrem.sections import Weights

VERSION = 3
"""Raised with every change of what it returns, or of the times that timewords reads."""

COMMON_SHARE = 0.15  # a term in more of the scope's rows than this says nothing about one of them
COMMON_FROM = 200  # rows from which on that share means anything
SATURATION = 1.2  # BM25 k1: how soon further evidence for the same term stops to count
LENGTH_WEIGHT = 0.25  # BM25 b: turns are short, and a longer one mostly says more
BEFORE = 0.5  # a term in one of the two rows before, which a row takes up more often than
AFTER = 0.25  # one of the two rows after
ANSWERED = 1.0  # a term in the row just before, if that asks: a question's words are its answer's too
CONTEXT = 0.5  # a term in the row's own context field
DENSE_TERMS = 3  # the cosine weighs as much as this many found terms, so less the more a question says
SESSION_WEIGHT = 0.1  # the share of the question's terms that occur anywhere in the row's session
ASKING_WEIGHT = -0.1  # the row asks, and the next one may answer: people look for the answer
OPENING_WEIGHT = 0.07  # the row opens its session: what is new or wanted is mostly told first
NAME_WEIGHT = 0.2  # the row is by the one user whom the question names
DATE_WEIGHT = 0.5  # the row dates from the time the question speaks of
DAY = 86_400_000
USUAL = Weights()

# What a row lends to the rows 2 before, 1 before, 1 after, 2 after it: if it states, if it asks.
_LENT = np.array([[AFTER, AFTER, BEFORE, BEFORE], [AFTER, AFTER, ANSWERED, BEFORE]])
_PUNCTUATION = (
    ".,;:!?\"'()[]{}\u00a1\u00ab\u00bb\u00bf\u2018\u2019\u201c\u201d\u201e\u2026"
    "\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f"
)
_ASKS = re.compile("\\?(?!\\w)|[\u037e\u055e\u061f\u1367\ufe56\uff1f]")
# Scripts whose words, or whose particles after a name, are not set off by spaces: Thai to Myanmar, Khmer,
# kana, Han, Hangul.
_JOINED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Mode(StrEnum):
    KEYWORD = "keyword"
    VECTOR = "vector"
    HYBRID = "hybrid"


class Profile(StrEnum):
    DEFAULT = "default"
    AGENTOS = "agentos"


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Parallel arrays over a scope's rows; a row's index is its place. What follows from them is kept."""

    lengths: NDArray[np.int32]
    """Terms of its content."""
    neighbours: NDArray[np.int32]
    """(n, 4): places of the rows 2 before, 1 before, 1 after, 2 after in the same session; -1 = none."""
    users: NDArray[np.int32]
    """The number of its user, -1 = none."""
    created: NDArray[np.int64]
    """Epoch milliseconds."""
    importance: NDArray[np.float32]
    confidence: NDArray[np.float32]
    sessions: NDArray[np.int32] | None = None
    """The number of its session, counted from 0, -1 = none; None = no row has one."""
    asks: Mask | None = None
    """Whether its content asks something (see `asks`); None = no row does."""
    live: Mask | None = None
    """Which rows exist: the others count nowhere; None = all do."""

    @cached_property
    def totals(self) -> tuple[int, int]:
        """How many rows there are, and how many terms they have together."""
        if self.live is None:
            return len(self.lengths), int(self.lengths.sum(dtype=np.int64))
        return int(self.live.sum()), int(self.lengths.sum(where=self.live, dtype=np.int64))

    @cached_property
    def linked(self) -> bool:
        """Whether any row has a neighbour; wherever there are two, one comes behind the other."""
        return bool((self.neighbours[:, 1] >= 0).any())

    @cached_property
    def groups(self) -> NDArray[np.int64] | None:
        """The number of each row's session, where a row without one is one of its own; None = no sessions."""
        if self.sessions is None or not len(self.sessions) or self.sessions.max() < 0:
            return None
        alone = np.arange(len(self.sessions)) + self.sessions.max() + 1
        return np.where(self.sessions >= 0, self.sessions, alone)

    @cached_property
    def asking(self) -> Floats | None:
        """What each row is worth for asking something that the next row may answer; None = none asks."""
        if self.asks is None or not self.asks.any():
            return None
        return np.where(self.asks & (self.neighbours[:, 2] >= 0), ASKING_WEIGHT, 0.0)

    @cached_property
    def opening(self) -> Floats | None:
        """What each row is worth for opening a conversation; None = none opens any.

        It has to be of average length at least, or a greeting would count.
        """
        before, after = self.neighbours[:, 1] >= 0, self.neighbours[:, 2] >= 0
        opens = after & ~before
        if not opens.any():
            return None
        return np.where(opens & (self.lengths >= self.lengths[before | after].mean()), OPENING_WEIGHT, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """Where one term of the question occurs: distinct places of live rows."""

    places: NDArray[np.int32]
    context: NDArray[np.int32]
    """Rows that have it only in their own context field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    terms: tuple[Term, ...]
    """Those that keep_terms keeps."""
    cosines: NDArray[np.float32] | None
    """One per row, NaN where a row has no vector; None = no vectors."""
    named: frozenset[int]
    """Numbers of the users whom the question names."""
    windows: tuple[tuple[int, int], ...]
    """[start, end) in epoch milliseconds in which the thing asked for may lie."""
    now: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    total: Floats
    """The sum of the parts in their order, to the last bit."""
    parts: Mapping[str, Floats]
    hits: Mask
    """Eligible rows with any evidence; the others have numbers but are no answers."""


def keep_terms(frequencies: Sequence[int], total: int) -> list[bool]:
    """Say which terms of a question to look up, given how many of the scope's rows have each."""
    kept = [not _common(frequency, total) for frequency in frequencies]
    found = any(frequency and keep for frequency, keep in zip(frequencies, kept, strict=True))
    return kept if found else [True] * len(frequencies)


def dense_words(words: Iterable[tuple[str, int]], total: int) -> str:
    """Return the text to embed for a question: its words but those whose term is too frequent in the scope.

    Each word comes with the number of rows that have its term, a stop word with 0. Punctuation around words
    goes too: a question mark is near to questions, not to answers.
    """
    words = [(word.strip(_PUNCTUATION), frequency) for word, frequency in words]
    kept = [word for word, frequency in words if word and not _common(frequency, total)]
    return " ".join(kept or [word for word, _ in words if word])


def asks(content: str) -> bool:
    """Say whether a text has a question mark, of any script, that is no part of a word or an address."""
    return _ASKS.search(content) is not None


def named(query: str, users: Mapping[str, int]) -> frozenset[int]:
    """Return the numbers of those users whose label stands in the question as words of its own.

    Mary is not named where Mary Ann is, if both are users.
    """
    text = fold(query)
    places = [
        (span, number) for label, number in users.items() for span in _places(query, text, label.strip())
    ]
    spans = {span for span, _ in places}
    return frozenset(number for span, number in places if not any(_inside(span, other) for other in spans))


def count_users(
    frequencies: Mapping[str, int], named: frozenset[int], users: Mapping[str, int], rows: Rows
) -> dict[str, int]:
    """Count a named user's rows as rows that have the name, which is then mostly too frequent to tell much.

    Give the result to keep_terms and dense_words: a name pulls the question's vector to all rows of that
    user, and the name part of the score has taken it into account already.
    """
    counted = dict(frequencies)
    for label, number in users.items():
        if number in named:
            by = rows.users == number
            own = int(np.count_nonzero(by if rows.live is None else by & rows.live))
            for term in set(for_index(label)) & counted.keys():
                counted[term] += own
    return counted


def score(
    rows: Rows,
    question: Question,
    eligible: Mask | None,
    *,
    mode: Mode,
    profile: Profile,
    weights: Weights = USUAL,
) -> Scores:
    """Score every row of the scope; `eligible` says which ones filters leave, None = all.

    The weights are those of profile agentos.
    """
    terms = () if mode is Mode.VECTOR else question.terms
    terms = tuple(term for term in terms if len(term.places) or len(term.context))
    cosines = None if mode is Mode.KEYWORD else question.cosines
    known = np.isfinite(cosines) if cosines is not None else np.zeros(len(rows.lengths), dtype=np.bool_)
    if rows.live is not None:
        known &= rows.live
    if cosines is None or not known.any():
        cosines = None
    if profile is Profile.AGENTOS:
        asked = () if mode is Mode.VECTOR else question.terms
        parts = _agentos(rows, question, cosines, known, asked=asked, weights=weights)
        hits = known | (parts["lexical"] > 0)
    else:
        parts = _default(rows, question, terms, cosines, known)
        hits = known.copy()
        for name in ("lexical", "name", "date"):
            if name in parts:
                hits |= parts[name] > 0
    for mask in (rows.live, eligible):
        if mask is not None:
            hits &= mask
    total = np.zeros(len(rows.lengths))
    for part in parts.values():
        total += part
    return Scores(total=total, parts=parts, hits=hits)


def order(rows: Rows, scores: Scores, limit: int) -> NDArray[np.intp]:
    """Return the best places, best first; importance, confidence, recency and place only break ties."""
    places = np.flatnonzero(scores.hits)
    if limit <= 0 or not len(places):
        return places[:0]
    totals = scores.total[places]
    if limit < len(places):
        enough = totals >= np.partition(totals, len(totals) - limit)[len(totals) - limit]
        places, totals = places[enough], totals[enough]
    keys = (places, -rows.created[places], -rows.confidence[places], -rows.importance[places], -totals)
    return places[np.lexsort(keys)][:limit]


def _common(frequency: int, total: int) -> bool:
    return total >= COMMON_FROM and frequency > COMMON_SHARE * total


def _places(query: str, folded: str, label: str) -> list[tuple[int, int]]:
    """Return where in the folded question a label stands."""
    name = fold(label)
    if not name or name not in folded:
        return []
    before = "" if _JOINED.match(name[0]) else r"(?<!\w)"
    after = "" if _JOINED.match(name[-1]) else r"(?!\w)"
    if name in STOP_WORDS:  # somebody called Will
        found = re.finditer(before + re.escape(label) + after, query)
        starts = [len(fold(query[: match.start()])) for match in found]
    else:
        starts = [match.start() for match in re.finditer(before + re.escape(name) + after, folded)]
    return [(start, start + len(name)) for start in starts]


def _inside(span: tuple[int, int], other: tuple[int, int]) -> bool:
    return span != other and other[0] <= span[0] and span[1] <= other[1]


def _default(
    rows: Rows, question: Question, terms: tuple[Term, ...], cosines: NDArray[np.float32] | None, known: Mask
) -> dict[str, Floats]:
    parts: dict[str, Floats] = {}
    share = DENSE_TERMS / (DENSE_TERMS + len(terms))
    if terms:
        lexical, covered = _lexical(rows, terms)
        # A row without a vector has only its words to speak for it, so they speak in full.
        parts["lexical"] = lexical if cosines is None else lexical * np.where(known, 1 - share, 1.0)
        if covered is not None:
            parts["session"] = SESSION_WEIGHT * covered
    if cosines is not None:
        parts["dense"] = share * _spread(cosines, known)
    if rows.asking is not None:
        parts["asks"] = rows.asking
    if rows.opening is not None:
        parts["opens"] = rows.opening
    if len(question.named) == 1:
        parts["name"] = np.where(rows.users == next(iter(question.named)), NAME_WEIGHT, 0.0)
    if question.windows:
        inside = np.zeros(len(rows.lengths), dtype=np.bool_)
        for start, end in question.windows:
            inside |= (rows.created >= start) & (rows.created < end)
        parts["date"] = np.where(inside, DATE_WEIGHT, 0.0)
    return parts


def _lexical(rows: Rows, terms: tuple[Term, ...]) -> tuple[Floats, Floats | None]:
    """BM25 over the scope's own counts, to which neighbours lend; and each session's share of the terms.

    One more place than there are rows takes what is lent to a neighbour that does not exist (-1).
    """
    count = len(rows.lengths)
    number, words = rows.totals
    per_word = SATURATION * LENGTH_WEIGHT * max(number, 1) / max(words, 1)
    groups = rows.groups
    covered = np.zeros(0 if groups is None else int(groups.max(initial=-1)) + 1)
    result = np.zeros(count + 1)
    held = np.zeros(count + 1)  # of one term at a time, only where it is
    rarities = 0.0
    for term in terms:
        own = term.places if not len(term.context) else np.concatenate([term.places, term.context])
        rarity = math.log1p((max(number - len(own), 0) + 0.5) / (len(own) + 0.5))
        rarities += rarity
        touched, amount = own, np.float64(1.0)
        if rows.linked or len(term.context):
            beside = rows.neighbours[term.places].ravel()
            held[term.context] = CONTEXT
            held[term.places] = 1.0
            np.add.at(held, beside, _lent(rows, term).ravel())
            touched = np.concatenate([own, beside])
            amount = held[touched]
            held[touched] = 0.0
        # A place met twice is assigned the same value twice.
        norms = SATURATION * (1 - LENGTH_WEIGHT) + per_word * rows.lengths[touched]
        result[touched] = result[touched] + rarity * amount / (amount + norms)
        if groups is not None:
            covered[groups[own]] = covered[groups[own]] + rarity
    result = result[:count]
    return result / result.max(initial=1e-9), None if groups is None else covered[groups] / rarities


def _lent(rows: Rows, term: Term) -> Floats:
    """Return what each row with a term lends to its four neighbours."""
    if rows.asks is None:
        return np.repeat(_LENT[:1], len(term.places), axis=0)
    return _LENT[rows.asks[term.places].astype(np.intp)]


def _spread(cosines: NDArray[np.float32], known: Mask) -> Floats:
    """Stretch cosines to 0..1, because embedders differ in what they call near; no vector = 0."""
    if known.all():
        least = np.float64(cosines.min())
        return (cosines - least) / ((np.float64(cosines.max()) - least) or 1.0)
    wide = np.where(known, cosines, np.float32(0)).astype(np.float64)
    low = wide.min(where=known, initial=np.inf)
    high = wide.max(where=known, initial=-np.inf)
    return np.where(known, (wide - low) / ((high - low) or 1.0), 0.0)


def _agentos(
    rows: Rows,
    question: Question,
    cosines: NDArray[np.float32] | None,
    known: Mask,
    *,
    asked: tuple[Term, ...],
    weights: Weights,
) -> dict[str, Floats]:
    """Weigh as AgentOS does; the keyword share counts the question's terms that a row has, each once."""
    found = np.zeros(len(rows.lengths))
    for term in asked:
        found[term.places] += 1
        found[term.context] += 1
    age = np.maximum(question.now - rows.created, 0) / (weights.half_life_days * DAY)
    parts = {"lexical": weights.keyword * found / max(len(asked), 1)}
    if cosines is not None:
        parts["dense"] = weights.cosine * np.where(known, cosines, np.float32(0)).astype(np.float64)
    parts["recency"] = weights.recency * np.exp2(-age)
    parts["importance"] = weights.importance * rows.importance.astype(np.float64)
    parts["confidence"] = weights.confidence * rows.confidence.astype(np.float64)
    return parts
