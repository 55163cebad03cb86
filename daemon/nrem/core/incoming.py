"""Takes an agent's memory in from a workspace: what git has of it is checked, then made rows again."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from nrem.core.record import published
from nrem.errors import Corrupt, NotFound
from nrem.model import Event, RecallLine, Scope
from nrem.sections import Config
from nrem.store import commits, recall_lines, replay
from nrem.store.commits import Watermark
from nrem.store.driver import Connection
from nrem.store.memory_rows import from_payload
from nrem.workspace import journal, record
from nrem.workspace.history import History
from nrem.workspace.repository import Repository

T = TypeVar("T")


class Target(Protocol):
    """A store that takes it in: the open one, or a new one that nobody has yet."""

    def write(self, run: Callable[[Connection], T]) -> T: ...

    def reading(self) -> AbstractContextManager[Connection]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A memory as a workspace's branch has it, found to be whole."""

    head: str
    events: tuple[Event, ...]
    history: History
    recalls: tuple[RecallLine, ...] = ()

    @property
    def weight(self) -> int:
        """How many events, memories and recalls there are to be stored."""
        return len(self.events) + len(self.history.records) + len(self.recalls)


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
    lines = {file.path: repository.read(head, file.path) for file in repository.files(head, journal.RECALLS)}
    recalls = tuple(journal.salvage_recalls(lines))  # a broken line is one recall less, not a lost memory
    return Incoming(head=head, events=found.events, history=found.history, recalls=recalls)


def store(
    target: Target,
    repository: Repository,
    name: str,
    incoming: Incoming,
    settings: Config,
    advance: Callable[[int], None] = lambda number: None,
) -> Scope:
    """Make a scope of what was read, and the ledger of its commits; replay.finish lets it be reached."""
    history = incoming.history
    scope = target.write(lambda db: replay.begin(db, name, created_at=incoming.events[0].at))
    steps = replay.steps(scope.number, incoming.events, history.records, history.ended)
    try:
        for one in history.records:
            if from_payload(one.payload).id != one.subject:
                raise ValueError(one.subject)
        for number, step in steps:
            target.write(step)
            advance(number)
        for start in range(0, len(incoming.recalls), replay.STEP):
            some = incoming.recalls[start : start + replay.STEP]
            target.write(functools.partial(recall_lines.add_lines, scope=scope.number, lines=some))
            advance(len(some))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Corrupt(
            f"the workspace of {name} has a memory that cannot be one ({type(error).__name__})",
            hint="it was not written by nrem, or by a newer one",
            code="workspace_damaged",
        ) from error
    with target.reading() as db:
        log = reversed(repository.log(incoming.head))
        made = [published(db, repository, scope.number, commit, settings) for commit in log]
        last = recall_lines.last_number(db, scope.number)
    mark = Watermark(seq=incoming.events[-1].seq, commit=incoming.head, recall=last)
    target.write(lambda db: commits.record(db, scope.number, made, mark))
    return scope
