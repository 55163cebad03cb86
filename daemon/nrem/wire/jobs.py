"""What the operations on jobs take and give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from nrem.model import Moment
from nrem.wire.common import Input
from nrem.wire.fields import PAGE, Label

State = Literal["queued", "running", "done", "dead"]


class ListJobs(Input):
    state: State | None = Field(default=None, description="Only of this state.")
    limit: int = Field(default=20, ge=1, le=PAGE, description="At most so many.")


class JobRef(Input):
    id: Label


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Something that is done in the background for an agent."""

    id: str
    kind: str
    agent: str
    key: str
    """What tells it from others of its kind; of a schedule, the time it is for."""
    state: State
    due_at: Moment
    attempts: int
    last_error: str | None
    created_at: Moment
    finished_at: Moment | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    jobs: tuple[Job, ...]
