"""The record of an agent's memory as a commit has it: read, and checked against itself."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from nrem.errors import NotFound, NremError
from nrem.model import Event
from nrem.policy.chain import GENESIS
from nrem.workspace import fsck, journal, names
from nrem.workspace.files import Files
from nrem.workspace.history import History, fold
from nrem.workspace.repository import Repository

Layer = Literal["objects", "events", "state", "trailers"]


@dataclass(frozen=True, slots=True)
class Problem:
    layer: Layer
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a commit has of a memory; its events and what they add up to are None when they cannot be read."""

    head: str
    events: tuple[Event, ...] | None
    history: History | None
    problems: tuple[Problem, ...]

    @property
    def seq(self) -> int:
        """The last event that is in git."""
        return self.events[-1].seq if self.events else 0


def read(repository: Repository, head: str) -> Recorded:
    """Read what the branch's last commit records, and compare its parts with each other."""
    problems = [Problem("objects", message) for message in repository.check(head)]
    events: tuple[Event, ...] | None = None
    history = None
    try:
        journal.check_format(repository.read(head, journal.FORMAT_PATH))
        events = tuple(journal.parse_events(_files(repository, head, journal.EVENTS)))
        history = fold(events)
    except NremError as error:
        problems.append(Problem("events", error.message))
    except fsck.UNREADABLE as error:
        problems.append(Problem("events", f"the events cannot be read ({type(error).__name__})"))
    try:
        states = _files(repository, head, journal.STATE)
        problems += [Problem("state", message) for message in _compare(states, history)]
        problems += [Problem("trailers", message) for message in _trailers(repository, head, events, states)]
    except NremError as error:
        problems.append(Problem("state", error.message))
    except fsck.UNREADABLE as error:
        problems.append(Problem("state", f"the state cannot be read ({type(error).__name__})"))
    return Recorded(head=head, events=events, history=history, problems=tuple(problems))


def strayed(repository: Repository, head: str) -> Iterator[str]:
    """Yield what nrem's own files in the folder have that the commit has not, or lack, or have otherwise."""
    files = Files(repository.root, managed=True)
    known = {file.path for file in repository.files(head, names.MANAGED)}
    for path in sorted(known):
        try:
            if files.read(path) != repository.read(head, path):
                yield f"{path} is not as it was committed"
        except NotFound:
            yield f"{path} is missing from the folder"
        except NremError as error:
            yield f"{path}: {error.message}"
    inside = (repository.root / names.MANAGED).rglob("*")
    there = {file.relative_to(repository.root).as_posix() for file in inside if not file.is_dir()}
    for path in sorted(there - known):
        if not path.rpartition("/")[2].startswith(names.TEMPORARY):
            yield f"{path} is not in git"


def _files(repository: Repository, head: str, folder: str) -> dict[str, bytes]:
    return {file.path: repository.read(head, file.path) for file in repository.files(head, folder)}


def _compare(states: Mapping[str, bytes], history: History | None) -> Iterator[str]:
    """Yield where the state files differ from what the events add up to: the first line of each file."""
    if history is None:
        for _ in journal.parse_states(states):  # raises at the first that is not in its place
            pass
        return
    expected = journal.render_states(history.records)
    for path in sorted(states.keys() | expected.keys()):
        if path not in states:
            yield f"{path} is missing"
        elif path not in expected:
            yield f"{path} has memories that no event left"
        elif states[path] != expected[path]:
            lines = zip_longest(states[path].splitlines(), expected[path].splitlines())
            number = next((i for i, (found, due) in enumerate(lines, 1) if found != due), 1)
            yield f"{path}:{number} is not what the events say"


def _trailers(
    repository: Repository, head: str, events: tuple[Event, ...] | None, states: Mapping[str, bytes]
) -> Iterator[str]:
    """Compare the files with what nrem's last commit says of them."""
    said, reached, commit = None, None, head
    for found in repository.log(head):
        message = journal.parse_message(found.subject, found.trailers)
        if message is not None and said is None:
            said, commit = message, found.id
        if message is not None and message.events is not None:
            reached = message.events[1]
            break
    if said is None:
        yield "no commit of nrem's is on the branch"
        return
    short = commit[:10]
    if said.state != journal.state_root(
        {path: hashlib.sha256(data).digest() for path, data in states.items()}
    ):
        yield f"Nrem-State of commit {short} is not the hash of the state files"
    if events is None:
        return
    if said.chain != (events[-1].chain if events else GENESIS):
        yield f"Nrem-Chain of commit {short} is not the hash of the last event in git"
    if reached != (events[-1].seq if events else None):
        yield f"Nrem-Events of the branch ends at {reached}, and its events at {len(events)}"
