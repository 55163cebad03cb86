"""Recalled text as data between delimiters, which nothing in the text itself can close or imitate."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

SEPARATOR = "---"
_SIGNS = {"added": "+", "changed": "~", "forgotten": "-"}
_MARKER = re.compile(r"^([^\S\n]*)(?=\\*(?:-{3,}\s*$|\[Type:))", re.MULTILINE | re.IGNORECASE)
# Line ends and tabs, the spaces of typographers and of Japanese, the joiners of scripts and emoji.
_HARMLESS = "\n\t\u00a0\u2009\u202f\u3000\u200c\u200d"
# Nothing in ASCII is joined, so there a joiner could only hide something.
_LOOSE_JOINER = re.compile("(?<![^\x00-\x7f])[\u200c\u200d]")


def clean(text: str) -> str:
    """Return stored text as people and models may be shown it: what steers, or hides, becomes visible."""
    text = _LOOSE_JOINER.sub(lambda joiner: _escaped(joiner.group()), text)
    return "".join(c if c.isprintable() or c in _HARMLESS else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    point = ord(character)
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def hit(
    content: str,
    *,
    kind: str,
    category: str,
    created_at: str,
    trusted: bool = True,
    superseded_by: str | None = None,
    score: float | None = None,
) -> str:
    """Return a memory under a line that says what it is; lines in it like a delimiter are escaped."""
    head = f"Type: {kind} | Category: {category}"
    if not trusted:
        head += " | Untrusted"
    if superseded_by is not None:
        head += f" | Superseded by: {superseded_by}"
    if score is not None:
        head += f" | Score: {score:.3f}"
    lines = "\n".join(content.splitlines()) or content  # every kind of line end is one
    escaped = _MARKER.sub(r"\1\\", clean(lines))
    return f"[{head} | {created_at}]\n{escaped}"


def line(content: str, *, kind: str, category: str, created_at: str, superseded: bool) -> str:
    """Return a memory on one line, whatever line ends it has."""
    mark = ", superseded" if superseded else ""
    return f"[{kind}:{category}{mark}] ({created_at}) {_flat(content)}"


def change(found: Mapping[str, Any]) -> str:
    """Return what became of a memory, as an answer has it: a line, and one for each field that differs."""
    text = "its text was erased" if found["content"] is None else _flat(found["content"])
    kind = f"[{found['kind']}] " if found["kind"] else ""
    lines = [f"{_SIGNS[found['change']]} {found['id']} {kind}{text}"]
    lines += [
        f"    {field['field']}: {_value(field['before'])} -> {_value(field['after'])}"
        for field in found["fields"]
    ]
    return "\n".join(lines)


def counts(of: Mapping[str, Any]) -> str:
    """Return how many memories came, went and changed, and how many files, as an answer has them."""
    memories = f"+{of['added']} -{of['forgotten']} ~{of['changed']}"
    files = of["files"] if isinstance(of["files"], int) else len(of["files"])
    return f"{memories}, 1 file" if files == 1 else f"{memories}, {files} files" if files else memories


def hits(rendered: Iterable[str]) -> str:
    """Return hits one after the other, best first."""
    return f"\n{SEPARATOR}\n".join(rendered)


def _value(text: str | None) -> str:
    return "nothing" if text is None else f'"{_flat(text)}"'


def _flat(text: str) -> str:
    return clean(" ".join(text.split()))
