"""Points in time as people write them: RFC 3339, or a few English words, in a time zone."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, tzinfo

FORMS = "2026-06-01, 2026-06-01T14:00:00Z, yesterday, yesterday 14:00, last monday, 3d ago, 2 weeks ago, now"
"""The forms of a point in the past, by example, for hints."""
TIMES = "2026-06-01T10:30:00Z, 2026-06-01, yesterday, last monday 9:00, 3d ago, tomorrow or in 20m"
"""The forms of any time."""

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SECONDS = {"s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hour": 3600}
_DAYS = {"d": 1, "day": 1, "w": 7, "week": 7}
_MONTHS = {"month": 1, "year": 12}
_UNITS = "|".join([*_SECONDS, *_DAYS, *_MONTHS])

_AGO = re.compile(rf"(?P<count>\d{{1,6}}|an?)\s*(?P<unit>{_UNITS})s?\s+ago")
_IN = re.compile(rf"in\s+(?P<count>\d{{1,6}}|an?)\s*(?P<unit>{_UNITS})s?")
_ON_DAY = re.compile(
    rf"(?P<day>today|yesterday|tomorrow|(?:last|next)\s+(?:{'|'.join(_WEEKDAYS)})|\d{{4}}-\d\d-\d\d)"
    r"(?:(?:\s+|(?<=\d)t)(?P<time>\d\d?:\d\d(?::\d\d(?:\.\d{1,9})?)?)\s*(?P<offset>z|[+-]\d\d:\d\d)?)?"
)


def read_point(text: str, *, now: int, zone: tzinfo) -> int | None:
    """Return the moment whose past a text means, in epoch milliseconds; None when it names none.

    A day without a time stands for its end, because what is asked is what was known of it; but a day that is
    not over yet ends now. A moment after `now` is returned too, for the caller to judge.
    """
    return _read(text, now, zone, _end)


def read_time(text: str, *, now: int, zone: tzinfo) -> int | None:
    """Return the moment that a text names, in epoch milliseconds; None when it names none.

    A day without a time stands for its start, as in `created at or after yesterday`.
    """
    return _read(text, now, zone, _start)


_WholeDay = Callable[[date, int, tzinfo], int]


def _read(text: str, now: int, zone: tzinfo, whole_day: _WholeDay) -> int | None:
    word = text.strip().lower()
    if not word.isascii():
        return None
    if word == "now":
        return now
    try:
        if match := _AGO.fullmatch(word):
            return _shifted(match, now, zone, -1)
        if match := _IN.fullmatch(word):
            return _shifted(match, now, zone, 1)
        if match := _ON_DAY.fullmatch(word):
            return _on_day(match, now, zone, whole_day)
    except (ValueError, OverflowError):  # 2026-13-01, 25:00, 999999 years ago
        return None
    return None


def _shifted(match: re.Match[str], now: int, zone: tzinfo, sign: int) -> int:
    count = sign * (int(match["count"]) if match["count"].isdigit() else 1)
    unit = match["unit"]
    if unit in _SECONDS:
        return now + count * _SECONDS[unit] * 1000
    # By the calendar, and at the same time of day, also over a change of the clocks.
    local = _local(now, zone)
    if unit in _MONTHS:
        day = _months_on(local.date(), count * _MONTHS[unit])
    else:
        day = local.date() + timedelta(days=count * _DAYS[unit])
    return _millis(datetime.combine(day, local.time(), zone))


def _on_day(match: re.Match[str], now: int, zone: tzinfo, whole_day: _WholeDay) -> int:
    day = _day(match["day"], _local(now, zone).date())
    if match["time"] is None:
        return whole_day(day, now, zone)
    hours, _, rest = match["time"].partition(":")
    where = zone
    if match["offset"] is not None:
        where = datetime.fromisoformat(f"2000-01-01T00:00{match['offset'].upper()}").tzinfo or UTC
    return _millis(datetime.combine(day, time.fromisoformat(f"{hours:0>2}:{rest}"), where))


def _start(day: date, now: int, zone: tzinfo) -> int:
    return _millis(datetime.combine(day, time(), zone))


def _end(day: date, now: int, zone: tzinfo) -> int:
    end = _start(day + timedelta(days=1), now, zone) - 1
    return min(end, now) if _start(day, now, zone) <= now else end


def _day(word: str, today: date) -> date:
    near = {"yesterday": -1, "today": 0, "tomorrow": 1}
    if word in near:
        return today + timedelta(days=near[word])
    if word.startswith(("last", "next")):
        which, weekday = word.split()
        ahead = (_WEEKDAYS.index(weekday) - today.weekday()) % 7
        return today + timedelta(days=(ahead or 7) if which == "next" else ahead - 7)
    return date.fromisoformat(word)


def _months_on(day: date, months: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    first = date(year, month + 1, 1)
    following = date(year + (month + 1) // 12, (month + 1) % 12 + 1, 1)
    return first.replace(day=min(day.day, (following - first).days))


def _local(now: int, zone: tzinfo) -> datetime:
    return datetime.fromtimestamp(now / 1000, UTC).astimezone(zone)


def _millis(moment: datetime) -> int:
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return since // timedelta(milliseconds=1)
