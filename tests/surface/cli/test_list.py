"""nrem list and clear: which memories are meant, what is shown of them, and how many go."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from builders import caller_of
from nrem.runtime.app import App

Nrem = Callable[..., Result]
Answer = Callable[..., Any]
Refusal = Callable[..., dict[str, str]]
Remember = Callable[..., str]

# What each memory is besides its text, which is its name.
SHELF: dict[str, dict[str, Any]] = {
    "apple": {"kind": "fact", "category": "fruit", "tags": ["red"], "created_at": "2026-01-01"},
    "pear": {"category": "fruit", "tags": ["green"], "created_at": "2026-02-01"},
    "bike": {"tags": ["red", "fast"], "metadata": {"wheels": 2}, "created_at": "2026-03-01"},
    "trip": {"kind": "episodic", "room": "garden", "user": "luis", "created_at": "2026-04-01"},
    "hello": {"kind": "message", "session": "s1", "role": "user", "created_at": "2026-05-01"},
    "reply": {"kind": "message", "session": "s1", "role": "assistant", "created_at": "2026-05-02"},
    "rumour": {"trust": "untrusted", "created_at": "2026-06-01"},
    "house": {"pinned": True, "created_at": "2026-07-01"},
}

CHOICES = [
    ([], set(SHELF)),
    (["--kind", "fact"], {"apple"}),
    (["--type", "fact"], {"apple"}),
    (["--kind", "fact", "--type", "episode"], {"apple", "trip"}),
    (["--category", "Fruit"], {"apple", "pear"}),
    (["--tag", "red"], {"apple", "bike"}),
    (["--tag", "green", "--tag", "fast"], {"pear", "bike"}),
    (["--all-tags", "red", "--all-tags", "fast"], {"bike"}),
    (["--metadata", '{"wheels": 2}'], {"bike"}),
    (["--room", "garden"], {"trip"}),
    (["--user", "luis"], {"trip"}),
    (["--session", "s1"], {"hello", "reply"}),
    (["--after", "2026-05-02"], {"reply", "rumour", "house"}),
    (["--before", "2026-02-01T00:00:00Z"], {"apple"}),
    (["--trust", "untrusted"], {"rumour"}),
    (["--pinned"], {"house"}),
    (["--not-pinned", "--after", "2026-06-01"], {"rumour"}),
    (["--category", "fruit", "--tag", "red"], {"apple"}),
    (["--tag", "nothing"], set()),
]
CLEARS = [
    *CHOICES,
    (["--sessions-only"], {"hello", "reply"}),
    (["--sessions-only", "--before", "2026-05-02"], {"hello"}),
    (["--memories-only"], set(SHELF) - {"hello", "reply"}),
    (["--memories-only", "--kind", "message"], set()),
    (["--memories-only", "--tag", "red"], {"apple", "bike"}),
]


@pytest.fixture
def shelf(home: Path) -> dict[str, str]:
    """A store in which ana remembers the shelf; returns the id of each."""
    with App.open(home, create=True) as app:
        call = caller_of(app)
        call("add_agent", agent="ana")
        drafts = [{"content": name} | rest for name, rest in SHELF.items()]
        stored = call("remember_many", agent="ana", memories=drafts)["memories"]
    return {name: made["id"] for name, made in zip(SHELF, stored, strict=True)}


def names(answer: Answer, *words: str) -> list[str]:
    return [memory["content"] for memory in answer("list", *words)["memories"]]


@pytest.mark.rows(95)
def test_list_shows_one_line_for_each_newest_first(nrem: Nrem, shelf: dict[str, str]) -> None:
    head, *rows = nrem("list").stdout.splitlines()
    assert head == "Id" + " " * 36 + "Memory"
    assert rows[0] == f"{shelf['house']}  [semantic:general] (2026-07-01 00:00:00) pinned house"
    assert rows[1] == f"{shelf['rumour']}  [semantic:general] (2026-06-01 00:00:00) rumour"
    assert rows[-1] == f"{shelf['apple']}  [fact:fruit] (2026-01-01 00:00:00) apple"
    assert [row.split()[-1] for row in rows] == list(reversed(SHELF))


@pytest.mark.rows(95)
@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize(("words", "expected"), CHOICES)
def test_list_shows_what_meets_every_condition(answer: Answer, words: list[str], expected: set[str]) -> None:
    found = names(answer, *words)
    assert set(found) == expected
    assert len(found) == len(expected)


def test_nothing_found_is_said(nrem: Nrem, answer: Answer, ana: str) -> None:
    assert nrem("list").stdout == "No memories.\n"
    assert answer("list")["memories"] == []


@pytest.mark.rows(95)
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x" * 100, "x" * 100),
        ("x" * 101, "x" * 99 + "…"),
        ("one\ntwo\n\n three\t four", "one two three four"),
    ],
)
def test_a_preview_is_one_line_of_at_most_100_characters(
    nrem: Nrem, remember: Remember, ana: str, text: str, shown: str
) -> None:
    remember(text)
    [_, row] = nrem("list").stdout.splitlines()
    assert re.fullmatch(r"\S{36}  \[semantic:general\] \(\S{10} \S{8}\) (.*)", row)
    assert row.endswith(f") {shown}")


@pytest.mark.rows(95)
def test_in_a_pipe_a_row_is_one_line_however_long_it_is(nrem: Nrem, remember: Remember, ana: str) -> None:
    category, text = "very_long_" * 40 + "category", "漢" * 50 + " " + "x" * 49
    remember(text, "--category", category)
    [_, row] = nrem("list").stdout.splitlines()
    assert f"[semantic:{category}] " in row
    assert row.endswith(f") {text}")


def test_a_page_behind_the_last_one_tells_the_totals_too(nrem: Nrem, shelf: dict[str, str]) -> None:
    assert nrem("list", "--limit", "5", "--page", "3").stdout.splitlines() == [
        "Id  Memory",
        "Page 3 of 2, 8 memories.",
    ]


@pytest.mark.usefixtures("shelf")
def test_pages_by_number_tell_the_totals(nrem: Nrem, answer: Answer) -> None:
    assert nrem("list", "--limit", "3", "--page", "3").stdout.splitlines()[-1] == "Page 3 of 3, 8 memories."
    found = answer("list", "--limit", "3", "--page", "3")
    assert [memory["content"] for memory in found["memories"]] == ["pear", "apple"]
    assert (found["page"], found["total"], found["total_pages"]) == (3, 8, 3)


@pytest.mark.usefixtures("shelf")
def test_a_cursor_leads_to_the_next_page_and_ends(nrem: Nrem, answer: Answer) -> None:
    seen = []
    words: list[str] = []
    while True:
        found = answer("list", "--limit", "3", *words)
        seen += [memory["content"] for memory in found["memories"]]
        last = nrem("list", "--limit", "3", *words).stdout.splitlines()[-1]
        if found["next"] is None:
            break
        assert last == f"More: --cursor {found['next']}"
        words = ["--cursor", found["next"]]
    assert seen == list(reversed(SHELF))
    assert not last.startswith("More")


def test_twenty_are_shown_unless_told_otherwise(nrem: Nrem, answer: Answer, ana: str, tmp_path: Path) -> None:
    file = tmp_path / "many.json"
    file.write_text("[" + ",".join(f'{{"content": "note {i}"}}' for i in range(30)) + "]")
    nrem("import", str(file))
    assert len(names(answer)) == 20
    assert len(names(answer, "--limit", "30")) == 30


@pytest.mark.rows(102)
@pytest.mark.parametrize(
    ("words", "field"),
    [
        (["--limit", "0"], "limit"),
        (["--limit", "1001"], "limit"),
        (["--page", "0"], "page"),
        (["--cursor", "somewhere"], "cursor"),
        (["--metadata", "7"], "metadata"),
        (["--before", "someday"], "before"),
        (["--session", ""], "session"),
    ],
)
def test_a_wrong_condition_names_its_field(refusal: Refusal, ana: str, words: list[str], field: str) -> None:
    assert refusal(2, "list", *words)["field"] == field


@pytest.mark.rows(35, 95)
@pytest.mark.parametrize(("words", "expected"), CLEARS)
def test_clear_forgets_what_meets_every_condition_and_counts_it(
    nrem: Nrem, answer: Answer, shelf: dict[str, str], words: list[str], expected: set[str]
) -> None:
    many = "1 memory" if len(expected) == 1 else f"{len(expected)} memories"
    assert answer("clear", *words, "--dry-run") == {"count": len(expected), "dry_run": True}
    assert nrem("clear", *words, "--dry-run").stdout == f"{many} of ana would be forgotten.\n"
    assert set(names(answer)) == set(SHELF)

    told = nrem("clear", *words, "--force").stdout
    assert told == (f"Forgot {many} of ana.\n" if expected else "Nothing to clear.\n")
    assert set(names(answer)) == set(SHELF) - expected


@pytest.mark.rows(35)
@pytest.mark.usefixtures("shelf")
def test_clear_answers_in_json(answer: Answer) -> None:
    assert answer("clear", "--tag", "red", "-f") == {"count": 2, "dry_run": False}
    assert answer("clear", "--tag", "red", "-f")["count"] == 0


@pytest.mark.rows(35)
def test_clear_leaves_other_agents_alone(nrem: Nrem, answer: Answer, shelf: dict[str, str]) -> None:
    nrem("agent", "add", "ben")
    nrem("remember", "apple", "-a", "ben")
    nrem("clear", "-a", "ana", "--force")
    assert names(answer, "-a", "ana") == []
    assert names(answer, "-a", "ben") == ["apple"]


@pytest.mark.rows(35)
def test_what_was_cleared_stays_in_the_history(nrem: Nrem, answer: Answer, shelf: dict[str, str]) -> None:
    nrem("clear", "--force")
    last = answer("versions", shelf["apple"])["versions"][-1]
    assert (last["operation"], last["cause"]) == ("forget", "clear")


@pytest.mark.rows(35, 95)
@pytest.mark.parametrize("words", [[], ["--json"]])
def test_clear_without_a_terminal_needs_force(
    nrem: Nrem, answer: Answer, shelf: dict[str, str], words: list[str]
) -> None:
    refused = nrem("clear", *words, stdin="y\n", exits=2).stderr
    assert "Forget 8 memories of ana?" in refused
    assert "--force" in refused
    assert set(names(answer)) == set(SHELF)


def test_with_nothing_to_clear_nobody_is_asked(nrem: Nrem, ana: str) -> None:
    assert nrem("clear").stdout == "Nothing to clear.\n"


@pytest.mark.rows(35)
@pytest.mark.parametrize(
    "words", [["--sessions-only", "--memories-only"], ["--sessions-only", "--kind", "fact"]]
)
def test_conditions_that_exclude_each_other_are_refused(
    nrem: Nrem, answer: Answer, shelf: dict[str, str], words: list[str]
) -> None:
    nrem("clear", *words, "--force", exits=2)
    assert set(names(answer)) == set(SHELF)


@pytest.mark.rows(47)
def test_a_time_can_be_said_in_words(nrem: Nrem, answer: Answer, ana: str) -> None:
    nrem("remember", "an old note", "--created-at", "3d ago")
    nrem("remember", "a new note", "--expires-at", "in 20m")
    assert names(answer, "--before", "yesterday") == ["an old note"]
    assert names(answer, "--after", "yesterday") == ["a new note"]
    [new, old] = answer("list")["memories"]
    assert new["expires_at"] > new["created_at"] > old["created_at"]
    assert old["expires_at"] is None
