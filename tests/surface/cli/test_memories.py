"""nrem remember, get, edit, pin, unpin, forget, versions."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from haystack import holders

Nrem = Callable[..., Result]
Answer = Callable[..., Any]
Refusal = Callable[..., dict[str, str]]
Remember = Callable[..., str]
Recalled = Callable[[str, int], Any]

SECRET = "sk-ant-api03-" + "aB3dE6gH9jK2mN5pQ8" * 3


@pytest.fixture
def get(answer: Answer) -> Callable[[str], dict[str, Any]]:
    def read(id: str) -> dict[str, Any]:
        memory: dict[str, Any] = answer("get", id)["memory"]
        return memory

    return read


Get = Callable[[str], dict[str, Any]]


def test_remember_says_the_id(nrem: Nrem, answer: Answer, get: Get, ana: str) -> None:
    word, id = nrem("remember", "Luis prefers Spanish").stdout.split()
    assert word == "Remembered"
    assert get(id)["content"] == "Luis prefers Spanish"


def test_remember_answers_in_json(answer: Answer, ana: str) -> None:
    stored = answer("remember", "a text")
    assert stored == {
        "id": stored["id"], "stored": True, "deduplicated": False, "reason": None, "redacted": [], "notes": []
    }  # fmt: skip


def test_a_text_is_remembered_once(nrem: Nrem, answer: Answer, remember: Remember, ana: str) -> None:
    id = remember("a text")
    assert nrem("remember", "a text").stdout == f"Known already: {id}\n"
    assert answer("remember", "a text") == {
        "id": id, "stored": False, "deduplicated": True, "reason": None, "redacted": [], "notes": []
    }  # fmt: skip


def test_remember_tells_what_it_supersedes(
    nrem: Nrem, answer: Answer, get: Get, remember: Remember, refusal: Refusal, ana: str
) -> None:
    a, b = remember("Ana lives in Berlin"), remember("Ana has a flat in Berlin")
    told = nrem("remember", "Ana lives in Lisbon", "--supersedes", a, "--supersedes", b).stdout.splitlines()
    new = told[0].removeprefix("Remembered ")
    assert told[1:] == [f"It supersedes {a}, {b}"]
    assert get(a)["superseded_by"] == get(b)["superseded_by"] == new
    assert f"superseded_by  {new}" in nrem("get", a).stdout
    rows = {row.split()[0]: " superseded " in row for row in nrem("list").stdout.splitlines()[1:]}
    assert rows == {a: True, b: True, new: False}
    assert nrem("versions", a).stdout.splitlines()[-1].split()[3] == "supersede"
    why = nrem("why", a).stdout
    assert why.startswith(f"{a} is live, superseded by {new}.\n")
    assert f"superseded_by: null -> {new}" in why
    assert nrem("why", new).stdout.splitlines()[1] == f"It supersedes {a}, {b}."
    error = refusal(5, "remember", "Ana lives in Porto", "--supersedes", a)
    assert (error["code"], error["hint"]) == ("superseded", f"supersede {new} instead")
    assert refusal(4, "remember", "x", "--supersedes", "nobody")["field"] == "supersedes[0]"


def test_every_option_reaches_the_memory(answer: Answer, get: Get, remember: Remember, ana: str) -> None:
    id = remember(
        *("It rained on the picnic", "-a", "ana", "--kind", "episode", "--category", "Out Doors"),
        *("--tag", "rain", "--tag", "picnic", "--importance", "0.25", "--confidence", "0.75"),
        *("--role", "user", "--session", "s1", "--room", "garden", "--user", "luis"),
        *("--context", "in spring", "--source", "diary", "--data", '{"mm": 3}', "--metadata", '{"k": [1]}'),
        *("--created-at", "2026-05-01", "--expires-at", "2027-01-01T00:00:00Z", "--pin"),
    )
    memory = get(id)
    assert memory | {"id": id, "concept_tags": []} == {
        "id": id,
        "kind": "episodic",
        "kind_given": "episode",
        "content": "It rained on the picnic",
        "category": "out_doors",
        "tags": ["rain", "picnic"],
        "concept_tags": [],
        "data": {"mm": 3},
        "metadata": {"k": [1]},
        "context": "in spring",
        "importance": 0.25,
        "confidence": 0.75,
        "role": "user",
        "session": "s1",
        "room": "garden",
        "user": "luis",
        "pinned": True,
        "provenance": {
            "source": "diary",
            "ingress": "cli",
            "trust": "trusted",
            "actor": "owner",
            "trigger": None,
        },
        "legacy_id": None,
        "version": 1,
        "created_at": "2026-05-01T00:00:00+00:00",
        "updated_at": "2026-05-01T00:00:00+00:00",
        "expires_at": "2027-01-01T00:00:00+00:00",
        "consolidated_at": None,
        "superseded_by": None,
    }


def test_text_from_outside_is_not_trusted(get: Get, remember: Remember, nrem: Nrem, ana: str) -> None:
    assert get(remember("from a web page", "--untrusted"))["provenance"]["trust"] == "untrusted"
    told = nrem("remember", "from another one", "--untrusted", "--pin").stderr
    assert told == "pinned: dropped, because the memory is not trusted\n"


@pytest.mark.parametrize("words", [(), ("-",)])
@pytest.mark.parametrize(
    ("stdin", "content"),
    [
        ("a text\n", "a text"),
        ("a text", "a text"),
        ("two\nlines\n\n", "two\nlines\n"),
        ("ñandú 日本 👩‍💻\n", "ñandú 日本 👩‍💻"),
    ],
)
def test_the_text_may_come_from_standard_input(
    answer: Answer, get: Get, ana: str, words: tuple[str, ...], stdin: str, content: str
) -> None:
    assert get(answer("remember", *words, stdin=stdin)["id"])["content"] == content


@pytest.mark.rows(102)
def test_standard_input_must_be_text(nrem: Nrem, refusal: Refusal, ana: str) -> None:
    error = refusal(2, "remember", "-", stdin=b"x\xe9")
    assert (error["field"], error["message"]) == ("text", "text: is not valid UTF-8 (at byte 1)")
    assert nrem("list").stdout == "No memories.\n"


@pytest.mark.rows(102)
@pytest.mark.parametrize(
    ("words", "field"),
    [
        ([""], "content"),
        ([" \t"], "content"),
        (["x", "--importance", "1.5"], "importance"),
        (["x", "--confidence", "nan"], "confidence"),
        (["x", "--data", "{"], "data"),
        (["x", "--data", "[1]"], "data"),
        (["x", "--metadata", '{"a": NaN}'], "metadata"),
        (["x", "--metadata", "[" * 100_000], "metadata"),
        (["x", "--created-at", "someday"], "created_at"),
        (["x", "--expires-at", "1969-12-31"], "expires_at"),
        (["x", "--tag", " "], "tags[0]"),
        (["x", "--session", "s" * 513], "session"),
    ],
)
def test_a_wrong_value_names_its_field_and_stores_nothing(
    nrem: Nrem, refusal: Refusal, ana: str, words: list[str], field: str
) -> None:
    assert refusal(2, "remember", *words)["field"] == field
    assert nrem("list").stdout == "No memories.\n"


def test_a_value_that_is_not_offered_is_refused_with_those_that_are(nrem: Nrem, ana: str) -> None:
    assert "'procedural'" in nrem("remember", "x", "--kind", "memory", exits=2).stderr
    assert "'assistant'" in nrem("remember", "x", "--role", "robot", exits=2).stderr


def test_a_secret_is_taken_out_and_told(nrem: Nrem, remember: Remember, ana: str) -> None:
    told = nrem("remember", f"the key is {SECRET}")
    assert told.stderr == "A secret was taken out before it was stored: anthropic\n"
    assert SECRET not in told.output + nrem("list").output
    id = remember("nothing to hide")
    told = nrem("edit", id, f"it is {SECRET}")
    assert told.stderr == "A secret was taken out before it was stored: anthropic\n"


def test_get_shows_the_text_and_its_fields(nrem: Nrem, answer: Answer, remember: Remember, ana: str) -> None:
    id = remember(
        *("apple\nbanana", "--tag", "a", "--tag", "é, b", "--source", "diary"),
        *("--data", '{"done": true, "why": null}', "--created-at", "2026-05-01", "--importance", "0.25"),
    )
    text, _, fields = nrem("get", id).stdout.partition("\n\n")
    assert text == "apple\nbanana"
    head, *rows = [line.split(maxsplit=1) for line in fields.splitlines()]
    assert head == ["Field", "Value"]
    assert {name: value.strip() for name, value in rows} == {
        "id": id,
        "kind": "semantic",
        "category": "general",
        "tags": '["a", "é, b"]',
        "concept_tags": '["apple", "banana"]',
        "data": '{"done": true, "why": null}',
        "importance": "0.25",
        "confidence": "1.0",
        "pinned": "false",
        "version": "1",
        "created_at": "2026-05-01T00:00:00+00:00",
        "updated_at": "2026-05-01T00:00:00+00:00",
        "source": "diary",
        "ingress": "cli",
        "trust": "trusted",
        "actor": "owner",
        "recalled": "0 times",
    }
    assert answer("get", id)["access_count"] == 0


@pytest.mark.parametrize(("word", "shown"), [("episode", True), ("episodic", False)])
def test_get_shows_the_word_for_its_kind_only_where_it_is_another(
    nrem: Nrem, remember: Remember, ana: str, word: str, shown: bool
) -> None:
    rows = nrem("get", remember("a text", "--kind", word)).stdout.splitlines()
    assert [row.split()[1] for row in rows if row.startswith("kind ")] == ["episodic"]
    assert [row.split()[1] for row in rows if row.startswith("kind_given ")] == ["episode"] * shown


@pytest.mark.parametrize(("recalls", "shown"), [(0, "0 times"), (1, "1 time"), (2, "2 times")])
def test_get_tells_how_often_a_memory_was_recalled(
    nrem: Nrem, remember: Remember, recalled: Recalled, ana: str, recalls: int, shown: str
) -> None:
    id = remember("a text")
    for _ in range(recalls):
        nrem("recall", "text")
    recalled(id, recalls)
    assert nrem("get", id).stdout.splitlines()[-1].split(maxsplit=1) == ["recalled", shown]


def test_edit_changes_what_is_given(
    nrem: Nrem, answer: Answer, get: Get, remember: Remember, ana: str
) -> None:
    id = remember("a text", "--tag", "old", "--room", "attic")
    assert nrem("edit", id, "another text").stdout == f"Changed {id}, now version 2.\n"
    assert answer("edit", id, "-", stdin="from a pipe\n") == {"id": id, "version": 3, "redacted": []}
    answer(
        *("edit", id, "--category", "house", "--tag", "new", "--importance", "1", "--confidence", "0"),
        *("--context", "upstairs", "--data", '{"a": 1}', "--metadata", '{"b": 2}'),
        *("--expires-at", "2030-01-01", "--if-version", "3"),
    )
    memory = get(id)
    expected = {
        "content": "from a pipe",
        "category": "house",
        "tags": ["new"],
        "importance": 1.0,
        "confidence": 0.0,
        "context": "upstairs",
        "data": {"a": 1},
        "metadata": {"b": 2},
        "room": "attic",
        "expires_at": "2030-01-01T00:00:00+00:00",
        "version": 4,
    }
    assert {name: memory[name] for name in expected} == expected


CLEARED: dict[str, Any] = {"tags": [], "context": None, "data": None, "metadata": None, "expires_at": None}


@pytest.mark.parametrize("fields", [*([name] for name in CLEARED), list(CLEARED)], ids=" ".join)
def test_edit_takes_away_what_is_cleared(
    nrem: Nrem, get: Get, remember: Remember, ana: str, fields: list[str]
) -> None:
    id = remember(
        *("a text", "--tag", "a", "--context", "attic", "--data", '{"a": 1}', "--metadata", '{"b": 2}'),
        *("--expires-at", "2030-01-01"),
    )
    before = get(id)
    told = nrem("edit", id, *(word for name in fields for word in ("--clear", name)))
    assert told.stdout == f"Changed {id}, now version 2.\n"
    after = get(id)
    assert after == before | {name: CLEARED[name] for name in fields} | {
        "version": 2, "updated_at": after["updated_at"]
    }  # fmt: skip


def test_edit_clears_only_what_may_be_missing(nrem: Nrem, get: Get, remember: Remember, ana: str) -> None:
    id = remember("a text")
    for name in ("content", "category", "importance", "room"):
        assert f"'{name}' is not one of 'tags'" in nrem("edit", id, "--clear", name, exits=2).stderr
    assert get(id)["version"] == 1


def test_edit_needs_something_to_change(refusal: Refusal, remember: Remember, ana: str) -> None:
    assert refusal(2, "edit", remember("a text"))["message"] == "nothing to change"


def test_edit_of_an_older_version_is_refused(
    refusal: Refusal, get: Get, remember: Remember, ana: str
) -> None:
    id = remember("a text")
    error = refusal(5, "edit", id, "mine", "--if-version", "7")
    assert error["code"] == "stale_version"
    assert get(id)["content"] == "a text"


def test_edit_does_not_make_two_of_one_text(refusal: Refusal, remember: Remember, ana: str) -> None:
    first, second = remember("a text"), remember("another text")
    error = refusal(5, "edit", second, "a text")
    assert error["code"] == "duplicate"
    assert first in error["message"]


def test_pin_and_unpin(nrem: Nrem, answer: Answer, get: Get, remember: Remember, ana: str) -> None:
    id = remember("a text")
    assert nrem("pin", id).stdout == f"Pinned {id}.\n"
    assert get(id)["pinned"]
    assert answer("pin", id) == {"id": id, "version": 2, "redacted": []}
    assert nrem("unpin", id).stdout == f"Unpinned {id}.\n"
    assert answer("unpin", id) == {"id": id, "version": 3, "redacted": []}
    assert not get(id)["pinned"]


def test_forget_tells_that_history_stays(nrem: Nrem, answer: Answer, remember: Remember, ana: str) -> None:
    first, second = remember("a text"), remember("another text")
    assert nrem("forget", first).stdout.startswith("Forgotten. Its versions and events stay in the history")
    assert answer("forget", second)["id"] == second
    assert nrem("list").stdout == "No memories.\n"


@pytest.mark.rows(114)
def test_forget_can_erase_for_good(
    nrem: Nrem, answer: Answer, remember: Remember, home: Path, ana: str
) -> None:
    first, second = remember("The vault opens with quixplat"), remember("Zorbulon knows it")
    nrem("checkpoint")
    nrem("recall", "quixplat")
    refused = nrem("forget", first, "--erase", exits=2).stderr
    assert f"Erase every version of {first} for good, and rewrite the history in git?" in refused
    assert "--force" in refused
    (home / "workspaces" / "ana" / "mine.md").write_text("the vault opens with quixplat")
    done = nrem("forget", first, "--erase", "--force")
    assert re.fullmatch(
        rf"Erased {first}: 2 events emptied, 1 version and \d+ objects of git deleted,"
        r" 1 commit written anew, 1 question replaced\.\n",
        done.stdout,
    )
    assert done.stderr == "Your files that have its text: mine.md\n"
    receipt = answer("forget", second, "--erase", "--force")
    assert (receipt["id"], receipt["actor"], receipt["events"]) == (second, "owner", 2)
    assert "orbulon" not in str(receipt)
    assert nrem("list").stdout == "No memories.\n"
    assert [row["cause"] for row in answer("log")["commits"]] == ["erase", "erase", "checkpoint", "template"]
    assert holders(home, ["zorbulon"]) == set()
    assert "workspaces/ana/mine.md" in holders(home, ["quixplat"])
    assert not [name for name in holders(home, ["quixplat"]) if name.startswith("nrem.")]


def test_versions_lists_every_state(nrem: Nrem, answer: Answer, remember: Remember, ana: str) -> None:
    id = remember("a text")
    nrem("edit", id, "another text")
    nrem("forget", id)
    found = answer("versions", id)
    assert found["id"] == id
    assert [(v["version"], v["operation"], v["actor"], v["cause"]) for v in found["versions"]] == [
        (1, "remember", "owner", "cli"),
        (2, "edit", "owner", "cli"),
        (0, "forget", "owner", "cli"),
    ]
    assert [v["memory"] and v["memory"]["content"] for v in found["versions"]] == [
        "a text",
        "another text",
        None,
    ]
    times = [v["at"][:19].replace("T", " ") for v in found["versions"]]
    assert nrem("versions", id).stdout.splitlines() == [
        "Version  When                 What      Who          Content",
        f"1        {times[0]}  remember  owner (cli)  a text",
        f"2        {times[1]}  edit      owner (cli)  another text",
        f"         {times[2]}  forget    owner (cli)",
    ]


def test_versions_tell_a_pin_from_its_end(nrem: Nrem, answer: Answer, remember: Remember, ana: str) -> None:
    id = remember("a text")
    nrem("pin", id)
    nrem("unpin", id)
    assert [v["operation"] for v in answer("versions", id)["versions"]] == ["remember", "pin", "unpin"]
    rows = nrem("versions", id).stdout.splitlines()
    assert [row.split()[3] for row in rows[1:]] == ["remember", "pin", "unpin"]


@pytest.mark.parametrize("words", [["get"], ["edit", "x"], ["pin"], ["unpin"], ["forget"], ["versions"]])
def test_an_unknown_id_is_not_found(nrem: Nrem, refusal: Refusal, ana: str, words: list[str]) -> None:
    command, *rest = words
    error = refusal(4, command, "no-such-id", *rest)
    assert error["code"] == "memory_not_found"
    assert nrem(command, "no-such-id", *rest, exits=4).stderr == (
        "Error: there is no memory no-such-id\n"
        "Hint: list the agent's memories to see their ids; six characters of the beginning or end will do\n"
    )
