"""Which memories stand in MEMORY.md: the best that fit, solved anew at every sweep.

A plan is a fixed point: solved again with its own result as incumbents it changes nothing.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from nrem.model import Kind
from nrem.policy.claims import Said, replaced, rivals
from nrem.policy.dreaming import KINDS, USE_WEIGHT, Candidate, Score, Scores, obstacle
from nrem.policy.likeness import ALIKE, says_the_same, similarity, weigh
from nrem.policy.noise import noise

LENGTH_POWER = 0.5
"""How much a line's length counts against it: from 0.25 to 1 recall is about equal, and precision falls."""
INCUMBENCY = 1.15
"""A line that stands counts with its odds times this. Not with P, or what is nearly certain would never give
way, however often others are used."""
LOSS = 0.25
"""The share of lines that may leave in one sweep because others are worth more."""
LEAST = 0.03
"""P below which a text tells too little for any line: half of what one without any feature has."""
MISSES = 3
NO_ROOM = "there is no room for it"


class Verdict(StrEnum):
    PROMOTE = "promote"
    KEEP = "keep"
    DEMOTE = "demote"
    SUPERSEDE = "supersede"
    """The line leaves because a newer memory says what is true now."""
    HOLD = "hold"
    """The line would leave, but too many leave already; it stays this time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How much MEMORY.md has for managed lines."""

    characters: int
    """All of the managed block, markers included."""
    markers: int = 0
    """What the block's own first and last lines take once it has any line."""
    headings: Mapping[str, int] = field(default_factory=dict)
    """What a section's heading takes once the section has any line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What becomes of one memory's line, and why."""

    id: str
    verdict: Verdict
    reason: str
    score: Score
    rank: int | None
    """Its place among the chosen lines, from 1; None when it has none."""
    successor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """A memory that almost got a line, what it lacks, and what would change that."""

    id: str
    score: Score
    reason: str
    lacks: float
    """Log-odds by which it is behind the last line taken; 0 when something else stands against it."""
    weakest: str
    """The term that takes most from its score."""


@dataclass(frozen=True, slots=True)
class Against:
    """Why a memory has no line whatever it is worth."""

    reason: str
    successor: str | None = None
    """The memory that took its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a sweep does to the lines; `chosen` is the block in order, best first."""

    decisions: tuple[Decision, ...]
    chosen: tuple[str, ...]
    misses: tuple[Miss, ...]
    characters: int
    """What the block takes, markers and headings included."""
    rejected: Mapping[str, int]
    """How many candidates that were looked at had no chance, by reason."""
    against: Mapping[str, Against]
    """What stands against each of these, by id."""


def worth(candidates: Sequence[Candidate], scores: Scores) -> NDArray[np.float64]:
    """Return what the line of each candidate is worth for its length."""
    lengths = np.array([max(c.line_length, 1) for c in candidates], dtype=np.float64)
    found: NDArray[np.float64] = scores.p / lengths**LENGTH_POWER
    return found


def solve(
    candidates: Sequence[Candidate], scores: Scores, *, room: Room, kinds: frozenset[Kind] = KINDS
) -> Plan:
    """Return which candidates get, keep and lose a line within the room.

    Pinned memories come first, then what is worth most for its length. Of the lines that stand at most LOSS
    leave because others are worth more; what leaves for a reason of its own, or because there is no room for
    it even among the standing lines, is not counted. Solved again with its own result it changes nothing,
    unless lines were held: then it goes on where it stopped.
    """
    table = _Table(candidates, scores, room, kinds)
    standing = [i for i in table.order if candidates[i].incumbent]
    fits = set(_fill(table, standing).chosen)
    allowed = max(int(LOSS * len(standing)), 1)
    held: set[int] = set()
    while True:
        filled = _fill(table, sorted(table.order, key=lambda i: not (candidates[i].pinned or i in held)))
        lost = [i for i in standing if i in fits and i not in filled.chosen and i not in filled.against]
        if len(lost) <= allowed or held >= set(lost[: len(lost) - allowed]):
            break
        held.update(lost[: len(lost) - allowed])
    return _plan(table, filled, held)


class _Table:
    """What is known of the candidates before any line is chosen."""

    def __init__(
        self, candidates: Sequence[Candidate], scores: Scores, room: Room, kinds: frozenset[Kind]
    ) -> None:
        self.candidates, self.scores, self.room = candidates, scores, room
        self._weighed: dict[int, dict[str, float]] = {}
        self._noise: dict[int, str | None] = {}
        said = [Said(id=c.id, text=c.text, at=c.said_at, speaker=c.speaker) for c in candidates]
        places = {c.id: i for i, c in enumerate(candidates)}
        self.newer = replaced([one for one in rivals(said) if self._may_stand(places[one.id], kinds)])
        self.against = {i: why for i, c in enumerate(candidates) if (why := self._obstacle(c, kinds))}
        boost = np.array([INCUMBENCY if c.incumbent else 1.0 for c in candidates])
        self.worth = worth(candidates, scores)
        self.values = self.worth * boost / (1 + (boost - 1) * scores.p)
        able = [i for i in range(len(candidates)) if i not in self.against]
        self.order = sorted(able, key=lambda i: (not candidates[i].pinned, -self.values[i], candidates[i].id))

    def _may_stand(self, i: int, kinds: frozenset[Kind]) -> bool:
        """Tell whether a text may be in the block, in a line of its own or of another one."""
        own = dataclasses.replace(self.candidates[i], told_by=None)
        return obstacle(own, kinds=kinds) is None and self.against_text(i) is None

    def _obstacle(self, candidate: Candidate, kinds: frozenset[Kind]) -> str | None:
        newer = self.newer.get(candidate.id)
        if newer is not None and not candidate.pinned:
            return f"{newer} says what is true now"
        return obstacle(candidate, kinds=kinds)

    def against_text(self, i: int) -> str | None:
        """Say what stands against a text; looked at only when it is about to get a line."""
        if self.candidates[i].pinned:
            return None
        if i not in self._noise:
            what = noise(self.candidates[i].text)
            if what is None and self.scores.p[i] < LEAST:
                what = "a text that tells little"
            self._noise[i] = f"it is {what}" if what else None
        return self._noise[i]

    def twin(self, i: int, chosen: Sequence[int]) -> int | None:
        """Return the chosen line that says the same."""
        for other in chosen:
            if similarity(self._words(i), self._words(other)) >= ALIKE and says_the_same(
                self.candidates[i].text, self.candidates[other].text, self.scores.rarities
            ):
                return other
        return None

    def _words(self, i: int) -> dict[str, float]:
        if i not in self._weighed:
            self._weighed[i] = weigh(self.candidates[i].text, self.scores.rarities)
        return self._weighed[i]


@dataclass(slots=True)
class _Filled:
    """The lines chosen so far, what they take, and what stood against others."""

    chosen: list[int] = field(default_factory=list)
    taken: int = 0
    against: dict[int, str] = field(default_factory=dict)
    successors: dict[int, int] = field(default_factory=dict)


def _fill(table: _Table, order: Sequence[int]) -> _Filled:
    """Take lines in order as long as they fit."""
    filled = _Filled()
    shortest = min((table.candidates[i].line_length for i in order), default=0)
    for i in order:
        if filled.taken + shortest > table.room.characters:
            break
        if filled.taken + table.candidates[i].line_length > table.room.characters:
            continue
        why = table.against_text(i)
        if why is not None:
            filled.against[i] = why
            continue
        twin = table.twin(i, filled.chosen)
        if twin is not None:
            _settle(table, filled, twin, i)
            continue
        taken = _length(table, [*filled.chosen, i])
        if taken <= table.room.characters:
            filled.chosen.append(i)
            filled.taken = taken
    return filled


def _settle(table: _Table, filled: _Filled, old: int, new: int) -> None:
    """Let the newer of two lines that say the same stand, if it fits where the other one stood."""
    candidates = table.candidates
    place = filled.chosen.index(old)
    instead = [*filled.chosen[:place], new, *filled.chosen[place + 1 :]]
    later = candidates[new].created_at > candidates[old].created_at and not candidates[old].pinned
    if later and _length(table, instead) <= table.room.characters:
        filled.chosen, filled.taken = instead, _length(table, instead)
        old, new = new, old
    filled.against[new] = f"{candidates[old].id} says the same"
    filled.successors[new] = old


def _length(table: _Table, chosen: Sequence[int]) -> int:
    """Return what a block of these lines takes."""
    if not chosen:
        return 0
    lines = [table.candidates[i] for i in chosen]
    headings = sum(table.room.headings.get(section, 0) for section in {line.section for line in lines})
    return table.room.markers + headings + sum(line.line_length for line in lines)


# What is said of it


def _plan(table: _Table, filled: _Filled, held: set[int]) -> Plan:
    against = {**table.against, **filled.against}
    # Whether a line stands already has no part in its place, or lines would move at the next sweep.
    candidates, worth = table.candidates, table.worth
    chosen = sorted(filled.chosen, key=lambda i: (not candidates[i].pinned, -worth[i], candidates[i].id))
    ranks = {i: rank for rank, i in enumerate(chosen, 1)}
    rejected: dict[str, int] = {}
    for i, why in against.items():
        general = why if _successor(table, filled, i) is None else "another one took its place"
        rejected[general] = rejected.get(general, 0) + 1
    decisions = [
        _decide(table, filled, i, ranks.get(i), held=i in held, why=against.get(i))
        for i, candidate in enumerate(candidates)
        if candidate.incumbent or i in ranks
    ]
    return Plan(
        decisions=tuple(decisions),
        chosen=tuple(candidates[i].id for i in chosen),
        misses=_misses(table, filled, against),
        characters=filled.taken,
        rejected=rejected,
        against={candidates[i].id: Against(why, _successor(table, filled, i)) for i, why in against.items()},
    )


def _successor(table: _Table, filled: _Filled, i: int) -> str | None:
    """Return which memory took the place of another."""
    candidate = table.candidates[i]
    if i in filled.successors:
        return table.candidates[filled.successors[i]].id
    return candidate.superseded_by or candidate.told_by or table.newer.get(candidate.id)


def _decide(
    table: _Table, filled: _Filled, i: int, rank: int | None, *, held: bool, why: str | None
) -> Decision:
    candidate = table.candidates[i]
    successor = _successor(table, filled, i)
    if rank is not None:
        successor = None
        verdict = Verdict.KEEP if candidate.incumbent else Verdict.PROMOTE
        reason = "pinned" if candidate.pinned else f"number {rank} of those that fit"
        if held:
            verdict, reason = Verdict.HOLD, "others are worth more, but enough lines leave already"
    elif successor is not None:
        verdict, reason = Verdict.SUPERSEDE, why or f"{successor} says what is true now"
    else:
        otherwise = NO_ROOM if _is_crowded_out(table, i) else "others are worth more for their length"
        verdict, reason = Verdict.DEMOTE, why or otherwise
    return Decision(
        id=candidate.id,
        verdict=verdict,
        reason=reason,
        score=table.scores.of(i),
        rank=rank,
        successor=successor,
    )


def _is_crowded_out(table: _Table, i: int) -> bool:
    """Tell whether a line has no room whatever it is worth: for a pinned one nothing else counts."""
    return table.candidates[i].pinned or _length(table, [i]) > table.room.characters


def _misses(table: _Table, filled: _Filled, against: Mapping[int, str]) -> tuple[Miss, ...]:
    """Return the best that were left out; where all that could be taken was, the best that could not."""
    taken = set(filled.chosen)
    out = [i for i in table.order if i not in taken and i not in against][:MISSES]
    missing = MISSES - len(out)
    if missing:
        others = sorted(against, key=lambda i: (-table.scores.p[i], table.candidates[i].id))
        out += [i for i in others if not table.candidates[i].incumbent][:missing]
    rivals = [table.values[i] for i in filled.chosen if not table.candidates[i].pinned]
    bar = float(min(rivals, default=0.0))
    return tuple(_miss(table, i, bar, against.get(i)) for i in out)


def _miss(table: _Table, i: int, bar: float, why: str | None) -> Miss:
    score, candidate = table.scores.of(i), table.candidates[i]
    pulls = {name: value for name, value in score.terms.items() if name != "base"}
    weakest = min(pulls, key=lambda name: pulls[name], default="used")
    if pulls.get(weakest, 0) >= 0:
        weakest = "used" if candidate.uses == 0 else "shown"
    wanted = bar * candidate.line_length**LENGTH_POWER
    lacks = 0.0
    if why is None and _is_crowded_out(table, i):
        why = NO_ROOM
    elif why is None and wanted >= 1:
        why = "its line is too long for what it may be worth"
    elif why is None:
        lacks = max(math.log(max(wanted, 1e-9) / (1 - wanted)) - math.log(score.p / (1 - score.p)), 0.0)
        uses = math.ceil((1 + candidate.uses) * (math.exp(lacks / USE_WEIGHT) - 1))
        why = (
            f"it lacks {lacks:.2f}: {uses} more uses would do"
            if uses
            else "its line is too long for the room left"
        )
    return Miss(id=candidate.id, score=score, reason=why, lacks=lacks, weakest=weakest)
