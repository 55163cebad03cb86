"""New trees from old ones: only what lies above a changed file is read or written."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dulwich.objects import Blob, ObjectID, ShaFile, Tree

from nrem.errors import Denied
from nrem.workspace import names
from nrem.workspace.index import Entry, stat_of

FOLDER, FILE, PROGRAM = 0o040000, 0o100644, 0o100755
_SUBMODULE = 0o160000

_Place = dict[bytes, "_Place | tuple[int, Blob] | None"]
"""The changes in one folder by name: a folder's, a file with its mode, or None for what goes."""


@dataclass(frozen=True, slots=True)
class Built:
    """A new root tree, the objects that are new with it, and what the index is to know of the files."""

    root: ObjectID
    new: list[ShaFile] = field(default_factory=list)
    entries: dict[bytes, Entry] = field(default_factory=dict)


def build(
    read: Callable[[ObjectID], ShaFile],
    base: ObjectID | None,
    workspace: Path,
    changes: Mapping[str, bytes],
    removed: Collection[str],
) -> Built:
    """Return the tree that `base` becomes when files are changed and removed."""
    wanted: _Place = {}
    entries: dict[bytes, Entry] = {}
    for path in removed:
        _place(wanted, path, None)
    for path, content in changes.items():
        if not names.fits_git(path):
            raise Denied("path: git does not take this name", code="path_reserved", field="path")
        blob = Blob.from_string(content)
        entries[os.fsencode(path)] = entry = entry_of(workspace / path, blob)
        _place(wanted, path, (entry.mode, blob))
    new: list[ShaFile] = []
    root = _graft(read, base, wanted, new)
    if root is None:
        new.append(Tree())
        root = new[-1].id
    return Built(root, new, entries)


def is_link(mode: int) -> bool:
    """Tell whether an entry names a commit of another repository, which is not here."""
    return mode == _SUBMODULE


def _place(wanted: _Place, path: str, change: tuple[int, Blob] | None) -> None:
    *folders, name = os.fsencode(path).split(b"/")
    for folder in folders:
        below = wanted.get(folder)
        if not isinstance(below, dict):
            below = wanted[folder] = {}
        wanted = below
    wanted[name] = change


def _graft(
    read: Callable[[ObjectID], ShaFile], base: ObjectID | None, wanted: _Place, new: list[ShaFile]
) -> ObjectID | None:
    """Return a tree with the changes in it, None for an empty one; note the objects that are new."""
    tree = Tree.from_string(read(base).as_raw_string()) if base else Tree()
    for name, change in wanted.items():
        mode, old = tree[name] if name in tree else (0, None)  # noqa: SIM401 (a Tree has no get)
        if isinstance(change, dict):
            inside = _graft(read, old if mode == FOLDER else None, change, new)
            found = (FOLDER, inside) if inside else None
        elif change is not None:
            found = (change[0], change[1].id)
            if change[1].id != old:
                new.append(change[1])
        else:
            found = None
        if found is not None:
            tree[name] = found
        elif old is not None:
            del tree[name]
    if not len(tree):
        return None
    if tree.id != base:
        new.append(tree)
    return tree.id


def entry_of(file: Path, blob: Blob) -> Entry:
    """Return what the index is to know: its stat only if the file has this content, so that no edit hides."""
    id = bytes.fromhex(blob.id.decode())
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return Entry(blob=id, mode=FILE)
    with open(fd, "rb") as opened:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or opened.read() != blob.data:
            return Entry(blob=id, mode=FILE)
    return Entry(blob=id, mode=PROGRAM if found.st_mode & stat.S_IXUSR else FILE, stat=stat_of(found))
