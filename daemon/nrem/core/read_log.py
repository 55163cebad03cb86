"""The commits of a workspace, from the index that the database has of them."""

from __future__ import annotations

from nrem.config import Config
from nrem.core.publish import GIT_IS_OFF
from nrem.model import Published, Scope
from nrem.store import commits
from nrem.store.database import Database
from nrem.wire import Log, LogEntry


def read_log(store: Database, settings: Config, scope: Scope, *, limit: int) -> Log:
    """Return an agent's commits, newest first."""
    with store.reading() as db:
        found = commits.list_(db, scope.number, limit=limit)
        unpublished = commits.count_unpublished(db, scope.number)
    return Log(
        commits=tuple(map(_entry, found)),
        unpublished=unpublished,
        note=None if settings.workspace.git else GIT_IS_OFF,
    )


def _entry(commit: Published) -> LogEntry:
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
    )
