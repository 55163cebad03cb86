"""Forgetting one memory, or all that match."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from builders import Call, ManualClock
from nrem.errors import InputError, InvalidField, NotFound
from nrem.model import Event

Get = Callable[..., dict[str, Any]]
Chain = Callable[[str], list[Event]]
Found = Callable[[str, str], list[str]]
Vectors = Callable[[str], dict[str, bytes]]

DAY = "2026-06-0{}T12:00:00Z".format


@pytest.mark.rows(34)
def test_a_forgotten_memory_is_gone_and_its_history_stays(
    call: Call, get: Get, found: Found, vectors: Vectors, clock: ManualClock
) -> None:
    id = call("remember", agent="ana", content="The office is in Lyon")["id"]
    call("edit_memory", agent="ana", id=id, content="The office is in Nice")
    state = get(id)
    clock.advance(seconds=5)
    forgotten = call("forget", agent="ana", id=id)
    assert forgotten["id"] == id
    assert "versions and events stay in the history" in forgotten["note"]
    with pytest.raises(NotFound) as caught:
        get(id)
    assert caught.value.code == "memory_not_found"
    assert call("list_memories", agent="ana", page=1)["total"] == 0
    assert call("show_agent", agent="ana")["memories"] == 0
    assert found("ana", "nice") == []
    assert vectors("ana") == {}
    versions = call("list_versions", agent="ana", id=id)["versions"]
    assert [v["operation"] for v in versions] == ["remember", "edit", "forget"]
    assert versions[0]["memory"]["content"] == "The office is in Lyon"
    assert versions[1]["memory"] == state
    assert (versions[2]["memory"], versions[2]["at"]) == (None, "2026-06-01T12:00:05+00:00")
    assert (versions[2]["actor"], versions[2]["cause"]) == ("owner", "test")


@pytest.mark.rows(34)
def test_forgetting_twice_is_not_found_and_writes_nothing(call: Call, chain: Chain) -> None:
    id = call("remember", agent="ana", content="a text")["id"]
    call("forget", agent="ana", id=id)
    before = chain("ana")
    for operation in ("forget", "pin_memory", "get_memory"):
        with pytest.raises(NotFound):
            call(operation, agent="ana", id=id)
    with pytest.raises(NotFound):
        call("edit_memory", agent="ana", id=id, content="another")
    assert chain("ana") == before


@pytest.fixture
def shelf(call: Call) -> None:
    """Eight memories of ana's; ben has the same."""
    drafts: list[dict[str, Any]] = [
        {"content": "a", "category": "work", "tags": ["x"], "created_at": DAY(1)},
        {"content": "b", "category": "work", "tags": ["x", "y"], "created_at": DAY(2), "pinned": True},
        {"content": "c", "kind": "episodic", "room": "r1", "created_at": DAY(3)},
        {"content": "d", "kind": "episodic", "room": "r2", "user": "u1", "created_at": DAY(4)},
        {
            "content": "e",
            "kind": "procedural",
            "user": "u1",
            "metadata": {"a": {"b": 1}},
            "created_at": DAY(5),
        },
        {"content": "f", "kind": "message", "session": "s1", "created_at": DAY(6)},
        {"content": "g", "kind": "message", "session": "s2", "trust": "untrusted", "created_at": DAY(7)},
        {"content": "h", "kind": "conversation", "session": "s1", "created_at": DAY(8)},
    ]
    for agent in ("ana", "ben"):
        call("remember_many", agent=agent, memories=drafts)


def contents(call: Call, agent: str = "ana") -> str:
    page = call("list_memories", agent=agent, limit=1000)["memories"]
    return "".join(sorted(memory["content"] for memory in page))


CLEARED: list[tuple[dict[str, Any], str]] = [
    ({}, "abcdefgh"),
    ({"kinds": ["episodic"]}, "cd"),
    ({"memory_types": ["episode", "message"]}, "cdfg"),
    ({"category": "Work!"}, "ab"),
    ({"tags_any": ["x", "y"]}, "ab"),
    ({"tags_all": ["x", "y"]}, "b"),
    ({"room": "r1"}, "c"),
    ({"user": "u1"}, "de"),
    ({"session": "s1"}, "fh"),
    ({"metadata": {"a": {"b": 1}}}, "e"),
    ({"before": DAY(3)}, "ab"),
    ({"after": DAY(7)}, "gh"),
    ({"after": DAY(3), "before": DAY(5)}, "cd"),
    ({"trust": "untrusted"}, "g"),
    ({"pinned": True}, "b"),
    ({"pinned": False}, "acdefgh"),
    ({"sessions_only": True}, "fg"),
    ({"sessions_only": True, "session": "s1"}, "f"),
    ({"memories_only": True}, "abcdeh"),
    ({"memories_only": True, "kinds": ["conversation", "episodic"]}, "cdh"),
    ({"memories_only": True, "kinds": ["message"]}, ""),
    ({"room": "nowhere"}, ""),
    ({"kinds": ["episodic"], "user": "u1"}, "d"),
]


@pytest.mark.rows(18, 35)
@pytest.mark.parametrize(("given", "gone"), CLEARED)
@pytest.mark.usefixtures("shelf")
def test_clear_forgets_exactly_what_matches_and_a_dry_run_counts_the_same(
    call: Call, chain: Chain, given: dict[str, Any], gone: str
) -> None:
    before, others = chain("ana"), chain("ben")
    assert call("clear_memories", agent="ana", dry_run=True, **given) == {"count": len(gone), "dry_run": True}
    assert contents(call) == "abcdefgh"
    assert chain("ana") == before
    assert call("clear_memories", agent="ana", **given) == {"count": len(gone), "dry_run": False}
    assert contents(call) == "".join(sorted(set("abcdefgh") - set(gone)))
    victims = chain("ana")[len(before) :]
    assert [(event.op, event.cause) for event in victims] == [("memory.forget", "clear")] * len(gone)
    assert contents(call, "ben") == "abcdefgh"
    assert chain("ben") == others


@pytest.mark.rows(35)
@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    "given",
    [
        {"sessions_only": True, "memories_only": True},
        {"sessions_only": True, "kinds": ["message"]},
        {"sessions_only": True, "kinds": ["semantic"]},
    ],
)
@pytest.mark.usefixtures("shelf")
def test_filters_that_exclude_each_other_are_refused(
    call: Call, given: dict[str, Any], dry_run: bool
) -> None:
    with pytest.raises(InputError):
        call("clear_memories", agent="ana", dry_run=dry_run, **given)
    assert contents(call) == "abcdefgh"


@pytest.mark.rows(35, 102)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kinds", ["relationship"]),
        ("kinds", "episodic"),
        ("before", "someday"),
        ("pinned", "yes"),
        ("dry_run", 1),
        ("limit", 5),
        ("rooms", "r1"),
        ("metadata", []),
    ],
)
@pytest.mark.usefixtures("shelf")
def test_a_wrong_filter_never_clears_everything(call: Call, field: str, value: object) -> None:
    with pytest.raises(InvalidField) as caught:
        call("clear_memories", agent="ana", **{field: value})
    assert (caught.value.field or "").startswith(field)
    assert contents(call) == "abcdefgh"


@pytest.mark.rows(35)
def test_more_than_one_step_is_cleared_and_counted(call: Call, chain: Chain) -> None:
    for start in (0, 600):
        drafts = [{"content": f"note {i}", "kind": "episodic"} for i in range(start, start + 600)]
        call("remember_many", agent="ana", memories=drafts)
    call("remember", agent="ana", content="stays")
    before = len(chain("ana"))
    assert call("clear_memories", agent="ana", kinds=["episodic"]) == {"count": 1200, "dry_run": False}
    assert contents(call) == "stays"
    assert len({event.subject for event in chain("ana")[before:]}) == 1200


def test_exactly_one_step_is_cleared_and_counted(call: Call) -> None:
    drafts = [{"content": f"note {i}", "kind": "episodic"} for i in range(500)]
    call("remember_many", agent="ana", memories=drafts)
    assert call("clear_memories", agent="ana")["count"] == 500
    assert call("clear_memories", agent="ana")["count"] == 0
