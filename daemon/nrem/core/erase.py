"""Erase one memory for good: every version, from the store, from its indexes and from the history in git.

Order: it is forgotten and the erasure is noted, in one transaction; git is rewritten and its old objects
deleted; rows are emptied and the receipt is written, in one transaction; the file is written anew; the
erasure is done. Whatever is cut short, start-up takes up again from the first step that is not sure.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator

from nrem.clock import Clock
from nrem.core.record import count_files
from nrem.core.workspaces import Workspace, Workspaces
from nrem.errors import NremError
from nrem.model import By, Caller, Scope
from nrem.policy.erasing import Needle
from nrem.store import backup, commits, erasures, model_lines, scopes, search, sweeps
from nrem.store.database import Database
from nrem.store.driver import Connection
from nrem.store.erasures import Erasure
from nrem.wire import OPERATIONS, Erased, read_answer, write_json
from nrem.workspace import rewriting
from nrem.workspace.rewriting import Outcome

NO_GIT = Outcome(objects=0, files=(), past_files=(), messages=())


def erase(
    store: Database, workspace: Workspace, scope: Scope, id: str, *, caller: Caller, clock: Clock
) -> Erased:
    """Erase a memory and return the receipt; asked again, the receipt is the same.

    Raises NotFound for an id that this scope never had, and Conflict, before anything is changed, when
    somebody else has the history: a remote, or a branch, tag or stash of a person's.
    """
    by = By(actor=caller.actor, cause="erase", now=clock.now())

    def begin(db: Connection) -> None:
        erasures.begin(db, scopes.get(db, scope.name).number, id, by)

    with workspace.lock, backup.kept_away(store.path.with_name("backups")):
        with store.reading() as db:
            known = erasures.find(db, scope.number, id)
            needle = None if known else erasures.needle(db, scope.number, id)
        if needle is not None:
            if workspace.has_git:
                rewriting.check(workspace.repository(now=by.now), needle)
            store.write(begin)
            with store.reading() as db:
                known = erasures.find(db, scope.number, id)
        assert known is not None
        return _read(known) if known.is_done else _finish(store, workspace, known, clock)


def finish(store: Database, workspaces: Workspaces, *, clock: Clock) -> Iterator[NremError]:
    """Finish the erasures that were cut short; yield what keeps one from that."""
    with store.reading() as db:
        begun = erasures.pending(db)
    for erasure in begun:
        workspace = workspaces.of(erasure.scope)
        try:
            with workspace.lock, backup.kept_away(store.path.with_name("backups")):
                _finish(store, workspace, erasure, clock)
        except NremError as error:
            yield error


def _finish(store: Database, workspace: Workspace, erasure: Erasure, clock: Clock) -> Erased:
    receipt = _read(erasure) if erasure.receipt else _take_out(store, workspace, erasure, clock)
    while store.write(search.merge_step):
        pass
    store.matrices.drop(erasure.scope.number)
    store.pasts.drop(erasure.scope.number)
    store.vacuum()
    store.write(functools.partial(erasures.finish, erasure=erasure, now=clock.now()))
    return receipt


def _take_out(store: Database, workspace: Workspace, erasure: Erasure, clock: Clock) -> Erased:
    """Rewrite git by the texts that the events still have, then empty the rows."""
    scope = erasure.scope.number
    store.write(lambda db: None)  # recalls that are queued are written before this returns
    with store.reading() as db:
        needle = erasures.needle(db, scope, erasure.id)
        others = erasures.others(db, scope, needle)
        asked = erasures.questions(db, scope, needle)
        first = erasures.first_seq(db, scope, erasure.id)
    outcome = _rewrite(store, workspace, erasure, needle, clock)
    backups = _backups(store, scope, first)
    files = _count_files(workspace, clock)

    def write(db: Connection) -> Erased:
        told = model_lines.erase(db, scope, erasure.id)
        sweeps.forget_themes(db, scope, erasure.id)
        gone = erasures.erase_rows(db, erasure, asked)
        gone = dataclasses.replace(gone, events=gone.events + told)
        commits.count_files(db, scope, files)
        receipt = Erased(
            id=erasure.id,
            at=erasure.at,
            actor=erasure.actor,
            **dataclasses.asdict(gone),
            **dataclasses.asdict(outcome),
            backups=backups,
            memories=tuple(others),
        )
        erasures.put_receipt(db, erasure, write_json(OPERATIONS["erase_memory"], receipt).decode())
        return receipt

    return store.write(write)


def _rewrite(
    store: Database, workspace: Workspace, erasure: Erasure, needle: Needle, clock: Clock
) -> Outcome:
    if not workspace.has_git:
        return NO_GIT
    try:
        return rewriting.rewrite(
            workspace.repository(now=clock.now()),
            needle,
            lambda became: store.write(lambda db: erasures.note_commits(db, erasure, became)),
        )
    finally:
        workspace.close()  # with it go the packs that it has open, and what it read from them


def _count_files(workspace: Workspace, clock: Clock) -> dict[str, int]:
    """Return how many files each commit changes: without the memory's line it may be fewer than before."""
    if not workspace.has_git:
        return {}
    repository = workspace.repository(now=clock.now())
    return {commit.id: count_files(repository, commit) for commit in repository.log()}


def _backups(store: Database, scope: int, first: int) -> tuple[str, ...]:
    """Return the copies of the store that may have the memory."""
    home = store.path.parent
    found = [file.name for file in sorted(home.glob(f"{store.path.name}.before-*"))]
    for known in backup.list_(home / "backups"):
        agents = known.contents.agents if known.contents else None
        if agents is None or any(agent.scope == scope and agent.events >= first for agent in agents):
            found.append(known.name)
    return tuple(found)


def _read(erasure: Erasure) -> Erased:
    receipt: Erased = read_answer(OPERATIONS["erase_memory"], (erasure.receipt or "").encode())
    return receipt
