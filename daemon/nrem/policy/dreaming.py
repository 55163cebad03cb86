"""How likely a memory is needed again: a sum of named terms in log-odds, from its text and from its use.

Pure arithmetic, no clock and no I/O: the same memories give the same numbers, and age is counted from the
scope's newest organic event, so that a scope in which nothing happens does not change. docs/dreaming.md has
the formula and what each weight is worth.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nrem.model import Kind, Role
from nrem.policy import prior

VERSION = 5
"""Raised with every change of what it returns."""

KINDS = frozenset({Kind.SEMANTIC, Kind.FACT, Kind.CONVERSATION})
"""What a sweep takes lines from unless the settings say otherwise."""

EXPOSURE_WEIGHT = 0.5
USE_WEIGHT = 0.6
RECENCY_WEIGHT = 0.3
IMPORTANCE_WEIGHT = 2.0
WRONG_WEIGHT = -1.0
RECENCY_DAYS = 30
DAY = 86_400_000

FLOOR_BY_CATEGORY = 0.6
CATEGORIES = frozenset(
    {
        "user",
        "identity",
        "feedback",
        "preference",
        "preferences",
        "rule",
        "rules",
        "constraint",
        "constraints",
    }
)
"""Categories whose memories somebody meant to last: their prior is at least FLOOR_BY_CATEGORY."""
FLOOR_OF_FACTS = 0.3

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A memory as a sweep sees it, with what its recalls say of it."""

    id: str
    text: str
    kind: Kind
    category: str
    trusted: bool
    created_at: int
    updated_at: int
    said_at: int
    """When its text was last changed, or when it was stored."""
    line_length: int
    """Characters of its line as rendered, with the line end."""
    section: str = ""
    """The heading that its line stands under."""
    role: Role | None = None
    speaker: str = ""
    """The user who said it, so that what "I" do is theirs."""
    pinned: bool = False
    importance: float = 0.5
    importance_given: bool = False
    """Whether a caller said how important it is; otherwise the number was guessed from the text."""
    expired: bool = False
    exposure: float = 0.0
    """The sum of coverage / rank over its organic exposures, one for each query and day."""
    uses: int = 0
    wrongs: int = 0
    last_organic_at: int | None = None
    """When it was last shown to or used by somebody; None = never."""
    incumbent: bool = False
    """It has a line now."""
    barred: bool = False
    """A person removed its line."""
    superseded_by: str | None = None
    """The memory that took its place, by what somebody stored or by what a model said of its line."""
    told_by: str | None = None
    """The memory whose line tells this one too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """P(needed again), and the terms that add up to its log-odds."""

    id: str
    p: float
    terms: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The scores of many candidates, as parallel arrays in their order."""

    ids: tuple[str, ...]
    p: Floats
    terms: Mapping[str, Floats]
    rarities: Mapping[str, float]
    """How rare each word of the scope is."""

    def __len__(self) -> int:
        return len(self.ids)

    def of(self, place: int) -> Score:
        """Return one score; terms that are nothing are left out."""
        terms = {name: float(values[place]) for name, values in self.terms.items() if values[place] != 0}
        return Score(id=self.ids[place], p=float(self.p[place]), terms=terms)


@dataclass(frozen=True, slots=True)
class Background:
    """What the texts of a scope say of each other."""

    rarities: Mapping[str, float]
    news: Mapping[str, float]
    """How much of each memory's text was new when it was told, by id."""


def compare(candidates: Iterable[Candidate]) -> Background:
    """Return how rare each word of some texts is, and how much of each text is new."""
    told = sorted(candidates, key=lambda candidate: (candidate.created_at, candidate.id))
    counts = prior.count([candidate.text for candidate in told])
    rarities = counts.rarities()
    news = counts.news(rarities)
    return Background(rarities, {candidate.id: new for candidate, new in zip(told, news, strict=True)})


def score(candidates: Sequence[Candidate], *, newest: int, background: Background | None = None) -> Scores:
    """Return P(needed again) of each candidate; `newest` is the scope's newest organic event.

    Without a background, how rare and how new a word is comes from the candidates' own texts.
    """
    known = background if background is not None else compare(candidates)
    terms = prior.terms([c.text for c in candidates], known.rarities, [known.news[c.id] for c in candidates])
    worth = np.sum(list(terms.values()), axis=0)
    terms["kind or category"] = np.maximum([_floor(candidate) for candidate in candidates] - worth, 0)
    terms["importance"] = IMPORTANCE_WEIGHT * _column(
        c.importance - 0.5 if c.importance_given else 0 for c in candidates
    )
    terms["shown"] = EXPOSURE_WEIGHT * np.log1p(_column(max(c.exposure, 0) for c in candidates))
    terms["used"] = USE_WEIGHT * np.log1p(_column(c.uses for c in candidates))
    age = _column(_age(candidate, newest) for candidate in candidates)
    terms["recent"] = RECENCY_WEIGHT * np.exp(-age / RECENCY_DAYS)
    terms["wrong"] = WRONG_WEIGHT * np.log1p(_column(c.wrongs for c in candidates))
    total = np.sum(list(terms.values()), axis=0)
    return Scores(
        ids=tuple(c.id for c in candidates), p=1 / (1 + np.exp(-total)), terms=terms, rarities=known.rarities
    )


def _column(values: Iterable[float]) -> Floats:
    return np.fromiter(values, dtype=np.float64)


def _floor(candidate: Candidate) -> float:
    """Return the log-odds that a memory's prior has at least, whatever its text is like."""
    if candidate.category in CATEGORIES:
        return math.log(FLOOR_BY_CATEGORY / (1 - FLOOR_BY_CATEGORY))
    if candidate.kind is Kind.FACT:
        return math.log(FLOOR_OF_FACTS / (1 - FLOOR_OF_FACTS))
    return -math.inf


def _age(candidate: Candidate, newest: int) -> float:
    """Return the days between a memory's last organic event and the scope's."""
    last = max(candidate.updated_at, candidate.last_organic_at or candidate.updated_at)
    return max(newest - last, 0) / DAY


def obstacle(candidate: Candidate, *, kinds: frozenset[Kind] = KINDS) -> str | None:
    """Say why a memory may have no line of a sweep's making; None = it may have one."""
    if not candidate.trusted:
        return "it comes from an untrusted source"
    if candidate.barred:
        return "its line was removed, rejected or undone"
    if candidate.superseded_by is not None:
        return f"it was replaced by {candidate.superseded_by}"
    if candidate.told_by is not None:
        return f"the line of {candidate.told_by} tells it too"
    if candidate.expired:
        return "it has expired"
    if candidate.pinned:
        return None
    if candidate.role in (Role.TOOL, Role.SYSTEM):
        return f"it was said by the {candidate.role}"
    if candidate.kind not in kinds:
        return f"kind {candidate.kind} is not among dream.kinds"
    if candidate.wrongs > candidate.uses:
        return "it was marked wrong more often than used"
    return None
