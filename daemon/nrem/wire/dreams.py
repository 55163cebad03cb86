"""What the operations on dreams take and give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field

from nrem.model import Moment
from nrem.wire.common import AgentRef
from nrem.wire.fields import Label

Change = Literal["promote", "demote", "supersede", "hold"]


class Dream(AgentRef):
    dry_run: bool = Field(default=False, description="Only say what would become of the lines.")


class ListSweeps(AgentRef):
    limit: int = Field(default=20, ge=1, le=100, description="Most sweeps that are given.")


class SweepRef(AgentRef):
    sweep: Label = Field(description="The id of a sweep, as dream and list give it.")


class ProposalRef(AgentRef):
    proposal: Label = Field(description="The id of an open proposal, as status gives it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChange:
    """What becomes of one memory's line in MEMORY.md, and why."""

    id: str
    change: Change
    reason: str
    score: float
    """P(needed again)."""
    terms: Mapping[str, float]
    """What adds up to the score's log-odds."""
    text: str | None
    """None when the memory is gone."""
    successor: str | None = None
    """The memory that says what is true now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NearMiss:
    """A memory that almost got a line, and what held it back."""

    id: str
    reason: str
    score: float
    lacks: float
    """Log-odds by which it is behind the last line that was taken."""
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LineWorded:
    """What a chat model said of a line, and is done."""

    operation: Literal["rewrite", "merge", "supersede"]
    id: str
    """The memory whose line stands."""
    taken: tuple[str, ...]
    """The memories whose lines went."""
    sources: tuple[str, ...]
    """All memories that it was made from, also by way of an earlier sentence."""
    text: str | None
    """What the line says since; None when that is no longer so, and for a supersession."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """What a chat model was good for in a sweep."""

    model: str
    """`provider:model`."""
    lines: tuple[LineWorded, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    """How many of its proposals were not taken, by reason."""
    note: str | None = None
    """Why there is no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThemeSeen:
    """Two tags that keep meeting among the newest memories."""

    tags: tuple[str, str]
    name: str | None
    """What a chat model called it; None when none did, or a memory that it goes by is no longer as it was."""
    memories: int
    """In how many they meet."""
    days: int
    medoid: str
    """The memory that is most like the others."""
    text: str | None
    """What that one says; None when it is gone."""
    sources: tuple[str, ...]
    """The memories that stand for it; a name was made from these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSeen:
    """Two of the newest memories that do not go together."""

    older: str
    newer: str
    older_text: str
    newer_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LineLeft:
    """Text in the managed block that was not taken in, and stands below the block since."""

    line: int
    """The number that it had in MEMORY.md."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHand:
    """What was taken in of people's edits in the managed block."""

    edited: int = 0
    removed: int = 0
    added: int = 0
    left: tuple[LineLeft, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.edited or self.removed or self.added or self.left)

    def __add__(self, later: ByHand) -> ByHand:
        return ByHand(
            edited=self.edited + later.edited,
            removed=self.removed + later.removed,
            added=self.added + later.added,
            left=(*self.left, *later.left),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a sweep decided."""

    changes: tuple[LineChange, ...] = ()
    kept: int = 0
    """Lines that stay as they are."""
    misses: tuple[NearMiss, ...] = ()
    rejected: Mapping[str, int] = field(default_factory=dict)
    """How many memories had no chance, by reason."""
    unanswered: tuple[str, ...] = ()
    """Questions that were asked and not answered, the most frequent first."""
    candidates: int = 0
    characters: int = 0
    """What the managed block takes."""
    room: int = 0
    """What it may take."""
    model: ModelAnswer | None = None
    """None when no model was asked."""
    themes: tuple[ThemeSeen, ...] = ()
    conflicts: tuple[PairSeen, ...] = ()
    """Pairs of which the newer one holds."""
    repeats: tuple[PairSeen, ...] = ()
    """Pairs that say the same."""
    by_hand: ByHand = ByHand()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dreamed:
    sweep: str | None
    """None when no sweep was made."""
    mode: str
    dry_run: bool = False
    outcome: Outcome = Outcome()
    proposals: tuple[str, ...] = ()
    """What waits for somebody's word, in mode propose."""
    commit: str | None = None
    note: str | None = None
    """Why nothing was done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepSummary:
    sweep: str
    state: str
    mode: str
    actor: str
    started_at: Moment
    finished_at: Moment | None
    promoted: int
    demoted: int
    superseded: int
    commit: str | None
    undone_at: Moment | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweeps:
    sweeps: tuple[SweepSummary, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepShown:
    summary: SweepSummary
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalShown:
    proposal: str
    id: str
    change: str
    reason: str
    score: float
    at: Moment
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStatus:
    """How it goes with the chat model."""

    model: str
    """`provider:model`."""
    lines: int
    """Lines of this agent that are a model's sentences."""
    tokens: int
    """Used today, by all agents."""
    daily_tokens: int | None
    failures: int
    """Calls for this agent that failed since the last one that did not."""
    error: str | None
    """What was wrong with the last call, if it failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepFailure:
    """Why the last try to sweep came to nothing."""

    at: Moment
    error: str
    hint: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamStatus:
    mode: str
    last: SweepSummary | None
    failure: SweepFailure | None
    """None when the last try to sweep came to its end."""
    due: bool
    """Whether there is something that the last sweep did not see."""
    note: str
    """Why a sweep would or would not do something now."""
    postponed_since: Moment | None
    """When tonight's sweep was due that waits until the agent is idle."""
    alarm: str | None
    """What looks wrong about the last sweeps."""
    lines: int
    characters: int
    room: int
    days_since_promotion: int | None
    rejected: Mapping[str, int]
    misses: tuple[NearMiss, ...]
    proposals: tuple[ProposalShown, ...]
    model: ModelStatus | None = None
    """None when no chat model is configured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamExplained:
    id: str
    has_line: bool
    decision: str
    """What a sweep would do now: promote, keep, demote, supersede, hold or nothing."""
    reason: str
    score: float
    terms: Mapping[str, float]
    """What adds up to the score's log-odds."""
    rank: int | None
    """Its place among the lines, from 1."""
    candidates: int
    would_change: tuple[str, ...]
    """What would change the decision."""
    line: str | None = None
    """What its line says, where that is a model's sentence."""
    model: str | None = None
    """The model whose sentence that is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalDecided:
    proposal: str
    id: str
    accepted: bool
    commit: str | None
    by_hand: ByHand = ByHand()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftAlone:
    """A line that undo did not touch, and why."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    sweep: str
    removed: tuple[str, ...]
    """Memories whose lines went; no sweep will give them one again."""
    restored: tuple[str, ...]
    """Memories whose lines came back."""
    left: tuple[LeftAlone, ...]
    commit: str | None
    by_hand: ByHand = ByHand()
