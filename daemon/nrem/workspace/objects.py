"""Git objects on disk: durable before anything names them, and packed when there are many."""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

from dulwich.errors import ObjectFormatException
from dulwich.object_store import DiskObjectStore
from dulwich.objects import ObjectID, ShaFile
from dulwich.pack import pack_objects_to_data

MANY = 64
"""More new objects than this go into a pack at once: two files to sync instead of one for each."""
BATCH = 512
"""Objects of one pack; what packing holds in memory, and the longest chain of deltas."""
_SYNCS = 6
"""How many files are synced at a time; the file system writes its journal once for all that wait."""


def write_durably(store: DiskObjectStore, objects: Iterable[ShaFile], files: Sequence[int] = ()) -> None:
    """Write objects, and return when they, their folders and the open files given are on the disk."""
    new = list({obj.id: obj for obj in objects}.values())
    if len(new) > MANY:
        write_pack(store, new)
        new = []
    folders = {Path(store.path) / obj.id[:2].decode() for obj in new}
    made = [folder for folder in folders if not folder.exists()]
    with ThreadPoolExecutor(_SYNCS) as pool:
        written = [pool.submit(_write_loose, store, obj) for obj in new]
        written += [pool.submit(os.fsync, file) for file in files]
        for task in written:
            task.result()
        # One after the other: whatever writes the first writes the rest with it.
        for folder in [*sorted(folders), *([Path(store.path)] if made else [])]:
            sync_folder(folder)


def write_pack(store: DiskObjectStore, objects: Sequence[ShaFile]) -> None:
    """Write objects as one pack, durably; versions of one file become deltas of each other."""
    # Versions of a file begin alike, so the beginning is what puts them side by side.
    hinted = [(obj, obj.as_raw_string()[:64]) for obj in objects]
    store.add_pack_data(*pack_objects_to_data(hinted, deltify=True, delta_window_size=2))
    sync_folder(Path(store.pack_dir))


def pack_loose(store: DiskObjectStore) -> Iterator[int]:
    """Move loose objects into packs, yielding how many after each pack; a loose one goes when its pack is durable."""
    folders = Path(store.path)
    loose = (
        ObjectID((folder.name + file.name).encode())
        for folder in sorted(folders.glob("??"))
        for file in sorted(folder.iterdir())
        if len(file.name) == 38
    )
    ids = list(loose)
    todo = iter(ids)
    while batch := list(islice(todo, BATCH)):
        objects = [store[id] for id in batch]
        write_pack(store, objects)
        for id in batch:
            with contextlib.suppress(FileNotFoundError):
                store.delete_loose_object(id)
        yield len(batch)
    store.prune()


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _write_loose(store: DiskObjectStore, obj: ShaFile) -> None:
    path = Path(store.path, obj.id[:2].decode(), obj.id[2:].decode())
    # One that is there may be the empty file of a power cut, which dulwich would take for written.
    if path.exists() and not _holds(path, obj):
        path.unlink()
    store.add_object(obj)


def _holds(path: Path, obj: ShaFile) -> bool:
    """Tell whether a loose object is there with its whole content, and make sure that it stays."""
    with open(path, "rb") as file:
        try:
            found = ShaFile.from_file(file)
            same = found.type_num == obj.type_num and found.as_raw_string() == obj.as_raw_string()
        except (ObjectFormatException, zlib.error, ValueError, AssertionError):
            return False
        os.fsync(file.fileno())
    return same
