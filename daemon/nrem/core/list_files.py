"""List a folder of a workspace, and nothing outside of it."""

from __future__ import annotations

from nrem.core.workspaces import Workspace
from nrem.wire import ListedFile, ListedFiles
from nrem.workspace.files import Files


def list_files(workspace: Workspace, folder: str | None) -> ListedFiles:
    """Return the files and folders in a folder; raise NotFound, Denied or InvalidField, naming `path`."""
    return ListedFiles(
        files=tuple(
            ListedFile(path=entry.path, folder=entry.folder, size=entry.size, changed_at=entry.changed_at)
            for entry in Files(workspace.root).list_(folder or "")
        )
    )
