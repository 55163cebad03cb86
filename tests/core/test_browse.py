"""Reading: one memory, lists, pages and cursors. Reading changes nothing."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from builders import Call, ManualClock
from nrem.errors import InvalidField, NotFound
from nrem.model import Event

Get = Callable[..., dict[str, Any]]
Chain = Callable[[str], list[Event]]

DAY = "2026-06-0{}T12:00:00Z".format

SHELF: list[dict[str, Any]] = [
    {"content": "a", "category": "work", "tags": ["x"], "created_at": DAY(1)},
    {"content": "b", "category": "Work", "tags": ["x", "y"], "created_at": DAY(2), "pinned": True},
    {"content": "c", "kind": "fact", "tags": ["y", "x y"], "created_at": DAY(3)},
    {
        "content": "d",
        "kind": "episodic",
        "category": "work",
        "room": "r1",
        "user": "u1",
        "created_at": DAY(4),
    },
    {"content": "e", "kind": "episode", "room": "r1", "user": "u2", "created_at": DAY(5)},
    {"content": "f", "kind": "procedural", "room": "r2", "user": "u1", "created_at": DAY(6)},
    {"content": "g", "kind": "message", "session": "s1", "trust": "untrusted", "created_at": DAY(7)},
    {"content": "h", "kind": "message", "session": "s1", "metadata": {}, "created_at": DAY(8)},
    {"content": "i", "metadata": {"n": 1, "deep": {"x": {"y": 2}, "z": None}}, "created_at": DAY(9)},
    {"content": "j", "metadata": {"n": True, "list": [1, {"k": "v", "w": 0}, "t"]}, "session": "s2"},
    {"content": "k", "metadata": {"n": 1.5, "list": [], "text": "O'Neil \"%_\\ 🦊"}},
]

LISTED: list[tuple[dict[str, Any], str]] = [
    ({}, "kjihgfedcba"),
    ({"kinds": ["semantic"]}, "kjiba"),
    ({"kinds": ["episodic"]}, "ed"),
    ({"kinds": ["episode"]}, "ed"),
    ({"memory_types": ["fact", "procedure"]}, "fc"),
    ({"kinds": []}, "kjihgfedcba"),
    ({"category": "work"}, "dba"),
    ({"category": "WORK!"}, "dba"),
    ({"category": "work", "kinds": ["semantic"]}, "ba"),
    ({"tags_any": ["x"]}, "ba"),
    ({"tags_any": ["x", "y"]}, "cba"),
    ({"tags_all": ["x", "y"]}, "b"),
    ({"tags_any": ["y"], "tags_all": ["x"]}, "b"),
    ({"tags_any": ["X"]}, ""),
    ({"tags_all": ["x y"]}, "c"),
    ({"room": "r1"}, "ed"),
    ({"roomId": "r1"}, "ed"),
    ({"user": "u1"}, "fd"),
    ({"user_id": "u1", "room_id": "r1"}, "d"),
    ({"session": "s1"}, "hg"),
    ({"chat_session_id": "s2"}, "j"),
    ({"metadata": {}}, "kjihgfedcba"),
    ({"metadata": {"n": 1}}, "i"),
    ({"metadata": {"n": 1.0}}, "i"),
    ({"metadata": {"n": True}}, "j"),
    ({"metadata": {"n": "1"}}, ""),
    ({"metadata": {"deep": {"x": {"y": 2}}}}, "i"),
    ({"metadata": {"deep": {"x": {}}}}, "i"),
    ({"metadata": {"deep": {"z": None}}}, "i"),
    ({"metadata": {"deep": None}}, ""),
    ({"metadata": {"missing": None}}, ""),
    ({"metadata": {"list": ["t"]}}, "j"),
    ({"metadata": {"list": ["t", 1]}}, "j"),
    ({"metadata": {"list": [{"k": "v"}]}}, "j"),
    ({"metadata": {"list": [True]}}, ""),
    ({"metadata": {"list": []}}, "kj"),
    ({"metadata": {"list": "t"}}, ""),
    ({"metadata": {"text": "O'Neil \"%_\\ 🦊"}}, "k"),
    ({"after": DAY(7), "before": DAY(9)}, "hg"),
    ({"after": "2026-06-08", "kinds": ["message"]}, "h"),
    ({"before": DAY(2)}, "a"),
    ({"after": DAY(9)}, "kji"),
    ({"after": "2030-01-01"}, ""),
    ({"trust": "untrusted"}, "g"),
    ({"trust": "trusted", "kinds": ["message"]}, "h"),
    ({"pinned": True}, "b"),
    ({"pinned": False, "category": "work"}, "da"),
    ({"limit": 3}, "kji"),
    ({"top_k": 2, "kinds": ["semantic"]}, "kj"),
]


@pytest.fixture
def shelf(call: Call, clock: ManualClock) -> None:
    clock.advance(days=30)
    call("remember_many", agent="ana", memories=SHELF)
    call("remember_many", agent="ben", memories=SHELF)


@pytest.mark.rows(15, 16, 18, 24, 47, 54)
@pytest.mark.parametrize(("given", "expected"), LISTED)
@pytest.mark.usefixtures("shelf")
def test_a_list_has_exactly_what_matches_newest_first(
    call: Call, given: dict[str, Any], expected: str
) -> None:
    page = call("list_memories", agent="ana", **given)
    assert "".join(memory["content"] for memory in page["memories"]) == expected
    if not given.keys() & {"limit", "top_k"}:
        assert call("list_memories", agent="ana", page=1, **given)["total"] == len(expected)


@pytest.mark.rows(52)
@pytest.mark.parametrize(
    ("page", "limit", "expected", "total_pages"),
    [
        (1, 4, "kjih", 3),
        (2, 4, "gfed", 3),
        (3, 4, "cba", 3),
        (4, 4, "", 3),
        (1, 11, "kjihgfedcba", 1),
        (1, 1, "k", 11),
    ],
)
@pytest.mark.usefixtures("shelf")
def test_a_page_by_number_has_totals(
    call: Call, page: int, limit: int, expected: str, total_pages: int
) -> None:
    shown = call("list_memories", agent="ana", page=page, limit=limit)
    assert "".join(memory["content"] for memory in shown["memories"]) == expected
    assert (shown["page"], shown["limit"], shown["total"], shown["total_pages"]) == (
        page,
        limit,
        11,
        total_pages,
    )
    assert shown["next"] is None


@pytest.mark.rows(52)
def test_an_empty_list_has_no_pages(call: Call) -> None:
    shown = call("list_memories", agent="ana", page=1)
    assert shown == {"memories": [], "next": None, "page": 1, "limit": 20, "total": 0, "total_pages": 0}


def walk(call: Call, limit: int, **given: Any) -> Iterator[list[dict[str, Any]]]:
    """Yield the pages of a list by cursor."""
    cursor = None
    while True:
        page = call("list_memories", agent="ana", limit=limit, cursor=cursor, **given)
        assert (page["page"], page["total"], page["total_pages"]) == (None, None, None)
        yield page["memories"]
        cursor = page["next"]
        if cursor is None:
            return


@pytest.mark.rows(52)
@pytest.mark.parametrize("limit", [1, 2, 5, 10, 11, 12, 1000])
@pytest.mark.usefixtures("shelf")
def test_cursor_pages_have_all_without_gap_or_repeat(call: Call, limit: int) -> None:
    pages = list(walk(call, limit))
    assert "".join(memory["content"] for page in pages for memory in page) == "kjihgfedcba"
    assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)
    assert len(pages) == -(-11 // limit)


@pytest.mark.rows(52)
@pytest.mark.usefixtures("shelf")
def test_cursor_pages_keep_the_filter(call: Call) -> None:
    pages = list(walk(call, 1, category="work"))
    assert [[memory["content"] for memory in page] for page in pages] == [["d"], ["b"], ["a"]]


@pytest.mark.rows(52)
def test_memories_of_one_moment_have_one_order(call: Call) -> None:
    drafts = [{"content": f"note {i}", "created_at": DAY(1)} for i in range(25)]
    ids = [item["id"] for item in call("remember_many", agent="ana", memories=drafts)["memories"]]
    assert [memory["id"] for page in walk(call, 7) for memory in page] == ids[::-1]
    numbered = [call("list_memories", agent="ana", page=n, limit=7)["memories"] for n in (1, 2, 3, 4)]
    assert [memory["id"] for page in numbered for memory in page] == ids[::-1]


@pytest.mark.rows(52)
def test_cursor_pages_stand_still_while_rows_come_and_go(call: Call, clock: ManualClock) -> None:
    clock.advance(days=30)
    drafts = [{"content": f"note {i}", "created_at": DAY(1 + i % 3)} for i in range(60)]
    ids = {item["id"] for item in call("remember_many", agent="ana", memories=drafts)["memories"]}
    seen: list[str] = []
    removed: set[str] = set()
    for number, page in enumerate(walk(call, 7)):
        seen += [memory["id"] for memory in page]
        call("remember", agent="ana", content=f"newer {number}")
        # The row that the cursor points to goes, and one that was not shown yet.
        going = {page[-1]["id"], *sorted(ids - set(seen) - removed)[:1]}
        for id in going:
            call("forget", agent="ana", id=id)
        removed |= going
    assert len(seen) == len(set(seen))
    assert set(seen) <= ids
    assert ids - set(seen) == removed - set(seen) != set()


@pytest.mark.rows(52)
def test_rows_older_than_the_cursor_that_come_late_are_shown(call: Call) -> None:
    call(
        "remember_many",
        agent="ana",
        memories=[{"content": str(i), "created_at": DAY(i)} for i in range(4, 8)],
    )
    first = call("list_memories", agent="ana", limit=2)
    call("remember", agent="ana", content="imported", created_at=DAY(1))
    rest = call("list_memories", agent="ana", limit=9, cursor=first["next"])["memories"]
    assert [memory["content"] for memory in rest] == ["5", "4", "imported"]


def cursor(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


BAD_CURSORS = [
    "", " ", "garbage", "====", "é", "🦊", "[1, 'a']", "\x7f", "A" * 512, "A" * 513,
    base64.b64encode(b"\xff\xfe\x00").decode(), base64.b64encode(b"[1, ").decode(),
    base64.b64encode(b"[" * 380).decode(), base64.b64encode(b"[NaN, \"a\"]").decode(),
    cursor(None), cursor(1), cursor("ab"), cursor([]), cursor([1]), cursor([1, 2]), cursor(["1", "a"]),
    cursor([1.5, "a"]), cursor([1, "a", 2]), cursor([None, "a"]), cursor([1, None]), cursor([1, ["a"]]),
    cursor({"a": 1, "b": 2}), cursor([1 << 63, "a"]), cursor([-(1 << 63), "a"]), cursor([10**300, "a"]),
    cursor([1, "é"]), cursor([1, "\ud800"]),
]  # fmt: skip


@pytest.mark.rows(52, 102)
@pytest.mark.parametrize("given", BAD_CURSORS)
@pytest.mark.usefixtures("shelf")
def test_a_cursor_that_is_none_of_ours_is_refused(call: Call, given: str) -> None:
    with pytest.raises(InvalidField) as caught:
        call("list_memories", agent="ana", cursor=given)
    assert caught.value.field == "cursor"


def test_a_cursor_and_a_page_exclude_each_other(call: Call) -> None:
    with pytest.raises(InvalidField, match="cannot be given with page"):
        call("list_memories", agent="ana", cursor=cursor([1, "a"]), page=1)


@pytest.mark.rows(102)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[("limit", value) for value in (0, 1001, -1, 2.0, "5", True, 10**40)],
        *[("page", value) for value in (0, 1_000_001, "1", True)],
        *[("kinds", value) for value in ("fact", ["fact"] * 16)],
        ("tags_any", ["x"] * 65),
        ("room", ""),
        ("user", "a\0b"),
        ("session", "x" * 513),
        ("pinned", 1),
        ("trust", "some"),
    ],
)
def test_a_wrong_filter_is_named(call: Call, field: str, value: object) -> None:
    with pytest.raises(InvalidField) as caught:
        call("list_memories", agent="ana", **{field: value})
    assert caught.value.field == field


@pytest.mark.rows(53)
@pytest.mark.parametrize("id", ["0", "019e830e-1a00-7000-8000-000000000000", "%", "' or 1=1 --", "*"])
def test_an_absent_id_is_not_found(call: Call, id: str) -> None:
    call("remember", agent="ana", content="a text")
    for operation in ("get_memory", "list_versions"):
        with pytest.raises(NotFound) as caught:
            call(operation, agent="ana", id=id)
        assert caught.value.code == "memory_not_found"


@pytest.mark.rows(25, 51, 53)
def test_reading_changes_neither_the_memory_nor_its_history(
    call: Call, chain: Chain, clock: ManualClock
) -> None:
    id = call("remember", agent="ana", content="a text")["id"]
    shown, events = call("get_memory", agent="ana", id=id), chain("ana")
    clock.advance(days=1)
    for _ in range(3):
        assert call("get_memory", agent="ana", id=id) == shown
        assert call("list_memories", agent="ana")["memories"] == [shown["memory"]]
        assert call("list_memories", agent="ana", page=1)["memories"] == [shown["memory"]]
        assert call("list_versions", agent="ana", id=id)["versions"][0]["memory"] == shown["memory"]
    assert chain("ana") == events


@pytest.mark.rows(51, 53)
def test_the_use_of_a_memory_stands_beside_it(call: Call) -> None:
    id = call("remember", agent="ana", content="a text")["id"]
    shown = call("get_memory", agent="ana", id=id)
    assert shown.keys() == {"memory", "access_count", "last_accessed_at"}
    assert (shown["access_count"], shown["last_accessed_at"]) == (0, None)
    assert not shown["memory"].keys() & {"access_count", "last_accessed_at"}
