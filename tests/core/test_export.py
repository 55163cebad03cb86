"""What export gives away: everything that matches, once, oldest first."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Call, ManualClock
from nrem.errors import InvalidField, NotFound
from nrem.model import KIND_ALIASES

pytestmark = pytest.mark.rows(96)


def pages(call: Call, **body: Any) -> list[dict[str, Any]]:
    found = [call("export_memories", agent="ana", **body)]
    while found[-1]["next"] is not None:
        found.append(call("export_memories", agent="ana", cursor=found[-1]["next"], **body))
    return found


def contents(found: list[dict[str, Any]]) -> list[str]:
    return [memory["content"] for page in found for memory in page["memories"]]


def test_an_agent_without_memories_gives_one_empty_page(call: Call) -> None:
    assert pages(call) == [{"memories": [], "left_out": 0, "next": None}]


def test_the_oldest_comes_first(call: Call, clock: ManualClock) -> None:
    for text, at in (("middle", "2026-02-01"), ("last", "2026-03-01"), ("first", "2026-01-01")):
        call("remember", agent="ana", content=text, created_at=at)
    assert contents(pages(call)) == ["first", "middle", "last"]


def test_more_than_a_page_comes_whole(call: Call) -> None:
    """All are of one moment, so only their ids tell the pages apart."""
    texts = [f"note {i}" for i in range(2300)]
    for start in range(0, len(texts), 1000):
        drafts = [{"content": text} for text in texts[start : start + 1000]]
        call("remember_many", agent="ana", memories=drafts)
    found = pages(call)
    assert [len(page["memories"]) for page in found] == [1000, 1000, 300]
    assert contents(found) == texts


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_no_page_is_empty_or_overlaps(call: Call, limit: int) -> None:
    for i in range(4):
        call("remember", agent="ana", content=f"note {i}")
    found = pages(call, limit=limit)
    assert len(found) == -(-4 // limit)
    assert contents(found) == [f"note {i}" for i in range(4)]


def test_a_memory_comes_with_everything_it_is(call: Call) -> None:
    id = call("remember", agent="ana", content="a text", tags=["a"], data={"k": [1, None]})["id"]
    [memory] = pages(call)[0]["memories"]
    assert memory == call("get_memory", agent="ana", id=id)["memory"]


def test_conditions_hold(call: Call) -> None:
    call("remember", agent="ana", content="red fact", kind="fact", tags=["red"])
    call("remember", agent="ana", content="red note", tags=["red"])
    call("remember", agent="ana", content="blue fact", kind="fact", tags=["blue"])
    assert contents(pages(call, kinds=["fact"], tags_any=["red"])) == ["red fact"]


def test_other_agents_and_forgotten_memories_stay(call: Call) -> None:
    call("remember", agent="ben", content="of ben")
    call("forget", agent="ana", id=call("remember", agent="ana", content="forgotten")["id"])
    assert contents(pages(call)) == []
    with pytest.raises(NotFound):
        call("export_memories", agent="zed")


def test_exporting_changes_nothing(call: Call) -> None:
    id = call("remember", agent="ana", content="a text")["id"]
    before = call("get_memory", agent="ana", id=id)
    pages(call)
    assert call("get_memory", agent="ana", id=id) == before


def test_initrunners_format_has_its_fields_and_types(call: Call) -> None:
    """Its types are semantic, episodic and procedural; facts and conversations are taken for semantic."""
    for word in KIND_ALIASES:
        call("remember", agent="ana", content=f"a {word}", kind=word, metadata={"word": word}, category="c")
    [page] = pages(call, format="initrunner")
    assert {memory["content"]: memory["memory_type"] for memory in page["memories"]} == {
        "a semantic": "semantic",
        "a fact": "semantic",
        "a conversation": "semantic",
        "a episodic": "episodic",
        "a episode": "episodic",
        "a procedural": "procedural",
        "a procedure": "procedural",
    }
    assert page["left_out"] == len(KIND_ALIASES) - 7
    first = page["memories"][0]
    assert list(first) == ["id", "content", "category", "created_at", "memory_type", "metadata"]
    assert (first["category"], first["metadata"]) == ("c", {"word": "semantic"})


def test_a_memory_that_came_from_elsewhere_goes_out_under_its_old_id(call: Call) -> None:
    call("remember", agent="ana", content="a text", legacy_id="17")
    assert pages(call, format="initrunner")[0]["memories"][0]["id"] == "17"


def test_what_a_format_leaves_out_is_counted_on_every_page(call: Call) -> None:
    for i in range(6):
        call("remember", agent="ana", content=f"note {i}", kind="goal" if i % 2 else "fact")
    found = pages(call, format="initrunner", limit=4)
    assert [(len(page["memories"]), page["left_out"]) for page in found] == [(2, 2), (1, 1)]


@pytest.mark.rows(102)
@pytest.mark.parametrize(
    ("field", "value"), [("format", "csv"), ("limit", 0), ("limit", 1001), ("cursor", "x"), ("page", 1)]
)
def test_a_wrong_request_names_its_field(call: Call, field: str, value: object) -> None:
    with pytest.raises(InvalidField) as caught:
        call("export_memories", agent="ana", **{field: value})
    assert caught.value.field == field
