"""Times that a question speaks of, as spans in which memories about them were written down.

People tell of a thing on its day or soon after, so a span ends later than what it names. English words, and
dates in figures; what is not understood names no time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

MOST = 16
"""Windows of one question; a text full of dates speaks of no time in particular."""
MOST_CHARACTERS = 4000
LEAD = timedelta(days=1)  # before a date: in another zone it began earlier
TAIL = timedelta(days=7)  # after a date: until it was told
TAIL_SHARE = 4  # "yesterday" is told within a day, "last week" within two: a quarter, at least a day
LONG = timedelta(days=28)  # what is this long ("last month", "last summer") is told until now

_DAY = timedelta(days=1)
_MONTHS = "january february march april may june july august september october november december".split()
_SHORT = {"sept": 9} | {name[:3]: number for number, name in enumerate(_MONTHS, 1)}
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_NUMBERS = {"a": 1, "an": 1, "couple": 2} | {
    word: number
    for number, word in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), 1)
}

_MONTH = rf"(?P<month>{'|'.join(_MONTHS)}|{'|'.join(_SHORT)})\.?"
_DAY_OF_MONTH = r"(?P<day>\d{1,2})(?:st|[nr]d|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)(?!\d|[.,:/-]\d)"
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(_NUMBERS)})(?:\s+of)?"
_UNIT = r"(?P<unit>day|week|fortnight|month|year)s?"
_SOME_PART = (
    r"(?P<part>early|mid|late|(?:start|beginning|middle|end|first half|second half)\s+of)[\s-]+(?:the\s+)?"
)
_PART = f"(?:{_SOME_PART})?"
# A number is a year behind one of these (in some languages more), because it may be a port or a ticket.
_BEFORE_YEAR = (
    r"(?:in|of|since|before|after|during|by|from|until|till|through(?:out)?|around|between|for"
    r"|christmas|easter|halloween|thanksgiving|q[1-4]"
    r"|en|de|em|im|jahre?|seit|nach|nel|dal|desde|hasta|depuis|avant|в|с|до)\s+(?:the\s+)?(?:year\s+)?"
)


@dataclass(frozen=True, slots=True)
class _Span:
    """Days [start, end), and how much sooner and later a memory of them may have been written."""

    start: date
    end: date
    lead: timedelta = timedelta()
    tail: timedelta = TAIL


@dataclass(frozen=True, slots=True)
class _Asked:
    today: date
    years: Sequence[int]


def local_day(at: int, zone: tzinfo) -> int:
    """Return the day in which a moment lies in a zone, counted from 1970-01-01."""
    return datetime.fromtimestamp(at // 1000, zone).toordinal() - date(1970, 1, 1).toordinal()


def windows(text: str, now: int, zone: tzinfo, years: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return the spans [start, end), in epoch milliseconds, that a question speaks of.

    Relative words count from `now`, and not at all beside a date, which then is what they count from. A date
    without a year stands for that date in each of `years`, those in which the scope has rows. Nothing is
    raised for any text.
    """
    try:
        asked = _Asked(datetime.fromtimestamp(now / 1000, UTC).astimezone(zone).date(), years)
    except (ValueError, OverflowError, OSError):
        return ()
    found: dict[tuple[int, int], None] = {}
    rest = text[:MOST_CHARACTERS]
    for readers in (_DATES, _RELATIVE):
        if found:
            break
        for pattern, read in readers:
            for match in pattern.finditer(rest):
                for span in _spans(read, match, asked):
                    if (window := _window(span, zone)) is not None:
                        found[window] = None
                    if len(found) == MOST:
                        return tuple(found)
            rest = pattern.sub(_blank, rest)
    return tuple(found)


def hinted(text: str) -> bool:
    """Tell whether a text may speak of a time at all, which most questions don't."""
    return _FIGURE.search(text) is not None or not _HINTS.isdisjoint(_WORD.findall(text.lower()))


def _blank(match: re.Match[str]) -> str:
    """Take away what was read, so that the year of a date is not read again."""
    return " " * len(match.group()) if _means(match) else match.group()


def _spans(
    read: Callable[[re.Match[str], _Asked], Iterator[_Span]], match: re.Match[str], asked: _Asked
) -> Iterator[_Span]:
    try:
        yield from read(match, asked)
    except (ValueError, OverflowError, LookupError):  # 2023-13, or letters that only look like ours
        return


def _window(span: _Span, zone: tzinfo) -> tuple[int, int] | None:
    try:
        start, end = (
            datetime.combine(day, time(), zone).astimezone(UTC)
            for day in (span.start - span.lead, span.end + span.tail)
        )
    except (ValueError, OverflowError):
        return None
    return int(start.timestamp() * 1000), int(end.timestamp() * 1000)


# Dates in figures and words


def _day(match: re.Match[str], asked: _Asked) -> Iterator[_Span]:
    if not _means(match):
        return
    groups = match.groupdict()
    month = _month_number(groups["month"]) if not groups["month"].isdecimal() else int(groups["month"])
    for year in _years(groups.get("year"), asked):
        try:
            start = date(year, month, int(groups["day"]))
            end = date(year, month, int(groups["until"])) if groups.get("until") else start
        except ValueError:  # the 29th of February, in another year
            continue
        yield _Span(start, max(start, end) + _DAY, LEAD)


def _ambiguous_day(match: re.Match[str], asked: _Asked) -> Iterator[_Span]:
    """Read 5/3/2023 both ways; with dots the day comes first."""
    first, second = int(match["first"]), int(match["second"])
    orders = {(second, first)} if match["mark"] == "." else {(second, first), (first, second)}
    for month, day in sorted(orders):
        for year in _years(match["year"], asked):
            try:
                start = date(year, month, day)
            except ValueError:
                continue
            yield _Span(start, start + _DAY, LEAD)


def _month(match: re.Match[str], asked: _Asked) -> Iterator[_Span]:
    if not _means(match):
        return
    groups = match.groupdict()
    month = _month_number(groups["month"]) if not groups["month"].isdecimal() else int(groups["month"])
    if groups.get("last"):
        year = _last(asked, month)
        yield _recent(date(year, month, 1), _months_on(year, month, 1), asked.today)
        return
    for year in _years(groups.get("year"), asked):
        yield _part(date(year, month, 1), _months_on(year, month, 1), groups.get("part"))


def _season(match: re.Match[str], asked: _Asked) -> Iterator[_Span]:
    month = _SEASONS[match["season"].lower()]
    if match["last"] and not match["year"]:
        year = _last(asked, month)
        yield _recent(date(year, month, 1), _months_on(year, month, 3), asked.today)
        return
    years = [asked.today.year] if match["this"] and not match["year"] else _years(match["year"], asked)
    if month == 12:  # a winter belongs to two years
        years = sorted({start for year in years for start in (year - 1, year)})
    for year in years:
        yield _part(date(year, month, 1), _months_on(year, month, 3), match["part"])


def _year(match: re.Match[str], asked: _Asked) -> Iterator[_Span]:
    groups = match.groupdict()
    for year in (groups["year"], groups.get("second")):
        if year:
            yield _part(date(int(year), 1, 1), date(int(year) + 1, 1, 1), groups.get("part"))


# Words that count from today


def _named_day(match: re.Match[str], asked: _Asked) -> Iterator[_Span]:
    word = re.sub(r"\s+", " ", match.group().lower())
    if "before yesterday" in word:
        start, end = asked.today - 2 * _DAY, asked.today - _DAY
    elif word == "yesterday":
        start, end = asked.today - _DAY, asked.today
    elif word.startswith("last"):  # last night reaches into today
        start, end = asked.today - _DAY, asked.today + _DAY
    else:
        start, end = asked.today, asked.today + _DAY
    yield _recent(start, end, asked.today)


def _weekday(match: re.Match[str], asked: _Asked) -> Iterator[_Span]:
    number = _WEEKDAYS.index(match["weekday"].lower())
    back = (asked.today.weekday() - number) % 7
    day = asked.today - timedelta(days=back or (7 if match["which"].lower() in ("last", "past") else 0))
    yield _recent(day, day + _DAY, asked.today)


def _weekend(match: re.Match[str], asked: _Asked) -> Iterator[_Span]:
    saturday = asked.today - timedelta(days=(asked.today.weekday() - 5) % 7)
    if asked.today.weekday() >= 5 and match["which"].lower() == "last":
        saturday -= timedelta(days=7)
    yield _recent(saturday, saturday + timedelta(days=2), asked.today)


def _last_or_this(match: re.Match[str], asked: _Asked) -> Iterator[_Span]:
    """Read "last week", "this month": one period of the calendar."""
    back = 0 if match["which"].lower() in ("this", "current") else 1
    yield _recent(*_period(asked.today, match["unit"].lower(), back), asked.today)


def _last_few(match: re.Match[str], asked: _Asked) -> Iterator[_Span]:
    """Read "in the past three weeks": from then until now."""
    start, _ = _period(asked.today, match["unit"].lower(), _number(match["count"]))
    yield _Span(start, asked.today + _DAY, tail=timedelta())


def _ago(match: re.Match[str], asked: _Asked) -> Iterator[_Span]:
    """Read "two weeks ago": the period of the calendar that lies so far back."""
    yield _recent(*_period(asked.today, match["unit"].lower(), _number(match["count"])), asked.today)


# Helpers


def _period(today: date, unit: str, back: int) -> tuple[date, date]:
    if unit == "day":
        return today - back * _DAY, today - (back - 1) * _DAY
    if unit == "fortnight":
        return _period(today, "week", 2 * back)
    if unit == "week":
        monday = today - timedelta(days=today.weekday(), weeks=back)
        return monday, monday + timedelta(weeks=1)
    if unit == "month":
        return _months_on(today.year, today.month, -back), _months_on(today.year, today.month, 1 - back)
    return date(today.year - back, 1, 1), date(today.year - back + 1, 1, 1)


def _recent(start: date, end: date, today: date) -> _Span:
    if end - start >= LONG:
        return _Span(start, max(end, today + _DAY), tail=timedelta())
    return _Span(start, end, tail=max(_DAY, (end - start) // TAIL_SHARE // _DAY * _DAY))


def _part(start: date, end: date, part: str | None) -> _Span:
    """Cut a span down to its early, middle or late third, or to a half."""
    words = (part or "").lower()
    days = (end - start).days
    for word, first, last in (
        ("first half", 0.0, 0.5), ("second half", 0.5, 1.0), ("early", 0.0, 1 / 3), ("start", 0.0, 1 / 3),
        ("beginning", 0.0, 1 / 3), ("mid", 1 / 3, 2 / 3), ("late", 2 / 3, 1.0), ("end", 2 / 3, 1.0),
    ):  # fmt: skip
        if word in words:
            return _Span(
                start + timedelta(days=int(days * first)), start + timedelta(days=round(days * last))
            )
    return _Span(start, end)


def _months_on(year: int, month: int, count: int) -> date:
    months = year * 12 + month - 1 + count
    return date(months // 12, months % 12 + 1, 1)


def _last(asked: _Asked, month: int) -> int:
    """Return the year in which a month, or a season that starts with it, last began."""
    return asked.today.year - (asked.today.month <= month)


def _years(year: str | None, asked: _Asked) -> list[int]:
    if year is None:
        return list(asked.years)[:MOST]
    return [int(year) + 2000 if len(year) == 2 else int(year)]


def _month_number(name: str) -> int:
    return _SHORT[name[:3].lower()]


def _number(word: str) -> int:
    return int(word) if word.isdecimal() else _NUMBERS[word.lower()]


def _means(match: re.Match[str]) -> bool:
    """Say whether a month's name is meant as one: "may" and "march" are words too, as are "mar" and "sep"."""
    groups = match.groupdict()
    name = groups.get("month")
    if not name or name.isdecimal() or groups.get("day") or groups.get("year") or groups.get("part"):
        return True
    if name.lower() in ("may", "march"):
        return name[0].isupper() and (match.start("month") > 0 or bool(groups.get("last")))
    return name.lower() in _MONTHS


def _compiled(pattern: str) -> re.Pattern[str]:
    """Match whole words, and no part of a version or an address (version 3.11.2026, 10.11.2026.7)."""
    return re.compile(rf"(?<!\w)(?<!\d\.)(?<!version\s)(?:{pattern})(?!\w|\.\d)", re.IGNORECASE)


_DATES = (
    (re.compile(r"(?P<year>\d{4})年(?P<month>\d{1,2})月(?P<day>\d{1,2})日"), _day),
    (re.compile(r"(?P<year>\d{4})年(?P<month>\d{1,2})月"), _month),
    (_compiled(r"(?P<year>(?:19|20)\d\d)[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})(?:T[\d:.]+Z?)?"), _day),
    (
        _compiled(
            r"(?P<first>\d{1,2})(?P<mark>[./-])(?P<second>\d{1,2})(?P=mark)(?P<year>(?:19|20)\d\d|\d\d)"
        ),
        _ambiguous_day,
    ),
    (_compiled(r"(?P<year>(?:19|20)\d\d)-(?P<month>\d{1,2})"), _month),
    (_compiled(rf"{_DAY_OF_MONTH}(?:\s+of)?\s+{_MONTH}(?:,?\s*{_YEAR})?"), _day),
    (
        _compiled(
            rf"{_MONTH}\s+(?:the\s+)?{_DAY_OF_MONTH}(?:\s*[-–]\s*(?P<until>\d{{1,2}})(?:st|[nr]d|th)?)?"
            rf"(?:,?\s+{_YEAR})?"
        ),
        _day,
    ),
    (_compiled(rf"{_PART}(?P<last>(?:last|past)\s+)?{_MONTH}(?:\s+of)?(?:,?\s+{_YEAR})?"), _month),
    (
        _compiled(
            rf"{_PART}(?:(?P<last>last|past)\s+|(?P<this>this)\s+|(?:in|of|during|since)\s+(?:the\s+)?)"
            rf"(?P<season>{'|'.join(_SEASONS)})(?:(?:\s+of)?,?\s+{_YEAR})?"
        ),
        _season,
    ),
    (
        _compiled(rf"{_PART}(?P<last>)(?P<this>)(?P<season>{'|'.join(_SEASONS)})(?:\s+of)?,?\s+{_YEAR}"),
        _season,
    ),
    (_compiled(rf"{_BEFORE_YEAR}{_PART}{_YEAR}(?:\s+(?:and|or|to)\s+(?P<second>(?:19|20)\d\d))?"), _year),
    (_compiled(_SOME_PART + _YEAR), _year),
    (re.compile(r"(?P<year>(?:19|20)\d\d)年"), _year),
    (re.compile(rf"\A\W*{_YEAR}\W*\Z"), _year),
)
_RELATIVE = (
    (
        _compiled(
            r"the day before yesterday|yesterday|today|tonight|last night"
            r"|this (?:morning|afternoon|evening)|earlier today"
        ),
        _named_day,
    ),
    (_compiled(rf"(?P<which>last|past|this|on)\s+(?P<weekday>{'|'.join(_WEEKDAYS)})"), _weekday),
    (_compiled(r"(?P<which>last|past|this|the)\s+weekend"), _weekend),
    (_compiled(rf"{_COUNT}\s+{_UNIT}\s+(?:ago|back|earlier)"), _ago),
    (_compiled(rf"(?:last|past)\s+{_COUNT}\s+{_UNIT}"), _last_few),
    (_compiled(r"(?P<which>last|past|this|current|previous)\s+(?P<unit>week|month|year)"), _last_or_this),
)
_FIGURE = re.compile(r"\d")
_WORD = re.compile(r"\w+")
_HINTS = {
    *(*_MONTHS, *_SHORT, *_SEASONS, *_WEEKDAYS, *(_NUMBERS.keys() - {"a", "an"})),
    *"last past this weekend current previous yesterday today tonight ago back earlier".split(),
}
