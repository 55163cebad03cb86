"""Write a file of a workspace, and nothing outside of it."""

from __future__ import annotations

from nrem.core.scrub import Scrubber
from nrem.core.workspaces import Workspace
from nrem.errors import Denied, InvalidField
from nrem.model import Caller, Scope, Trust
from nrem.sections import Config
from nrem.store import scopes
from nrem.store.database import Database
from nrem.wire import WriteFile, WrittenFile
from nrem.workspace.files import Files


def write_file(
    store: Database,
    workspace: Workspace,
    settings: Config,
    scope: Scope,
    request: WriteFile,
    *,
    caller: Caller,
) -> WrittenFile:
    """Put a file in place as a whole, durably; the next commit has it.

    Raises Denied, InvalidField or Conflict naming `path`, and InvalidField naming what holds a secret. What
    the files say counts as the owner's word, so a caller whose text is not trusted is refused.
    """
    if caller.trust is not Trust.TRUSTED:
        raise Denied(
            "files of the workspace are not for callers whose text is not trusted",
            hint="store a memory instead; it keeps its trust",
            code="untrusted",
        )
    _refuse_secrets(settings, "path", request.path)
    _refuse_secrets(settings, "content", request.content)
    content = request.content.encode()
    with workspace.lock:  # opening the repository clears away half-written files
        with store.reading() as db:
            scopes.count(db, scope.number)  # it may have been removed, and its name given to another
        Files(workspace.root).write(request.path, content)
    return WrittenFile(path=request.path, size=len(content))


def _refuse_secrets(settings: Config, field: str, text: str) -> None:
    """Raise for a secret, also where memories are redacted: a file keeps its bytes or is not written."""
    scrub = Scrubber(settings, refuse=False)
    scrub.text(field, text)
    if scrub.fired:
        raise InvalidField(
            field,
            f"holds a secret ({scrub.fired[0]})",
            hint="take it out, and name the environment variable that has it instead",
            code="secret_found",
        )
