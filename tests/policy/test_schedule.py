from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nrem.errors import InvalidField
from nrem.policy import schedule
from nrem.policy.backoff import backoff
from nrem.policy.schedule import Cron, Every, Missed

HOUR = 3_600_000
DAY = 24 * HOUR
ZONES = ["UTC", "Europe/Madrid", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kolkata"]


def at(text: str, zone: str = "UTC", fold: int = 0) -> int:
    """Return a moment that a clock on the wall shows."""
    shown = datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold)
    return round(shown.timestamp()) * 1000


def slots(expression: str, zone: str, start: int, end: int) -> list[str]:
    """Return what clocks in the zone show at the slots after start, up to end."""
    planned, found, last = Cron(expression=expression, zone=zone), [], start
    while (last := schedule.next_slot(planned, last)) <= end:
        found.append(datetime.fromtimestamp(last // 1000, ZoneInfo(zone)).isoformat()[:22])
    return found


@pytest.mark.rows(88)
def test_six_hourly_and_daily_slots_are_those_of_the_zone() -> None:
    start = at("2026-06-01 00:00", "Europe/Madrid")
    assert slots("0 */6 * * *", "Europe/Madrid", start, start + DAY) == [
        "2026-06-01T06:00:00+02",
        "2026-06-01T12:00:00+02",
        "2026-06-01T18:00:00+02",
        "2026-06-02T00:00:00+02",
    ]
    assert slots("0 3 * * *", "Asia/Kolkata", start, start + DAY) == ["2026-06-02T03:00:00+05"]


@pytest.mark.rows(88)
@pytest.mark.parametrize(
    ("zone", "expression", "start", "expected"),
    [
        ("Europe/Madrid", "30 2 * * *", "2026-03-28 12:00", ["03-29T03:00", "03-30T02:30"]),
        ("America/New_York", "30 2 * * *", "2026-03-07 12:00", ["03-08T03:00", "03-09T02:30"]),
        ("Australia/Lord_Howe", "15 2 * * *", "2026-10-03 12:00", ["10-04T02:30", "10-05T02:15"]),
        ("Europe/Madrid", "0 3 * * *", "2026-03-28 12:00", ["03-29T03:00", "03-30T03:00"]),
        ("Europe/Madrid", "0,30 2,3 * * *", "2026-03-28 12:00", ["03-29T03:00", "03-29T03:30"]),
    ],
)
def test_time_that_a_zone_skips_is_the_next_minute_that_there_is(
    zone: str, expression: str, start: str, expected: list[str]
) -> None:
    begun = at(start, zone)
    found = slots(expression, zone, begun, begun + 2 * DAY)
    assert [slot[5:16] for slot in found[:2]] == expected


@pytest.mark.rows(88)
@pytest.mark.parametrize(
    ("zone", "expression", "start", "expected"),
    [
        ("Europe/Madrid", "30 2 * * *", "2026-10-24 12:00", "2026-10-25T02:30:00+02"),
        ("America/New_York", "30 1 * * *", "2026-10-31 12:00", "2026-11-01T01:30:00-04"),
        ("Australia/Lord_Howe", "45 1 * * *", "2026-04-04 12:00", "2026-04-05T01:45:00+11"),
    ],
)
def test_time_that_comes_twice_counts_the_first_time(
    zone: str, expression: str, start: str, expected: str
) -> None:
    begun = at(start, zone)
    assert slots(expression, zone, begun, begun + DAY) == [expected]
    again = at(expected[:16].replace("T", " "), zone, fold=1)
    assert schedule.next_slot(Cron(expression=expression, zone=zone), again - 60_000) > again


@pytest.mark.rows(88)
@pytest.mark.parametrize("zone", ZONES)
def test_a_year_of_ticks_fires_each_day_once(zone: str) -> None:
    planned = Cron(expression="30 2 * * *", zone=zone)
    last = now = at("2026-01-01 00:00", zone)
    days = []
    step = 197 * 60_000  # ticks that meet no slot exactly
    while (now := now + step) < at("2027-01-01 00:00", zone):
        if (slot := schedule.due(planned, last, now)) is not None:
            days.append(datetime.fromtimestamp(slot // 1000, ZoneInfo(zone)).date())
            last = slot
    first = date(2026, 1, 1)
    assert days == [first + timedelta(days=day) for day in range(365)]


@given(
    zone=st.sampled_from(ZONES),
    expression=st.sampled_from(["*/7 * * * *", "30 2 * * *", "0 0 29 2 *", "5 1,2,3 * * 0", "0 */6 * * *"]),
    now=st.integers(at("2024-01-01 00:00"), at("2030-01-01 00:00")),
)
def test_the_latest_slot_is_the_one_before_the_next(zone: str, expression: str, now: int) -> None:
    planned = Cron(expression=expression, zone=zone)
    latest = schedule.latest_slot(planned, 0, now)
    assert latest is not None
    assert latest <= now < schedule.next_slot(planned, now)
    assert schedule.next_slot(planned, latest) == schedule.next_slot(planned, now)
    assert schedule.latest_slot(planned, latest, now) is None
    assert latest % 60_000 == 0


@pytest.mark.rows(88)
def test_intervals_begin_when_one_has_passed() -> None:
    planned = Every(millis=HOUR)
    assert schedule.next_slot(planned, 1234) == 1234 + HOUR
    assert schedule.due(planned, 1234, 1233 + HOUR) is None
    assert schedule.due(planned, 1234, 1234 + HOUR) == 1234 + HOUR
    assert schedule.due(planned, 1234, 1234 + 5 * HOUR + 9) == 1234 + 5 * HOUR


@pytest.mark.rows(88)
@pytest.mark.parametrize("planned", [Cron(expression="0 3 * * *", zone="UTC"), Every(millis=DAY)])
def test_missed_slots_are_treated_as_the_policy_says(planned: Cron | Every) -> None:
    last = at("2026-06-01 03:00")
    now = last + 3 * DAY + HOUR
    missed = {how: schedule.due(replace(planned, missed=how), last, now) for how in Missed}
    assert missed == {Missed.LATEST_ONLY: last + 3 * DAY, Missed.SKIP: None}
    on_time = replace(planned, missed=Missed.SKIP)
    assert schedule.due(on_time, last, last + 3 * DAY + 30_000) == last + 3 * DAY


@pytest.mark.parametrize(
    "expression", ["", "x", "* * * *", "* * * * * *", "61 * * * *", "0 0 30 2 *", "R * * * *", "h 3 * * *"]
)
def test_what_is_no_cron_expression_is_refused(expression: str) -> None:
    with pytest.raises(InvalidField) as caught:
        Cron(expression=expression, zone="UTC")
    assert caught.value.hint is not None


def test_waiting_doubles_up_to_an_hour() -> None:
    assert [backoff(n) // 1000 for n in range(1, 10)] == [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]
    assert backoff(1000) == 3_600_000
