"""Agents and their own configuration."""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builders import NOON, Call, ManualClock, caller_of
from nrem.errors import ConfigError, Conflict, InvalidField, NotFound
from nrem.model import Event
from nrem.runtime.app import App
from nrem.wire import OPERATIONS

Chain = Callable[[str], list[Event]]

KEY = "ghp_" + "".join(random.Random(1).choices(string.ascii_letters + string.digits, k=36))


def test_an_agent_is_added_shown_and_listed_by_name(call: Call, clock: ManualClock) -> None:
    clock.advance(seconds=1)
    added = call("add_agent", agent="abel")
    assert added == {
        "agent": "abel",
        "memories": 0,
        "created_at": "2026-06-01T12:00:01+00:00",
        "config_version": 0,
        "unpublished": 0,
        "unpublished_since": None,
        "remote": None,
    }
    assert call("show_agent", agent="abel") == added
    assert [agent["agent"] for agent in call("list_agents")["agents"]] == ["abel", "ana", "ben"]


def test_an_agent_shows_how_many_memories_and_which_config_it_has(call: Call) -> None:
    for i in range(3):
        id = call("remember", agent="ana", content=f"note {i}")["id"]
    call("forget", agent="ana", id=id)
    call("set_agent_config", agent="ana", config={}, message="none")
    shown = call("show_agent", agent="ana")
    assert (shown["memories"], shown["config_version"]) == (2, 1)
    assert call("list_agents")["agents"][0] == shown


def test_an_agent_is_in_the_history_from_its_first_event(call: Call, chain: Chain) -> None:
    [event] = chain("ana")
    assert (event.op, event.subject, event.actor, event.at) == ("agent.add", "ana", "owner", NOON)


def test_a_name_that_is_taken_is_a_conflict(call: Call) -> None:
    with pytest.raises(Conflict, match="there is an agent called ana already"):
        call("add_agent", agent="ana")


@pytest.mark.parametrize("name", ["a", "a" * 64, "a-b_c", "0", "-", "org.name", f"{'o' * 64}.{'n' * 64}"])
def test_a_name_has_letters_digits_and_two_marks_and_may_have_an_organisation(call: Call, name: str) -> None:
    assert call("add_agent", agent=name)["agent"] == name


@pytest.mark.rows(102)
@pytest.mark.parametrize(
    "name",
    [
        *[
            "",
            " ",
            "Ana",
            "a b",
            "a.b.c",
            ".a",
            "a.",
            "a..b",
            "a" * 65,
            "a/b",
            "../a",
            "a\0",
            "ana\n",
            "é",
            "а",
        ],
        *["a:b", "*", "%", "a'", 1, None, True, ["ana"]],
    ],
)
def test_a_bad_name_is_refused(call: Call, name: object) -> None:
    with pytest.raises(InvalidField) as caught:
        call("add_agent", agent=name)
    assert caught.value.field == "agent"
    if isinstance(name, str):
        assert caught.value.message == (
            "agent: must be of lower-case letters, digits, _ and - (at most 64), with an organisation and a"
            " dot before it if you like: ana, or acme.ana"
        )
    assert len(call("list_agents")["agents"]) == 2


@pytest.mark.parametrize(
    "operation", [name for name in OPERATIONS if name.startswith(("show_agent", "remove_", "list_agent_"))]
)
def test_an_agent_that_does_not_exist_is_not_found(call: Call, operation: str) -> None:
    bodies: dict[str, dict[str, object]] = {"remove_agent": {"erase": True}, "show_sweep": {"sweep": "x"}}
    with pytest.raises(NotFound) as caught:
        call(operation, agent="eve", **bodies.get(operation, {}))
    assert (caught.value.code, caught.value.hint) == ("agent_not_found", "nrem agent add eve")


def test_removing_an_agent_erases_it_and_nobody_else(
    call: Call, on_disk: Callable[[], bytes], chain: Chain
) -> None:
    for agent in ("ana", "ben"):
        id = call("remember", agent=agent, content=f"the marmalade of {agent}", context="zwieback " + agent)[
            "id"
        ]
        call("edit_memory", agent=agent, id=id, tags=["rhubarb-" + agent])
        call("set_agent_config", agent=agent, config={}, message="liquorice " + agent)
    others = chain("ben")
    removed = call("remove_agent", agent="ana", erase=True)
    assert removed == {"agent": "ana", "memories": 1, "kept": None}
    with pytest.raises(NotFound):
        call("show_agent", agent="ana")
    assert [agent["agent"] for agent in call("list_agents")["agents"]] == ["ben"]
    assert chain("ben") == others
    assert call("list_memories", agent="ben", page=1)["total"] == 1
    on_disk()  # closes the store, which empties its log
    bytes = on_disk()
    for word in (b"marmalade of ", b"zwieback ", b"rhubarb-", b"liquorice "):
        assert word + b"ben" in bytes
        assert word + b"ana" not in bytes


@pytest.mark.parametrize("body", [{"erase": "yes"}, {"erase": "true"}, {"erase": None}, {"erase": 1}])
def test_erasing_is_spelled_out(call: Call, body: dict[str, Any]) -> None:
    with pytest.raises(InvalidField) as caught:
        call("remove_agent", agent="ana", **body)
    assert caught.value.field == "erase"
    assert call("show_agent", agent="ana")


@pytest.mark.rows(73)
def test_each_config_is_a_version_with_a_message_newest_first(
    call: Call, chain: Chain, clock: ManualClock
) -> None:
    first = {"limits": {"content_bytes": 10}}
    second = {"memory": {"semantic": {"max_memories": 5}}}
    made = call("set_agent_config", agent="ana", config=first, message="shorter")
    clock.advance(seconds=60)
    call("set_agent_config", agent="ana", config=second, message="fewer")
    versions = call("list_agent_configs", agent="ana")["versions"]
    assert versions == [
        {
            "version": 2,
            "config": second,
            "message": "fewer",
            "actor": "owner",
            "at": "2026-06-01T12:01:00+00:00",
        },
        {
            "version": 1,
            "config": first,
            "message": "shorter",
            "actor": "owner",
            "at": "2026-06-01T12:00:00+00:00",
        },
    ]
    assert made == versions[1]
    assert [event.op for event in chain("ana")] == ["agent.add", "agent.config", "agent.config"]
    assert call("list_agent_configs", agent="ben")["versions"] == []


BAD_CONFIGS: list[tuple[dict[str, Any], str]] = [
    ({"limits": {"content_byte": 1}}, "limits.content_byte"),
    ({"limits": {"content_bytes": 0}}, "limits.content_bytes"),
    ({"limits": {"content_bytes": "10"}}, "limits.content_bytes"),
    ({"limits": 5}, "limits"),
    ({"limit": {"content_bytes": 10}}, "limit"),
    ({"memory": {"semantic": {"max_memories": -1}}}, "memory.semantic.max_memories"),
    ({"memory": {"store_path": "/tmp/x"}}, "memory.store_path"),
    ({"secrets": {"on_secret": "keep"}}, "secrets.on_secret"),
    ({"retention": {"profile": "none"}}, "retention.profile"),
    ({"": 1}, ""),
]


@pytest.mark.rows(73, 102)
@pytest.mark.parametrize(("config", "key"), BAD_CONFIGS)
def test_a_bad_config_is_refused_by_its_key_before_anything_is_written(
    call: Call, chain: Chain, config: dict[str, Any], key: str
) -> None:
    before = chain("ana")
    with pytest.raises(ConfigError) as caught:
        call("set_agent_config", agent="ana", config=config, message="wrong")
    assert caught.value.field == key
    assert chain("ana") == before
    assert call("list_agent_configs", agent="ana")["versions"] == []


@pytest.mark.rows(73, 102)
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"config": {}}, "message"),
        ({"config": {}, "message": " "}, "message"),
        ({"config": {}, "message": "x" * 513}, "message"),
        ({"message": "none"}, "config"),
        ({"config": [], "message": "none"}, "config"),
        ({"config": "{}", "message": "none"}, "config"),
    ],
)
def test_a_config_needs_an_object_and_a_message(call: Call, body: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidField) as caught:
        call("set_agent_config", agent="ana", **body)
    assert caught.value.field == field


@pytest.mark.rows(73)
def test_a_config_takes_effect_at_once_for_its_agent_only(call: Call) -> None:
    call("set_agent_config", agent="ana", config={"limits": {"content_bytes": 10}}, message="shorter")
    with pytest.raises(InvalidField):
        call("remember", agent="ana", content="x" * 11)
    assert call("remember", agent="ben", content="x" * 11)["stored"]
    call("set_agent_config", agent="ana", config={}, message="as before")
    assert call("remember", agent="ana", content="x" * 11)["stored"]


@pytest.mark.rows(73, 103)
def test_a_config_decides_what_becomes_of_secrets(call: Call) -> None:
    call("set_agent_config", agent="ana", config={"secrets": {"on_secret": "refuse"}}, message="stricter")
    with pytest.raises(InvalidField) as caught:
        call("remember", agent="ana", content=KEY)
    assert caught.value.code == "secret_found"
    assert call("remember", agent="ben", content=KEY)["redacted"] == ["github-token"]


@pytest.mark.rows(73)
def test_a_config_outlives_the_process(home: Path) -> None:
    with App.open(home, create=True) as app:
        caller_of(app)("add_agent", agent="ana")
        config = {"limits": {"content_bytes": 10}}
        caller_of(app)("set_agent_config", agent="ana", config=config, message="shorter")
    with App.open(home) as app, pytest.raises(InvalidField):
        caller_of(app)("remember", agent="ana", content="x" * 11)


@pytest.mark.rows(103)
def test_a_secret_in_the_message_is_taken_out(call: Call, on_disk: Callable[[], bytes]) -> None:
    made = call("set_agent_config", agent="ana", config={}, message=f"rotated {KEY} today")
    assert made["message"] == "rotated [redacted:github-token] today"
    assert call("list_agent_configs", agent="ana")["versions"] == [made]
    assert KEY.encode() not in on_disk()


@pytest.mark.rows(103)
def test_secrets_are_not_kept_in_a_config_either(call: Call, chain: Chain) -> None:
    before = chain("ana")
    with pytest.raises(ConfigError) as caught:
        call("set_agent_config", agent="ana", config={"secrets": {"literals": ["Blue Heron"]}}, message="x")
    assert caught.value.field == "secrets.literals"
    with pytest.raises(InvalidField) as refused:
        call("set_agent_config", agent="ana", config={"secrets": {"exclude_rules": [KEY]}}, message="x")
    assert (refused.value.field, refused.value.code) == ("config", "secret_found")
    assert KEY not in refused.value.message
    assert chain("ana") == before
