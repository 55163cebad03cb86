"""Which memories stand in MEMORY.md: the best that fit, solved anew at every sweep.

A plan is a fixed point: solved again with its own result as incumbents it changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from nrem.model import Kind
from nrem.policy.dreaming import KINDS, Candidate, Score, Scores, obstacle

LENGTH_POWER = 0.75
INCUMBENCY = 1.15
LOSS = 0.25


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
    """A memory that almost got a line, and what it lacks."""

    id: str
    score: Score
    reason: str
    lacks: float
    """Log-odds by which it is behind the last line that was taken; 0 when something else stands against it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a sweep does to the lines; `chosen` is the block in order, best first."""

    decisions: tuple[Decision, ...]
    chosen: tuple[str, ...]
    misses: tuple[Miss, ...]
    characters: int
    """What the block takes, markers and headings included."""
    rejected: Mapping[str, int]
    """How many candidates had no chance, by reason."""


def solve(
    candidates: Sequence[Candidate], scores: Scores, *, room: Room, kinds: frozenset[Kind] = KINDS
) -> Plan:
    """Return which candidates get, keep and lose a line within the room."""
    obstacles = [obstacle(candidate, kinds=kinds) for candidate in candidates]
    order = sorted(
        (i for i, why in enumerate(obstacles) if why is None),
        key=lambda i: (
            not candidates[i].pinned,
            -_value(candidates[i], float(scores.p[i])),
            candidates[i].id,
        ),
    )
    chosen: list[int] = []
    taken, sections = 0, set[str]()
    for i in order:
        candidate = candidates[i]
        cost = candidate.line_length + (0 if chosen else room.markers)
        cost += 0 if candidate.section in sections else room.headings.get(candidate.section, 0)
        if taken + cost <= room.characters:
            chosen.append(i)
            taken += cost
            sections.add(candidate.section)
    ranks = {i: rank for rank, i in enumerate(chosen, 1)}
    decisions = []
    for i, candidate in enumerate(candidates):
        if i in ranks:
            verdict = Verdict.KEEP if candidate.incumbent else Verdict.PROMOTE
            reason = "pinned" if candidate.pinned else "among the best that fit"
        elif candidate.incumbent:
            verdict = Verdict.SUPERSEDE if candidate.superseded_by else Verdict.DEMOTE
            reason = obstacles[i] or "others are worth more"
        else:
            continue
        decisions.append(
            Decision(
                id=candidate.id, verdict=verdict, reason=reason, score=scores.of(i), rank=ranks.get(i),
                successor=candidate.superseded_by,
            )
        )  # fmt: skip
    rejected: dict[str, int] = {}
    for why in obstacles:
        if why is not None:
            rejected[why] = rejected.get(why, 0) + 1
    return Plan(
        decisions=tuple(decisions),
        chosen=tuple(candidates[i].id for i in chosen),
        misses=(),
        characters=taken,
        rejected=rejected,
    )


def _value(candidate: Candidate, p: float) -> float:
    """Return what a line is worth for the room it takes."""
    return p / candidate.line_length**LENGTH_POWER * (INCUMBENCY if candidate.incumbent else 1)
