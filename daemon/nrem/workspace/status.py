"""What people and agents changed in their own files since the last commit: everything but `.nrem`."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dulwich.ignore import IgnoreFilter, IgnoreFilterManager
from dulwich.objects import Blob

from nrem.workspace import names
from nrem.workspace.index import Index, stat_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Paths by what happened to them, each sorted."""

    untracked: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    irregular: tuple[str, ...] = ()
    """New or changed, and not for a commit of ours: links, devices, names that git does not take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the last commit has of a file."""

    blob: str
    mode: int


def compare(root: Path, known: Mapping[str, Known], index: Index, written: int) -> Status:
    """Compare the files of a workspace with the last commit; ignored files count only if they are in it.

    A file is not read when its stat is the one that the index remembers, and older than the index (`written`,
    in nanoseconds): one that was changed at that very moment may look the same and be another.
    """
    ignored = IgnoreFilterManager(str(root), _excluded(root), ignorecase=False)
    untracked, modified, irregular = [], [], []
    seen = set()
    for path, found in _walk(root, "", known, ignored):
        seen.add(path)
        before = known.get(path)
        if before is not None and _is_same(root / path, found, before, _trusted(index, path, found, written)):
            continue
        if not stat.S_ISREG(found.st_mode) or not names.fits_git(path):
            irregular.append(path)
        elif before is None:
            untracked.append(path)
        else:
            modified.append(path)
    return Status(
        untracked=tuple(sorted(untracked)),
        modified=tuple(sorted(modified)),
        deleted=tuple(sorted(known.keys() - seen)),
        irregular=tuple(sorted(irregular)),
    )


def _excluded(root: Path) -> list[IgnoreFilter]:
    exclude = root / ".git" / "info" / "exclude"
    return [IgnoreFilter.from_path(str(exclude))] if exclude.exists() else []


def _walk(
    root: Path, folder: str, known: Mapping[str, Known], ignored: IgnoreFilterManager
) -> Iterator[tuple[str, os.stat_result]]:
    """Yield what is in the workspace and not ignored, or ignored and in the last commit."""
    with os.scandir(root / folder) as entries:
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if path in (".git", names.MANAGED) or entry.name.startswith(names.TEMPORARY):
                continue
            if entry.is_dir(follow_symlinks=False):
                inside = f"{path}/"
                if not ignored.is_ignored(inside) or any(name.startswith(inside) for name in known):
                    yield from _walk(root, path, known, ignored)
            elif path in known or not ignored.is_ignored(path):
                yield path, entry.stat(follow_symlinks=False)


def _trusted(index: Index, path: str, found: os.stat_result, written: int) -> str | None:
    """Return the blob that a file has according to the index, if its stat says that nothing happened."""
    entry = index.find(os.fsencode(path))
    if entry is None or entry.stat != stat_of(found) or found.st_mtime_ns >= written:
        return None
    return entry.blob.hex()


def _is_same(file: Path, found: os.stat_result, before: Known, trusted: str | None) -> bool:
    if stat.S_ISLNK(found.st_mode):
        target = os.fsencode(os.readlink(file))
        return stat.S_ISLNK(before.mode) and Blob.from_string(target).id.decode() == before.blob
    if not stat.S_ISREG(found.st_mode) or not stat.S_ISREG(before.mode):
        return False
    if bool(found.st_mode & stat.S_IXUSR) != bool(before.mode & stat.S_IXUSR):
        return False
    return (trusted or Blob.from_string(file.read_bytes()).id.decode()) == before.blob
