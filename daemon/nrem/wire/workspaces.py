"""What the operations on workspaces take and give."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from nrem.model import (
    Moment,
)
from nrem.wire.common import AgentRef
from nrem.wire.fields import (
    Label,
)


class Checkpoint(AgentRef):
    note: Label | None = Field(default=None, description="What the checkpoint is for; ends up in git.")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A file that is not in git, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointMade:
    commit: str | None
    """None when there was nothing to commit."""
    subject: str | None = None
    added: int = 0
    """Memories that are new since the last commit."""
    changed: int = 0
    forgotten: int = 0
    files: int = 0
    """Files of people's and agents' own that were changed."""
    left_out: tuple[LeftOut, ...] = ()
    note: str | None = None
    """Why there is no commit."""


class ReadFile(AgentRef):
    path: Label = Field(description="Within the workspace, such as MEMORY.md or notes/plan.md.")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceFile:
    path: str
    content: str


class ReadLog(AgentRef):
    limit: int = Field(default=20, ge=1, le=100, description="Most commits that are given.")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    commit: str
    parent: str | None
    cause: str
    """template, checkpoint, dream, idle, shutdown; person for a commit that is not nrem's."""
    at: Moment
    subject: str
    first_event: int | None
    last_event: int | None
    added: int
    changed: int
    forgotten: int
    files: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    commits: tuple[LogEntry, ...]
    unpublished: int
    """Events that are not in git yet."""
    note: str | None = None
    """Why there are no commits, where none are made."""
