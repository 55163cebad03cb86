"""How much it would cost to forget a memory, when the caller does not say."""

from __future__ import annotations

import re

from nrem.model import Role

_URGENT_WORDS = ("error", "bug", "fix", "critical", "important")
_URGENT = re.compile(rf"\b(?:{'|'.join(_URGENT_WORDS)})\b")


def importance(content: str, role: Role | None) -> float:
    """Return 0.5 with bonuses for an assistant's words, length, urgent words and code."""
    hundredths = 50
    if role is Role.ASSISTANT:
        hundredths += 10
    if len(content.encode()) > 500:
        hundredths += 10
    if _is_urgent(content):
        hundredths += 15
    if "```" in content:
        hundredths += 10
    return hundredths / 100


def _is_urgent(content: str) -> bool:
    lower = content.lower()  # plain search first: a sweep asks this of every text
    return any(word in lower for word in _URGENT_WORDS) and _URGENT.search(lower) is not None


def band(importance: float) -> str:
    """Name the band an importance lies in."""
    if importance < 0.3:
        return "low"
    if importance < 0.6:
        return "medium"
    if importance < 0.8:
        return "high"
    return "critical"
