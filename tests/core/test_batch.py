"""Many memories at once: all or none."""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from typing import Any

import pytest

from builders import Call, HashEmbedder
from nrem.errors import Conflict, InvalidField
from nrem.model import Event

Get = Callable[..., dict[str, Any]]
Chain = Callable[[str], list[Event]]
Vectors = Callable[[str], dict[str, bytes]]


@pytest.mark.rows(32)
def test_a_thousand_are_stored_in_order_and_embedded_in_batches(
    call: Call, chain: Chain, vectors: Vectors, embedder: HashEmbedder
) -> None:
    drafts = [{"content": f"note {i}", "kind": "episodic"} for i in range(1000)]
    before = len(chain("ana"))
    stored = call("remember_many", agent="ana", memories=drafts)["memories"]
    ids = [item["id"] for item in stored]
    assert all(item["stored"] for item in stored)
    assert ids == sorted(ids)
    page = call("list_memories", agent="ana", limit=1000)["memories"]
    assert [(m["id"], m["content"]) for m in reversed(page)] == [
        (id, draft["content"]) for id, draft in zip(ids, drafts, strict=True)
    ]
    assert [len(texts) for texts in embedder.calls] == [64] * 15 + [40]
    assert vectors("ana").keys() == set(ids)
    assert len(chain("ana")) == before + 1000


@pytest.mark.rows(32, 102)
@pytest.mark.parametrize("count", [0, 1001])
def test_none_or_more_than_a_thousand_are_refused(call: Call, count: int) -> None:
    with pytest.raises(InvalidField) as caught:
        call("remember_many", agent="ana", memories=[{"content": f"note {i}"} for i in range(count)])
    assert caught.value.field == "memories"
    assert call("show_agent", agent="ana")["memories"] == 0


BAD: list[tuple[dict[str, Any], str]] = [
    ({"content": " "}, "content"),
    ({}, "content"),
    ({"content": "x" * 65537}, "content"),
    ({"content": "x", "context": "x" * 65537}, "context"),
    ({"content": "x", "kind": "nothing"}, "kind"),
    ({"content": "x", "kind": "episodic"}, "kind"),  # disabled below
    ({"content": "x", "importance": 2}, "importance"),
    ({"content": "x", "tags": ["a", ""]}, "tags[1]"),
    ({"content": "x", "metadata": {"a": float("nan")}}, "metadata"),
    ({"content": "x", "created_at": "soon"}, "created_at"),
    ({"content": "x", "contents": "y"}, "contents"),
    ({"content": "x", "agent": "ben"}, "agent"),
]


@pytest.mark.rows(32, 102)
@pytest.mark.parametrize(("bad", "field"), BAD)
def test_one_bad_item_is_named_and_nothing_is_written(
    call: Call, chain: Chain, bad: dict[str, Any], field: str
) -> None:
    call("set_agent_config", agent="ana", config={"memory": {"episodic": {"enabled": False}}}, message="off")
    before = chain("ana")
    with pytest.raises(InvalidField) as caught:
        call("remember_many", agent="ana", memories=[{"content": "one"}, {"content": "two"}, bad])
    assert caught.value.field == f"memories[2].{field}"
    assert caught.value.message.startswith(f"memories[2].{field}: ")
    assert chain("ana") == before
    assert call("show_agent", agent="ana")["memories"] == 0


def test_an_unknown_field_of_an_item_is_told_the_one_that_was_meant(call: Call) -> None:
    with pytest.raises(InvalidField) as caught:
        call("remember_many", agent="ana", memories=[{"content": "x", "categori": "y"}])
    assert caught.value.hint == "did you mean category?"


@pytest.mark.rows(28, 32)
def test_a_repeat_inside_a_batch_gets_the_id_of_the_first(call: Call) -> None:
    old = call("remember", agent="ana", content="old")["id"]
    texts = ["new", "old", "other", "new"]
    stored = call("remember_many", agent="ana", memories=[{"content": text} for text in texts])["memories"]
    assert [item["deduplicated"] for item in stored] == [False, True, False, True]
    assert [item["stored"] for item in stored] == [True, False, True, False]
    assert stored[1]["id"] == old
    assert stored[3]["id"] == stored[0]["id"]
    assert call("show_agent", agent="ana")["memories"] == 3


@pytest.mark.rows(32, 96)
def test_a_repeated_legacy_id_inside_a_batch_is_stored_once(call: Call) -> None:
    drafts = [{"content": "same", "kind": "episodic", "legacy_id": "1"}] * 2
    first, second = call("remember_many", agent="ana", memories=drafts)["memories"]
    assert (second["id"], second["stored"]) == (first["id"], False)


@pytest.mark.rows(32)
def test_a_conflict_in_the_last_item_undoes_the_ones_before(call: Call, chain: Chain) -> None:
    config = {"memory": {"procedural": {"max_procedures": 1}}}
    call("set_agent_config", agent="ana", config=config, message="one")
    call("remember", agent="ana", content="pinned", kind="procedural", pinned=True)
    before = chain("ana")
    drafts = [{"content": "one"}, {"content": "two"}, {"content": "three", "kind": "procedural"}]
    with pytest.raises(Conflict) as caught:
        call("remember_many", agent="ana", memories=drafts)
    assert caught.value.code == "cap_full"
    assert chain("ana") == before
    page = call("list_memories", agent="ana", page=1)
    assert (page["total"], page["memories"][0]["content"]) == (1, "pinned")
    assert call("remember", agent="ana", content="one")["stored"]


@pytest.mark.rows(32, 96)
def test_a_legacy_id_that_had_another_text_is_left_and_the_rest_goes_in(
    call: Call, get: Get, chain: Chain
) -> None:
    known = call("remember", agent="ana", content="imported", legacy_id="17")["id"]
    before = chain("ana")
    drafts = [{"content": "one"}, {"content": "changed", "legacy_id": "17"}, {"content": "two"}]
    first, second, third = call("remember_many", agent="ana", memories=drafts)["memories"]
    assert second == {
        "id": known, "stored": False, "deduplicated": False, "reason": "differs", "redacted": [], "notes": []
    }  # fmt: skip
    assert [(item["stored"], item["reason"]) for item in (first, third)] == [(True, None)] * 2
    assert get(known)["content"] == "imported"
    assert [event.subject for event in chain("ana")[len(before) :]] == [first["id"], third["id"]]


@pytest.mark.rows(32, 102)
@pytest.mark.parametrize(
    ("bad", "field"), [({"content": "x" * 65537}, "content"), ({"content": "x", "kind": "episodic"}, "kind")]
)
def test_the_item_of_a_batch_of_one_is_named_too(call: Call, bad: dict[str, Any], field: str) -> None:
    call("set_agent_config", agent="ana", config={"memory": {"episodic": {"enabled": False}}}, message="off")
    with pytest.raises(InvalidField) as caught:
        call("remember_many", agent="ana", memories=[bad])
    assert caught.value.field == f"memories[0].{field}"


KEY = "ghp_" + "".join(random.Random(1).choices(string.ascii_letters + string.digits, k=36))


@pytest.mark.rows(32)
def test_a_dry_run_answers_for_every_item_and_stores_none(
    call: Call, chain: Chain, embedder: HashEmbedder
) -> None:
    before = chain("ana")
    drafts = [{"content": "one"}, {"content": f"two {KEY}"}, {"content": "one"}]
    answers = call("remember_many", agent="ana", memories=drafts, dry_run=True)["memories"]
    nothing = {"id": "", "stored": False, "deduplicated": False, "reason": None, "redacted": [], "notes": []}
    assert answers == [nothing, nothing | {"redacted": ["github-token"]}, nothing]
    assert chain("ana") == before
    assert call("show_agent", agent="ana")["memories"] == 0
    assert embedder.calls == []


@pytest.mark.rows(32, 102)
@pytest.mark.parametrize(("bad", "field"), BAD)
def test_a_dry_run_finds_the_item_that_a_batch_would_be_refused_for(
    call: Call, chain: Chain, bad: dict[str, Any], field: str
) -> None:
    call("set_agent_config", agent="ana", config={"memory": {"episodic": {"enabled": False}}}, message="off")
    before = chain("ana")
    with pytest.raises(InvalidField) as caught:
        call("remember_many", agent="ana", memories=[{"content": "one"}, bad], dry_run=True)
    assert caught.value.field == f"memories[1].{field}"
    assert chain("ana") == before


@pytest.mark.rows(32)
def test_the_items_of_a_batch_are_as_whole_as_single_ones(call: Call, get: Get) -> None:
    drafts = [{"content": "one", "kind": "episode", "tags": ["a"]}, {"content": "one", "type": "fact"}]
    first, second = call("remember_many", agent="ana", memories=drafts)["memories"]
    assert (get(first["id"])["kind"], get(first["id"])["tags"]) == ("episodic", ["a"])
    assert get(second["id"])["kind"] == "fact"
