"""How long to wait before what failed is tried again."""

from __future__ import annotations

FIRST = 30_000
LONGEST = 3_600_000


def backoff(attempts: int) -> int:
    """Return the milliseconds to wait after so many attempts: 30 s, doubled each time, at most an hour."""
    return int(min(FIRST << min(attempts - 1, 16), LONGEST))
