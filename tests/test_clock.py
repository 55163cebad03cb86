from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nrem.clock import Ids, SystemClock, booted_at

NOON = 1_780_315_200_000


def millis_of(id: str) -> int:
    return uuid.UUID(id).int >> 80


def increasing(ids: list[str]) -> bool:
    return all(left < right for left, right in pairwise(ids))


def test_an_id_is_a_uuid_of_version_seven_with_its_time_in_front() -> None:
    id = Ids().make(NOON)
    parsed = uuid.UUID(id)
    assert parsed.version == 7
    assert parsed.variant == uuid.RFC_4122
    assert str(parsed) == id
    assert millis_of(id) == NOON


def test_ids_increase_inside_one_millisecond() -> None:
    ids = Ids()
    made = [ids.make(NOON) for _ in range(1000)]
    assert increasing(made)
    assert {millis_of(id) for id in made} == {NOON}


def test_more_ids_than_a_millisecond_holds_borrow_from_the_next() -> None:
    ids = Ids()
    made = [ids.make(NOON) for _ in range(5000)]
    assert increasing(made)
    assert {uuid.UUID(id).version for id in made} == {7}
    assert {uuid.UUID(id).variant for id in made} == {uuid.RFC_4122}
    assert {millis_of(id) for id in made} <= {NOON, NOON + 1, NOON + 2}
    assert increasing([made[-1], ids.make(NOON + 1), ids.make(NOON + 2), ids.make(NOON + 3)])


def test_ids_increase_when_time_goes_back() -> None:
    ids = Ids()
    assert increasing([ids.make(now) for now in (NOON, NOON - 1, 0, NOON - 100_000, NOON, NOON + 1)])


@given(st.lists(st.integers(0, 5) | st.integers(0, 1 << 40), max_size=200))
def test_ids_increase_whatever_the_clock_does(times: list[int]) -> None:
    ids = Ids()
    made = [ids.make(now) for now in times]
    assert increasing(made)
    assert all(uuid.UUID(id).version == 7 for id in made)


def test_the_last_moment_that_fits_is_followed_by_its_like() -> None:
    last = (1 << 48) - 1
    id = uuid.UUID(Ids().make(last))
    assert (id.int >> 80, id.version) == (last, 7)


def test_threads_never_get_the_same_id_and_each_sees_them_increase() -> None:
    ids = Ids()
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda _: [ids.make(NOON) for _ in range(2000)], range(8)))
    assert all(increasing(part) for part in parts)
    assert len({id for part in parts for id in part}) == 16_000


def test_ids_of_one_moment_cannot_be_guessed_from_each_other() -> None:
    made = [uuid.UUID(Ids().make(NOON)).int & ((1 << 62) - 1) for _ in range(100)]
    assert len(set(made)) == 100


def test_the_machines_clock_gives_milliseconds_and_ids_of_them() -> None:
    clock = SystemClock()
    before = clock.now()
    made = [clock.new_id() for _ in range(100)]
    assert before > NOON - 365 * 86_400_000 * 5
    assert increasing(made)
    assert before <= millis_of(made[0]) <= clock.now()


def test_the_machine_was_started_before_now_and_that_does_not_change() -> None:
    first, now = booted_at(), SystemClock().now()
    if first is None:
        pytest.skip("this system does not say when it was started")
    again = booted_at()
    assert again is not None
    assert 0 < first < now
    assert abs(again - first) < 1000
