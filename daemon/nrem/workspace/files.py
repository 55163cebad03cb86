"""The files of a workspace, for callers who may be wrong or hostile: nothing outside is ever read or written.

A path is judged by its names first, then opened beneath the workspace without following any link. What is not
a regular file, or has a second name, is refused. A file is written beside its place, synced, and renamed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nrem.errors import Conflict, Denied, InvalidField, NotFound, NremError, Unavailable
from nrem.workspace import names
from nrem.workspace.beneath import Opener, open_beneath
from nrem.workspace.exchange import exchange

LIMIT = 1 << 20
"""Bytes of a file that callers read or write. What nrem keeps in `.nrem` may be larger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    path: str
    folder: bool
    size: int
    changed_at: int


class Files:
    """One workspace. With `managed` it is nrem's own: `.nrem` may be written, and no size is too large."""

    def __init__(self, root: Path, *, managed: bool = False, opener: Opener = open_beneath) -> None:
        self._root = root
        self._managed = managed
        self._open = opener

    def read(self, path: str) -> bytes:
        """Return a file's content; raise NotFound, Denied or InvalidField, each naming `path`."""
        parts = names.check_readable(path)
        with self._opened(parts, os.O_RDONLY) as fd:
            size = _check_regular(os.fstat(fd)).st_size
            self._check_size(size)
            with open(fd, "rb", closefd=False) as file:
                data = file.read() if self._managed else file.read(LIMIT + 1)
        self._check_size(len(data))
        return data

    def write(self, path: str, data: bytes) -> None:
        """Put a file in place as a whole, durably; folders that are missing are made."""
        parts = self._check_writable(path)
        self._check_size(len(data))
        with self._folder(parts[:-1]) as folder:
            mode = _check_target(folder, parts[-1])
            _replace(folder, parts[-1], data, mode)

    def replace(self, path: str, data: bytes, *, expected: bytes | None) -> bool:
        """Put a file in place if the one there still is what was expected, None for none; tell if it was.

        Nothing that others write meanwhile is lost: what came out is looked at, and put back. Where a system
        cannot exchange two files, a moment is left in which others are not noticed.
        """
        parts = self._check_writable(path)
        self._check_size(len(data))
        with self._folder(parts[:-1]) as folder:
            mode = _check_target(folder, parts[-1])
            if (mode is None) != (expected is None):
                return False
            with _told(), _beside(folder, data, mode) as temporary:
                if expected is None:
                    return _link_new(folder, temporary, parts[-1])
                return _exchange(folder, temporary, parts[-1], data, expected)

    def remove(self, path: str) -> None:
        """Remove a file, durably; nothing happens when it is not there."""
        parts = self._check_writable(path)
        with contextlib.suppress(NotFound), self._opened(parts[:-1], os.O_RDONLY | os.O_DIRECTORY) as folder:
            with contextlib.suppress(FileNotFoundError), _told():
                _check_regular(os.lstat(parts[-1], dir_fd=folder))
                os.unlink(parts[-1], dir_fd=folder)
            os.fsync(folder)

    def list_(self, path: str = "") -> list[FileEntry]:
        """Return the files and folders in a folder, by name; links, devices and `.git` are left out."""
        parts = names.check_readable(path) if path else ()
        found = []
        with self._opened(parts, os.O_RDONLY | os.O_DIRECTORY) as fd, _told(), os.scandir(fd) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    known = entry.stat(follow_symlinks=False)
                    if _is_shown(entry.name, known):
                        found.append(
                            FileEntry(
                                path="/".join((*parts, entry.name)),
                                folder=stat.S_ISDIR(known.st_mode),
                                size=known.st_size if stat.S_ISREG(known.st_mode) else 0,
                                changed_at=known.st_mtime_ns // 1_000_000,
                            )
                        )
        return sorted(found, key=lambda entry: entry.path)

    def clear_temporary(self) -> None:
        """Remove what a killed process had begun to write; only for the holder of the daemon's lock."""
        for _, folders, files, fd in os.fwalk(self._root, follow_symlinks=False):
            if ".git" in folders:
                folders.remove(".git")
            for name in files:
                if name.startswith(names.TEMPORARY):
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(name, dir_fd=fd)

    def _check_writable(self, path: str) -> tuple[str, ...]:
        return names.check_managed(path) if self._managed else names.check_writable(path)

    def _check_size(self, size: int) -> None:
        if size > LIMIT and not self._managed:
            raise InvalidField("path", f"a file may have {LIMIT} bytes at most", code="file_too_large")

    @contextmanager
    def _opened(self, parts: Sequence[str], flags: int) -> Iterator[int]:
        with _told():
            root = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                fd = self._open(root, parts, flags)
            finally:
                os.close(root)
        try:
            yield fd
        finally:
            os.close(fd)

    @contextmanager
    def _folder(self, parts: Sequence[str]) -> Iterator[int]:
        """Open the folder of a file, making what is missing from the top down."""
        for depth in range(1, len(parts) + 1):
            with contextlib.suppress(NotFound), self._opened(parts[:depth], os.O_RDONLY | os.O_DIRECTORY):
                continue
            with self._opened(parts[: depth - 1], os.O_RDONLY | os.O_DIRECTORY) as above, _told():
                _check_twin(above, parts[depth - 1])
                with contextlib.suppress(FileExistsError):
                    os.mkdir(parts[depth - 1], dir_fd=above)
                os.fsync(above)
        with self._opened(parts, os.O_RDONLY | os.O_DIRECTORY) as fd:
            yield fd


def _check_target(folder: int, name: str) -> int | None:
    """Return the mode of a file that is to be replaced, None for a new one; raise when it is none."""
    try:
        return stat.S_IMODE(_check_regular(os.lstat(name, dir_fd=folder)).st_mode)
    except FileNotFoundError:
        _check_twin(folder, name)
        return None


def _check_twin(folder: int, name: str) -> None:
    """Raise Conflict when a new name differs from an existing one only in its Unicode form."""
    if name.isascii():
        return
    for other in os.listdir(folder):
        if other != name and unicodedata.normalize("NFC", other) == name:
            raise Conflict(
                "path: a file has this name in another Unicode form", code="path_twin", field="path"
            )


def _check_regular(found: os.stat_result) -> os.stat_result:
    if stat.S_ISLNK(found.st_mode):
        raise _link()
    if stat.S_ISDIR(found.st_mode):
        raise InvalidField("path", "is a folder", code="path_is_folder")
    if not stat.S_ISREG(found.st_mode):
        raise Denied("path: is not a regular file", code="path_not_regular", field="path")
    if found.st_nlink > 1:
        raise Denied(
            "path: the file has a second name, perhaps outside the workspace",
            hint="put a copy in its place",
            code="path_hardlink",
            field="path",
        )
    return found


def _replace(folder: int, name: str, data: bytes, mode: int | None) -> None:
    with _told(), _beside(folder, data, mode) as temporary:
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)


@contextmanager
def _beside(folder: int, data: bytes, mode: int | None) -> Iterator[str]:
    """Lend the name of a new file that has these bytes; whatever has that name afterwards is removed."""
    temporary = names.TEMPORARY + secrets.token_hex(8)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(temporary, flags, 0o666, dir_fd=folder)
    try:
        with open(fd, "wb") as file:
            file.write(data)
            file.flush()
            if mode is not None:
                os.fchmod(fd, mode)
            os.fsync(fd)
        yield temporary
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
    os.fsync(folder)


def _link_new(folder: int, temporary: str, name: str) -> bool:
    try:
        os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except FileExistsError:
        return False
    return True


def _exchange(folder: int, temporary: str, name: str, data: bytes, expected: bytes) -> bool:
    """Swap until what comes out is what was known to be there: then nothing of others' is left outside."""
    try:
        if _content(folder, name) != expected:  # almost always seen here, and nobody sees anything of ours
            return False
    except FileNotFoundError:
        return False
    inside, outside = expected, data
    while True:
        try:
            swapped = exchange(folder, temporary, name)
        except FileNotFoundError:  # taken away just now: what others had written goes back, ours does not
            if outside == data or _link_new(folder, temporary, name):
                return False
            continue
        if not swapped:
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            return True
        came_out = _content(folder, temporary)
        inside, outside, known = outside, came_out, inside
        if came_out == known:
            return inside == data


def _content(folder: int, name: str) -> bytes:
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    with open(fd, "rb") as file:
        return file.read()


def _is_shown(name: str, found: os.stat_result) -> bool:
    plain = stat.S_ISDIR(found.st_mode) or (stat.S_ISREG(found.st_mode) and found.st_nlink == 1)
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return plain and not name.startswith(names.TEMPORARY) and names.reserved(name) != ".git"


@contextmanager
def _told() -> Iterator[None]:
    """Say what the system said, in the words of nrem."""
    try:
        yield
    except OSError as error:
        raise _error(error) from error


def _error(error: OSError) -> NremError:
    match error.errno:
        case errno.ENOENT:
            return NotFound("path: there is no such file", code="path_not_found", field="path")
        case errno.ELOOP | errno.EMLINK | errno.EXDEV:
            return _link()
        case errno.ENOTDIR:
            return InvalidField("path", "leads through a file", code="path_not_folder")
        case errno.EISDIR:
            return InvalidField("path", "is a folder", code="path_is_folder")
        case errno.ENAMETOOLONG:
            return InvalidField("path", "is too long", code="path_too_long")
        case errno.EACCES | errno.EPERM | errno.EROFS | errno.ENXIO:
            return Denied("path: the system does not allow it", code="path_denied", field="path")
        case errno.ENOSPC | errno.EDQUOT:
            return Unavailable("the disk is full", hint="make room and repeat", code="disk_full")
        case _:
            raise error


def _link() -> Denied:
    return Denied(
        "path: leads through a link", hint="put a copy in its place", code="path_escapes", field="path"
    )
