"""Push an agent's commits to its remote, and tell how far that is."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from nrem.core.workspaces import Workspace
from nrem.errors import Conflict, NremError, Unavailable
from nrem.model import Scope
from nrem.sections import Config
from nrem.store import commits, remotes, scopes
from nrem.store.database import Database
from nrem.store.driver import Connection
from nrem.store.remotes import Remote
from nrem.wire import RemoteStatus
from nrem.workspace import remote
from nrem.workspace.remote import RemoteDiverged

FIRST_WAIT = 30_000
LONGEST_WAIT = 3_600_000


def push(store: Database, workspace: Workspace, settings: Config, scope: Scope, *, now: int) -> Remote | None:
    """Push what was committed, if it is time to; return what became of it, None when nothing was tried."""
    url = remote_url(settings, scope)
    if not url or not settings.workspace.git:
        return None
    with store.reading() as db:
        mark = commits.watermark(db, scope.number)
        known = remotes.find(db, scope.number, url)
    if mark is None or not _is_due(known, mark.commit, now):
        return None
    known = known or Remote(
        url=url, commit=None, pushed_at=None, tried_at=now, failures=0, error=None, diverged=False
    )
    try:
        with workspace.lock:
            branch = workspace.repository(now=now).branch
        remote.push(workspace.root, branch, mark.commit, url, _credentials(settings, scope))
    except NremError as error:
        found = dataclasses.replace(
            known,
            tried_at=now,
            failures=known.failures + 1,
            error=error.message,
            diverged=isinstance(error, RemoteDiverged),
        )
    else:
        found = Remote(
            url=url, commit=mark.commit, pushed_at=now, tried_at=now, failures=0, error=None, diverged=False
        )

    def write(db: Connection) -> None:
        scopes.count(db, scope.number)  # it may have been removed
        remotes.note(db, scope.number, found)

    store.write(write)
    return found


def remote_url(settings: Config, scope: Scope) -> str:
    """Return where an agent's commits are pushed to; empty when they are not."""
    return settings.workspace.remote.replace("{agent}", scope.name)


def refuse_erasing(settings: Config, scope: Scope) -> None:
    """Raise Conflict where commits are pushed: what was erased here would still be there."""
    if url := remote_url(settings, scope):
        raise Conflict(
            f"the commits of this workspace are pushed to {url}, and nrem cannot erase there",
            hint="delete the branch on the remote, take workspace.remote away, and repeat",
            code="erase_pushed",
        )


def status(db: Connection, settings: Config, scope: Scope) -> RemoteStatus | None:
    """Tell how far an agent's remote is behind, and what is wrong; None without a remote."""
    url = remote_url(settings, scope)
    if not url:
        return None
    known = remotes.find(db, scope.number, url)
    return RemoteStatus(
        url=url,
        ahead=remotes.ahead(db, scope.number, known.commit if known else None),
        pushed_at=known.pushed_at if known else None,
        tried_at=known.tried_at if known else None,
        error=known.error if known else None,
        diverged=known is not None and known.diverged,
    )


def _is_due(known: Remote | None, commit: str, now: int) -> bool:
    if known is None:
        return True
    if known.failures == 0:
        return known.commit != commit
    wait = LONGEST_WAIT if known.diverged else min(FIRST_WAIT << min(known.failures - 1, 20), LONGEST_WAIT)
    return not known.tried_at <= now < known.tried_at + wait


def _credentials(settings: Config, scope: Scope) -> str | None:
    """Return what the token file holds. It is for https alone: ssh has its keys."""
    named = settings.workspace.remote_token_file.replace("{agent}", scope.name)
    if not named or not remote_url(settings, scope).startswith("http"):
        return None
    try:
        return Path(named).expanduser().read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Unavailable(
            f"the file of workspace.remote_token_file cannot be read: {type(error).__name__}",
            hint="put the token there, for the daemon's user to read",
            code="token_file_unreadable",
        ) from error
