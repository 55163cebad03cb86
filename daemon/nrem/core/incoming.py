"""Takes an agent's memory in from a workspace: what git has of it is checked, then made rows again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nrem.config import Config
from nrem.core.record import published
from nrem.errors import Corrupt, NotFound
from nrem.model import Event, Scope
from nrem.store import commits, replay
from nrem.store.commits import Watermark
from nrem.store.driver import Connection
from nrem.workspace import record
from nrem.workspace.history import History
from nrem.workspace.repository import Repository

Write = Callable[[Callable[[Connection], object]], object]
"""Runs a function in a transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A memory as a workspace's branch has it, found to be whole."""

    head: str
    events: tuple[Event, ...]
    history: History

    @property
    def weight(self) -> int:
        """How many events and memories there are to be stored."""
        return len(self.events) + len(self.history.records)


def read(repository: Repository, name: str) -> Incoming:
    """Read and check what a workspace records; raise Corrupt naming the first thing that is wrong."""
    head = repository.head()
    if head is None:
        raise NotFound(f"nothing is committed in the workspace of {name}", code="nothing_committed")
    found = record.read(repository, head)
    if found.problems or not found.events or found.history is None:
        wrong = found.problems[0].message if found.problems else "it has no events"
        raise Corrupt(
            f"the workspace of {name} is damaged: {wrong}",
            hint="bring it back from a clone of it, or leave this agent out",
            code="workspace_damaged",
            details={"agent": name, "problems": [problem.message for problem in found.problems]},
        )
    return Incoming(head=head, events=found.events, history=found.history)


def store(
    write: Write,
    repository: Repository,
    name: str,
    incoming: Incoming,
    settings: Config,
    advance: Callable[[int], None] = lambda number: None,
) -> Scope:
    """Make a scope of what was read, with the ledger of its commits; replay.finish then lets it be reached."""
    scopes: list[Scope] = []
    first = incoming.events[0].at
    write(lambda db: scopes.append(replay.begin(db, name, created_at=first)))
    scope = scopes[-1]
    history = incoming.history
    pending = settings.vector.enabled
    steps = replay.steps(scope.number, incoming.events, history.records, history.ended, pending=pending)
    for number, step in steps:
        write(step)
        advance(number)

    def note(db: Connection) -> None:
        log = reversed(repository.log(incoming.head))
        made = [published(db, repository, scope.number, commit, settings) for commit in log]
        mark = Watermark(seq=incoming.events[-1].seq, commit=incoming.head)
        commits.record(db, scope.number, made, mark)

    write(note)
    return scope
