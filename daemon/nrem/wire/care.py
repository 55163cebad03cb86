"""What the operations that look after the store take and give."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from nrem.model import (
    Backup,
    Finding,
)
from nrem.wire.common import AgentRef, Input


class CreateBackup(Input):
    pass


class ListBackups(Input):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Backups:
    backups: tuple[Backup, ...]


class Prune(AgentRef):
    days: int | None = Field(
        default=None, ge=1, le=36_500, description="How many are kept; recall.retention_days if not given."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    recalls: int
    hits: int
    """The memories that those recalls had found, each counted every time."""


class ShowEmbedder(Input):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderState:
    """What makes vectors, and how that goes."""

    configured: str | None
    """What the configuration means; None when vectors are off."""
    serving: str | None
    """Whose vectors are searched; None before the first."""
    dimension: int | None
    pending: int
    """Memories that wait for their vector, and are found by words alone."""
    given_up: int
    """Memories that it has no vector for."""
    problem: str | None
    """Why recalls go by words, when they do."""


class Doctor(Input):
    deep: bool = Field(default=False, description="Also recompute every event and compare every memory.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    findings: tuple[Finding, ...]
