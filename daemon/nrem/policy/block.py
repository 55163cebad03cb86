"""The managed block as people left it: its lines, and what stands between them and is none.

A line is what one memory says. An editor may have wrapped it: indented rows go on with the line above them.
Comments, code between fences, tables and rows without a letter or a digit are asides: they stay people's
text, and nothing is remembered of them. A row with the label of a memory is always a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

_LABEL = re.compile(r"\s*<!--\s*m:([0-9A-Za-z-]{1,64})\s*-->\s*")
_BULLET = re.compile(r"(?:[-*+]|\d{1,3}[.)])(?:\s+|$)")
_HEADING = re.compile(r"#{1,6}(?:\s+(.*)|$)")
_FENCE = re.compile(r"`{3,}|~{3,}")
_COMMENT = "<!--"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of the block: what its memory is called there, and what it says."""

    label: str | None
    text: str
    section: str
    rows: range = field(default=range(0), compare=False)
    """Where it stands in the block; the marker is row 0."""


@dataclass(frozen=True, slots=True)
class Aside:
    """Text in the block that is no line."""

    rows: range


def read(block: bytes | None) -> list[Line | Aside]:
    """Return what stands in a block, in order; headings and empty rows are nothing of their own."""
    rows = [raw.decode(errors="replace") for raw in (block or b"").splitlines()][:-1]
    found: list[Line | Aside] = []
    section, place = "", 1
    while place < len(rows):
        stop = _end(rows, place)
        text, where = _joined(rows[place:stop]), range(place, stop)
        heading, label, said = _HEADING.fullmatch(text), label_of(text), _said(text)
        if heading:
            section = (heading[1] or "").strip()
        elif _is_aside(text):
            found.append(Aside(where))
        elif said or label:
            found.append(Line(label=label, text=said, section=section, rows=where))
        place = stop
    return found


def label_of(text: str) -> str | None:
    """Return the label in a line's comment, if it has one."""
    labels = _LABEL.findall(text)
    return labels[-1] if labels else None


def _said(text: str) -> str:
    """Return what a line says, without its bullet and its label; nothing where there is nothing to see."""
    said = _LABEL.sub(" ", _without_bullet(text)).strip()
    return said if any(map(str.isprintable, said)) else ""


def _without_bullet(text: str) -> str:
    bullet = _BULLET.match(text)
    return text[bullet.end() :] if bullet else text


def _joined(rows: Sequence[str]) -> str:
    return " ".join(row.strip() for row in rows)


def _is_aside(text: str) -> bool:
    said = _without_bullet(text)
    if said.startswith(_COMMENT):
        return not _LABEL.fullmatch(said)  # that alone is what is left of an emptied line
    if label_of(text) or not said:
        return False
    return bool(said.startswith("|") or _FENCE.match(said)) or not any(map(str.isalnum, said))


def _end(rows: Sequence[str], place: int) -> int:
    """Return the row after what begins on this one."""
    stop = _aside_end(rows, place)
    if _is_aside(_joined(rows[place:stop])) or not rows[place].strip() or _HEADING.match(rows[place].strip()):
        return stop
    while stop < len(rows) and _is_indented(rows[stop]):
        end = _aside_end(rows, stop)
        more = _joined(rows[stop:end])
        if _is_aside(more) or (label_of(more) and label_of(_joined(rows[place:stop]))):
            break
        stop = end
    return stop


def _is_indented(row: str) -> bool:
    """Tell whether a row goes on with the line above it."""
    text = row.strip()
    return row[:1].isspace() and bool(text) and not (_BULLET.match(text) or _HEADING.fullmatch(text))


def _aside_end(rows: Sequence[str], place: int) -> int:
    """Return the row after the comment, code or table that begins on this one, else the next one."""
    first = _without_bullet(rows[place].strip())
    if label_of(first):
        return place + 1
    if first.startswith(_COMMENT):
        return _closed(rows, place, place, lambda row: "-->" in row)
    if fence := _FENCE.match(first):
        return _closed(
            rows, place, place + 1, lambda row: row.startswith(fence[0]) and not row.strip(fence[0])
        )
    stop = place + 1
    while first.startswith("|") and stop < len(rows) and rows[stop].strip().startswith("|"):
        if label_of(rows[stop]):
            break
        stop += 1
    return stop


def _closed(rows: Sequence[str], place: int, start: int, closes: Callable[[str], bool]) -> int:
    """Return the row after the one that closes an aside; the next one where a line comes before it."""
    for at in range(start, len(rows)):
        if label_of(rows[at]):
            break
        if closes(rows[at].strip()):
            return at + 1
    return place + 1
