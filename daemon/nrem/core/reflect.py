"""What a sweep notices among the newest memories: as a model is told it, and as the ledger keeps it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from nrem.core.dreamer import Dreamer
from nrem.model import Kind
from nrem.policy import reflection
from nrem.policy.excerpt import excerpt
from nrem.policy.memory_doc import one_line
from nrem.policy.naming import Group, Tags
from nrem.policy.proposals import LINE, Source
from nrem.policy.reflection import Pair, Reflection, Tagged, Theme
from nrem.store import sweeps

MOST_REFLECTED = 2000
"""The newest memories, which are looked at."""
MOST_TOLD = 5
"""Memories of a theme that stand for it."""


def reflect(dreamer: Dreamer, *, now: int) -> Reflection:
    """Return what there is to notice; what is not trusted is not looked at."""
    kinds = [Kind(kind) for kind in dreamer.settings.dream.kinds]
    with dreamer.store.reading() as db:
        newest = sweeps.newest_tagged(db, dreamer.scope.number, kinds, limit=MOST_REFLECTED, now=now)
    return reflection.reflect(newest)


def group(theme: Theme) -> Group:
    """Return a theme as a model is told it: the beginnings of a few memories."""
    return Group(
        tags=theme.tags,
        notes=tuple(Source(id=one.id, text=_beginning(one.text), at=one.at) for one in told(theme)),
    )


def told(theme: Theme) -> tuple[Tagged, ...]:
    return theme.memories[:MOST_TOLD]


def sources(theme: Theme) -> dict[str, int]:
    """Return the memories that a theme goes by, each with its version."""
    return {one.id: one.version for one in told(theme)}


def noted(found: Reflection, names: Mapping[Tags, str]) -> dict[str, Any]:
    """Return what the ledger keeps: ids, tags, and the names that a model gave."""
    return {
        "themes": [
            {
                "tags": list(theme.tags),
                "name": names.get(theme.tags),
                "medoid": theme.memories[0].id,
                "memories": len(theme.memories),
                "days": theme.days,
                "sources": sources(theme),
            }
            for theme in found.themes
        ],
        "conflicts": list(map(_pair, found.conflicts)),
        "repeats": list(map(_pair, found.repeats)),
    }


def _pair(found: Pair) -> dict[str, str]:
    return {"older": found.older, "newer": found.newer}


def _beginning(text: str) -> str:
    """Return the beginning of a memory, cut between words: half a number would be another one."""
    return textwrap.shorten(one_line(excerpt(text)), LINE, placeholder=" ...")
