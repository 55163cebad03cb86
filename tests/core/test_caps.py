"""Limits on how many memories an agent has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from builders import Call, ManualClock
from nrem.errors import Conflict
from nrem.model import Event

Chain = Callable[[str], list[Event]]

CAPPED = {"semantic": "max_memories", "episodic": "max_episodes", "procedural": "max_procedures"}
PROFILE = {"semantic": 1000, "episodic": 500, "procedural": 100}


@pytest.fixture
def cap(call: Call) -> Callable[..., None]:
    """Set the caps of an agent by kind."""

    def set_caps(agent: str = "ana", **caps: int) -> None:
        config = {"memory": {kind: {CAPPED[kind]: number} for kind, number in caps.items()}}
        call("set_agent_config", agent=agent, config=config, message="cap")

    return set_caps


def contents(call: Call, agent: str = "ana", **given: Any) -> list[str]:
    page = call("list_memories", agent=agent, limit=1000, **given)["memories"]
    return [memory["content"] for memory in reversed(page)]


def store(call: Call, clock: ManualClock, *texts: str, **given: Any) -> list[str]:
    """Store texts a second apart and return their ids."""
    ids = []
    for text in texts:
        clock.advance(seconds=1)
        ids.append(call("remember", agent="ana", content=text, **given)["id"])
    return ids


@pytest.mark.rows(36)
def test_nothing_is_evicted_by_default(call: Call) -> None:
    for start in (0, 600):
        drafts = [{"content": f"note {i}"} for i in range(start, start + 600)]
        call("remember_many", agent="ana", memories=drafts)
    assert call("show_agent", agent="ana")["memories"] == 1200


@pytest.mark.rows(36)
@pytest.mark.parametrize("kind", PROFILE)
def test_the_initrunner_profile_has_its_caps(call: Call, chain: Chain, clock: ManualClock, kind: str) -> None:
    call(
        "set_agent_config", agent="ana", config={"retention": {"profile": "initrunner"}}, message="as before"
    )
    most = PROFILE[kind]
    drafts = [{"content": f"note {i}", "kind": kind} for i in range(most)]
    ids = [item["id"] for item in call("remember_many", agent="ana", memories=drafts)["memories"]]
    assert call("show_agent", agent="ana")["memories"] == most
    before = len(chain("ana"))
    store(call, clock, "one more", kind=kind)
    assert call("show_agent", agent="ana")["memories"] == most
    assert contents(call, kinds=[kind])[0] == "note 1"
    new = chain("ana")[before:]
    assert [(event.op, event.cause) for event in new] == [
        ("memory.remember", "test"),
        ("memory.forget", "cap"),
    ]
    assert new[1].subject == ids[0]


@pytest.mark.rows(36)
@pytest.mark.parametrize("kind", CAPPED)
def test_the_oldest_go_first_with_one_event_each(
    call: Call, cap: Callable[..., None], chain: Chain, clock: ManualClock, kind: str
) -> None:
    ids = store(call, clock, "a", "b", "c", "d", kind=kind)
    cap(**{kind: 2})
    before = len(chain("ana"))
    store(call, clock, "e", kind=kind)
    assert contents(call) == ["d", "e"]
    victims = [event for event in chain("ana")[before:] if event.op == "memory.forget"]
    assert [(event.subject, event.cause) for event in victims] == [(id, "cap") for id in ids[:3]]


@pytest.mark.rows(36)
def test_the_oldest_is_the_one_made_first_and_not_the_one_stored_first(
    call: Call, cap: Callable[..., None], clock: ManualClock
) -> None:
    cap(semantic=2)
    store(call, clock, "new")
    store(call, clock, "old", created_at="2020-01-01")
    store(call, clock, "newest")
    assert contents(call) == ["new", "newest"]


@pytest.mark.rows(36)
def test_a_batch_is_held_to_the_cap_too(call: Call, cap: Callable[..., None], clock: ManualClock) -> None:
    store(call, clock, "old")
    cap(semantic=3)
    clock.advance(seconds=1)
    drafts = [{"content": text} for text in "abc"] + [{"content": "x", "kind": "episodic"}] * 4
    call("remember_many", agent="ana", memories=drafts)
    assert contents(call, kinds=["semantic"]) == ["a", "b", "c"]
    assert len(contents(call, kinds=["episodic"])) == 4


@pytest.mark.rows(36)
def test_a_known_text_evicts_nothing(
    call: Call, cap: Callable[..., None], chain: Chain, clock: ManualClock
) -> None:
    cap(semantic=2)
    store(call, clock, "a", "b")
    before = chain("ana")
    store(call, clock, "a", "b", "a")
    assert chain("ana") == before


@pytest.mark.rows(36)
def test_pinned_memories_are_never_evicted(call: Call, cap: Callable[..., None], clock: ManualClock) -> None:
    first, _ = store(call, clock, "a", "b")
    call("pin_memory", agent="ana", id=first)
    cap(semantic=2)
    store(call, clock, "c", "d")
    assert contents(call) == ["a", "d"]
    call("unpin_memory", agent="ana", id=first)
    store(call, clock, "e")
    assert contents(call) == ["d", "e"]


@pytest.mark.rows(36)
@pytest.mark.parametrize("given", [{"pinned": True}, {}, {"created_at": "2020-01-01"}])
def test_where_all_are_pinned_one_more_is_a_conflict_and_nothing_is_written(
    call: Call, cap: Callable[..., None], chain: Chain, clock: ManualClock, given: dict[str, Any]
) -> None:
    cap(semantic=2)
    store(call, clock, "a", "b", pinned=True)
    before = chain("ana")
    with pytest.raises(Conflict, match="all 2 semantic memories that the cap allows are pinned") as caught:
        call("remember", agent="ana", content="c", **given)
    assert caught.value.code == "cap_full"
    assert contents(call) == ["a", "b"]
    assert chain("ana") == before


@pytest.mark.rows(32, 36)
def test_where_all_are_pinned_a_batch_with_one_more_writes_nothing(
    call: Call, cap: Callable[..., None], chain: Chain, clock: ManualClock
) -> None:
    cap(semantic=2)
    store(call, clock, "a", "b", pinned=True)
    before = chain("ana")
    with pytest.raises(Conflict):
        call("remember_many", agent="ana", memories=[{"content": "c", "kind": "fact"}, {"content": "d"}])
    assert contents(call) == ["a", "b"]
    assert chain("ana") == before


@pytest.mark.rows(36)
def test_distilled_memories_go_before_older_ones_that_are_not(
    call: Call, cap: Callable[..., None], clock: ManualClock
) -> None:
    store(call, clock, "a", kind="episodic")
    store(call, clock, "b", "c", kind="episodic", consolidated_at="2026-06-01")
    store(call, clock, "d", kind="episodic")
    cap(episodic=3)
    store(call, clock, "e", kind="episodic")
    assert contents(call) == ["a", "d", "e"]
    store(call, clock, "f", kind="episodic")
    assert contents(call) == ["d", "e", "f"]


@pytest.mark.rows(36)
def test_an_evicted_memory_keeps_its_history(
    call: Call, cap: Callable[..., None], clock: ManualClock
) -> None:
    cap(semantic=1)
    id, _ = store(call, clock, "a", "b")
    versions = call("list_versions", agent="ana", id=id)["versions"]
    assert [(version["operation"], version["cause"]) for version in versions] == [
        ("remember", "test"),
        ("forget", "cap"),
    ]


@pytest.mark.rows(36)
def test_each_kind_and_each_agent_has_a_cap_of_its_own(
    call: Call, cap: Callable[..., None], clock: ManualClock
) -> None:
    cap(semantic=1, episodic=2)
    for agent in ("ana", "ben"):
        for kind in ("semantic", "episodic", "procedural", "fact", "message"):
            for text in "abc":
                clock.advance(seconds=1)
                call("remember", agent=agent, content=text, kind=kind)
    assert contents(call, kinds=["semantic"]) == ["c"]
    assert contents(call, kinds=["episodic"]) == ["b", "c"]
    for kind in ("procedural", "fact", "message"):
        assert contents(call, kinds=[kind]) == ["a", "b", "c"]
    assert call("show_agent", agent="ben")["memories"] == 15


@pytest.mark.rows(27, 36)
@pytest.mark.parametrize(
    "drafts", [[{"content": "old", "created_at": "2020-01-01"}], [{"content": c} for c in "bcd"]]
)
def test_what_is_said_to_be_stored_is_there(
    call: Call, cap: Callable[..., None], clock: ManualClock, drafts: list[dict[str, Any]]
) -> None:
    cap(semantic=1)
    store(call, clock, "a")
    clock.advance(seconds=1)
    answers = call("remember_many", agent="ana", memories=drafts)["memories"]
    listed = {memory["id"] for memory in call("list_memories", agent="ana")["memories"]}
    assert {answer["id"] for answer in answers if answer["stored"]} == listed
    assert len(listed) == 1
    assert [answer["reason"] for answer in answers] == ["evicted"] * (len(drafts) - 1) + [None]
    assert not any(answer["deduplicated"] for answer in answers)


@pytest.mark.rows(36)
def test_a_new_memory_is_kept_before_those_that_were_there_however_old_it_is(
    call: Call, cap: Callable[..., None], clock: ManualClock
) -> None:
    store(call, clock, "a", "b")
    cap(semantic=2)
    answer = call("remember", agent="ana", content="old", created_at="2020-01-01")
    assert (answer["stored"], answer["reason"]) == (True, None)
    assert contents(call) == ["old", "b"]


@pytest.mark.rows(36)
def test_a_batch_larger_than_the_cap_says_which_of_it_were_evicted(
    call: Call, cap: Callable[..., None], chain: Chain, clock: ManualClock
) -> None:
    [old] = store(call, clock, "old")
    cap(semantic=2)
    before = len(chain("ana"))
    drafts = [{"content": str(day), "created_at": f"2026-01-0{day}"} for day in (3, 1, 4, 2)]
    drafts.append({"content": "fact", "kind": "fact"})
    answers = call("remember_many", agent="ana", memories=drafts)["memories"]
    assert [(answer["stored"], answer["reason"]) for answer in answers] == [
        (True, None), (False, "evicted"), (True, None), (False, "evicted"), (True, None)
    ]  # fmt: skip
    assert contents(call, kinds=["semantic"]) == ["3", "4"]
    gone = [event.subject for event in chain("ana")[before:] if event.op == "memory.forget"]
    assert gone == [old, answers[1]["id"], answers[3]["id"]]
