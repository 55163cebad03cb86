"""Show a file as it was in a commit of the workspace's own history."""

from __future__ import annotations

from nrem.core.workspaces import Workspace
from nrem.errors import InvalidField, NotFound
from nrem.model import Scope
from nrem.store import erasures
from nrem.store.database import Database
from nrem.wire import ShowFile, ShownFile
from nrem.workspace import names
from nrem.workspace.files import LIMIT


def show_file(
    store: Database, workspace: Workspace, scope: Scope, request: ShowFile, *, now: int
) -> ShownFile:
    """Return the text of a file; raise NotFound when the branch has no such commit, or it no such file."""
    names.check_readable(request.path)
    with workspace.lock:
        repository = workspace.existing(now=now)
        if repository is None:
            raise NotFound(
                "the workspace has no repository", hint="nrem checkpoint", code="repository_not_found"
            )
        with store.reading() as db:
            name = erasures.current_commit(db, scope.number, request.commit) or request.commit
        commit = repository.find(name)
        content = repository.read(commit, request.path)
    if len(content) > LIMIT:
        raise InvalidField(
            "path",
            f"is larger than {LIMIT >> 20} MiB",
            hint=f"run `git show {commit[:10]}:{request.path}` in the workspace",
            code="file_too_large",
        )
    try:
        return ShownFile(commit=commit, path=request.path, content=content.decode())
    except UnicodeDecodeError:
        raise InvalidField("path", "is not a text in UTF-8") from None
