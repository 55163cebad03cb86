"""MEMORY.md: people's text, and between two marker lines the block that nrem writes.

Pure: bytes in, bytes out. What stands outside of the block stays byte for byte. The block is the first end
marker that has a begin marker before it, with the nearest of those; any other marker is people's text, so a
block whose marker somebody broke is left to them, and a new one comes at the end of the file.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from nrem.policy import block as blocks
from nrem.policy.block import Aside, Line
from nrem.policy.excerpt import excerpt

PATH = "MEMORY.md"
BEGIN = "<!-- nrem:begin -->"
END = "<!-- nrem:end -->"
"""Between these two lines nrem writes; the rest of the file is people's."""

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Identity": ("identity", "user", "person", "people", "profile", "contact", "contacts", "family"),
    "Preferences": ("preferences", "preference", "likes", "style", "feedback"),
    "Rules": ("rules", "rule", "policy", "policies", "constraints", "security"),
    "Decisions": ("decisions", "decision", "adr"),
    "Projects": ("projects", "project", "work", "code", "architecture", "reference"),
    "Open loops": ("open_loops", "open_loop", "todo", "plans", "plan", "goals", "tasks"),
    "Notes": (),
}
"""The headings in their order, each with the categories whose lines stand under it; the last has the rest."""

LABEL = 8
"""Characters of an id that a line has at least: the whole id would take the room of every fifth line."""

_SECTION_OF = {category: title for title, categories in SECTIONS.items() for category in categories}
_LAST = list(SECTIONS)[-1]
_BOM = b"\xef\xbb\xbf"
_ANY_COMMENT = re.compile(r"[^\S\n]*<!--.*?-->", re.DOTALL)
_CONFLICT = re.compile(rb"(?:<{7}|>{7}) ")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_DELIMITER = re.compile(r"<(?=!-)|-(?=-!?>)")
_JOINERS = "\u200c\u200d"  # without them, words of several scripts and many emoji fall apart
_RELATIVE = re.compile(
    r"\b(?:today|tonight|yesterday|tomorrow|now|currently|recently|lately|ago|hoy|ayer|mañana|ahora"
    r"|(?:last|this|next|past|coming) (?:night|morning|evening|week|weekend|month|year|spring|summer|autumn"
    r"|fall|winter|monday|tuesday|wednesday|thursday|friday|saturday|sunday))\b"
)
_RELATIVE_HINTS = (
    *("today", "tonight", "yesterday", "tomorrow", "now", "currently", "recently", "lately", "ago"),
    *("hoy", "ayer", "mañana", "ahora", "last ", "this ", "next ", "past ", "coming "),
)
"""One of these is in every text that the pattern matches."""
_SAID = re.compile(r" \(said \d{4}-\d\d-\d\d\)$")


@dataclass(frozen=True, slots=True)
class Parts:
    """A file in three; `block` is None where there is none, and a new one would come between the others."""

    before: bytes
    block: bytes | None
    after: bytes

    @property
    def human(self) -> int:
        """Characters of people's text."""
        return len(self.before.decode(errors="replace")) + len(self.after.decode(errors="replace"))

    def with_block(self, block: bytes) -> bytes:
        return self.before + block + self.after


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """What people did inside the block since it was written; lines that were there, by label."""

    removed: tuple[str, ...] = ()
    changed: Mapping[str, Line]
    added: tuple[Line, ...] = ()
    asides: tuple[Aside, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.removed or self.changed or self.added or self.asides)


# The file


def split(data: bytes) -> Parts:
    """Return a file in its parts."""
    begin, place = None, 0
    for line in data.splitlines(keepends=True):
        content = line.removeprefix(_BOM) if place == 0 else line
        match content.strip():
            case b"<!-- nrem:begin -->":
                begin = place + len(line) - len(content)
            case b"<!-- nrem:end -->" if begin is not None:
                stop = place + len(line.rstrip(b"\r\n"))
                return Parts(data[:begin], data[begin:stop], data[stop:])
        place += len(line)
    newline = _newline(data)
    gap = b"" if not data or data.endswith(b"\n") else newline
    return Parts(data + gap, None, newline)


def _newline(data: bytes) -> bytes:
    first = data.find(b"\n")
    return b"\r\n" if first > 0 and data[first - 1 : first] == b"\r" else b"\n"


def injected(text: str) -> str:
    """Return a file's text as an agent is given it: without any comment."""
    return _ANY_COMMENT.sub("", text)


# The block


def section_of(category: str) -> str:
    """Return the heading that memories of a category stand under."""
    return _SECTION_OF.get(category, _LAST)


def category_of(section: str) -> str:
    """Return the category of a line that a person wrote under a heading."""
    categories = SECTIONS.get(section, ())
    return categories[0] if categories else "general"


def line_text(content: str, *, created_at: int, zone: str) -> str:
    """Return what a memory tells as one line that closes no comment, with a date if it has a relative one."""
    return dated(one_line(excerpt(content)), created_at=created_at, zone=zone)


def dated(text: str, *, created_at: int, zone: str) -> str:
    """Return a text with the day on which it was said, if it has a relative date and not that day."""
    if not needs_day(text):
        return text
    day = datetime.fromtimestamp(created_at / 1000, UTC).astimezone(ZoneInfo(zone)).date()
    return f"{text} (said {day.isoformat()})"


def needs_day(text: str) -> bool:
    """Tell whether a text has a date such as yesterday, and not the day on which it was said."""
    return _is_relative(text) and not _SAID.search(text)


def _is_relative(text: str) -> bool:
    lower = text.lower()  # plain search first: a sweep asks this of every text
    return any(hint in lower for hint in _RELATIVE_HINTS) and _RELATIVE.search(lower) is not None


class _Visible(dict[int, int | str]):
    """A str.translate table, filled as characters are met: what shows nothing goes, white space is one."""

    def __missing__(self, point: int) -> int | str:
        character = chr(point)
        hidden = unicodedata.category(character)[0] == "C" and character not in _JOINERS
        self[point] = " " if character.isspace() else "" if hidden else point
        return self[point]


_VISIBLE = _Visible()


def one_line(content: str) -> str:
    """Return a text on one line, without what shows nothing and without ends of comments."""
    # What is printable has nothing but spaces to it, and most texts are.
    shown = content if content.isprintable() else content.translate(_VISIBLE)
    return _DELIMITER.sub(r"\g<0> ", " ".join(shown.split()))


def labels(ids: Iterable[str]) -> dict[str, str]:
    """Return what memories are called in their lines, given in the order in which they first got one.

    A label is the end of the id, where chance is, as short as none before it has; so it is never given to
    another memory, and does not change.
    """
    found: dict[str, str] = {}
    taken = set[str]()
    for id in ids:
        if id not in found:
            found[id] = next(id[-n:] for n in range(LABEL, len(id) + 1) if id[-n:] not in taken)
            taken.add(found[id])
    return found


def line_length(text: str, label: str) -> int:
    """Return how many characters the line of a memory takes, with its line end."""
    return len(_item(text, label)) + 2


def heading_lengths() -> dict[str, int]:
    """Return how many characters each heading takes, with the empty line before it."""
    return {title: len(f"## {title}") + 4 for title in SECTIONS}


def length(lines: Sequence[Line]) -> int:
    """Return how many characters a block of these lines takes at most."""
    headings = heading_lengths()
    sections = sum(headings[section] for section in {line.section for line in lines})
    items = sum(line_length(line.text, line.label or "") for line in lines)
    return MARKERS_LENGTH + sections + items if lines else 0


MARKERS_LENGTH = len(BEGIN) + len(END) + 2
"""Characters of a block without any line."""


def render(lines: Iterable[Line], *, like: Parts) -> bytes:
    """Return the block with these lines, in the order given within a section, with the file's line ends."""
    by_section: dict[str, list[str]] = {title: [] for title in SECTIONS}
    for line in lines:
        by_section[line.section].append(_item(line.text, line.label))
    rendered = [BEGIN]
    for title, items in by_section.items():
        if items:
            rendered += [*([""] if len(rendered) > 1 else []), f"## {title}", *items]
    newline = _newline(like.with_block(like.block or b""))
    return newline.join(line.encode() for line in (*rendered, END))


def _item(text: str, label: str | None) -> str:
    return f"- {text} <!-- m:{label} -->"


def parse(block: bytes | None) -> list[Line]:
    """Return the lines of a block, also those that a person wrote."""
    return [found for found in blocks.read(block) if isinstance(found, Line)]


# What people did to it


def compare(base: bytes | None, block: bytes | None) -> Edits:
    """Return what people changed in the block since `base` was written; nothing where they broke it."""
    if block is None or base == block:
        return Edits(changed={})
    before = {line.label: line.text for line in parse(base) if line.label is not None}
    left = dict(before)
    by_text = {text: label for label, text in before.items()}
    changed: dict[str, Line] = {}
    strange: list[Line] = []
    asides: list[Aside] = []
    for line in blocks.read(block):
        if isinstance(line, Aside):
            asides.append(line)
        elif line.label in left:
            old = left.pop(line.label)
            if not line.text:
                left[line.label] = old
            elif line.text != old:
                changed[line.label] = _undated(line)
        elif line.text:
            strange.append(line)
    added = []
    for line in strange:
        known = by_text.get(line.text)
        if known in left:  # only its comment is gone
            del left[known]
        elif known is None:
            added.append(_undated(line))
    return Edits(removed=tuple(left), changed=changed, added=tuple(added), asides=tuple(asides))


def _undated(line: Line) -> Line:
    """Return a line without the day that the block shows, which is no part of the memory."""
    return replace(line, text=_SAID.sub("", line.text))


def move_out(parts: Parts, rows: Collection[int]) -> bytes:
    """Return a file with these rows of its block below the block, as they are."""
    inside, below = list[bytes](), list[bytes]()
    for number, raw in enumerate((parts.block or b"").splitlines(keepends=True)):
        (below if number in rows else inside).append(raw)
    end = _newline(parts.before + (parts.block or b""))
    return parts.before + b"".join((*inside, end, *below)).removesuffix(end) + parts.after


def number_of(parts: Parts, row: int) -> int:
    """Return the number that a row of the block has in the file, from 1."""
    return len((parts.before + b"x").splitlines()) + row  # a mark of the encoding is no line of its own


def trouble(parts: Parts) -> tuple[int, str] | None:
    """Return the number of the first line of the block that nobody meant, and what is wrong with it."""
    if parts.before.startswith(_UTF_16):
        return 1, "is not UTF-8"
    above = b"\n" + parts.before
    begin = above.rfind(b"\n<<<<<<< ")
    if begin > above.rfind(b"\n>>>>>>> ") and b"\n>>>>>>> " in parts.after:
        return above.count(b"\n", 0, begin + 1), "is from a conflict of git"
    for row, raw in enumerate((parts.block or b"").splitlines()):
        if _CONFLICT.match(raw):
            return number_of(parts, row), "is from a conflict of git"
        try:
            raw.decode()
        except UnicodeDecodeError:
            return number_of(parts, row), "is not UTF-8"
    return None


def refresh(base: bytes | None, block: bytes, wanted: Mapping[str, str]) -> tuple[bytes, bytes]:
    """Return base and block without the lines of memories that are gone, and with new texts of the others.

    `wanted` has the texts by label.
    Only lines that are as they were written are touched: the others are people's.
    """
    before = {line.label: line.text for line in parse(base) if line.label is not None}
    return _refreshed(base or b"", before, wanted), _refreshed(block, before, wanted)


def _refreshed(block: bytes, before: Mapping[str, str], wanted: Mapping[str, str]) -> bytes:
    lines = []
    for raw in block.splitlines(keepends=True):
        line = next(iter(parse(b"\n" + raw + b"\n\n")), None)
        if line is None or line.label is None or before.get(line.label) != line.text:
            lines.append(raw)
        elif line.label in wanted:
            end = raw[len(raw.rstrip(b"\r\n")) :]
            text = wanted[line.label]
            lines.append(raw if text == line.text else _item(text, line.label).encode() + end)
    return b"".join(_without_empty_sections(lines))


def _without_empty_sections(lines: Sequence[bytes]) -> Iterable[bytes]:
    """Yield lines without headings of ours that nothing stands under."""
    ours = {f"## {title}".encode() for title in SECTIONS}
    for place, line in enumerate(lines):
        if line.strip() in ours:
            following = next((after.strip() for after in lines[place + 1 :] if after.strip()), b"")
            if following in ours or following == END.encode():
                continue
        yield line
