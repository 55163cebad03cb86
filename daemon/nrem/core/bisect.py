"""Find the commit and the event since which a memory is, or is no more, in the answer to a question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from nrem.clock import Clock
from nrem.core.answer import answer
from nrem.core.point import resolve
from nrem.errors import InputError, InvalidField
from nrem.model import Event, Scope
from nrem.models.embeddings import Embedder
from nrem.sections import Config
from nrem.store import commits, events, memories
from nrem.store.database import Database
from nrem.store.driver import Connection
from nrem.store.past import Moment
from nrem.wire import Bisect, Bisected, Recall

TIME_ALONE = "no event changed it: since the last one only time has passed, in which memories expire"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """Events between which the change is looked for, and the commits' last events among them."""

    first: int
    last: int
    until: int
    """The time at which the last state is asked."""
    stops: tuple[int, ...]


def bisect(
    store: Database,
    embedder: Embedder | None,
    settings: Config,
    scope: Scope,
    request: Bisect,
    *,
    clock: Clock,
) -> Bisected:
    """Halve the commits, then the events of one, as git bisect does: one change is found, if there are more.

    Without a start: from before the memory was there when it is in the last answer, else from its first
    event on. Raise InputError when both ends answer alike.
    """
    tried: dict[tuple[int, int], bool] = {}

    def is_in(seq: int, at: int | None = None) -> bool:
        with store.reading() as db:
            happened = events.get(db, scope.number, seq)
            past = store.pasts.get(db, scope, Moment(seq=seq))
        now = at if at is not None else (happened.at if happened else 0)
        if (seq, now) not in tried:
            asked = Recall(agent=scope.name, query=request.query, limit=request.limit, mode=request.mode)
            found = answer(past, embedder, settings, scope, asked, now=now).found
            tried[seq, now] = any(memory.id == request.id for memory in found.memories)
        return tried[seq, now]

    with store.reading() as db:
        created = memories.first_seq(db, scope.number, request.id)
        span = _span(db, settings, scope.number, request, now=clock.now())
    ends = is_in(span.last, span.until)
    first = span.first
    if request.since is None:
        first = created - 1 if ends else min(created, span.last)
    if is_in(first) == ends:
        raise InputError(
            f"at both ends it {'is' if ends else 'is not'} in the answer",
            hint="give --from, --to or --limit so that the answers at the two ends differ",
            code="nothing_to_bisect",
        )
    change = "starts" if ends else "stops"
    if is_in(span.last) != ends:
        return Bisected(id=request.id, change=change, note=TIME_ALONE, asked=len(tried))

    def flips(seq: int) -> bool:
        return is_in(seq) == ends

    stops = [first, *(stop for stop in span.stops if first < stop < span.last), span.last]
    place = _halve(range(len(stops)), lambda place: flips(stops[place]))
    seq = _halve(range(stops[place - 1], stops[place] + 1), flips)
    with store.reading() as db:
        found = events.get(db, scope.number, seq)
        commit = commits.holding(db, scope.number, [seq]).get(seq)
    assert found is not None, "it lies between two events"
    return _bisected(request.id, change, found, commit, asked=len(tried))


def _span(db: Connection, settings: Config, scope: int, request: Bisect, *, now: int) -> _Span:
    zone = ZoneInfo(settings.time.zone)
    first = 0
    if request.since is not None:
        first = resolve(db, scope, request.since, now=now, zone=zone, field="since").seq
    end = resolve(db, scope, request.until or "now", now=now, zone=zone, field="until")
    if end.seq <= first:
        raise InvalidField("until", "is not after the start", hint="give a later one")
    stops = tuple(commits.published_seqs(db, scope))
    return _Span(first=first, last=end.seq, until=end.at, stops=stops)


def _halve(places: Sequence[int], is_after: Callable[[int], bool]) -> int:
    """Return a place that is after the change and has one before it just before; the last one is after."""
    low, high = 0, len(places) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_after(places[middle]) else (middle, high)
    return places[high]


def _bisected(id: str, change: str, event: Event, commit: str | None, *, asked: int) -> Bisected:
    return Bisected(
        id=id,
        change=change,
        event=event.seq,
        at=event.at,
        operation=event.op,
        subject=event.subject,
        actor=event.actor,
        commit=commit,
        asked=asked,
    )
