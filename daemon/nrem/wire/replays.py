"""What the operations on the past take and give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from nrem.model import Moment
from nrem.wire.common import AgentRef
from nrem.wire.fields import Label, Text
from nrem.wire.memories import MemoryRef
from nrem.wire.workspaces import FieldChange

Since = Field(
    default=None, description="From this point on: a time, or the id of a commit, recall or session."
)
Until = Field(default=None, description="Up to this point; now if not given.")


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyEvent:
    """One thing that happened to a memory."""

    event: int
    at: Moment
    operation: str
    actor: str
    cause: str
    version: int | None = None
    content: str | None = None
    """This and what follows up to session: only where the memory came to life."""
    ingress: str | None = None
    source: str | None = None
    trust: str | None = None
    session: str | None = None
    changes: tuple[FieldChange, ...] = ()
    reason: str | None = None
    """This and what follows up to score: why its line in MEMORY.md came, went or is not wanted."""
    sweep: str | None = None
    score: float | None = None
    commit: str | None = None
    """The commit that has it; None when it is not in git yet."""
    erased: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyQuery:
    """A question that it was an answer to."""

    query: str
    count: int
    last_at: Moment
    best_rank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    id: str
    state: Literal["live", "forgotten", "erased"]
    events: tuple[WhyEvent, ...]
    superseded_by: str | None = None
    """The memory that took its place."""
    supersedes: tuple[str, ...] = ()
    """The memories whose place it took, without those that are forgotten."""
    recalled: int
    """How often it was in an answer, as far as recalls are kept; and how often it was marked there."""
    used: int = 0
    wrong: int = 0
    first_recalled_at: Moment | None = None
    last_recalled_at: Moment | None = None
    queries: tuple[WhyQuery, ...] = ()


class Replay(AgentRef):
    of: Label | None = Field(default=None, description="A recall, or a session that recalls were limited to.")
    since: Label | None = Since
    until: Label | None = Until
    limit: int = Field(default=100, ge=1, le=1000, description="Most recalls that are replayed.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedHit:
    id: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    recall_id: str
    at: Moment
    query: str
    event: int
    """The last event that the answer had seen."""
    outcome: str
    """equal, drifted, or impossible when it cannot be asked again."""
    causes: tuple[str, ...]
    was: tuple[ReplayedHit, ...]
    now: tuple[ReplayedHit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replays:
    recalls: tuple[Replayed, ...]
    equal: int
    drifted: int
    impossible: int
    more: bool
    """Whether there are more than the limit let through."""
    note: str | None = None


class Bisect(MemoryRef):
    query: Text = Field(min_length=1, description="The question.")
    mode: Literal["keyword", "vector", "hybrid"] = "hybrid"
    limit: int = Field(default=5, ge=1, le=100, description="How many hits count as the answer.")
    since: Label | None = Since
    until: Label | None = Until


@dataclass(frozen=True, slots=True, kw_only=True)
class Bisected:
    id: str
    change: str
    """starts or stops: what it does at the event."""
    event: int | None = None
    """None when no event did it."""
    at: Moment | None = None
    operation: str | None = None
    subject: str | None = None
    actor: str | None = None
    commit: str | None = None
    """The commit that has the event; None when it is not in git yet."""
    asked: int
    """How often the question was asked."""
    note: str | None = None
