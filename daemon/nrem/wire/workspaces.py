"""What the operations on workspaces take and give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from nrem.model import (
    Moment,
)
from nrem.wire.common import AgentRef
from nrem.wire.fields import (
    Label,
    Text,
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


class Restore(AgentRef):
    to: Label | None = Field(
        default=None,
        description="A time, or the id of a commit, a session or a recall; may be left out to undo a forget.",
    )
    only: Label | None = Field(default=None, description="The id of the one memory that is restored.")
    dry_run: bool = Field(default=False, description="Only tell what would change.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredMemory:
    id: str
    change: str
    """added: it had been forgotten; changed: it has an older state; forgotten: it was not there then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRestored:
    """A memory that stays as it is, and why."""

    id: str
    reason: str
    other: str | None = None
    """The memory that has its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    to: str
    at: Moment
    event: int
    """The last event of the state that was restored."""
    added: int
    changed: int
    forgotten: int
    not_restored: int
    memories: tuple[RestoredMemory, ...]
    """The first hundred of them."""
    left: tuple[NotRestored, ...]
    """The first hundred of those that could not be restored."""
    dry_run: bool
    commit: str | None = None
    note: str | None = None
    """Why there is no commit."""


class ReadFile(AgentRef):
    path: Label = Field(description="Within the workspace, such as MEMORY.md or notes/plan.md.")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceFile:
    path: str
    content: str


class WriteFile(AgentRef):
    path: Label = Field(description="Within the workspace, such as notes/plan.md; folders are made.")
    content: Text = Field(description="The whole text of the file, 1 MiB at most.")


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    path: str
    size: int
    """In bytes."""


class ListFiles(AgentRef):
    path: Label | None = Field(default=None, description="A folder of the workspace; its top if not given.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedFile:
    path: str
    folder: bool
    size: int
    """In bytes; 0 for a folder."""
    changed_at: Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedFiles:
    files: tuple[ListedFile, ...]
    """By path. Links, devices, files with a second name and git's own are left out."""


class ShowFile(AgentRef):
    commit: Label = Field(description="A commit of the workspace's history, or the beginning of its id.")
    path: Label = Field(description="Within the workspace, such as MEMORY.md.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFile:
    commit: str
    path: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """A field of a memory before and after; None is no value."""

    field: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryChange:
    """What became of a memory between two points."""

    id: str
    change: Literal["added", "changed", "forgotten"]
    kind: str | None = None
    content: str | None = None
    """Its text afterwards, or the last that it had; cut when it is long."""
    fields: tuple[FieldChange, ...] = ()
    """What differs, of one that changed."""
    erased: bool = False
    """Whether a text is missing here because it was erased."""


class Diff(AgentRef):
    a: Label = Field(
        description="The point to compare from: a time, or the id of a commit, a recall or a session."
    )
    b: Label | None = Field(default=None, description="The point to compare with; now if not given.")
    text: bool = Field(default=False, description="Give a unified diff of the workspace's files too.")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffPoint:
    word: str
    at: Moment
    event: int
    """The last event that had happened; 0 is before everything."""
    commit: str | None
    """The last commit that had been made; None before the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    a: DiffPoint
    b: DiffPoint
    added: int
    changed: int
    forgotten: int
    memories: tuple[MemoryChange, ...]
    """In the order of their events."""
    more: int = 0
    """How many are counted and not listed."""
    promoted: tuple[str, ...] = ()
    """Memories that have a line in MEMORY.md at b and had none at a; then the reverse."""
    demoted: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """People's own files in which the commits of the two points differ."""
    text: str | None = None
    """The unified diff of these files, if asked for."""
    text_cut: bool = False
    """Whether the end of it is missing, because it is too long."""
    notes: tuple[str, ...] = ()


class Verify(AgentRef):
    pass


class ReadLog(AgentRef):
    limit: int = Field(default=20, ge=1, le=100, description="Most commits that are given.")
    include_diff: bool = Field(
        default=False, description="Tell of each commit which memories came, changed and went."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    commit: str
    parent: str | None
    cause: str
    """template, checkpoint, dream, restore, erase, idle, shutdown, removal; person: not a commit of ours."""
    at: Moment
    subject: str
    first_event: int | None
    last_event: int | None
    added: int
    changed: int
    forgotten: int
    files: int
    memories: tuple[MemoryChange, ...] = ()
    """What became of them, if asked for."""
    more: int = 0
    """How many are counted and not listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    commits: tuple[LogEntry, ...]
    unpublished: int
    """Events that are not in git yet."""
    note: str | None = None
    """Why there are no commits, where none are made; why some may be missing."""
