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

_GONE = (FileNotFoundError, NotADirectoryError)
"""What is said of a file, or of one below a folder, that is there no more."""


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
    in nanoseconds): one that was changed at that very moment may look the same and be another. Others work
    in the folder meanwhile: what goes while it is looked at was not there.
    """
    ignored = IgnoreFilterManager(str(root), _excluded(root), ignorecase=False)
    untracked, modified, irregular = [], [], []
    seen = set()
    for path, found in _walk(root, "", known, ignored):
        before = known.get(path)
        try:
            same = before is not None and _is_same(
                root / path, found, before, _trusted(index, path, found, written)
            )
        except _GONE:
            continue
        seen.add(path)
        if same:
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
    for entry in _entries(root, folder):
        path = f"{folder}/{entry.name}" if folder else entry.name
        if path in (".git", names.MANAGED) or entry.name.startswith(names.TEMPORARY):
            continue
        if entry.is_dir(follow_symlinks=False):
            inside = f"{path}/"
            if not ignored.is_ignored(inside) or any(name.startswith(inside) for name in known):
                yield from _walk(root, path, known, ignored)
        elif path in known or not ignored.is_ignored(path):
            try:
                found = entry.stat(follow_symlinks=False)
            except _GONE:
                continue
            yield path, found


def _entries(root: Path, folder: str) -> list[os.DirEntry[str]]:
    """Return what is in a folder; nothing when it is none any more, unless that is the workspace itself."""
    try:
        with os.scandir(root / folder) as entries:
            return list(entries)
    except _GONE:
        if not folder:
            raise
        return []


def _trusted(index: Index, path: str, found: os.stat_result, written: int) -> str | None:
    """Return the blob that a file has according to the index, if its stat says that nothing happened."""
    entry = index.find(os.fsencode(path))
    if entry is None or entry.stat != stat_of(found) or found.st_mtime_ns >= written:
        return None
    return entry.blob.hex()


def _is_same(file: Path, found: os.stat_result, before: Known, trusted: str | None) -> bool:
    """Tell whether a file is what the last commit has; raise one of _GONE when it is there no more."""
    if stat.S_ISLNK(found.st_mode):
        return stat.S_ISLNK(before.mode) and _target(file) == before.blob
    if not stat.S_ISREG(found.st_mode) or not stat.S_ISREG(before.mode):
        return False
    if bool(found.st_mode & stat.S_IXUSR) != bool(before.mode & stat.S_IXUSR):
        return False
    return (trusted or _content(file)) == before.blob


def _target(link: Path) -> str | None:
    """Return the blob of a link; None when it is none any more."""
    try:
        return Blob.from_string(os.fsencode(os.readlink(link))).id.decode()
    except _GONE:
        raise
    except OSError:
        return None


def _content(file: Path) -> str | None:
    """Return the blob of a plain file; None when it cannot be read, which is for its next reader to name."""
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb") as opened:
            return Blob.from_string(opened.read()).id.decode()
    except _GONE:
        raise
    except OSError:
        return None
