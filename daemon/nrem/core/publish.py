"""Put what happened into an agent's workspace and commit it: the only thing that commits.

Order: what the database has is read in one snapshot, then files are written, then they are committed, then
the ledger notes it. Each step can be repeated. Where the ledger and the branch disagree, because a crash came
between or a person worked in the repository, the branch is read again first.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace

from nrem.core import memory_file
from nrem.core.own_files import OwnFiles, gather
from nrem.core.recall_lines import export_recalls
from nrem.core.record import Base, Record, catch_up, export
from nrem.core.scrub import Scrubber
from nrem.core.workspaces import Workspace
from nrem.errors import Conflict, NotFound
from nrem.model import Counts, Published, Scope
from nrem.sections import Config
from nrem.store import commits, migrations, scopes
from nrem.store.commits import Watermark
from nrem.store.database import Database
from nrem.store.driver import Connection
from nrem.wire import CheckpointMade
from nrem.workspace import journal, names
from nrem.workspace.commits import Signature
from nrem.workspace.files import Files
from nrem.workspace.repository import Repository
from nrem.workspace.template import NREM, agent_author

TRIES = 3
GIT_IS_OFF = "workspace.git is off for this agent: its files are there, but nothing is committed"
NOTHING_NEW = "nothing has changed since the last commit"


@dataclass(frozen=True, slots=True)
class Reason:
    """What a commit is made for, and what its subject is to say, if not how much it changes."""

    cause: str
    note: str | None = None
    run: str | None = None
    """The sweep that it is made for."""


def publish(
    store: Database, workspace: Workspace, settings: Config, scope: Scope, reason: Reason, *, now: int
) -> CheckpointMade:
    """Commit every event that is not in git yet, and what people changed in their own files.

    Raises Conflict while something else is checked out, Unavailable when a person's git command does not end,
    Corrupt when the export would lose memories that no event says are forgotten.
    """
    if reason.note is not None:
        reason = replace(reason, note=Scrubber(settings).text("note", reason.note))
    with workspace.lock:
        with store.reading() as db:
            scopes.count(db, scope.number)  # it may have been removed
        memory_file.refresh(store, workspace, scope, zone=settings.time.zone)
        if not settings.workspace.git:
            return CheckpointMade(commit=None, note=GIT_IS_OFF)
        repository = workspace.repository(now=now)
        for left in reversed(range(TRIES)):
            try:
                return _publish(store, workspace, repository, settings, scope, reason, now)
            except Conflict as error:
                if error.code != "head_moved" or left == 0:
                    raise
    raise AssertionError  # the last try returned or raised


def _publish(
    store: Database,
    workspace: Workspace,
    repository: Repository,
    settings: Config,
    scope: Scope,
    reason: Reason,
    now: int,
) -> CheckpointMade:
    repository.check_place()
    with store.reading() as db:
        base = catch_up(db, repository, scope.number, settings)
        shards = workspace.shards(repository, base.head)
        record = export(db, repository, scope.number, base, shards)
        recalls = export_recalls(db, repository, scope.number, base, settings.workspace)
    own = gather(repository, settings)
    if record.changes or record.removed or own.changes or own.removed:  # recalls alone make no commit
        record = replace(
            record,
            changes={**record.changes, **recalls.changes},
            removed=(*record.removed, *recalls.removed),
        )
    if base.head is None:
        reason = Reason("template", scope.name)
    _write(repository, base, record)
    counts = Counts(
        added=record.counts.added,
        changed=record.counts.changed,
        forgotten=record.counts.forgotten,
        files=len(own.changes) + len(own.removed),
    )
    message = _message(reason, record, counts)
    made = repository.commit(
        {**own.changes, **record.changes},
        [*own.removed, *record.removed],
        message=message,
        signature=Signature(author=agent_author(scope.name), committer=NREM, at=now),
        parent=base.head,
    )
    if made is None:
        if base.head is not None and base.is_behind:
            mark = Watermark(seq=record.seq, commit=base.head, recall=base.recall)
            _note(store, scope, base.found, mark)
        return CheckpointMade(commit=None, note=NOTHING_NEW, left_out=own.left_out)
    published = Published(
        commit=made,
        parent=base.head,
        cause=reason.cause,
        at=now,
        subject=message.partition("\n")[0],
        events=record.events,
        chain=record.chain,
        state=record.root,
        counts=counts,
    )
    mark = Watermark(seq=record.seq, commit=made, recall=recalls.last)
    _note(store, scope, (*base.found, published), mark)
    workspace.know(made, record.shards)
    return _answer(published, own)


def _write(repository: Repository, base: Base, record: Record) -> None:
    """Bring nrem's own files in the folder to what is about to be committed."""
    files = Files(repository.root, managed=True)
    for path in record.removed:
        files.remove(path)
    for path, content in record.changes.items():
        files.write(path, content)
    for path in repository.touched(names.MANAGED):  # by somebody, or by a publish that was cut short
        if path in record.changes or path in record.removed or base.head is None:
            continue
        with contextlib.suppress(NotFound):
            files.write(path, repository.read(base.head, path))


def _note(store: Database, scope: Scope, found: tuple[Published, ...], mark: Watermark) -> None:
    def write(db: Connection) -> None:
        scopes.count(db, scope.number)
        commits.record(db, scope.number, found, mark)

    store.write(write)


def _message(reason: Reason, record: Record, counts: Counts) -> str:
    if reason.note:
        what = reason.note
    elif counts.added or counts.changed or counts.forgotten or not counts.files:
        what = f"+{counts.added} -{counts.forgotten} ~{counts.changed}"
    else:
        what = "1 file" if counts.files == 1 else f"{counts.files} files"
    return journal.render_message(
        journal.Message(
            subject=f"{reason.cause}: {what}",
            cause=reason.cause,
            events=record.events,
            chain=record.chain,
            state=record.root,
            run=reason.run,
            schema=migrations.version(),
        )
    )


def _answer(published: Published, own: OwnFiles) -> CheckpointMade:
    return CheckpointMade(
        commit=published.commit,
        subject=published.subject,
        added=published.counts.added,
        changed=published.counts.changed,
        forgotten=published.counts.forgotten,
        files=published.counts.files,
        left_out=own.left_out,
    )
