from __future__ import annotations

import functools
from typing import Any

import pytest

from builders import NOON, Call
from nrem.errors import Conflict, NotFound
from nrem.runtime.app import App
from nrem.store import jobs, scopes
from nrem.store.jobs import KEPT_MILLIS, MOST_ATTEMPTS, Claim, New

TTL = 1000


def add(app: App, key: str = "", *, kind: str = "k", due_at: int = NOON, agent: str = "ana") -> bool:
    job = New(id=app.clock.new_id(), kind=kind, scope=app.scope(agent).number, key=key, due_at=due_at)
    return app.store.write(lambda db: jobs.enqueue(db, job, now=NOON))


def claim(app: App, *, now: int = NOON, tick: int = 0) -> Claim | None:
    return app.store.write(lambda db: jobs.claim(db, ["k"], now=now, tick=tick, ttl=TTL))


def claimed(app: App, **given: Any) -> Claim:
    found = claim(app, **given)
    assert found is not None
    return found


def states(app: App) -> list[str]:
    with app.store.reading() as db:
        return [job.state for job in jobs.list_(db, state=None, limit=100)]


def test_a_key_waits_once_and_may_come_again_when_it_is_done(app: App) -> None:
    assert (add(app, "a"), add(app, "a"), add(app, "b"), add(app, "a", agent="ben")) == (
        True,
        False,
        True,
        True,
    )
    first = claimed(app)
    assert add(app, "a") is False
    app.store.write(lambda db: jobs.finish(db, first, now=NOON))
    assert add(app, "a") is True


def test_what_is_due_longest_comes_first_and_nothing_before_its_time(app: App) -> None:
    add(app, "late", due_at=NOON + 10)
    add(app, "soon", due_at=NOON - 10)
    add(app, "other", kind="unknown", due_at=NOON - 99)
    assert claimed(app).key == "soon"
    assert claim(app) is None
    assert claimed(app, now=NOON + 10).key == "late"
    with app.store.reading() as db:
        assert jobs.any_due(db, ["k"], now=NOON + 99, tick=0) is False
        assert jobs.next_due(db, ["k"]) is None


def test_a_lease_that_ran_out_is_taken_over_and_the_late_end_refused(app: App) -> None:
    add(app)
    first = claimed(app, tick=5)
    assert claim(app, tick=4 + TTL) is None
    second = claimed(app, tick=5 + TTL)
    assert (first.taken_over, second.taken_over, second.fence) == (False, True, first.fence + 1)
    for late in (
        lambda db: jobs.finish(db, first, now=NOON),
        lambda db: jobs.fail(db, first, "late", now=NOON),
        lambda db: jobs.renew(db, first, tick=0, ttl=TTL),
        lambda db: jobs.hold(db, first),
    ):
        with pytest.raises(Conflict) as caught:
            app.store.write(late)
        assert caught.value.code == "job_taken_over"
    assert states(app) == ["running"]
    app.store.write(lambda db: jobs.finish(db, second, now=NOON))
    with pytest.raises(Conflict):
        app.store.write(lambda db: jobs.finish(db, second, now=NOON))
    assert states(app) == ["done"]


def test_a_renewed_lease_lasts_longer_and_setting_the_clock_ends_none(app: App) -> None:
    add(app)
    held = claimed(app)
    assert claim(app, now=NOON + 40 * 86_400_000, tick=TTL - 1) is None
    app.store.write(lambda db: jobs.renew(db, held, tick=TTL - 1, ttl=TTL))
    assert claim(app, tick=2 * TTL - 2) is None
    assert claimed(app, tick=2 * TTL - 1).taken_over


def test_what_fails_waits_longer_each_time_and_is_dead_in_the_end(app: App) -> None:
    add(app)
    now, waits = NOON, []
    for attempt in range(1, MOST_ATTEMPTS + 1):
        held = claimed(app, now=now)
        assert held.attempts == attempt
        again = app.store.write(functools.partial(jobs.fail, claim=held, error="no luck", now=now))
        with app.store.reading() as db:
            due = jobs.next_due(db, ["k"])
        assert again is (attempt < MOST_ATTEMPTS)
        if due is not None:
            assert claim(app, now=due - 1) is None
            waits.append((due - now) // 1000)
            now = due
    assert waits == [30, 60, 120, 240, 480, 960, 1920]
    assert claim(app, now=now + 10**12) is None
    with app.store.reading() as db:
        [dead] = jobs.list_(db, state="dead", limit=9)
    assert (dead.attempts, dead.last_error, dead.agent) == (MOST_ATTEMPTS, "no luck", "ana")


def test_a_job_that_kills_whoever_does_it_is_dead_in_the_end(app: App) -> None:
    add(app)
    for _ in range(MOST_ATTEMPTS):
        claimed(app)
        assert app.store.write(jobs.release) == 1
    assert claim(app) is None
    assert states(app) == ["dead"]


def test_only_a_dead_job_is_tried_again(app: App, call: Call) -> None:
    add(app, "a")
    held = claimed(app)
    with pytest.raises(Conflict, match="is running"):
        call("retry_job", id=held.id)
    with pytest.raises(NotFound) as caught:
        call("retry_job", id="nope")
    assert caught.value.code == "job_not_found"
    last = Claim(**{**_fields(held), "attempts": MOST_ATTEMPTS})
    app.store.write(lambda db: jobs.fail(db, last, "no luck", now=NOON))
    add(app, "a")
    with pytest.raises(Conflict, match="another job"):
        call("retry_job", id=held.id)
    other = claimed(app)
    app.store.write(lambda db: jobs.finish(db, other, now=NOON))
    told: list[str] = []
    app.on_job = lambda: told.append("come")
    assert call("retry_job", id=held.id)["state"] == "queued"
    assert told == ["come"]
    assert claimed(app).attempts == 1


def _fields(held: Claim) -> dict[str, Any]:
    return {name: getattr(held, name) for name in Claim.__slots__}


def test_what_was_done_long_ago_is_forgotten(app: App) -> None:
    for key in ("a", "b"):
        add(app, key)
    first = claimed(app)
    app.store.write(lambda db: jobs.finish(db, first, now=NOON))
    with app.store.reading() as db:
        assert not jobs.any_old(db, now=NOON + KEPT_MILLIS)
        assert jobs.any_old(db, now=NOON + KEPT_MILLIS + 1)
    assert app.store.write(lambda db: jobs.tidy(db, now=NOON + KEPT_MILLIS + 1)) == 1
    assert states(app) == ["queued"]


def test_the_jobs_of_a_removed_agent_go_with_it_and_none_comes_after(app: App, call: Call) -> None:
    add(app)
    number = app.scope("ana").number
    app.store.write(lambda db: jobs.set_slot(db, number, "k", NOON))
    app.store.write(lambda db: scopes.mark_removed(db, number, now=NOON))
    assert claim(app) is None
    assert add(app, "late") is False
    app.store.write(lambda db: jobs.set_slot(db, number, "late", NOON))
    while app.store.write(lambda db: scopes.erase_step(db, number)):
        pass
    app.store.write(lambda db: scopes.drop(db, number))
    assert states(app) == []
    with app.store.reading() as db:
        assert jobs.slots(db) == {}
