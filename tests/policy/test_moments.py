"""Points in the past, as people write them."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nrem.policy.moments import read_point, read_time

NOW = "2026-06-03T12:00:00Z"  # a Wednesday
BERLIN = ZoneInfo("Europe/Berlin")


def millis(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def read(text: str, zone: tzinfo = UTC, now: str = NOW) -> int | None:
    return read_point(text, now=millis(now), zone=zone)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", NOW),
        (" Now ", NOW),
        ("today", NOW),
        ("2026-06-03", NOW),
        ("yesterday", "2026-06-02T23:59:59.999Z"),
        ("2026-06-01", "2026-06-01T23:59:59.999Z"),
        ("last monday", "2026-06-01T23:59:59.999Z"),
        ("Last  Wednesday", "2026-05-27T23:59:59.999Z"),
        ("last thursday 8:30", "2026-05-28T08:30:00Z"),
        ("yesterday 14:00", "2026-06-02T14:00:00Z"),
        ("today 9:05", "2026-06-03T09:05:00Z"),
        ("2026-06-01T10:00:00Z", "2026-06-01T10:00:00Z"),
        ("2026-06-01t10:00:00z", "2026-06-01T10:00:00Z"),
        ("2026-06-01 10:00:00.25+02:00", "2026-06-01T08:00:00.250Z"),
        ("2026-06-01T10:00", "2026-06-01T10:00:00Z"),
        ("20m ago", "2026-06-03T11:40:00Z"),
        ("90 seconds ago", "2026-06-03T11:58:30Z"),
        ("an hour ago", "2026-06-03T11:00:00Z"),
        ("3d ago", "2026-05-31T12:00:00Z"),
        ("2 weeks ago", "2026-05-20T12:00:00Z"),
        ("a month ago", "2026-05-03T12:00:00Z"),
        ("3 years ago", "2023-06-03T12:00:00Z"),
        ("2027-01-01", "2027-01-01T23:59:59.999Z"),
    ],
)
def test_a_moment_is_read(text: str, expected: str) -> None:
    assert read(text) == millis(expected)


@pytest.mark.parametrize(
    "text",
    [
        "", "soon", "in", "ago", "3 ago", "d ago", "3 fortnights ago", "last week", "monday",
        "2026-13-01", "2026-02-30", "2026-06-01T25:00", "2026-06-01T10", "20260601", "1780315200000",
        "999999 years ago", "999999 months ago", "yesterday 14", "yesterday14:00", "0000-01-01", "3d ago!",
        "2026-06-01T10:00+99:00", "\u0663d ago",
    ],
)  # fmt: skip
def test_what_names_no_moment_is_none(text: str) -> None:
    assert read(text) is None


def test_days_are_those_of_the_zone() -> None:
    late = "2026-06-03T23:30:00Z"  # the fourth has begun in Berlin
    assert read("yesterday", BERLIN, late) == millis("2026-06-03T23:59:59.999+02:00")
    assert read("yesterday 14:00", BERLIN, late) == millis("2026-06-03T14:00:00+02:00")
    assert read("2026-06-01T10:00", BERLIN) == millis("2026-06-01T10:00:00+02:00")
    assert read("2026-06-01T10:00Z", BERLIN) == millis("2026-06-01T10:00:00Z")


def test_days_ago_keep_the_time_of_day_and_hours_ago_are_elapsed() -> None:
    after = "2026-03-30T12:00:00+02:00"  # the clocks went forward on the 29th
    assert read("2d ago", BERLIN, after) == millis("2026-03-28T12:00:00+01:00")
    assert read("48h ago", BERLIN, after) == millis("2026-03-28T11:00:00+01:00")
    assert read("2026-03-29", BERLIN, after) == millis("2026-03-30T00:00:00+02:00") - 1


def test_a_month_ago_stays_in_its_month() -> None:
    assert read("1 month ago", now="2026-03-31T12:00:00Z") == millis("2026-02-28T12:00:00Z")
    assert read("2 months ago", now="2026-01-15T12:00:00Z") == millis("2025-11-15T12:00:00Z")
    assert read("1 year ago", now="2028-02-29T12:00:00Z") == millis("2027-02-28T12:00:00Z")


@given(st.text())
def test_no_text_is_an_error(text: str) -> None:
    read(text)


@given(st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(2200, 1, 1)))  # noqa: DTZ001
def test_what_iso_writes_is_read(moment: datetime) -> None:
    moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000, tzinfo=UTC)
    assert read(moment.isoformat()) == round(moment.timestamp() * 1000)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", NOW),
        ("today", "2026-06-03T00:00:00Z"),
        ("yesterday", "2026-06-02T00:00:00Z"),
        ("Tomorrow", "2026-06-04T00:00:00Z"),
        ("tomorrow 9:00", "2026-06-04T09:00:00Z"),
        ("next monday", "2026-06-08T00:00:00Z"),
        ("next wednesday 8:15", "2026-06-10T08:15:00Z"),
        ("last wednesday", "2026-05-27T00:00:00Z"),
        ("in 20m", "2026-06-03T12:20:00Z"),
        ("in an hour", "2026-06-03T13:00:00Z"),
        ("in 3d", "2026-06-06T12:00:00Z"),
        ("in 2 months", "2026-08-03T12:00:00Z"),
        ("3d ago", "2026-05-31T12:00:00Z"),
    ],
)
def test_a_time_is_read_and_a_day_is_its_start(text: str, expected: str) -> None:
    assert read_time(text, now=millis(NOW), zone=UTC) == millis(expected)


def test_days_are_those_of_the_zone_and_a_day_ahead_keeps_the_time_of_day() -> None:
    noon = millis("2026-10-24T10:00:00Z")  # 12:00 in Berlin, a day before its clocks go back
    assert read_time("today", now=noon, zone=BERLIN) == millis("2026-10-23T22:00:00Z")
    assert read_time("in 1d", now=noon, zone=BERLIN) == millis("2026-10-25T11:00:00Z")
    assert read_time("in 24h", now=noon, zone=BERLIN) == millis("2026-10-25T10:00:00Z")


@pytest.mark.parametrize("text", ["soon", "3d", "in 3", "next year", "tomorrow 25:00", "in 999999 years", ""])
def test_other_words_are_no_time(text: str) -> None:
    assert read_time(text, now=millis(NOW), zone=UTC) is None
