"""What an erasure leaves of nrem's own files: pure, bytes in and bytes out."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from nrem.policy import block, memory_doc
from nrem.policy.chain import canonical
from nrem.policy.erasing import ERASED, Needle
from nrem.workspace import journal

RECALLS = ".nrem/recalls"
MEMORY = "MEMORY.md"
DIARY = "dreams"
_BEGIN, _END = b"<!-- nrem:begin", b"<!-- nrem:end"
_BEFORE_MARKER = b"\xef\xbb\xbf \t"


def is_own(path: str) -> bool:
    """Tell whether a file is nrem's to change; of MEMORY.md that is the managed block."""
    return path == MEMORY or path.startswith((".nrem/", f"{DIARY}/"))


def erase(path: str, data: bytes, needle: Needle) -> bytes:
    """Return a file of nrem's without the memory; nothing is left of one that had nothing else."""
    if path.startswith((f"{journal.EVENTS}/", f"{journal.STATE}/")):
        if needle.id.encode() not in data:
            return data
        return _lines(data, needle, _event if path.startswith(journal.EVENTS) else _state)
    if path.startswith(f"{RECALLS}/"):
        return _lines(data, needle, _recall)
    if path == MEMORY:
        return _block(data, needle)
    if path.startswith(f"{DIARY}/"):
        return b"".join(item for item in _items(data) if not _gives_away(item, needle))
    return data


def _items(page: bytes) -> list[bytes]:
    """Return a page of the diary in pieces: a line, with the indented ones below that go on with it."""
    found: list[bytes] = []
    for line in page.splitlines(keepends=True):
        if found and line.startswith(b"  "):
            found[-1] += line
        else:
            found.append(line)
    return found


def _gives_away(item: bytes, needle: Needle) -> bool:
    """Tell whether a piece is about the memory, or has a word that only it had: its texts are cut there."""
    return needle.id.encode() in item or needle.is_asked_by(item.decode(errors="replace"))


def _lines(
    data: bytes, needle: Needle, change: Callable[[dict[str, Any], Needle], dict[str, Any] | None]
) -> bytes:
    kept = []
    for line in data.splitlines(keepends=True):
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict):  # somebody changed it
            kept.append(b"" if _tells(line, needle) else line)
            continue
        changed = change(found, needle)
        if changed is None:
            continue
        kept.append(line if changed is found else canonical(changed).encode() + b"\n")
    return b"".join(kept)


def _event(event: dict[str, Any], needle: Needle) -> dict[str, Any]:
    if event.get("payload") is event.get("salt") is None:
        return event
    if event.get("subject") != needle.id and not _is_made_from(event, needle):
        return event
    return event | {"payload": None, "salt": None}


def _is_made_from(event: dict[str, Any], needle: Needle) -> bool:
    """Tell whether an event has a line that a model made from the memory, for another one."""
    payload = event.get("payload")
    if event.get("op") != "promotion.line" or not isinstance(payload, str):
        return False
    try:
        said = json.loads(payload)
    except ValueError:  # somebody changed it
        return needle.id in payload
    return isinstance(said, dict) and needle.id in (said.get("sources") or ())


def _state(state: dict[str, Any], needle: Needle) -> dict[str, Any] | None:
    return None if state.get("subject") == needle.id else state


def _recall(recall: dict[str, Any], needle: Needle) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    query, hits = recall.get("query"), recall.get("hits")
    if isinstance(query, str) and query != ERASED and needle.is_asked_by(query):
        changed |= {"query": ERASED, "question": 0}  # the hash of its terms would confirm a guess
    if isinstance(hits, list):
        left = [hit for hit in hits if not (isinstance(hit, list) and hit[:1] == [needle.id])]
        if left != hits:
            changed["hits"] = left
    return recall | changed if changed else recall


def _block(data: bytes, needle: Needle) -> bytes:
    kept, inside, wrapped = [], False, _wrapped(data, needle)
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        marker = line.lstrip(_BEFORE_MARKER)
        inside = inside and not marker.startswith(_END)
        if not inside or not (_is_of(line, needle) or _tells(line, needle) or number in wrapped):
            kept.append(line)
        inside = inside or marker.startswith(_BEGIN)
    return b"".join(kept)


def _wrapped(data: bytes, needle: Needle) -> set[int]:
    """Return the numbers of the rows of the memory's lines, over which an editor may have spread it."""
    parts = memory_doc.split(data)
    return {
        memory_doc.number_of(parts, row)
        for line in memory_doc.parse(parts.block)
        if (needle.label is not None and line.label == needle.label) or needle.is_in(line.text)
        for row in line.rows
    }


def _is_of(line: bytes, needle: Needle) -> bool:
    """Tell whether a line of MEMORY.md is the memory's, though a person may have changed what it says."""
    return needle.label is not None and block.label_of(line.decode(errors="replace")) == needle.label


def _tells(line: bytes, needle: Needle) -> bool:
    return needle.id.encode() in line or needle.is_in(line.decode(errors="replace"))
