from __future__ import annotations

import pytest

from nrem.policy.likeness import NEAR, RAREST, near_duplicates
from nrem.policy.prior import count

LONG = "The deploy key of the payments service is in the vault of the operations team"


def repeats(texts: list[str]) -> list[tuple[int, int]]:
    return near_duplicates(texts, count(texts).rarities(), most=10)


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (LONG + "!", True),
        (LONG.lower(), True),
        ("In the vault of the operations team is the deploy key of the payments service", True),
        (LONG.replace("is in", "is not in"), False),
        (LONG + " 2", False),
        (LONG.replace("payments", "payments-eu"), False),
        (LONG.replace("payments", "billing").replace("vault", "safe"), False),
    ],
)
def test_near_duplicates_share_their_words_and_differ_in_nothing_that_binds(other: str, same: bool) -> None:
    texts = [LONG, other, "Rex sleeps on the sofa", "Lunch is at noon", "Eva sings in a choir"]
    assert repeats(texts) == ([(0, 1)] if same else [])


def test_texts_that_differ_only_in_a_number_a_sign_or_a_name_are_no_duplicates() -> None:
    base = "The temperature limit of the cold store behind the bakery in the old harbour is {} degrees for {}"
    values = [(8, "Ana"), (9, "Ana"), (-8, "Ana"), (8, "Bob")]
    assert repeats([base.format(*value) for value in values]) == []


def test_among_many_texts_of_one_form_those_that_say_the_same_are_found() -> None:
    form = "The temperature limit of the cold store behind the bakery in the old harbour is {} degrees"
    texts = [form.format(number) for number in range(200)]
    assert repeats([*texts, texts[0]]) == [(0, 200)]


def test_of_one_text_said_very_often_not_every_pair_is_looked_for() -> None:
    texts = [LONG] * 500
    found = near_duplicates(texts, count(texts).rarities(), most=10**6)
    assert len(texts) < len(found) <= RAREST * NEAR * len(texts)
