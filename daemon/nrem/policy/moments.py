"""Points in the past as people write them: RFC 3339, or a few English words, in a time zone.

A day that is named without a time stands for its end, because what is asked is what was known of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, tzinfo

FORMS = "2026-06-01, 2026-06-01T14:00:00Z, yesterday, yesterday 14:00, last monday, 3d ago, 2 weeks ago, now"
"""The forms that are read, by example, for hints."""

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SECONDS = {"s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hour": 3600}
_DAYS = {"d": 1, "day": 1, "w": 7, "week": 7}
_MONTHS = {"month": 1, "year": 12}
_UNITS = "|".join([*_SECONDS, *_DAYS, *_MONTHS])

_AGO = re.compile(rf"(?P<count>\d{{1,6}}|an?)\s*(?P<unit>{_UNITS})s?\s+ago")
_ON_DAY = re.compile(
    rf"(?P<day>today|yesterday|last\s+(?:{'|'.join(_WEEKDAYS)})|\d{{4}}-\d\d-\d\d)"
    r"(?:(?:\s+|(?<=\d)t)(?P<time>\d\d?:\d\d(?::\d\d(?:\.\d{1,9})?)?)\s*(?P<offset>z|[+-]\d\d:\d\d)?)?"
)


def read_moment(text: str, *, now: int, zone: tzinfo) -> int | None:
    """Return the moment that a text names, in epoch milliseconds; None when it names none.

    Words count from `now`. A moment after `now` is returned too, for the caller to judge; but a day that is
    not over yet ends now.
    """
    word = text.strip().lower()
    if not word.isascii():
        return None
    if word == "now":
        return now
    for pattern, read in _READERS:
        match = pattern.fullmatch(word)
        if match is not None:
            try:
                return read(match, now, zone)
            except (ValueError, OverflowError):  # 2026-13-01, 25:00, 999999 years ago
                return None
    return None


def _ago(match: re.Match[str], now: int, zone: tzinfo) -> int:
    count = int(match["count"]) if match["count"].isdigit() else 1
    unit = match["unit"]
    if unit in _SECONDS:
        return now - count * _SECONDS[unit] * 1000
    # By the calendar, and back at the same time of day, also over a change of the clocks.
    local = _local(now, zone)
    day = _months_before(local.date(), count * _MONTHS[unit]) if unit in _MONTHS else None
    if day is None:
        day = local.date() - timedelta(days=count * _DAYS[unit])
    return _millis(datetime.combine(day, local.time(), zone))


def _on_day(match: re.Match[str], now: int, zone: tzinfo) -> int:
    day = _day(match["day"], _local(now, zone).date())
    if match["time"] is None:
        following = datetime.combine(day + timedelta(days=1), time(), zone)
        end = _millis(following) - 1
        begun = _millis(datetime.combine(day, time(), zone)) <= now
        return min(end, now) if begun else end
    hours, _, rest = match["time"].partition(":")
    where = zone
    if match["offset"] is not None:
        where = datetime.fromisoformat(f"2000-01-01T00:00{match['offset'].upper()}").tzinfo or UTC
    return _millis(datetime.combine(day, time.fromisoformat(f"{hours:0>2}:{rest}"), where))


def _day(word: str, today: date) -> date:
    if word == "today":
        return today
    if word == "yesterday":
        return today - timedelta(days=1)
    if word.startswith("last"):
        back = (today.weekday() - _WEEKDAYS.index(word.split()[1])) % 7
        return today - timedelta(days=back or 7)
    return date.fromisoformat(word)


def _months_before(day: date, months: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 - months, 12)
    first = date(year, month + 1, 1)
    following = date(year + (month + 1) // 12, (month + 1) % 12 + 1, 1)
    return first.replace(day=min(day.day, (following - first).days))


def _local(now: int, zone: tzinfo) -> datetime:
    return datetime.fromtimestamp(now / 1000, UTC).astimezone(zone)


def _millis(moment: datetime) -> int:
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return since // timedelta(milliseconds=1)


_READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], int, tzinfo], int]], ...] = (
    (_AGO, _ago),
    (_ON_DAY, _on_day),
)
