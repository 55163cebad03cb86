"""What the daemon does each night by itself."""

from __future__ import annotations

from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from builders import Call, ManualClock
from nrem.core import jobs
from nrem.policy.schedule import Cron
from nrem.runtime.app import App
from nrem.runtime.kinds import KINDS
from nrem.runtime.scheduler import Scheduler
from nrem.runtime.worker import Worker
from nrem.sections import Config
from workspace.workshop import check_clean, git

HOUR = 3600


@pytest.fixture
def night(app: App, clock: ManualClock) -> tuple[Scheduler, Worker]:
    """A scheduler that has seen the evening, and a worker."""
    scheduler = Scheduler(app, KINDS)
    scheduler.tick(clock.now())
    return scheduler, Worker(app, KINDS)


def work_off(worker: Worker) -> None:
    while worker.run_one():
        pass


@pytest.mark.rows(87, 88)
def test_a_sweep_runs_each_night(
    app: App, call: Call, clock: ManualClock, home: Path, night: tuple[Scheduler, Worker]
) -> None:
    scheduler, worker = night
    call("remember", agent="ana", content="Luis prefers Spanish and short replies", pinned=True)
    for _ in range(3):
        clock.advance(days=1)
        scheduler.tick(clock.now())
        work_off(worker)
    root = home / "workspaces" / "ana"
    assert "Luis prefers Spanish" in (root / "MEMORY.md").read_text()
    assert git(root, "log", "--format=%s").count("dream:") == 1  # nothing new, no second one
    check_clean(root)
    assert len(call("list_sweeps", agent="ana")["sweeps"]) == 1
    done = call("list_jobs", limit=100)["jobs"]
    assert [job["state"] for job in done if job["kind"] == "dream"] == ["done"] * 6  # of two agents


@pytest.mark.rows(88)
def test_it_waits_while_the_agent_is_at_work(
    app: App, call: Call, clock: ManualClock, night: tuple[Scheduler, Worker]
) -> None:
    scheduler, worker = night
    clock.advance(days=1)
    call("remember", agent="ana", content="Luis prefers Spanish and short replies", pinned=True)
    scheduler.tick(clock.now())
    work_off(worker)
    assert call("list_sweeps", agent="ana")["sweeps"] == []
    clock.advance(seconds=9 * 60)
    call("remember", agent="ana", content="and tea")
    clock.advance(seconds=60)
    work_off(worker)
    assert call("list_sweeps", agent="ana")["sweeps"] == []
    clock.advance(seconds=9 * 60)
    work_off(worker)
    assert len(call("list_sweeps", agent="ana")["sweeps"]) == 1


@pytest.mark.rows(88)
def test_an_agent_that_writes_all_the_time_is_swept_in_the_morning(
    app: App, call: Call, clock: ManualClock, night: tuple[Scheduler, Worker]
) -> None:
    scheduler, worker = night
    swept, late = [], []
    for turn in range(3 * 24 * 12):
        clock.advance(seconds=300)
        call("remember", agent="ana", content=f"Bob Lee bought boat {turn} in {1900 + turn % 100}")
        scheduler.tick(clock.now())
        work_off(worker)
        swept.append(len(call("list_sweeps", agent="ana")["sweeps"]))
        late.append(jobs.waiting(app.store, now=clock.now())[1] / HOUR)
    dreams = [j for j in call("list_jobs", limit=100)["jobs"] if (j["agent"], j["kind"]) == ("ana", "dream")]
    assert [job["state"] for job in dreams] == ["done"] * 3
    hours = [(12 + (turn + 1) / 12) % 24 for turn in range(1, len(swept)) if swept[turn] > swept[turn - 1]]
    assert hours == [9.0] * 3  # six hours after dream.at
    assert (min(late), max(late)) == (0.0, 6 - 1 / 12)


@pytest.mark.rows(88)
def test_a_sweeps_own_events_are_no_activity(
    app: App, call: Call, clock: ManualClock, night: tuple[Scheduler, Worker]
) -> None:
    scheduler, worker = night
    call("remember", agent="ana", content="Luis prefers Spanish and short replies", pinned=True)
    clock.advance(days=1)
    call("dream", agent="ana")
    call("set_agent_config", agent="ana", config={"dream": {"budget": 4000}}, message="x")
    scheduler.tick(clock.now())
    work_off(worker)
    assert len(call("list_sweeps", agent="ana")["sweeps"]) == 2


@pytest.mark.rows(88)
def test_status_tells_that_a_sweep_waits(
    app: App, call: Call, clock: ManualClock, night: tuple[Scheduler, Worker]
) -> None:
    scheduler, worker = night
    assert call("dream_status", agent="ana")["postponed_since"] is None
    clock.advance(days=1)
    call("remember", agent="ana", content="Luis prefers Spanish and short replies", pinned=True)
    scheduler.tick(clock.now())
    work_off(worker)
    status = call("dream_status", agent="ana")
    assert status["postponed_since"] == "2026-06-02T03:00:00+00:00"
    assert "postponed since 2026-06-02T03:00:00+00:00 because the agent is busy" in status["note"]
    call("dream", agent="ana")
    assert call("dream_status", agent="ana")["postponed_since"] is None


@pytest.mark.rows(88)
@pytest.mark.parametrize("dream", [{"mode": "off"}, {"at": "never"}])
def test_off_and_never_plan_nothing(dream: dict[str, str]) -> None:
    assert KINDS["dream"].schedule(Config.model_validate({"dream": dream})) is None


@pytest.mark.rows(88)
def test_the_time_is_that_of_the_zone() -> None:
    planned = KINDS["dream"].schedule(
        Config.model_validate({"dream": {"at": "23:05"}, "time": {"zone": "Europe/Madrid"}})
    )
    assert isinstance(planned, Cron)
    assert (planned.expression, ZoneInfo(planned.zone)) == ("5 23 * * *", ZoneInfo("Europe/Madrid"))


@pytest.mark.rows(88)
@pytest.mark.parametrize(("missed", "sweeps"), [("latest_only", 1), ("skip", 0)])
def test_nights_without_the_daemon_are_treated_as_the_agent_wants(
    app: App, call: Call, clock: ManualClock, night: tuple[Scheduler, Worker], missed: str, sweeps: int
) -> None:
    scheduler, worker = night
    call("set_agent_config", agent="ana", config={"dream": {"missed": missed}}, message="x")
    call("remember", agent="ana", content="Luis prefers Spanish and short replies", pinned=True)
    clock.advance(days=3)
    scheduler.tick(clock.now())
    work_off(worker)
    assert len(call("list_sweeps", agent="ana")["sweeps"]) == sweeps
