"""Which fields of a memory differ between two of its states, as texts that people compare."""

from __future__ import annotations

import json
from typing import Any

from nrem.model import iso
from nrem.policy.chain import canonical

_BESIDE = frozenset({"version", "updated_at", "concept_tags"})
"""What every change changes, and what follows from the content."""
_MOMENTS = frozenset({"created_at", "expires_at", "consolidated_at"})


def differing(before: str, after: str) -> list[tuple[str, str | None, str | None]]:
    """Return each field that differs in two payloads, with its value before and after; None is no value."""
    old, new = json.loads(before), json.loads(after)
    names = sorted((old.keys() | new.keys()) - _BESIDE)
    return [
        (name, _text(name, old.get(name)), _text(name, new.get(name)))
        for name in names
        if old.get(name) != new.get(name)
    ]


def _text(name: str, value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return iso(value) if name in _MOMENTS else canonical(value)
