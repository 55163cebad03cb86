"""What brings a state of the past back, decided from what was there then and what is there now."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nrem.model import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A memory, as it was then and as it is now; None where there was or is none."""

    id: str
    seq: int = 0
    """The event that made it what it was then."""
    then: Memory | None
    now: Memory | None
    erased: bool = False
    """Whether it was there then, in a state that is gone for good."""
    taken_by: frozenset[str] = frozenset()
    """Other memories that now have the text, or the foreign id, that it had then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be done, and what cannot be."""

    back: tuple[Known, ...]
    """These get the state they had then, the forgotten ones among them too."""
    gone: tuple[str, ...]
    """These were not there then."""
    taken: tuple[tuple[str, str], ...]
    """These stay as they are, because another memory, named second, keeps their text."""
    erased: tuple[str, ...]
    """These stay as they are, because their state is gone for good."""


def decide(known: Iterable[Known]) -> Plan:
    """Return the changes that lead back. Memories that are equal to what they were are left alone."""
    back: dict[str, Known] = {}
    gone, erased = [], []
    for one in known:
        if one.erased:
            erased.append(one.id)
        elif one.then is None:
            if one.now is not None:
                gone.append(one.id)
        elif one.now is None or not is_same(one.then, one.now):
            back[one.id] = one
    taken: dict[str, str] = {}
    # One that stays as it is keeps its text, which another one may be waiting for.
    while held := _held(back, gone):
        taken |= held
        for id in held:
            del back[id]
    return Plan(back=tuple(back.values()), gone=tuple(gone), taken=tuple(taken.items()), erased=tuple(erased))


def is_same(then: Memory, now: Memory) -> bool:
    """Tell whether two states are equal, whenever and how often the memory was changed between."""
    return dataclasses.replace(then, version=now.version, updated_at=now.updated_at) == now


def _held(back: Mapping[str, Known], gone: Iterable[str]) -> dict[str, str]:
    """Return those that cannot have their text, with a memory that keeps it."""
    free = back.keys() | set(gone)
    keepers = {id: one.taken_by - free for id, one in back.items() if one.taken_by}
    return {id: min(others) for id, others in keepers.items() if others}
