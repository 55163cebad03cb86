"""What is said of an operation: its name, what it takes and gives, its route, and who may use it."""

from __future__ import annotations

from dataclasses import dataclass

from nrem.model import Right
from nrem.wire.common import Input


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    name: str
    summary: str
    route: str
    takes: type[Input]
    gives: type
    right: Right
    shared: bool = False
    """Names no agent, and is there also for whoever reaches one agent only."""
    status: int = 200
    """What HTTP answers when it went well."""
    patience: float = 60.0
    """How many seconds a client waits for the answer."""

    @property
    def method(self) -> str:
        return self.route.partition(" ")[0]

    @property
    def path(self) -> str:
        return self.route.partition(" ")[2]
