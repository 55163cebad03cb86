from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

import pytest

from builders import NOON, ManualClock
from nrem.errors import Unavailable
from nrem.runtime.app import App
from nrem.runtime.kinds import JobKind, Work
from nrem.runtime.worker import LEASE_MILLIS, Worker
from nrem.store import jobs
from nrem.store.driver import Connection
from nrem.wire import Job


class Ticks:
    """A monotonic clock that moves when it is told to."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def add(app: App, *keys: str) -> None:
    scope = app.scope("ana").number

    def write(db: Connection) -> None:
        for key in keys:
            job = jobs.New(id=app.clock.new_id(), kind="k", scope=scope, key=key, due_at=NOON)
            assert jobs.enqueue(db, job, now=NOON)

    app.store.write(write)


def listed(app: App) -> list[Job]:
    with app.store.reading() as db:
        return jobs.list_(db, state=None, limit=10_000)


def worker(app: App, run: Callable[[App, Work], int | None], ticks: Ticks | None = None) -> Worker:
    return Worker(app, {"k": JobKind(run=run)}, monotonic=ticks or Ticks())


def test_a_job_is_done_with_what_it_is_for(app: App) -> None:
    seen: list[tuple[str, str]] = []
    one = worker(app, lambda app, work: seen.append((work.scope.name, work.claim.key)))
    assert one.run_one() is False
    add(app, "a", "b")
    assert (one.run_one(), one.run_one(), one.run_one()) == (True, True, False)
    assert seen == [("ana", "a"), ("ana", "b")]
    assert [job.state for job in listed(app)] == ["done", "done"]
    assert app.tally.results == {("k", "done"): 2}


def test_a_job_can_say_that_it_is_not_the_time_for_it(app: App, clock: ManualClock) -> None:
    waits = [NOON + 60_000, NOON + 120_000]
    one = worker(app, lambda app, work: waits.pop(0) if waits else None)
    add(app, "a")
    assert (one.run_one(), one.run_one()) == (True, False)
    clock.advance(seconds=60)
    assert (one.run_one(), one.run_one()) == (True, False)
    clock.advance(seconds=60)
    assert (one.run_one(), one.run_one()) == (True, False)
    [job] = listed(app)
    assert (job.state, job.attempts) == ("done", 1)
    assert app.tally.results == {("k", "postponed"): 2, ("k", "done"): 1}


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Unavailable("the disk is full"), "the disk is full"),
        (ValueError("a secret of somebody"), "ValueError; the log has it"),
    ],
)
def test_whatever_a_job_raises_the_worker_goes_on(
    app: App, clock: ManualClock, caplog: pytest.LogCaptureFixture, error: Exception, told: str
) -> None:
    def run(app: App, work: Work) -> None:
        if work.claim.key == "bad":
            raise error

    one = worker(app, run)
    add(app, "bad", "good")
    assert (one.run_one(), one.run_one(), one.run_one()) == (True, True, False)
    bad, good = reversed(listed(app))
    assert (bad.state, bad.last_error, good.state) == ("queued", told, "done")
    [record] = [record for record in caplog.records if record.exc_info]
    assert bad.id in record.getMessage()
    while bad.state != "dead":
        clock.time = bad.due_at
        assert one.run_one()
        bad = listed(app)[1]
    assert app.tally.results == {("k", "failed"): 7, ("k", "done"): 1, ("k", "dead"): 1}


def test_a_stalled_workers_late_end_is_refused(app: App) -> None:
    ticks = Ticks()
    seen: list[int] = []

    def run(app: App, work: Work) -> None:
        seen.append(work.claim.fence)
        if len(seen) == 1:  # it stalls; another thread finds the lease run out, and does the job
            ticks.seconds += LEASE_MILLIS / 1000
            thread = threading.Thread(target=one.run_one)
            thread.start()
            thread.join()

    one = worker(app, run, ticks)
    add(app, "a")
    assert one.run_one()
    [job] = listed(app)
    assert (seen, job.state, job.attempts) == ([1, 2], "done", 2)
    assert (app.tally.results, app.tally.takeovers) == ({("k", "done"): 1, ("k", "late"): 1}, 1)


def test_a_job_that_renews_is_left_alone(app: App) -> None:
    ticks = Ticks()

    def run(app: App, work: Work) -> None:
        for _ in range(5):
            ticks.seconds += LEASE_MILLIS / 1000 - 1
            work.renew()
            assert one.run_one() is False

    one = worker(app, run, ticks)
    add(app, "a")
    assert one.run_one()
    assert app.tally.results == {("k", "done"): 1}


class Racing:
    """Does jobs, and notes what is done twice at once; one in twenty stalls until it was taken over."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.runs: Counter[str] = Counter()
        self.busy: set[str] = set()
        self.twice: list[str] = []
        self.taken: dict[str, threading.Event] = {}
        self.stalling = threading.Semaphore(2)  # others must be left to take over

    def __call__(self, app: App, work: Work) -> None:
        key = work.claim.key
        with self.lock:
            self.runs[key] += 1
            if key in self.busy:
                self.twice.append(key)
            self.busy.add(key)
            taken = self.taken.setdefault(key, threading.Event())
        app.store.write(lambda db: jobs.hold(db, work.claim))
        with self.lock:
            self.busy.remove(key)
        if work.claim.attempts > 1:
            taken.set()
        elif int(key) % 20 == 0:
            with self.stalling:
                app.store.write(lambda db: jobs.renew(db, work.claim, tick=0, ttl=0))  # its lease is over
                assert taken.wait(60)


def test_four_threads_do_each_job_once_and_none_at_the_same_time(app: App) -> None:
    keys = [f"{i}" for i in range(300)]
    add(app, *keys)
    racing = Racing()
    one = worker(app, racing)

    def work_off() -> None:
        while one.run_one():
            pass

    threads = [threading.Thread(target=work_off) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert racing.twice == []
    assert racing.runs == {key: 2 if int(key) % 20 == 0 else 1 for key in keys}
    assert {job.state for job in listed(app)} == {"done"}
    assert app.tally.results == {("k", "done"): 300, ("k", "late"): 15}
    assert app.tally.takeovers == 15


def test_threads_stop_when_they_are_told_to_and_wake_for_what_comes(app: App) -> None:
    done = threading.Event()
    one = worker(app, lambda app, work: done.set())
    threads = [threading.Thread(target=one.live) for _ in range(4)]
    for thread in threads:
        thread.start()
    add(app, "a")
    one.wake()
    assert done.wait(20)
    one.stop()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
