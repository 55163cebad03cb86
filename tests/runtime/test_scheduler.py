from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from builders import NOON, Call, HashEmbedder, ManualClock
from nrem.policy.schedule import Cron, Every, Missed, Schedule
from nrem.runtime.app import App
from nrem.runtime.kinds import KINDS, JobKind
from nrem.runtime.scheduler import LONGEST_SLEEP, Scheduler
from nrem.runtime.worker import Worker
from nrem.store import jobs

HOUR = 3_600_000
DAY = 24 * HOUR
DAILY = Cron(expression="0 3 * * *", zone="UTC")


def never(app: App, work: object) -> None:
    raise AssertionError("a scheduler does nothing itself")


def scheduler(app: App, planned: Schedule | Callable[[object], Schedule | None] = DAILY) -> Scheduler:
    how = planned if callable(planned) else lambda settings: planned
    return Scheduler(app, {"k": JobKind(run=never, schedule=how)})


def pass_time(app: App, planner: Scheduler, clock: ManualClock, *, hours: int) -> None:
    """Let hours go by in which every job is done at once."""
    for _ in range(hours):
        clock.advance(seconds=3600)
        planner.tick(clock.time)
        work_off(app)


def work_off(app: App) -> None:
    worker = Worker(app, {"k": JobKind(run=lambda app, work: None)})
    while worker.run_one():
        pass


def slots(app: App, agent: str = "ana") -> list[int]:
    """Return the slots that have a job, as hours after noon."""
    with app.store.reading() as db:
        found = jobs.list_(db, state=None, limit=1000)
    return sorted((int(job.key) - NOON) // HOUR for job in found if job.agent == agent)


@pytest.mark.rows(88)
def test_each_slot_of_each_agent_is_queued_once(app: App, clock: ManualClock) -> None:
    planner = scheduler(app)
    assert planner.tick(clock.time) == LONGEST_SLEEP
    for _ in range(100):
        clock.advance(seconds=1800)
        planner.tick(clock.time)
        planner.tick(clock.time)
        work_off(app)
        planner.tick(clock.time)
    assert slots(app) == slots(app, "ben") == [15, 39]


@pytest.mark.rows(88)
def test_it_wakes_for_the_next_slot_and_at_least_every_half_minute(app: App, clock: ManualClock) -> None:
    planner = scheduler(app)
    planner.tick(clock.time)
    clock.time = NOON + 15 * HOUR - 7000
    assert planner.tick(clock.time) == 7000
    clock.advance(seconds=7)
    assert planner.tick(clock.time) == LONGEST_SLEEP
    assert slots(app) == [15]


@pytest.mark.rows(88)
def test_a_slot_is_not_repeated_after_a_restart(
    home: Path, app: App, clock: ManualClock, embedder: HashEmbedder
) -> None:
    scheduler(app).tick(clock.time)
    clock.advance(days=1)
    scheduler(app).tick(clock.time)
    app.close()
    with App.open(home, clock=clock, embedder=embedder) as again:
        scheduler(again).tick(clock.time)
        assert slots(again) == [15]
        work_off(again)
        clock.advance(days=1)
        scheduler(again).tick(clock.time)
        assert slots(again) == [15, 39]


@pytest.mark.rows(88)
@pytest.mark.parametrize(
    ("missed", "expected"),
    [(Missed.LATEST_ONLY, [63]), (Missed.SKIP, [])],
)
def test_slots_that_went_by_are_treated_as_the_policy_says(
    app: App, clock: ManualClock, missed: Missed, expected: list[int]
) -> None:
    planner = scheduler(app, Cron(expression="0 3 * * *", zone="UTC", missed=missed))
    planner.tick(clock.time)
    clock.advance(days=3)  # switched off, asleep, or the clock was set
    planner.tick(clock.time)
    planner.tick(clock.time)
    assert slots(app) == expected
    work_off(app)
    clock.time = NOON + 87 * HOUR
    planner.tick(clock.time)
    assert slots(app) == [*expected, 87]


@pytest.mark.rows(88)
def test_a_clock_that_is_set_back_repeats_no_slot(app: App, clock: ManualClock) -> None:
    planner = scheduler(app)
    planner.tick(clock.time)
    clock.advance(days=2)
    planner.tick(clock.time)
    work_off(app)
    clock.advance(days=-1)
    pass_time(app, planner, clock, hours=24 * 3)
    assert slots(app) == [39, 63, 87]


@pytest.mark.rows(88)
def test_a_clock_that_was_far_ahead_holds_nothing_up(app: App, clock: ManualClock) -> None:
    planner = scheduler(app)
    planner.tick(clock.time)
    clock.advance(days=40)
    planner.tick(clock.time)
    work_off(app)
    clock.advance(days=-40)
    planner.tick(clock.time)
    clock.advance(days=1)
    planner.tick(clock.time)
    assert slots(app) == [15, 15 + 39 * 24]


@pytest.mark.rows(88)
def test_intervals_fire_from_the_moment_they_are_known(app: App, clock: ManualClock) -> None:
    planner = scheduler(app, Every(millis=6 * HOUR))
    planner.tick(clock.time)
    pass_time(app, planner, clock, hours=25)
    assert slots(app) == [6, 12, 18, 24]


@pytest.mark.rows(88)
def test_a_job_that_waits_stands_for_the_slots_that_follow(app: App, clock: ManualClock) -> None:
    planner = scheduler(app)
    planner.tick(clock.time)
    for _ in range(3):
        clock.advance(days=1)
        planner.tick(clock.time)
    assert slots(app) == [15]
    work_off(app)
    pass_time(app, planner, clock, hours=24)
    assert slots(app) == [15, 87]


def test_what_has_no_schedule_is_not_queued(app: App, clock: ManualClock) -> None:
    planner = scheduler(app, lambda settings: None)
    planner.tick(clock.time)
    clock.advance(days=9)
    assert planner.tick(clock.time) == LONGEST_SLEEP
    assert slots(app) == []


def test_what_was_switched_off_begins_anew(app: App, clock: ManualClock) -> None:
    planned: list[Schedule | None] = [DAILY]
    planner = scheduler(app, lambda settings: planned[0])
    planner.tick(clock.time)
    planned[0] = None
    planner.tick(clock.time)
    clock.advance(days=9)
    planned[0] = DAILY
    planner.tick(clock.time)
    assert slots(app) == []
    clock.advance(days=1)
    planner.tick(clock.time)
    assert slots(app) == [15 + 9 * 24]


def test_a_look_that_finds_nothing_writes_nothing(app: App, clock: ManualClock) -> None:
    planner = scheduler(app)
    planner.tick(clock.time)
    groups: list[int] = []
    app.store.on_commit = lambda seconds, good, bad: groups.append(good + bad)
    for _ in range(5):
        clock.advance(seconds=30)
        planner.tick(clock.time)
    assert groups == []


@pytest.mark.rows(9, 88)
def test_old_recalls_are_pruned_each_night_in_the_zone_of_the_settings(
    app: App, call: Call, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NREM_TIME__ZONE", "America/New_York")
    monkeypatch.setenv("NREM_DREAM__MODE", "off")  # which is another matter
    app.reload()
    planner, worker = Scheduler(app, KINDS), Worker(app, KINDS)
    call("remember", agent="ana", content="walnut")
    call("recall", agent="ana", query="walnut")
    planner.tick(clock.time)
    clock.time = NOON + 200 * DAY
    planner.tick(clock.time)
    while worker.run_one():
        pass
    with app.store.reading() as db:
        assert db.execute("select count(*) from recalls").fetchone()[0] == 0
        done = jobs.list_(db, state="done", limit=9)
    assert {(job.kind, job.agent) for job in done} == {("prune", "ana"), ("prune", "ben")}
    assert {(int(job.key) - NOON) % DAY for job in done} == {20 * HOUR + 40 * 60_000}  # 03:40 EST
