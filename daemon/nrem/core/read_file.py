"""Read a file of a workspace, and nothing outside of it."""

from __future__ import annotations

from nrem.core.workspaces import Workspace
from nrem.errors import InvalidField
from nrem.wire import WorkspaceFile
from nrem.workspace.files import Files


def read_file(workspace: Workspace, path: str) -> WorkspaceFile:
    """Return the text of a file; raise NotFound, Denied or InvalidField, each naming `path`."""
    content = Files(workspace.root).read(path)
    try:
        return WorkspaceFile(path=path, content=content.decode())
    except UnicodeDecodeError:
        raise InvalidField("path", "is not a text in UTF-8") from None
