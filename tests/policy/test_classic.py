from __future__ import annotations

from dataclasses import replace

import pytest

from nrem.policy.classic import DAY, MOST, Recalled, promote, terms

NEWEST = 1000 * DAY
ONE = Recalled(id="a", category="general", recalls=3, ranks=3.0, queries=2, days=1, last_at=NEWEST)


def test_the_score_is_the_sum_of_its_five_terms() -> None:
    [passed] = promote([ONE], newest=NEWEST)
    expected = 0.24 * 0.7124143742160444 + 0.30 * 1 + 0.15 * 1 + 0.15 * 2 / 5 + 0.10 * 1 / 5
    assert passed.score == sum(passed.terms.values()) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("change", "passes"),
    [
        ({}, True),
        ({"recalls": 2, "ranks": 2.0}, False),
        ({"queries": 1}, False),
        ({"queries": 1, "days": 2}, True),
        ({"promoted": True}, False),
        ({"ranks": 0.3, "last_at": NEWEST - 1000 * DAY}, False),
    ],
)
def test_each_gate_stops_what_does_not_pass_it(change: dict[str, float], passes: bool) -> None:
    assert bool(promote([replace(ONE, **change)], newest=NEWEST)) is passes  # type: ignore[arg-type]


def test_what_is_said_of_the_user_does_not_age() -> None:
    old = replace(ONE, last_at=NEWEST - 365 * DAY)
    assert terms(replace(old, category="user"), newest=NEWEST)["recency"] == 0.15
    assert terms(replace(old, category="feedback"), newest=NEWEST)["recency"] == pytest.approx(0.075)
    assert terms(old, newest=NEWEST)["recency"] < 0.01


def test_the_best_come_first_and_only_so_many() -> None:
    many = [replace(ONE, id=f"{i:02}", recalls=3 + i, ranks=3.0 + i) for i in range(30)]
    promoted = promote(many, newest=NEWEST)
    assert len(promoted) == MOST
    assert [one.score for one in promoted] == sorted((one.score for one in promoted), reverse=True)
    assert promote(many[::-1], newest=NEWEST) == promoted
