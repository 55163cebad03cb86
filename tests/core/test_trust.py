"""Where a memory came from, and how far it is trusted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from builders import Call
from nrem.errors import Denied, InvalidField
from nrem.model import Event

Get = Callable[..., dict[str, Any]]
Chain = Callable[[str], list[Event]]


@pytest.mark.rows(112)
def test_every_memory_says_who_brought_it_and_through_which_door(
    call: Call, visitor: Call, get: Get, chain: Chain
) -> None:
    mine = call("remember", agent="ana", content="mine", source="chat", trigger_type="heartbeat")["id"]
    theirs = visitor("remember", agent="ana", content="theirs")["id"]
    assert get(mine)["provenance"] == {
        "source": "chat", "ingress": "test", "trust": "trusted", "actor": "owner", "trigger": "heartbeat"
    }  # fmt: skip
    assert get(theirs)["provenance"] == {
        "source": None, "ingress": "http", "trust": "untrusted", "actor": "web", "trigger": None
    }  # fmt: skip
    assert [(event.actor, event.cause) for event in chain("ana")[-2:]] == [("owner", "test"), ("web", "http")]


@pytest.mark.rows(112)
@pytest.mark.parametrize("given", [None, "trusted", "untrusted"])
@pytest.mark.parametrize("trusted", [True, False])
def test_trust_given_with_a_memory_can_only_lower_it(
    call: Call, visitor: Call, get: Get, trusted: bool, given: str | None
) -> None:
    id = (call if trusted else visitor)("remember", agent="ana", content="a text", trust=given)["id"]
    expected = "trusted" if trusted and given != "untrusted" else "untrusted"
    assert get(id)["provenance"]["trust"] == expected


@pytest.mark.rows(112)
def test_an_unknown_trust_is_refused(call: Call) -> None:
    with pytest.raises(InvalidField, match="must be trusted or untrusted"):
        call("remember", agent="ana", content="a text", trust="TRUSTED")


@pytest.mark.rows(112)
def test_the_pin_of_an_untrusted_caller_or_text_does_not_count(call: Call, visitor: Call, get: Get) -> None:
    assert get(call("remember", agent="ana", content="mine", pinned=True)["id"])["pinned"]
    assert not get(visitor("remember", agent="ana", content="theirs", pinned=True)["id"])["pinned"]
    lowered = call("remember", agent="ana", content="quoted", pinned=True, trust="untrusted")
    assert not get(lowered["id"])["pinned"]
    assert lowered["notes"] == ["pinned: dropped, because the memory is not trusted"]
    assert call("remember", agent="ana", content="quoted", trust="untrusted")["notes"] == []
    assert call("remember", agent="ana", content="mine too", pinned=True)["notes"] == []


@pytest.mark.rows(112)
@pytest.mark.parametrize("operation", ["pin_memory", "unpin_memory"])
def test_an_untrusted_caller_may_not_pin_or_unpin(
    call: Call, visitor: Call, chain: Chain, operation: str
) -> None:
    id = call("remember", agent="ana", content="mine", pinned=operation == "unpin_memory")["id"]
    before = chain("ana")
    with pytest.raises(Denied):
        visitor(operation, agent="ana", id=id)
    assert chain("ana") == before


@pytest.mark.rows(112)
def test_an_untrusted_caller_may_not_configure_the_agent(call: Call, visitor: Call, chain: Chain) -> None:
    before = chain("ana")
    with pytest.raises(Denied) as caught:
        visitor("set_agent_config", agent="ana", config={"dream": {"mode": "off"}}, message="hush")
    assert caught.value.hint == "ask the owner to do it"
    assert chain("ana") == before


@pytest.mark.rows(112)
def test_a_repeat_by_somebody_else_changes_nothing_about_the_first(
    call: Call, visitor: Call, get: Get
) -> None:
    theirs = visitor("remember", agent="ana", content="The sky is blue")["id"]
    assert call("remember", agent="ana", content="The sky is blue", pinned=True)["id"] == theirs
    assert get(theirs)["provenance"]["trust"] == "untrusted"
    assert not get(theirs)["pinned"]


@pytest.mark.rows(11, 112)
@pytest.mark.parametrize("change", [{"content": "Always deploy on Friday"}, {"category": "rules"}])
def test_an_edit_by_an_untrusted_caller_makes_the_memory_untrusted_and_takes_its_pin(
    call: Call, visitor: Call, get: Get, change: dict[str, str]
) -> None:
    id = call(
        "remember", agent="ana", content="Never deploy on Friday", source="chat", trigger="cron", pinned=True
    )["id"]
    visitor("edit_memory", agent="ana", id=id, **change)
    assert get(id)["provenance"] == {
        "source": "chat", "ingress": "http", "trust": "untrusted", "actor": "web", "trigger": "cron"
    }  # fmt: skip
    assert not get(id)["pinned"]
    first = call("list_versions", agent="ana", id=id)["versions"][0]["memory"]
    assert (first["content"], first["provenance"]["trust"]) == ("Never deploy on Friday", "trusted")
    assert first["pinned"]


@pytest.mark.rows(11, 112)
def test_an_edit_by_a_trusted_caller_changes_neither_trust_nor_pin(
    call: Call, visitor: Call, get: Get
) -> None:
    theirs = visitor("remember", agent="ana", content="Always deploy on Friday")["id"]
    mine = call("remember", agent="ana", content="Never deploy on Monday", pinned=True)["id"]
    for id in (theirs, mine):
        call("edit_memory", agent="ana", id=id, category="rules")
    assert get(theirs)["provenance"]["trust"] == "untrusted"
    assert (get(mine)["provenance"]["trust"], get(mine)["pinned"]) == ("trusted", True)
