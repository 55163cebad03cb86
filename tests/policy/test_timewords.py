"""What a question says about time. Now is Wednesday, 16 August 2023, noon in Berlin."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nrem.policy.timewords import MOST, hinted, windows

BERLIN = ZoneInfo("Europe/Berlin")
NOW = int(datetime(2023, 8, 16, 12, tzinfo=BERLIN).timestamp() * 1000)
ZONES = ["UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Kiritimati", "Pacific/Pago_Pago"]


def days(text: str, years: tuple[int, ...] = (2022, 2023)) -> list[str]:
    """Return windows as first and last day, both inclusive, in Berlin."""
    found = []
    for start, end in windows(text, NOW, BERLIN, years):
        first = datetime.fromtimestamp(start / 1000, BERLIN)
        last = datetime.fromtimestamp(end / 1000 - 1, BERLIN)
        assert (first.hour, last.hour) == (0, 23)
        found.append(f"{first:%Y-%m-%d}..{last:%Y-%m-%d}")
    return found


@pytest.mark.parametrize(
    "text",
    [
        "What happened on 3 May 2023?",
        "the 3rd of May, 2023",
        "May 3, 2023",
        "may 3rd 2023",
        "3 may 2023",
        "3 MAY 2023",
        "on May the 3rd, 2023",
        "2023-05-03",
        "2023-05-03T10:00:00Z",
        "2023/5/3",
        "03.05.2023",
        "3.5.23",
        "2023年5月3日",
    ],
)
def test_a_day_is_told_from_the_day_before_until_a_week_after(text: str) -> None:
    assert days(text) == ["2023-05-02..2023-05-10"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("5/3/2023", ["2023-03-04..2023-03-12", "2023-05-02..2023-05-10"]),
        ("31/3/2023", ["2023-03-30..2023-04-07"]),
        ("May 3rd", ["2022-05-02..2022-05-10", "2023-05-02..2023-05-10"]),
        ("Sep 5", ["2022-09-04..2022-09-12", "2023-09-04..2023-09-12"]),
        ("5th of Sept, 2022", ["2022-09-04..2022-09-12"]),
        ("May 3-5, 2023", ["2023-05-02..2023-05-12"]),
        ("29 February 2024", ["2024-02-28..2024-03-07"]),
        ("29 February", []),
        ("31 April 2023", []),
        ("2023-13-01", []),
    ],
)
def test_other_days(text: str, found: list[str]) -> None:
    assert days(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("in May 2023", ["2023-05-01..2023-06-07"]),
        ("in may 2023", ["2023-05-01..2023-06-07"]),
        ("in 2023-05", ["2023-05-01..2023-06-07"]),
        ("2023年5月", ["2023-05-01..2023-06-07"]),
        ("in May", ["2022-05-01..2022-06-07", "2023-05-01..2023-06-07"]),
        ("in december 2022", ["2022-12-01..2023-01-07"]),
        ("early May 2023", ["2023-05-01..2023-05-17"]),
        ("late May 2022", ["2022-05-21..2022-06-07"]),
        ("in mid-June 2023", ["2023-06-11..2023-06-27"]),
        ("the first half of September 2022", ["2022-09-01..2022-09-22"]),
        ("2022", ["2022-01-01..2023-01-07"]),
        ("What happened in 2022?", ["2022-01-01..2023-01-07"]),
        ("since the year 2022", ["2022-01-01..2023-01-07"]),
        ("in 2021 or 2022", ["2021-01-01..2022-01-07", "2022-01-01..2023-01-07"]),
        ("a gift for Christmas 2022", ["2022-01-01..2023-01-07"]),
        ("Was geschah im Jahr 2022?", ["2022-01-01..2023-01-07"]),
        ("2022年の旅行", ["2022-01-01..2023-01-07"]),
        ("late 2022", ["2022-09-01..2023-01-07"]),
        ("summer of 2023", ["2023-06-01..2023-09-07"]),
        ("in the fall of 2022", ["2022-09-01..2022-12-07"]),
        ("winter 2022", ["2021-12-01..2022-03-07", "2022-12-01..2023-03-07"]),
        ("in the summer", ["2022-06-01..2022-09-07", "2023-06-01..2023-09-07"]),
    ],
)
def test_months_seasons_and_years(text: str, found: list[str]) -> None:
    assert days(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("yesterday", "2023-08-15..2023-08-16"),
        ("the day before yesterday", "2023-08-14..2023-08-15"),
        ("today", "2023-08-16..2023-08-17"),
        ("this morning", "2023-08-16..2023-08-17"),
        ("last night", "2023-08-15..2023-08-17"),
        ("3 days ago", "2023-08-13..2023-08-14"),
        ("last week", "2023-08-07..2023-08-14"),
        ("this week", "2023-08-14..2023-08-21"),
        ("two weeks ago", "2023-07-31..2023-08-07"),
        ("a fortnight ago", "2023-07-31..2023-08-07"),
        ("a couple of weeks ago", "2023-07-31..2023-08-07"),
        ("in the past three weeks", "2023-07-24..2023-08-16"),
        ("last Friday", "2023-08-11..2023-08-12"),
        ("last Wednesday", "2023-08-09..2023-08-10"),
        ("on Wednesday", "2023-08-16..2023-08-17"),
        ("last weekend", "2023-08-12..2023-08-14"),
        ("last month", "2023-07-01..2023-08-16"),
        ("two months ago", "2023-06-01..2023-08-16"),
        ("last March", "2023-03-01..2023-08-16"),
        ("last summer", "2023-06-01..2023-08-31"),
        ("last winter", "2022-12-01..2023-08-16"),
        ("last year", "2022-01-01..2023-08-16"),
        ("2 years ago", "2021-01-01..2023-08-16"),
    ],
)
def test_words_that_count_from_now(text: str, found: str) -> None:
    assert days(f"What did she do {text}?") == [found]


def test_beside_a_date_relative_words_count_from_it_and_not_from_now() -> None:
    assert days("What was the issue last week, as told on November 6, 2022?") == ["2022-11-05..2022-11-13"]


@pytest.mark.parametrize(
    "text",
    [
        "May I ask?",
        "She may go",
        "They march on",
        "I fall in love",
        "spring rolls",
        "version 1.2.3",
        "version 3.11.2026",
        "host 10.11.2026.7",
        "host 7.10.11.2026",
        "port 2024 blocked",
        "ticket 1999",
        "zzz 2026",
        "192.168.1.20",
        "room 20235",
        "sat in the sun, dec and jan",
        "next week",
        "12 monkeys",
        "",
    ],
)
def test_what_names_no_time(text: str) -> None:
    assert days(text) == []


def test_several_dates_are_several_windows_and_one_twice_is_one() -> None:
    assert days("12 May 2023, 2023-05-12 or June 2022") == [
        "2023-05-11..2023-05-19",
        "2022-06-01..2022-07-07",
    ]


def test_today_depends_on_the_zone() -> None:
    late = int(datetime(2023, 8, 16, 23, tzinfo=UTC).timestamp() * 1000)  # already the 17th in Berlin
    assert windows("today", late, ZoneInfo("UTC"), ()) == (
        (1692144000000, 1692316800000),  # 16 August, 00:00 UTC, and two days later
    )
    assert windows("today", late, BERLIN, ()) == ((1692223200000, 1692396000000),)


def test_days_are_as_long_as_the_zone_makes_them() -> None:
    """Clocks go forward on 26 March 2023."""
    now = int(datetime(2023, 3, 27, 12, tzinfo=BERLIN).timestamp() * 1000)
    ((start, end),) = windows("yesterday", now, BERLIN, ())
    assert end - start == 47 * 3_600_000


def test_a_text_full_of_dates_yields_a_bounded_number() -> None:
    text = " ".join(f"{1 + i % 28} May {1990 + i % 100}" for i in range(1000))
    assert len(windows(text, NOW, BERLIN, range(1970, 2070))) == MOST
    assert len(windows("in May", NOW, BERLIN, range(1970, 2070))) == MOST


words = st.sampled_from(
    "may May MAY march 31 30 29 0 00 99 february 2023 1999 0001 9999 of the early late last this past ago"
    " day days weeks month years 999 couple summer winter yesterday / . - , 年 月 日 ſept ﬁve on sunday"
    " weekend end mid ٣ 二".split()
)
texts = st.one_of(
    st.text(max_size=200), st.lists(words, max_size=40).map(" ".join), st.lists(words).map("".join)
)


@given(
    texts,
    st.one_of(st.integers(-(10**15), 10**15), st.integers(0, 2 * 10**12)),
    st.sampled_from(ZONES).map(ZoneInfo),
    st.lists(st.integers(-5, 10_005), max_size=20),
)
def test_nothing_is_raised_for_any_text_and_every_window_is_a_span(
    text: str, now: int, zone: ZoneInfo, years: list[int]
) -> None:
    found = windows(text, now, zone, years)
    assert len(found) <= MOST
    assert all(start < end for start, end in found)
    assert found == windows(text, now, zone, years)


@given(
    st.text()
    | st.sampled_from(["in 2023", "last week", "On Friday", "in spring 2024", "two days ago", "May 3"])
)
def test_a_text_without_a_hint_speaks_of_no_time(text: str) -> None:
    if not hinted(text):
        assert windows(text, NOW, BERLIN, (2022, 2023)) == ()
