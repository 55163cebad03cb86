"""The commits of a workspace, from the index that the database has of them."""

from __future__ import annotations

from nrem.core.changes import Changes, Most, changes
from nrem.core.follow import follow
from nrem.core.publish import GIT_IS_OFF
from nrem.core.workspaces import Workspace
from nrem.model import Counts, Published, Scope
from nrem.sections import Config
from nrem.store import commits
from nrem.store.database import Database
from nrem.store.driver import Connection
from nrem.wire import Log, LogEntry, ReadLog

MOST = Most(memories=20, text=200)
"""What is told of each commit."""


def read_log(
    store: Database, workspace: Workspace, settings: Config, scope: Scope, request: ReadLog, *, now: int
) -> Log:
    """Return an agent's commits, newest first; people's own are among them."""
    missing = follow(store, workspace, settings, scope, now=now)
    with store.reading() as db:
        found = commits.list_(db, scope.number, limit=request.limit)
        entries = [
            _entry(commit, _changes(db, scope.number, commit, request.include_diff)) for commit in found
        ]
        waiting = commits.waiting(db, scope.number)
    git = settings.workspace.git
    return Log(
        commits=tuple(entries),
        unpublished=waiting.count if git else 0,
        note=missing if git else GIT_IS_OFF,
    )


def _changes(db: Connection, scope: int, commit: Published, wanted: bool) -> Changes:
    if not wanted or commit.events is None:
        return Changes(memories=(), counts=Counts())
    first, last = commit.events
    return changes(db, scope, first - 1, last, MOST)


def _entry(commit: Published, changed: Changes) -> LogEntry:
    first, last = commit.events or (None, None)
    return LogEntry(
        commit=commit.commit,
        parent=commit.parent,
        cause=commit.cause,
        at=commit.at,
        subject=commit.subject,
        first_event=first,
        last_event=last,
        added=commit.counts.added,
        changed=commit.counts.changed,
        forgotten=commit.counts.forgotten,
        files=commit.counts.files,
        memories=changed.memories,
        more=changed.more,
    )
