"""What a chain of events adds up to: pure, the same for the database's events and for those in git."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nrem.model import Ended, Event, StateRecord

FORGET = "memory.forget"
_MEMORY = "memory."


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What is live after the last event, by number, and which versions came before it, as they ended."""

    records: tuple[StateRecord, ...]
    ended: tuple[Ended, ...]


def fold(events: Iterable[Event]) -> History:
    """Return what events, from the first one on, leave behind.

    A memory's number is the seq of its first event, also when it was forgotten and came back. An event whose
    payload was erased leaves nothing.
    """
    numbers: dict[str, int] = {}
    live: dict[str, StateRecord] = {}
    ended = []
    for event in events:
        if not event.op.startswith(_MEMORY):
            continue
        number = numbers.setdefault(event.subject, event.seq)
        before = live.pop(event.subject, None)
        if before is not None:
            ended.append(Ended(subject=event.subject, seq=before.seq, ended_seq=event.seq))
        if event.op != FORGET and event.payload is not None:
            live[event.subject] = StateRecord(
                ordinal=number, subject=event.subject, seq=event.seq, payload=event.payload
            )
    records = sorted(live.values(), key=lambda record: record.ordinal)
    return History(records=tuple(records), ended=tuple(ended))
