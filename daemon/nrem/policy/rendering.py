"""Recalled text as data between delimiters, which nothing in the text itself can close or imitate."""

from __future__ import annotations

import re
from collections.abc import Iterable

SEPARATOR = "---"
_MARKER = re.compile(r"^([^\S\n]*)(?=\\*(?:-{3,}\s*$|\[Type:))", re.MULTILINE)


def hit(content: str, *, kind: str, category: str, created_at: str, score: float | None = None) -> str:
    """Return a memory under a line that says what it is; lines in it like a delimiter are escaped."""
    head = f"Type: {kind} | Category: {category}"
    if score is not None:
        head += f" | Score: {score:.3f}"
    lines = "\n".join(content.splitlines()) or content  # every kind of line end is one
    escaped = _MARKER.sub(r"\1\\", lines)
    return f"[{head} | {created_at}]\n{escaped}"


def line(content: str, *, kind: str, category: str, created_at: str) -> str:
    """Return a memory on one line, whatever line ends it has."""
    return f"[{kind}:{category}] ({created_at}) {' '.join(content.split())}"


def hits(rendered: Iterable[str]) -> str:
    """Return hits one after the other, best first."""
    return f"\n{SEPARATOR}\n".join(rendered)
