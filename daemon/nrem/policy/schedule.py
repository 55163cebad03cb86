"""When something is due: by a cron expression in a named zone, or at intervals.

A slot is the moment at which a run is due. Clock time that a zone skips stands for the next minute that there
is; clock time that comes twice counts the first time only.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from croniter import CroniterError, croniter

from nrem.errors import InvalidField

ON_TIME = 60_000
"""A slot that is noticed within these milliseconds was not missed."""
_MINUTE = timedelta(minutes=1)
_LONGEST_OVERLAP = timedelta(hours=3)
_NAMES = frozenset({"@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"})


class Missed(StrEnum):
    """What becomes of slots that went by while nobody looked."""

    LATEST_ONLY = "latest_only"
    """The newest of them is fired late, for all."""
    SKIP = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """At the clock times of a cron expression; InvalidField for one that is none."""

    expression: str
    zone: str
    missed: Missed = Missed.LATEST_ONLY

    def __post_init__(self) -> None:
        check(self.expression)


@dataclass(frozen=True, slots=True, kw_only=True)
class Every:
    """Again and again after so many milliseconds; the first time when they have passed once."""

    millis: int
    missed: Missed = Missed.LATEST_ONLY


Schedule = Cron | Every


@functools.cache
def check(expression: str) -> None:
    """Raise InvalidField unless this is a cron expression that will be due some day."""
    hint = "five fields: minute hour day month weekday, such as 0 3 * * *"
    fields = expression.split()
    # Longer ones, and letters for chance, are croniter's own.
    if len(fields) != 5 and expression not in _NAMES:
        raise InvalidField("cron", "is not a cron expression", hint=hint)
    if any(part[:1].lower() in ("r", "h") for part in fields):
        raise InvalidField("cron", "has a field by chance, which would be another one each time", hint=hint)
    try:
        croniter(expression, datetime.fromtimestamp(0, UTC)).get_next(datetime)
    except CroniterError:
        raise InvalidField("cron", "is not a cron expression that is ever due", hint=hint) from None


def next_slot(schedule: Schedule, after: int) -> int:
    """Return the first slot after a moment; for intervals, counted from that moment."""
    if isinstance(schedule, Every):
        return after + schedule.millis
    zone = ZoneInfo(schedule.zone)
    times = croniter(schedule.expression, _local(after, zone))
    while True:
        slot = _moment(times.get_next(datetime), zone)
        if slot > after:
            return slot


def latest_slot(schedule: Schedule, last: int, now: int) -> int | None:
    """Return the newest slot after `last` up to now."""
    if isinstance(schedule, Every):
        slot = last + (now - last) // schedule.millis * schedule.millis
    else:
        zone = ZoneInfo(schedule.zone)
        # Where the clock was set back, the first half of the hour that comes twice is later on its face.
        times = croniter(schedule.expression, _local(now, zone) + _LONGEST_OVERLAP)
        slot = _moment(times.get_prev(datetime), zone)
        while slot > now:
            slot = _moment(times.get_prev(datetime), zone)
    return slot if slot > last else None


def due(schedule: Schedule, last: int, now: int) -> int | None:
    """Return the slot to fire now, if there is one, when `last` was the last one that was looked at."""
    latest = latest_slot(schedule, last, now)
    if latest is not None and schedule.missed is Missed.SKIP and now - latest > ON_TIME:
        return None
    return latest


def _local(at: int, zone: ZoneInfo) -> datetime:
    """Return what a clock on the wall shows."""
    return datetime.fromtimestamp(at // 1000, zone).replace(tzinfo=None, fold=0)


def _moment(shown: datetime, zone: ZoneInfo) -> int:
    """Return when a clock on the wall first shows a time, or the next one that it ever shows."""
    while True:
        moment = shown.replace(tzinfo=zone, fold=0).astimezone(UTC)
        if moment.astimezone(zone).replace(tzinfo=None) == shown:
            return round(moment.timestamp()) * 1000
        shown += _MINUTE
