"""Git's index as it lies on disk: entries that are not touched are moved as bytes and never parsed.

Of the formats 2 to 4 all are read, and 2 or 3 is written. Of the extensions only what cannot be computed
again is kept; git makes the others anew when it wants them.
"""

from __future__ import annotations

import hashlib
import os
import struct
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from nrem.errors import Conflict, Corrupt

_HEADER = struct.Struct(">4sII")
_ENTRY = struct.Struct(">10I20sH")
_LOOK = struct.Struct(">8x2I20xI")
"""The time of the last change and the size, out of an entry."""
_EXTENSION = struct.Struct(">4sI")
_STAGE, _NAME = 0x3000, 0x0FFF
_MASK = 0xFFFFFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What the index knows of a path: the blob, the mode, and how the file looked when it had the content."""

    blob: bytes
    mode: int
    stat: tuple[int, ...] = (0,) * 9
    """As stat_of() gives it; zeros make git look into the file."""


def stat_of(found: os.stat_result) -> tuple[int, ...]:
    """Return the part of a file's stat that the index keeps."""
    seconds, nanos = divmod(found.st_ctime_ns, 10**9)
    changed, changed_nanos = divmod(found.st_mtime_ns, 10**9)
    numbers = (
        seconds, nanos, changed, changed_nanos, found.st_dev, found.st_ino,
        found.st_uid, found.st_gid, found.st_size,
    )  # fmt: skip
    return tuple(number & _MASK for number in numbers)


def look_of(file: bytes) -> tuple[int, int, int] | None:
    """Return the time and the size of a file, as the index keeps them; None when it cannot be seen."""
    try:
        found = os.lstat(file)
    except OSError:
        return None
    seconds, nanos = divmod(found.st_mtime_ns, 10**9)
    return seconds & _MASK, nanos, found.st_size & _MASK


class Index:
    """The entries of an index in their order, each as the bytes of its record."""

    def __init__(self, names: list[bytes], records: list[bytes], kept: bytes) -> None:
        self._names = names
        self._records = records
        self._kept = kept

    @classmethod
    def empty(cls) -> Index:
        return cls([], [], b"")

    @classmethod
    def parse(cls, data: bytes) -> Index:
        """Read an index; raise Corrupt for damage, Conflict for a form that only git itself can edit."""
        body, checksum = data[:-20], data[-20:]
        if len(data) < 32 or checksum not in (hashlib.sha1(body).digest(), bytes(20)):
            raise _damaged()
        signature, version, count = _HEADER.unpack_from(body)
        if signature != b"DIRC" or version not in (2, 3, 4):
            raise _damaged()
        try:
            names, records, end = (_compressed if version == 4 else _padded)(body, count)
            return cls(names, records, b"".join(_extensions(body, end)))
        except (IndexError, ValueError, struct.error):
            raise _damaged() from None

    def find(self, name: bytes) -> Entry | None:
        """Return the entry of a path, unless there is none or it is in a merge conflict."""
        at = bisect_left(self._names, name)
        if at == len(self._names) or self._names[at] != name:
            return None
        *numbers, blob, flags = _ENTRY.unpack_from(self._records[at])
        if flags & _STAGE:
            return None
        mode = numbers.pop(6)
        return Entry(blob=blob, mode=mode, stat=tuple(numbers))

    def names(self) -> Iterator[bytes]:
        """Yield every path in order; one in conflict more than once."""
        yield from self._names

    def looks(self, prefix: bytes) -> Iterator[tuple[bytes, tuple[int, int, int]]]:
        """Yield the paths that begin like this, each with what look_of() gave when it had the content."""
        for at in range(bisect_left(self._names, prefix), len(self._names)):
            if not self._names[at].startswith(prefix):
                return
            seconds, nanos, size = _LOOK.unpack_from(self._records[at])
            yield self._names[at], (seconds, nanos, size)

    def put(self, entries: Mapping[bytes, Entry]) -> None:
        """Set entries; what they cannot stand beside (a file where a folder is now) goes."""
        for name, entry in entries.items():
            folders = [name[:at] for at, byte in enumerate(name) if byte == 0x2F]
            for folder in folders:
                self._cut(folder, folder)
            self._cut(name + b"/", name + b"0")
            numbers = (*entry.stat[:6], entry.mode, *entry.stat[6:])
            head = _ENTRY.pack(*numbers, entry.blob, min(len(name), _NAME))
            at = self._cut(name, name)
            self._names.insert(at, name)
            self._records.insert(at, _pad(head + name))

    def drop(self, names: Iterable[bytes]) -> None:
        """Remove entries, in every stage."""
        for name in names:
            self._cut(name, name)

    def forget_resolved(self) -> None:
        """Drop what git remembers of conflicts that were resolved."""
        self._kept = b""

    def render(self) -> bytes:
        """Return the bytes of the index file."""
        version = 3 if any(record[60] & 0x40 for record in self._records) else 2
        body = _HEADER.pack(b"DIRC", version, len(self._records)) + b"".join(self._records) + self._kept
        return body + hashlib.sha1(body).digest()

    def _cut(self, first: bytes, last: bytes) -> int:
        """Remove what is named `first`, or from `first` up to before `last`; return where that was."""
        start = bisect_left(self._names, first)
        end = start
        while end < len(self._names) and (self._names[end] == first or first <= self._names[end] < last):
            end += 1
        del self._names[start:end], self._records[start:end]
        return start


def _padded(body: bytes, count: int) -> tuple[list[bytes], list[bytes], int]:
    names, records, at = [], [], _HEADER.size
    for _ in range(count):
        start = at + (64 if body[at + 60] & 0x40 else 62)
        end = body.index(0, start)
        names.append(body[start:end])
        following = at + ((end - at) // 8 + 1) * 8
        records.append(body[at:following])
        at = following
    return names, records, at


def _compressed(body: bytes, count: int) -> tuple[list[bytes], list[bytes], int]:
    names, records, at, name = [], [], _HEADER.size, b""
    for _ in range(count):
        start = at + (64 if body[at + 60] & 0x40 else 62)
        byte = body[start]
        drop, suffix = byte & 0x7F, start + 1
        while byte & 0x80:
            byte = body[suffix]
            drop, suffix = ((drop + 1) << 7) | (byte & 0x7F), suffix + 1
        end = body.index(0, suffix)
        name = name[: len(name) - drop] + body[suffix:end]
        names.append(name)
        records.append(_pad(body[at:start] + name))
        at = end + 1
    return names, records, at


def _pad(record: bytes) -> bytes:
    return record + bytes(8 - len(record) % 8)


def _extensions(body: bytes, at: int) -> Iterator[bytes]:
    """Yield the extensions that are kept; raise Conflict for one that changes what the entries mean."""
    while at < len(body):
        name, size = _EXTENSION.unpack_from(body, at)
        end = at + _EXTENSION.size + size
        if name[:1].islower():
            raise Conflict(
                f"the index of the workspace uses git's extension {name.decode(errors='replace')!r}",
                hint="run `git update-index --no-split-index` and `git sparse-checkout disable` in it",
                code="index_unsupported",
            )
        if name == b"REUC":
            yield body[at:end]
        at = end


def _damaged() -> Corrupt:
    return Corrupt(
        "the index of the workspace's repository is damaged",
        hint="remove .git/index and run `git reset` in the workspace; no commit and no file is lost",
        code="index_damaged",
    )
