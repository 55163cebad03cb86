"""Looks at every object of a branch: whether it is there, and whether its content is what its name says.

dulwich trusts a name when it reads an object; this is where the hash is computed.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from dulwich.errors import ApplyDeltaError, ChecksumMismatch, FileFormatException, MissingCommitError
from dulwich.object_store import DiskObjectStore
from dulwich.objects import S_ISGITLINK, Commit, ObjectID, ShaFile, Tree, object_header
from dulwich.repo import Repo

UNREADABLE = (
    ApplyDeltaError,
    AssertionError,
    ChecksumMismatch,
    EOFError,
    FileFormatException,
    IndexError,
    KeyError,
    MissingCommitError,
    NotImplementedError,
    OSError,
    OverflowError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)
"""What a changed byte makes dulwich raise."""

_BLOCK = 1 << 20
_KINDS = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}


def check(root: Path, head: str | None) -> Iterator[str]:
    """Yield what is wrong with a repository's packs, and with the objects that lead to and from a commit."""
    with Repo(str(root)) as repo:
        store = repo.object_store
        assert isinstance(store, DiskObjectStore)
        yield from _packs(store)
        if head is not None:
            yield from _objects(store, ObjectID(head.encode()))


def _packs(store: DiskObjectStore) -> Iterator[str]:
    """Compare each pack and its index with the checksum at its end: also what no object is read from.

    A pack without an index is what a writer that was cut short has left. Git does not look at it either.
    """
    for file in sorted(Path(store.pack_dir).glob("pack-*.idx")):
        for path in (file, file.with_suffix(".pack")):
            if not path.exists():
                yield f"{path.name} is missing"
            elif not _fits_checksum(path):
                yield f"{path.name} does not fit its checksum"


def _fits_checksum(path: Path) -> bool:
    """Tell whether the last 20 bytes of a file are the hash of what comes before them."""
    computed = hashlib.sha1()
    with path.open("rb") as file:
        left = path.stat().st_size - computed.digest_size
        while left > 0 and (block := file.read(min(left, _BLOCK))):
            computed.update(block)
            left -= len(block)
        return file.read() == computed.digest()


def _objects(store: DiskObjectStore, head: ObjectID) -> Iterator[str]:
    waiting, seen = [(head, "commit", "the branch")], {head}
    while waiting:
        id, kind, where = waiting.pop()
        try:
            number, content = store.get_raw(id)
        except UNREADABLE as error:
            there = "is missing" if type(error) is KeyError else "cannot be read"
            yield f"{kind} {id.decode()} {there} ({where})"
            continue
        found = hashlib.sha1(object_header(number, len(content)) + content).hexdigest().encode()
        if found != id or _KINDS.get(number) != kind:
            yield f"{kind} {id.decode()} is not what its name says ({where})"
            continue
        for child in _children(ShaFile.from_raw_string(number, content), where):
            if child[0] not in seen:
                seen.add(child[0])
                waiting.append(child)


def _children(found: ShaFile, where: str) -> Iterator[tuple[ObjectID, str, str]]:
    if isinstance(found, Commit):
        yield found.tree, "tree", f"commit {found.id.decode()[:10]}"
        for parent in found.parents:
            yield parent, "commit", f"parent of {found.id.decode()[:10]}"
    elif isinstance(found, Tree):
        place = "" if where.startswith("commit ") else f"{where}/"
        for name, mode, id in found.iteritems():
            if not S_ISGITLINK(mode):
                kind = "tree" if mode == 0o040000 else "blob"
                yield id, kind, place + name.decode(errors="replace")
