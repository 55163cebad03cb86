"""Compare the three records of an agent's memory: the database, the workspace's git, and the ledger between.

Nothing is changed. Everything that differs is named at once, each with what to do.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from itertools import islice, zip_longest

from nrem.core.record import published
from nrem.core.soundness import check_chain, check_index, check_rows
from nrem.core.workspaces import Workspace
from nrem.errors import NremError
from nrem.model import Finding, Level, Published, Scope
from nrem.sections import Config
from nrem.store import checks, commits, driver, events
from nrem.store.database import Database
from nrem.store.driver import Connection
from nrem.wire import Diagnosis
from nrem.workspace import record
from nrem.workspace.record import Layer, Recorded
from nrem.workspace.repository import Repository

IDS = {
    "NR044": "events",
    "NR045": "memories",
    "NR046": "keyword index",
    "NR060": "git",
    "NR061": "git objects",
    "NR062": "git events",
    "NR063": "git state",
    "NR064": "commit trailers",
    "NR065": "workspace files",
    "NR066": "ledger",
}
"""Every finding there is; docs/recovery.md explains each."""

MOST_NAMED = 20
"""Findings of one kind that are told one by one."""

_RESTORE = "nrem backup restore NAME; or, if git is sound, nrem down and nrem rebuild"
_OF_GIT = "bring the commit back from a clone; or take the whole workspace from one: nrem agent add --from"
_REWRITE = "nrem checkpoint: it writes the record again, from the database, when a person's commit changed it"
_HINTS = {
    "NR044": _RESTORE,
    "NR045": _RESTORE,
    "NR046": "nrem down, then nrem up: the start builds it anew",
    "NR061": _OF_GIT,
    "NR062": _REWRITE,
    "NR063": _REWRITE,
    "NR064": _REWRITE,
    "NR065": "nrem checkpoint puts nrem's own files back",
    "NR066": "nrem down and nrem rebuild: it makes the ledger from git",
}
_LAYERS: dict[Layer, str] = {"objects": "NR061", "events": "NR062", "state": "NR063", "trailers": "NR064"}


def verify(store: Database, workspace: Workspace, settings: Config, scope: Scope, *, now: int) -> Diagnosis:
    """Check one agent; publishing waits meanwhile, so that all of it is of one moment."""
    with workspace.lock, checks.inspecting(store.path) as db:
        found = list(_database(db, scope.number))
        if not settings.workspace.git:
            found.append(_finding("NR060", "ok", "workspace.git is off: only the database was checked"))
        else:
            found += _git(db, workspace, settings, scope.number, now)
    return Diagnosis(findings=tuple(found))


def _database(db: Connection, scope: int) -> Iterator[Finding]:
    yield from _told("NR044", _guarded(_chain(db, scope)), "the chain is unbroken")
    yield from _told("NR045", _guarded(check_rows(db, scope)), "each is as its events made it")
    yield from _told("NR046", _guarded(check_index(db, scope)), "it has every memory")


def _chain(db: Connection, scope: int) -> Iterator[str]:
    _, wrong = check_chain(db, scope)
    if wrong is not None:
        yield wrong


def _git(db: Connection, workspace: Workspace, settings: Config, scope: int, now: int) -> Iterator[Finding]:
    try:
        repository = workspace.repository(now=now)
        head = repository.head()
    except NremError as error:
        yield _finding("NR060", "error", error.message, error.hint)
        return
    if head is None:
        yield _finding("NR060", "warning", "nothing is committed yet", "nrem checkpoint")
        return
    yield _finding("NR060", "ok", f"branch {repository.branch} at {head[:10]}")
    recorded = record.read(repository, head)
    differing = list(_guarded(_compare_events(db, scope, recorded)))
    number = "1 event" if recorded.seq == 1 else f"{recorded.seq:,} events"
    sound = {
        "objects": "each is there, and what its name says",
        "events": f"{number}, the same as in the database",
        "state": "it is what the events add up to",
        "trailers": "they fit the files",
    }
    for layer, id in _LAYERS.items():
        wrong = [problem.message for problem in recorded.problems if problem.layer == layer]
        yield from _told(id, wrong + (differing if layer == "events" else []), sound[layer])
    if any(problem.layer == "objects" for problem in recorded.problems):
        return  # what follows reads the same objects
    yield from _told("NR065", record.strayed(repository, head), "nrem's own are as they were committed")
    compared = _compare_ledger(db, repository, settings, scope, recorded)
    yield from _told("NR066", _guarded(compared), "it has every commit of the branch")


def _compare_events(db: Connection, scope: int, recorded: Recorded) -> Iterator[str]:
    """Yield the first event that git has and the database has not, or has otherwise."""
    if recorded.events is None:
        return
    ours = islice(events.read(db, scope), len(recorded.events))
    for there, here in zip_longest(recorded.events, ours):
        if there != here:
            how = "is not in the database" if here is None else "is another in the database"
            yield f"event {there.seq} {how}"
            return


def _compare_ledger(
    db: Connection, repository: Repository, settings: Config, scope: int, recorded: Recorded
) -> Iterator[str]:
    """Yield where the ledger and the branch differ; what came after the watermark is not due yet."""
    log = {commit.id: commit for commit in repository.log(recorded.head)}
    known = {commit.commit: commit for commit in commits.list_(db, scope, limit=-1)}
    mark = commits.watermark(db, scope)
    if mark is None:
        yield "it has no watermark, and the branch has commits"
        return
    if mark.commit not in log:
        yield f"its watermark is at commit {mark.commit[:10]}, which is not on the branch"
        return
    later = {commit.id for commit in repository.log(recorded.head, known=mark.commit)}
    for id, commit in reversed(log.items()):
        if id in known:
            due = published(db, repository, scope, commit, settings)
            for name in _differing(known[id], due):
                yield f"{name} of commit {id[:10]} is not what git says"
        elif id not in later:
            yield f"commit {id[:10]} is on the branch, and not in the ledger"
    for id in known:
        if id not in log:
            yield f"commit {id[:10]} is in the ledger, and not on the branch"
    if not later and recorded.events is not None and mark.seq != recorded.seq:
        yield f"its watermark is at event {mark.seq}, and git has {recorded.seq}"


def _differing(known: Published, due: Published) -> list[str]:
    """Return the fields in which two differ; git keeps times to the second."""
    known = dataclasses.replace(known, at=known.at // 1000 * 1000)
    names = (field.name for field in dataclasses.fields(known))
    return [name for name in names if getattr(known, name) != getattr(due, name)]


def _guarded(found: Iterator[str]) -> Iterator[str]:
    """Yield what a comparison finds; a value that keeps it from ending is itself found."""
    try:
        yield from found
    except driver.Error as error:
        yield driver.translate(error).message
    except (AttributeError, KeyError, TypeError, ValueError) as error:  # what a changed byte can make
        yield f"a value is not what it should be ({type(error).__name__})"


def _told(id: str, wrong: Iterable[str], sound: str) -> Iterator[Finding]:
    """Yield a finding for each thing that is wrong, or one that nothing is."""
    messages = list(wrong)
    for message in messages[:MOST_NAMED]:
        yield _finding(id, "error", message, _HINTS[id])
    if len(messages) > MOST_NAMED:
        yield _finding(id, "error", f"and {len(messages) - MOST_NAMED} more", _HINTS[id])
    if not messages:
        yield _finding(id, "ok", sound)


def _finding(id: str, level: Level, message: str, hint: str | None = None) -> Finding:
    clean = message.encode(errors="backslashreplace").decode()
    return Finding(id=id, level=level, subject=IDS[id], message=clean, hint=hint)
