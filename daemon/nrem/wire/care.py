"""What the operations that look after the store take and give."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from nrem.model import (
    Backup,
    Finding,
)
from nrem.wire.common import Input


class CreateBackup(Input):
    pass


class ListBackups(Input):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Backups:
    backups: tuple[Backup, ...]


class Doctor(Input):
    deep: bool = Field(default=False, description="Also recompute every event and compare every memory.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    findings: tuple[Finding, ...]
