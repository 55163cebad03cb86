from __future__ import annotations

import pytest

from nrem.policy.likeness import NEAR, RAREST, Said, claim, contradiction_key, near_duplicates, replaced
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


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("Ana lives in Berlin", ("ana", "home"), "berlin"),
        ("Ana now lives in Berlin.", ("ana", "home"), "berlin"),
        ("Ana has moved from Berlin to Lisbon", ("ana", "home"), "lisbon"),
        ("Ana works at Acme", ("ana", "employer"), "acme"),
        ("Ana works as a nurse", ("ana", "job"), "nurse"),
        ("Bob is 31 years old", ("bob", "age"), "31"),
        ("The staging server runs on port 8080", ("staging server", "port"), "8080"),
        ("The port of the staging server is 8080", ("staging server", "port"), "8080"),
        ("staging server port is 8080", ("staging server", "port"), "8080"),
        ("The log lives in /var/log/app.log", ("log", "path"), "/var/log/app.log"),
        ("Python is at version 3.12", ("python", "version"), "3.12"),
        ("Ana's birthday is 3 March", ("ana", "birthday"), "3 march"),
        ("The deadline for the report is 5 May", ("report", "deadline"), "5 may"),
        ("User prefers tea for breakfast", ("user", "prefers for breakfast"), "tea"),
        ("User prefers pnpm over npm", ("user", "prefers among npm and pnpm"), "pnpm"),
        ("User prefers npm, not pnpm", ("user", "prefers among npm and pnpm"), "npm"),
    ],
)
def test_a_text_of_a_known_form_has_a_subject_an_attribute_and_a_value(
    text: str, key: tuple[str, str], value: str
) -> None:
    found = claim(text)
    assert found is not None
    assert (found.key, found.value) == (key, value)


@pytest.mark.parametrize(
    "text",
    [
        "Ana's dog is old",
        "Ana's dog is called Rex",
        "The database is slow",
        "User prefers dark mode",
        "He lives in Berlin",
        "I've been moved to tears",
        "Does Ana live in Berlin?",
        "Ana lives in Berlin. She sings in a choir and has two cats.",
        "That's great",
        "Ana lives in " + "a very " * 30 + "large house",
    ],
)
def test_what_may_be_true_beside_another_or_of_somebody_unknown_has_no_key(text: str) -> None:
    assert contradiction_key(text) is None


def test_what_i_do_is_said_of_the_speaker() -> None:
    assert contradiction_key("I live in Berlin", speaker="Ana") == contradiction_key("Ana lives in Berlin")
    assert contradiction_key("My email is a@b.example", speaker="Ana") == ("ana", "email")
    assert contradiction_key("I live in Berlin", speaker="Ana") != contradiction_key(
        "I live in Berlin", speaker="Bob"
    )


def said(id: str, text: str, at: int, *, trusted: bool = True) -> Said:
    return Said(id=id, text=text, at=at, trusted=trusted)


def test_the_newest_value_replaces_all_older_ones() -> None:
    texts = [
        said("a", "Ana lives in Berlin", 1),
        said("b", "Ana moved to Oslo", 2),
        said("c", "Ana lives in Lisbon", 3),
        said("d", "Bob lives in Berlin", 4),
    ]
    assert replaced(texts) == replaced(texts[::-1]) == {"a": "c", "b": "c"}


def test_the_same_value_said_again_replaces_nothing() -> None:
    assert replaced([said("a", "Ana lives in Berlin", 1), said("b", "Ana now lives in Berlin.", 2)]) == {}


def test_what_is_not_trusted_is_replaced_but_replaces_nothing() -> None:
    true, lie = said("a", "Ana lives in Berlin", 1), said("b", "Ana lives in Oslo", 2, trusted=False)
    assert replaced([true, lie]) == {}
    assert replaced([lie, said("c", "Ana lives in Lisbon", 3)]) == {"b": "c"}
