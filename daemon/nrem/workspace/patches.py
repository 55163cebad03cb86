"""What changed between two commits as a unified diff, for people to read: everything but `.nrem`."""

from __future__ import annotations

import os
from io import BytesIO

from dulwich.patch import unified_diff

from nrem.errors import NotFound
from nrem.workspace import names
from nrem.workspace.repository import Repository

LIMIT = 64 << 10
"""Characters of a diff."""
MOST_COMPARED = 128 << 10
"""Bytes of a version of a file that are compared line by line; the time for more is not bounded well."""


def changed(repository: Repository, before: str | None, after: str | None) -> list[str]:
    """Return the paths of people's own files in which two commits differ; None is an empty workspace."""
    if before == after:
        return []
    differences = repository.diff(before, after) if after is not None else repository.diff(None, before or "")
    inside = names.MANAGED + "/"
    return [found.path for found in differences if not found.path.startswith(inside)]


def render(repository: Repository, before: str | None, after: str | None) -> tuple[str, bool]:
    """Return the unified diff of people's own files between two commits, and whether its end is missing."""
    text = ""
    for path in changed(repository, before, after):
        text += _patch(path, _read(repository, before, path), _read(repository, after, path))
        if len(text) > LIMIT:
            return text[: text.rfind("\n", 0, LIMIT) + 1], True
    return text, False


def _read(repository: Repository, commit: str | None, path: str) -> bytes | None:
    """Return a file of a commit; None when there is none, or when it is a link."""
    try:
        return repository.read(commit, path) if commit is not None else None
    except NotFound:
        return None


def _patch(path: str, before: bytes | None, after: bytes | None) -> str:
    shown = os.fsencode(path).decode(errors="replace")
    old = "/dev/null" if before is None else f"a/{shown}"
    new = "/dev/null" if after is None else f"b/{shown}"
    head = f"diff --git a/{shown} b/{shown}\n"
    sides = [before or b"", after or b""]
    if any(b"\0" in side for side in sides):
        return f"{head}Binary files {old} and {new} differ\n"
    if max(map(len, sides)) > MOST_COMPARED:
        return f"{head}Files {old} and {new} differ; they are too large to be compared here\n"
    old_lines, new_lines = (BytesIO(side).readlines() for side in sides)
    lines = unified_diff(old_lines, new_lines, old.encode(), new.encode())
    return head + b"".join(lines).decode(errors="replace")
