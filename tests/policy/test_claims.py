from __future__ import annotations

import pytest

from nrem.policy.claims import Said, claim, contradicted, replaced, rivals


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
    assert ((found.subject, found.attribute), found.value) == (key, value)


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
    assert claim(text) is None


def test_what_i_do_is_said_of_the_speaker() -> None:
    assert claim("I live in Berlin", speaker="Ana") == claim("Ana lives in Berlin")
    assert claim("I live in Berlin", speaker="Ana") != claim("I live in Berlin", speaker="Bob")
    mine = claim("My email is a@b.example", speaker="Ana")
    assert mine is not None
    assert mine.key == ("ana", "email", "e-mail")


def said(id: str, text: str, at: int) -> Said:
    return Said(id=id, text=text, at=at)


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


def test_rivals_speak_of_the_same_thing_whatever_its_value() -> None:
    texts = ["Ana lives in Berlin", "Bob lives in Berlin", "Ana moved to Oslo", "Ana likes figs"]
    assert [one.id for one in rivals([said(text, text, 1) for text in texts])] == [texts[0], texts[2]]


KEPT = [
    ("Luis works at Acme", "Luis works at night"),
    ("Luis works at night", "Luis works at Acme"),
    ("Luis works for free", "Luis works for Globex"),
    ("The staging database is Postgres 13", "The staging database is down"),
    ("The staging server runs on port 8080", "The staging server is at version 8"),
    ("Ana lives in Berlin", "Ana lives in a small flat near the zoo"),
    ("The log lives in /var/log/app.log", "The log lives in Frankfurt"),
    ("Release 4.0 was moved to 15 July 2026", "Release 4.0 was moved to the wiki"),
    ("The budget of the team is 12000 euros", "The budget of the team is tight"),
    ("Ana's job is fun", "Ana's job is nurse"),
]
PARTS = [
    (
        "Ana lives in Berlin with her two sons Max and Tom, and is allergic to penicillin",
        "Ana lives in Hamburg",
    ),
    (
        "The billing service runs on port 8081 and talks to Postgres 15 on db-2.internal",
        "The billing service runs on port 8080",
    ),
    ("Luis is a backend engineer at Acme in Valencia", "Luis works at Globex in Madrid"),
    ("Ana works at Acme, where she leads the design team", "Ana works at Globex"),
    (
        "The deadline of the report is 5 May because the fair begins then",
        "The deadline of the report is 9 May",
    ),
    ("Ana moved to Valencia on 3 March 2026 and works at Acme as an engineer", "Ana moved to Oslo"),
]
REPLACED = [
    ("Ana lives in Berlin", "Ana lives in Hamburg with her two sons"),
    ("Ana lives in Berlin since 2019", "Ana moved to Hamburg in May 2026"),
    ("Ana lives in Berlin, Germany", "Ana lives in Bosnia and Herzegovina"),
    ("Ana lives in Bosnia and Herzegovina", "Ana lives in Oslo"),
    ("Release 4.0 is planned for May 2026", "Release 4.0 was moved to 15 July 2026"),
    ("The launch is scheduled for 3 June", "The launch was postponed to next month"),
    ("Luis works at Globex in Madrid", "Luis is a backend engineer at Acme in Valencia"),
    (
        "The billing service runs on port 8081",
        "The billing service runs on port 8080 and talks to Postgres 15",
    ),
    ("The staging database is Postgres 13", "The staging database is Postgres 16"),
    ("Ana lives in Berlin and has two cats", "Ana lives in Oslo and has two cats"),
]


@pytest.mark.parametrize(("older", "newer"), KEPT)
def test_values_of_two_kinds_have_nothing_against_each_other(older: str, newer: str) -> None:
    assert contradicted([said("a", older, 1), said("b", newer, 2)]) == {}


@pytest.mark.parametrize(("older", "newer"), PARTS)
def test_a_text_that_says_more_is_contradicted_and_not_replaced(older: str, newer: str) -> None:
    texts = [said("a", older, 1), said("b", newer, 2)]
    assert (contradicted(texts), replaced(texts)) == ({"a": "b"}, {})


@pytest.mark.parametrize(("older", "newer"), REPLACED)
def test_a_text_that_says_nothing_besides_is_replaced(older: str, newer: str) -> None:
    texts = [said("a", older, 1), said("b", newer, 2)]
    assert contradicted(texts) == replaced(texts) == {"a": "b"}
