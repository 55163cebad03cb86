"""Git objects on disk: one small pack for each commit, durable before anything names it, and merged later.

A loose file for each object would be nine files and nine folders to sync; a pack is two files and one folder.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from dulwich.object_store import DiskObjectStore
from dulwich.objects import Commit, ObjectID, ShaFile, Tag, Tree
from dulwich.pack import (
    Pack,
    UnpackedObject,
    deltas_from_sorted_objects,
    full_unpacked_object,
    write_pack_data,
    write_pack_index,
)

from nrem.workspace import trees

UNFINISHED = "tmp_pack_nrem"
"""How the name of a pack begins while it is written; git's own cleaning takes everything called tmp_."""
_LEVEL = 1
"""Compression of a commit's own pack; merging compresses with deltas."""
_ALIKE = 96
"""Versions of one file begin alike; this many bytes tell which objects are worth comparing."""
_CHAIN = 256
"""The longest chain of deltas."""


def write_durably(store: DiskObjectStore, objects: Iterable[ShaFile], files: Sequence[int] = ()) -> None:
    """Write objects as a pack, and return when it and the open files given are on the disk."""
    new = list({obj.id: obj for obj in objects}.values())
    _write_pack(store, map(full_unpacked_object, new), len(new), level=_LEVEL, files=files)


def merge_packs(store: DiskObjectStore) -> int:
    """Merge loose objects and small packs into one pack, and return how many files it stands for.

    Taken are the smallest packs, for as long as the next is not twice as large as all before it: so each
    object is moved a few times only, however long the history grows. What was merged goes once the new pack
    is durable.
    """
    loose = sorted(
        (file for file in Path(store.path).glob("??/*") if len(file.name) == 38), key=_newest_first
    )
    packs = _small_packs(store, len(loose))
    if len(loose) + len(packs) < 2:
        return 0
    ids = [ObjectID((file.parent.name + file.name).encode()) for file in loose]
    for pack in packs:
        entries = sorted(pack.index.iterentries(), key=lambda entry: entry[1])
        ids += [ObjectID(id.hex().encode()) for id, _, _ in entries]
    unique = list(dict.fromkeys(ids))
    written = _write_pack(store, _as_deltas(store, unique), len(unique), level=-1)
    for file in loose:
        file.unlink(missing_ok=True)
    for pack in packs:
        base = Path(store.pack_dir, _stem(pack))
        if base != written:
            pack.close()
            for suffix in (".idx", ".rev", ".pack"):
                base.with_suffix(suffix).unlink(missing_ok=True)
    store.prune()
    return len(loose) + len(packs)


def reachable(store: DiskObjectStore, roots: Iterable[ObjectID]) -> list[ObjectID]:
    """Return what some objects lead to, they included; raise KeyError when one of it is missing."""
    found: dict[ObjectID, None] = {}
    waiting = list(roots)
    while waiting:
        id = waiting.pop()
        if id in found:
            continue
        found[id] = None
        obj = store[id]
        if isinstance(obj, Commit):
            waiting += [*obj.parents, obj.tree]
        elif isinstance(obj, Tree):
            waiting += [entry for _, mode, entry in obj.iteritems() if not trees.is_link(mode)]
        elif isinstance(obj, Tag):
            waiting.append(obj.object[1])
    return list(found)


def keep_only(store: DiskObjectStore, ids: Sequence[ObjectID]) -> int:
    """Put some objects into one pack and delete every other object; return how many were deleted.

    The pack is durable before the first file goes, so that this can be repeated.
    """
    before = len(set(store))
    written = _write_pack(store, _as_deltas(store, ids), len(ids), level=-1)
    store.close()
    objects, packs = Path(store.path), Path(store.pack_dir)
    gone = [file for file in packs.iterdir() if file.stem != written.name]
    gone += [file for folder in objects.glob("??") for file in folder.iterdir()]
    gone += (objects / "info").glob("commit-graph*")
    gone += (objects / "info" / "commit-graphs").glob("*")
    for file in sorted(gone, key=lambda file: file.suffix != ".idx"):  # git finds a pack by its index
        if file.is_file():
            file.unlink()
    for folder in {packs, *(file.parent for file in gone)}:
        sync_folder(folder)
    return before - len(ids)


def clear_unfinished(folder: Path) -> None:
    """Remove from the folder of packs what a killed process had begun to write."""
    for file in folder.glob(f"{UNFINISHED}*"):
        file.unlink()


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _write_pack(
    store: DiskObjectStore,
    records: Iterator[UnpackedObject],
    count: int,
    *,
    level: int,
    files: Sequence[int] = (),
) -> Path:
    folder = Path(store.pack_dir)
    data, index = (
        folder / f"{UNFINISHED}{suffix}-{os.getpid()}-{id(records)}" for suffix in (".pack", ".idx")
    )
    try:
        with _new(data) as pack_file, _new(index) as index_file:
            entries, checksum = write_pack_data(
                pack_file.write, records, store.object_format, num_records=count, compression_level=level
            )
            pack_file.flush()
            rows = sorted((id, offset, crc) for id, (offset, crc) in entries.items())
            write_pack_index(index_file, rows, checksum, version=2)
            index_file.flush()
            synced = (*files, pack_file.fileno(), index_file.fileno())
            for fd in synced:
                _start_writing(fd)
            for fd in synced:
                os.fsync(fd)
        base = folder / f"pack-{checksum.hex()}"
        data.rename(base.with_suffix(".pack"))
        index.rename(base.with_suffix(".idx"))  # last: git uses a pack from then on
        sync_folder(folder)
    finally:
        data.unlink(missing_ok=True)
        index.unlink(missing_ok=True)
    return base


def _new(path: Path) -> BinaryIO:
    return open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444), "wb")


def _start_writing(fd: int) -> None:
    """Let the kernel begin, so that the syncs that follow find the work half done."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)


def _small_packs(store: DiskObjectStore, loose: int) -> list[Pack]:
    kept = {file.stem for file in Path(store.pack_dir).glob("*.keep")}
    packs = [pack for pack in store.packs if _stem(pack) not in kept]
    small: list[Pack] = []
    total = loose
    for pack in sorted(packs, key=len):
        if small and len(pack) > 2 * total:
            break
        small.append(pack)
        total += len(pack)
    return sorted(small, key=lambda pack: _newest_first(Path(store.pack_dir, f"{_stem(pack)}.pack")))


def _newest_first(file: Path) -> int:
    return -file.stat().st_mtime_ns


def _stem(pack: Pack) -> str:
    return Path(os.fsdecode(pack.data.filename)).stem


def _as_deltas(store: DiskObjectStore, ids: Sequence[ObjectID]) -> Iterator[UnpackedObject]:
    """Yield objects, versions of one file as deltas of the next newer; one chain at a time is in memory."""
    alike: defaultdict[tuple[int, bytes], list[ObjectID]] = defaultdict(list)
    for id in ids:
        kind, content = store.get_raw(id)
        alike[kind, content[:_ALIKE]].append(id)
    for versions in alike.values():
        for start in range(0, len(versions), _CHAIN):
            found = ((store[id], None) for id in versions[start : start + _CHAIN])
            yield from deltas_from_sorted_objects(found, window_size=1)
