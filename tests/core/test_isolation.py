"""No agent reaches what another one has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from builders import Call
from nrem.errors import Conflict, NotFound
from nrem.model import Event
from nrem.wire import OPERATIONS

Get = Callable[..., dict[str, Any]]
Chain = Callable[[str], list[Event]]

BY_ID = [name for name, o in OPERATIONS.items() if {"agent", "id"} <= o.takes.model_fields.keys()]
BY_AGENT = [name for name, operation in OPERATIONS.items() if "agent" in operation.takes.model_fields]

# What an operation needs beside agent and id. An operation that is new and not here fails its test.
NEEDS: dict[str, dict[str, Any]] = {
    "edit_memory": {"content": "changed by ben", "version": 1},
    "remember": {"content": "a text"},
    "remember_many": {"memories": [{"content": "a text"}]},
    "set_agent_config": {"config": {}, "message": "none"},
    "remove_agent": {"erase": True},
    "recall": {"query": "note"},
    "replay": {"since": "2000-01-01"},
    "bisect": {"query": "note"},
    "diff": {"a": "yesterday"},
    "read_file": {"path": "USER.md"},
    "show_file": {"commit": "main", "path": "USER.md"},
    "write_file": {"path": "USER.md", "content": "ben's"},
    "restore": {"to": "now"},
}


@pytest.mark.rows(3)
def test_the_table_has_operations_by_id() -> None:
    known = {
        "get_memory",
        "edit_memory",
        "pin_memory",
        "unpin_memory",
        "forget",
        "erase_memory",
        "list_versions",
    }
    assert known <= set(BY_ID)


@pytest.mark.rows(3)
@pytest.mark.parametrize("pinned", [True, False])
@pytest.mark.parametrize("operation", BY_ID)
def test_an_id_of_another_agent_is_not_found_and_its_memory_stays_as_it_is(
    call: Call, get: Get, chain: Chain, operation: str, pinned: bool
) -> None:
    id = call("remember", agent="ana", content="a secret plan", pinned=pinned)["id"]
    call("remember", agent="ben", content="something of ben's")
    state, events, others = get(id), chain("ana"), chain("ben")
    with pytest.raises(NotFound) as caught:
        call(operation, agent="ben", id=id, **NEEDS.get(operation, {}))
    assert caught.value.code == "memory_not_found"
    assert "plan" not in f"{caught.value.message}{caught.value.hint}{caught.value.details}"
    assert (get(id), chain("ana"), chain("ben")) == (state, events, others)


@pytest.mark.rows(3)
@pytest.mark.parametrize("operation", BY_ID)
def test_an_id_of_another_agent_looks_like_one_that_never_was(call: Call, operation: str) -> None:
    id = call("remember", agent="ana", content="a secret plan")["id"]
    answers = []
    for tried in (id, id[:-4] + "0000"):
        with pytest.raises(NotFound) as caught:
            call(operation, agent="ben", id=tried, **NEEDS.get(operation, {}))
        answers.append((caught.value.message.replace(tried, "ID"), caught.value.hint, caught.value.details))
    assert answers[0] == answers[1]


@pytest.mark.rows(3)
@pytest.mark.parametrize("operation", [name for name in BY_AGENT if name != "add_agent"])
def test_every_operation_of_ben_leaves_ana_as_she_is(call: Call, chain: Chain, operation: str) -> None:
    anas = [
        call("remember", agent="ana", content=f"ana's note {i}", category="shared")["id"] for i in range(3)
    ]
    bens = call("remember", agent="ben", content="ben's note", category="shared")["id"]
    page, agent, events = call("list_memories", agent="ana"), call("show_agent", agent="ana"), chain("ana")
    body = NEEDS.get(operation, {}) | ({"id": bens} if operation in BY_ID else {})
    if operation in ("show_sweep", "undo_sweep"):
        body = {"sweep": call("dream", agent="ben")["sweep"]}
    if operation in ("accept_proposal", "reject_proposal"):
        call("set_agent_config", agent="ben", config={"dream": {"mode": "propose"}}, message="ask")
        call("pin_memory", agent="ben", id=bens)
        body = {"proposal": call("dream", agent="ben")["proposals"][0]}
    if operation == "mark_used":
        body = {"recall_id": call("recall", agent="ben", query="note")["recall_id"], "memory_ids": [bens]}
    answer = call(operation, agent="ben", **body)
    assert not any(id in str(answer) for id in anas)
    assert "ana" not in str(answer)
    assert call("list_memories", agent="ana") == page
    assert call("show_agent", agent="ana") == agent
    assert chain("ana") == events


@pytest.mark.rows(3)
def test_a_recall_of_another_agent_is_not_found(call: Call) -> None:
    call("remember", agent="ana", content="a secret plan")
    found = call("recall", agent="ana", query="plan")
    answers = []
    for tried in (found["recall_id"], found["recall_id"][:-4] + "0000"):
        with pytest.raises(NotFound) as caught:
            call("mark_used", agent="ben", recall_id=tried, memory_ids=[found["hits"][0]["memory"]["id"]])
        answers.append((caught.value.message.replace(tried, "ID"), caught.value.hint, caught.value.details))
    assert answers[0] == answers[1]


@pytest.mark.rows(3)
def test_a_sweep_or_proposal_of_another_agent_is_not_found(call: Call) -> None:
    call("set_agent_config", agent="ana", config={"dream": {"mode": "propose"}}, message="ask")
    call("remember", agent="ana", content="a secret plan", pinned=True)
    dreamed = call("dream", agent="ana")
    for operation, body in (
        ("show_sweep", {"sweep": dreamed["sweep"]}),
        ("undo_sweep", {"sweep": dreamed["sweep"]}),
        ("accept_proposal", {"proposal": dreamed["proposals"][0]}),
        ("reject_proposal", {"proposal": dreamed["proposals"][0]}),
    ):
        with pytest.raises(NotFound):
            call(operation, agent="ben", **body)
    assert len(call("dream_status", agent="ana")["proposals"]) == 1


@pytest.mark.rows(3)
def test_lists_and_counts_are_of_one_agent(call: Call) -> None:
    for i in range(5):
        call("remember", agent="ana", content=f"note {i}", room="r", session="s")
    call("remember", agent="ben", content="note 0", room="r", session="s")
    assert call("list_memories", agent="ben", page=1, room="r", session="s")["total"] == 1
    assert call("list_memories", agent="ana", page=1, room="r", session="s")["total"] == 5
    assert [a["memories"] for a in call("list_agents")["agents"]] == [5, 1]
    assert call("clear_memories", agent="ben", room="r", dry_run=True)["count"] == 1


@pytest.mark.rows(3)
def test_the_cursor_of_one_agent_shows_another_nothing(call: Call) -> None:
    for i in range(5):
        call("remember", agent="ana", content=f"note {i}")
    call("remember", agent="ben", content="bens")
    taken = call("list_memories", agent="ana", limit=2)["next"]
    page = call("list_memories", agent="ben", cursor=taken)["memories"]
    assert {memory["content"] for memory in page} <= {"bens"}


@pytest.mark.rows(3)
@pytest.mark.parametrize("format", ["nrem", "initrunner"])
def test_an_export_has_the_memories_of_one_agent(call: Call, format: str) -> None:
    call("remember", agent="ana", content="of ana")
    call("remember", agent="ben", content="of ben")
    exported = call("export_memories", agent="ben", format=format)
    assert [memory["content"] for memory in exported["memories"]] == ["of ben"]


@pytest.mark.rows(3)
def test_texts_and_vectors_of_one_agent_are_not_indexed_for_another(
    call: Call, found: Callable[[str, str], list[str]], vectors: Callable[[str], dict[str, bytes]]
) -> None:
    id = call("remember", agent="ana", content="the submarine sails")["id"]
    assert found("ana", "submarine") == ["the submarine sails"]
    assert found("ben", "submarine") == []
    assert vectors("ana").keys() == {id}
    assert vectors("ben") == {}


@pytest.mark.rows(3, 6)
def test_an_agent_added_again_under_a_removed_name_has_nothing_of_the_old_one(
    call: Call, chain: Chain
) -> None:
    id = call("remember", agent="ana", content="of the old one")["id"]
    call("set_agent_config", agent="ana", config={"limits": {"content_bytes": 20}}, message="short")
    call("remove_agent", agent="ana", erase=True)
    call("add_agent", agent="ana")
    assert call("list_memories", agent="ana")["memories"] == []
    assert call("list_agent_configs", agent="ana")["versions"] == []
    assert [event.op for event in chain("ana")] == ["agent.add"]
    for operation in ("get_memory", "list_versions"):
        with pytest.raises(NotFound):
            call(operation, agent="ana", id=id)
    assert call("remember", agent="ana", content="longer than twenty bytes")["stored"]


@pytest.mark.rows(6)
def test_the_same_name_in_two_organisations_is_two_agents(call: Call) -> None:
    for agent in ("orga.ana", "orgb.ana"):
        call("add_agent", agent=agent)
    id = call("remember", agent="orga.ana", content="of org a")["id"]
    assert call("list_memories", agent="orgb.ana")["memories"] == []
    for agent in ("orgb.ana", "ana"):
        with pytest.raises(NotFound):
            call("get_memory", agent=agent, id=id)
    with pytest.raises(Conflict):
        call("add_agent", agent="orga.ana")
