"""nrem jobs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from builders import caller_of
from nrem.runtime.app import App
from nrem.store import jobs

Nrem = Callable[..., Result]
Answer = Callable[..., Any]
Refusal = Callable[..., dict[str, str]]


@pytest.fixture
def dead(home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A job of ana's that failed too often."""
    monkeypatch.setenv("NREM_VECTOR__ENABLED", "false")
    with App.open(home, create=True) as app:
        caller_of(app)("add_agent", agent="ana")
        now = app.clock.now()
        job = jobs.New(id=app.clock.new_id(), kind="prune", scope=app.scope("ana").number, due_at=now)
        app.store.write(lambda db: jobs.enqueue(db, job, now=now))
        for i in range(jobs.MOST_ATTEMPTS):
            later = now + i * 86_400_000
            claim = functools.partial(jobs.claim, kinds=["prune"], now=later, tick=0, ttl=1)
            held = app.store.write(claim)
            assert held is not None
            app.store.write(functools.partial(jobs.fail, claim=held, error="the disk is full", now=now))
    return job.id


def test_a_dead_job_is_shown_with_its_error_and_tried_again(nrem: Nrem, answer: Answer, dead: str) -> None:
    told = nrem("jobs", "list", "--state", "dead")
    [head, row] = told.stdout.splitlines()
    assert head.split() == ["Id", "Kind", "Agent", "State", "Due", "Attempts", "Last", "error"]
    assert row.split()[:4] == [dead, "prune", "ana", "dead"]
    assert row.endswith("8         the disk is full")
    assert f"Next: nrem jobs retry {dead}" in told.stderr
    assert "1 job is not tried any more" in nrem("status").stdout
    assert nrem("jobs", "retry", dead).stdout == "Queued prune of ana again.\n"
    assert answer("status")["dead_jobs"] == 0
    [job] = answer("jobs", "list")["jobs"]
    assert (job["id"], job["state"], job["attempts"]) == (dead, "queued", 0)


def test_only_a_dead_job_that_there_is_can_be_tried_again(nrem: Nrem, refusal: Refusal, dead: str) -> None:
    nrem("jobs", "retry", dead)
    assert refusal(5, "jobs", "retry", dead)["code"] == "conflict"
    assert refusal(4, "jobs", "retry", "nope")["hint"] == "nrem jobs list"


def test_no_jobs_are_said_in_words(nrem: Nrem, ana: str) -> None:
    assert nrem("jobs", "list").stdout == "No jobs.\n"


def test_a_dead_job_is_a_finding(answer: Answer, dead: str) -> None:
    [finding] = [found for found in answer("doctor")["findings"] if found["id"] == "NR050"]
    assert (finding["level"], finding["message"]) == (
        "warning",
        "prune of ana failed 8 times: the disk is full",
    )
    assert finding["hint"].endswith(f"nrem jobs retry {dead}")
