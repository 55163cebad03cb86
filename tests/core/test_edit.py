"""Changing a memory, pinning it, and the versions that stay behind."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

import pytest

from builders import Call, HashEmbedder, ManualClock
from nrem.errors import Conflict, InputError, InvalidField, NotFound
from nrem.model import Event
from nrem.models.embeddings import pack

Get = Callable[..., dict[str, Any]]
Chain = Callable[[str], list[Event]]
Found = Callable[[str, str], list[str]]
Vectors = Callable[[str], dict[str, bytes]]

FULL: dict[str, Any] = {
    "content": "The office is in Lyon",
    "category": "work",
    "tags": ["place"],
    "data": {"floor": 3},
    "metadata": {"lang": "en"},
    "context": "from the letterhead",
    "importance": 0.7,
    "confidence": 0.9,
    "expires_at": "2030-01-01T00:00:00+00:00",
}
NEW: dict[str, Any] = {
    "content": "The office is in Rome",
    "category": "home",
    "tags": ["b", "a"],
    "data": {"floor": 4},
    "metadata": {},
    "context": "from the door",
    "importance": 0,
    "confidence": 0.1,
    "expires_at": "2031-01-01T00:00:00+00:00",
}
CLEARABLE = ["data", "metadata", "context", "expires_at"]


@pytest.fixture
def id(call: Call, clock: ManualClock) -> str:
    """A memory of ana's with every field set, one day old."""
    made: str = call("remember", agent="ana", session="s", room="r", legacy_id="7", **FULL)["id"]
    clock.advance(days=1)
    return made


def last_two(call: Call, id: str) -> list[dict[str, Any]]:
    versions: list[dict[str, Any]] = call("list_versions", agent="ana", id=id)["versions"]
    return versions[-2:]


@pytest.mark.rows(11, 25)
@pytest.mark.parametrize("field", NEW)
def test_only_the_given_field_changes(call: Call, get: Get, id: str, field: str) -> None:
    before = get(id)
    changed = call("edit_memory", agent="ana", id=id, **{field: NEW[field]})
    assert changed == {"id": id, "version": 2, "redacted": []}
    expected = before | {field: NEW[field], "version": 2, "updated_at": "2026-06-02T12:00:00+00:00"}
    if field == "content":
        expected["concept_tags"] = ["office", "rome"]
    assert get(id) == expected


@pytest.mark.rows(11)
def test_all_fields_change_in_one_version(call: Call, get: Get, id: str) -> None:
    assert call("edit_memory", agent="ana", id=id, **NEW)["version"] == 2
    assert {field: get(id)[field] for field in NEW} == NEW


@pytest.mark.rows(11)
def test_each_version_before_can_be_read_with_who_made_it_and_when(
    call: Call, visitor: Call, get: Get, clock: ManualClock, id: str
) -> None:
    states = [get(id)]
    call("edit_memory", agent="ana", id=id, content="The office is in Rome")
    states.append(get(id))
    clock.advance(seconds=90)
    visitor("edit_memory", agent="ana", id=id, category="home")
    states.append(get(id))
    call("pin_memory", agent="ana", id=id)
    states.append(get(id))
    found = call("list_versions", agent="ana", id=id)
    assert found["id"] == id
    assert [version["memory"] for version in found["versions"]] == states
    assert [(v["version"], v["operation"], v["actor"], v["cause"], v["at"]) for v in found["versions"]] == [
        (1, "remember", "owner", "test", "2026-06-01T12:00:00+00:00"),
        (2, "edit", "owner", "test", "2026-06-02T12:00:00+00:00"),
        (3, "edit", "web", "http", "2026-06-02T12:01:30+00:00"),
        (4, "pin", "owner", "test", "2026-06-02T12:01:30+00:00"),
    ]


@pytest.mark.rows(25)
def test_a_clock_that_goes_back_does_not_turn_updated_back(
    call: Call, get: Get, clock: ManualClock, id: str
) -> None:
    call("edit_memory", agent="ana", id=id, category="home")
    clock.advance(days=-30)
    call("edit_memory", agent="ana", id=id, category="work")
    assert get(id)["updated_at"] == "2026-06-02T12:00:00+00:00"
    assert [v["at"] for v in last_two(call, id)] == ["2026-06-02T12:00:00+00:00"] * 2


@pytest.mark.parametrize("field", CLEARABLE)
def test_null_clears_what_can_be_without_a_value(call: Call, get: Get, id: str, field: str) -> None:
    before = get(id)
    call("edit_memory", agent="ana", id=id, **{field: None})
    assert get(id) == before | {field: None, "version": 2, "updated_at": "2026-06-02T12:00:00+00:00"}


@pytest.mark.rows(102)
@pytest.mark.parametrize("others", [{}, {"data": None}])
@pytest.mark.parametrize("field", [field for field in NEW if field not in CLEARABLE])
def test_null_is_refused_for_a_field_that_always_has_a_value(
    call: Call, get: Get, chain: Chain, id: str, field: str, others: dict[str, Any]
) -> None:
    before, state = chain("ana"), get(id)
    with pytest.raises(InvalidField) as caught:
        call("edit_memory", agent="ana", id=id, **others, **{field: None})
    assert caught.value.message == f"{field}: must have a value"
    assert (caught.value.field, caught.value.hint) == (field, "leave it out to keep what it is")
    assert (chain("ana"), get(id)) == (before, state)


def test_an_empty_list_of_tags_takes_them_away(call: Call, get: Get, id: str) -> None:
    call("edit_memory", agent="ana", id=id, tags=[])
    assert get(id)["tags"] == []


@pytest.mark.rows(102)
@pytest.mark.parametrize("given", [{}, {"version": 1}])
def test_an_edit_that_gives_nothing_is_refused(
    call: Call, chain: Chain, id: str, given: dict[str, Any]
) -> None:
    before = chain("ana")
    with pytest.raises(InputError, match="nothing to change"):
        call("edit_memory", agent="ana", id=id, **given)
    assert chain("ana") == before


@pytest.mark.rows(102)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("content", " \u3000"),
        ("content", "\u200b\x07"),
        ("content", "x" * 65537),
        ("context", "x" * 65537),
        ("importance", 1.01),
        ("importance", float("nan")),
        ("confidence", -0.01),
        ("confidence", "1"),
        ("tags", "work"),
        ("data", [1]),
        ("metadata", {"a": float("inf")}),
        ("expires_at", "never"),
        ("version", 0),
        ("version", "1"),
        ("kind", "fact"),
        ("pinned", True),
        ("created_at", "2020-01-01"),
    ],
)
def test_a_wrong_value_is_named_and_nothing_changes(
    call: Call, get: Get, chain: Chain, id: str, field: str, value: object
) -> None:
    before, state = chain("ana"), get(id)
    with pytest.raises(InvalidField) as caught:
        call("edit_memory", agent="ana", id=id, **{"category": "home", field: value})
    assert caught.value.field == field
    assert (chain("ana"), get(id)) == (before, state)


def test_a_missing_memory_is_not_found(call: Call) -> None:
    for change in ({"content": "new"}, {"category": "new"}):
        with pytest.raises(NotFound) as caught:
            call("edit_memory", agent="ana", id="0", **change)
        assert caught.value.code == "memory_not_found"


@pytest.mark.rows(28)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_an_edit_into_a_text_that_exists_is_a_conflict_naming_the_other(
    call: Call, get: Get, chain: Chain, id: str, form: str
) -> None:
    other = call("remember", agent="ana", content="Café")["id"]
    before, state = chain("ana"), get(id)
    with pytest.raises(Conflict, match=other) as caught:
        call("edit_memory", agent="ana", id=id, content=unicodedata.normalize(form, "Café"))  # type: ignore[arg-type]
    assert (caught.value.code, caught.value.details) == ("duplicate", {"id": other})
    assert (chain("ana"), get(id)) == (before, state)


@pytest.mark.rows(28)
def test_the_text_of_another_kind_or_agent_or_of_itself_is_no_conflict(call: Call, id: str) -> None:
    call("remember", agent="ana", content="Café", kind="fact")
    call("remember", agent="ben", content="Café")
    assert call("edit_memory", agent="ana", id=id, content="Café")["version"] == 2
    assert call("edit_memory", agent="ana", id=id, content="Café", category="x")["version"] == 3


def test_an_edit_of_a_version_that_is_not_current_is_a_conflict(call: Call, get: Get, id: str) -> None:
    assert call("edit_memory", agent="ana", id=id, category="home", version=1)["version"] == 2
    with pytest.raises(Conflict, match="is at version 2, not 1") as caught:
        call("edit_memory", agent="ana", id=id, category="away", version=1)
    assert caught.value.code == "stale_version"
    assert get(id)["category"] == "home"
    assert call("edit_memory", agent="ana", id=id, category="away", version=2)["version"] == 3


@pytest.mark.rows(33)
def test_a_new_text_is_found_by_word_and_vector_and_the_old_by_neither(
    call: Call, found: Found, vectors: Vectors, embedder: HashEmbedder, id: str
) -> None:
    old = vectors("ana")[id]
    call("edit_memory", agent="ana", id=id, content="The office is in Rome")
    assert found("ana", "rome") == ["The office is in Rome"]
    assert found("ana", "lyon") == []
    assert embedder.calls[-1] == ["The office is in Rome"]
    assert vectors("ana")[id] == pack(embedder.embed(["The office is in Rome"])[0])
    assert vectors("ana")[id] != old


@pytest.mark.rows(33)
@pytest.mark.parametrize("field", NEW)
def test_only_a_new_text_is_embedded_again(
    call: Call, vectors: Vectors, embedder: HashEmbedder, id: str, field: str
) -> None:
    old, calls = vectors("ana"), len(embedder.calls)
    call("edit_memory", agent="ana", id=id, **{field: NEW[field]})
    assert len(embedder.calls) == calls + (field == "content")
    assert (vectors("ana") == old) == (field != "content")


@pytest.mark.rows(33)
def test_the_same_text_given_again_is_not_embedded_again(call: Call, embedder: HashEmbedder, id: str) -> None:
    calls = len(embedder.calls)
    call("edit_memory", agent="ana", id=id, content=FULL["content"])
    assert len(embedder.calls) == calls


@pytest.mark.rows(33, 37)
def test_tags_and_context_are_found_by_their_new_words_only(call: Call, found: Found, id: str) -> None:
    assert found("ana", "letterhead") == found("ana", "place") == [FULL["content"]]
    call("edit_memory", agent="ana", id=id, context="from the door", tags=["city"])
    assert found("ana", "letterhead") == found("ana", "place") == []
    assert found("ana", "door") == found("ana", "city") == [FULL["content"]]


def test_a_pin_is_a_version_and_pinning_twice_is_not(call: Call, get: Get, chain: Chain, id: str) -> None:
    assert call("pin_memory", agent="ana", id=id) == {"id": id, "version": 2, "redacted": []}
    pinned, events = get(id), chain("ana")
    assert pinned["pinned"]
    assert call("pin_memory", agent="ana", id=id)["version"] == 2
    assert (get(id), chain("ana")) == (pinned, events)
    assert call("unpin_memory", agent="ana", id=id)["version"] == 3
    assert call("unpin_memory", agent="ana", id=id)["version"] == 3
    assert not get(id)["pinned"]
    assert [v["operation"] for v in last_two(call, id)] == ["pin", "unpin"]
    assert [event.op for event in chain("ana")[-2:]] == ["memory.pin", "memory.unpin"]


def test_unpinning_what_is_not_pinned_changes_nothing(call: Call, chain: Chain, id: str) -> None:
    before = chain("ana")
    assert call("unpin_memory", agent="ana", id=id)["version"] == 1
    assert chain("ana") == before
