"""Take note of commits that people made, so that history is told with them."""

from __future__ import annotations

from nrem.core.record import catch_up
from nrem.core.workspaces import Workspace
from nrem.errors import NremError
from nrem.model import Scope
from nrem.sections import Config
from nrem.store import commits, scopes
from nrem.store.commits import Watermark
from nrem.store.database import Database
from nrem.store.driver import Connection


def follow(store: Database, workspace: Workspace, settings: Config, scope: Scope, *, now: int) -> str | None:
    """Note the commits that the branch has and the database lacks; return why that was not possible.

    Where a person changed nrem's own record the next publish must still see that, so the mark of what was
    published stays where it is.
    """
    if not settings.workspace.git:
        return None
    try:
        with workspace.lock:
            _follow(store, workspace, settings, scope, now)
    except NremError as error:
        return f"the newest commits may be missing: {error.message}"
    return None


def _follow(store: Database, workspace: Workspace, settings: Config, scope: Scope, now: int) -> None:
    repository = workspace.existing(now=now)
    if repository is None:
        return
    with store.reading() as db:
        base = catch_up(db, repository, scope.number, settings)
        mark = commits.watermark(db, scope.number)
    if not base.found or base.head is None:
        return
    if not base.whole:
        mark = Watermark(seq=base.seq, commit=base.head, recall=base.recall)

    def write(db: Connection) -> None:
        scopes.count(db, scope.number)  # it may have been removed
        commits.record(db, scope.number, base.found, mark)

    store.write(write)
