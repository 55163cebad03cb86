"""Looks for words in everything below a folder: raw bytes, and what git has compressed."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from dulwich.object_format import DEFAULT_OBJECT_FORMAT
from dulwich.pack import Pack


def holders(home: Path, words: Iterable[str]) -> set[str]:
    """Return the files that hold one of the words, capitalised or not; of git, each object by itself."""
    wanted = [word.lower().encode() for word in words]
    return {
        name
        for file in sorted(home.rglob("*"))
        if file.is_file()
        for name, content in _contents(home, file)
        if any(word in content.lower() for word in wanted)
    }


def _contents(home: Path, file: Path) -> Iterator[tuple[str, bytes]]:
    name = file.relative_to(home).as_posix()
    yield name, file.read_bytes()
    if file.suffix == ".pack":
        with Pack(str(file.with_suffix("")), object_format=DEFAULT_OBJECT_FORMAT) as pack:
            for obj in pack.iterobjects():
                yield f"{name}:{obj.id.decode()}", obj.as_raw_string()
    elif file.parent.parent.name == "objects" and len(file.name) == 38:
        yield f"{name}:inflated", zlib.decompress(file.read_bytes())
