"""The table of operations, and what comes in through it."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from builders import NOON, Call
from nrem.errors import InputError, InvalidField, NotFound
from nrem.surface.operations import BINDING
from nrem.wire import (
    LAST_MOMENT,
    OPERATIONS,
    TEXT_BYTES,
    Conditions,
    Draft,
    Input,
    Recall,
    is_blank,
    parse_json,
    read,
    slug,
)


@pytest.mark.rows(116)
def test_every_operation_is_bound_and_nothing_else_is() -> None:
    assert BINDING.keys() == OPERATIONS.keys()
    assert all(operation.name == name for name, operation in OPERATIONS.items())


@pytest.mark.rows(116)
def test_every_route_is_there_once_and_its_places_are_fields() -> None:
    routes = [operation.route for operation in OPERATIONS.values()]
    shapes = [re.sub(r"{\w+}", "{}", route) for route in routes]
    assert len(set(shapes)) == len(shapes)
    for operation in OPERATIONS.values():
        assert re.fullmatch(r"(GET|POST|PUT|PATCH|DELETE) /v1(/[a-z]+|/{\w+})+", operation.route)
        assert set(re.findall(r"{(\w+)}", operation.route)) <= operation.takes.model_fields.keys()


@pytest.mark.rows(116)
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_says_what_it_does_and_who_may(name: str) -> None:
    operation = OPERATIONS[name]
    assert re.fullmatch(r"[A-Z].*\.", operation.summary)
    assert operation.right != "write" or not operation.route.startswith("GET ")


@pytest.mark.rows(116)
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_schema_can_be_made_of_what_an_operation_takes_and_gives(name: str) -> None:
    takes = OPERATIONS[name].takes.model_json_schema()
    assert takes["additionalProperties"] is False
    gives = TypeAdapter(OPERATIONS[name].gives).json_schema(mode="serialization")
    assert gives["type"] == "object"
    json.dumps([takes, gives])


def test_an_unknown_operation_is_told_the_known_ones(call: Call) -> None:
    with pytest.raises(NotFound, match="there is no operation divine") as caught:
        call("divine", agent="ana")
    assert "remember" in (caught.value.hint or "")


WRONG_TYPES: list[tuple[str, str, Any]] = [
    ("remember", "agent", 1),
    ("remember", "content", 1),
    ("remember", "content", None),
    ("remember", "content", b"bytes"),
    ("remember", "content", ["a"]),
    ("remember", "importance", "0.5"),
    ("remember", "importance", True),
    ("remember", "confidence", None),
    ("remember", "pinned", 1),
    ("remember", "pinned", "true"),
    ("remember", "tags", "a"),
    ("remember", "tags", {"a": 1}),
    ("remember", "tags", ["a"] * 65),
    ("remember", "data", []),
    ("remember", "data", "{}"),
    ("remember", "metadata", 1),
    ("remember", "session", 5),
    ("remember", "room", ""),
    ("remember", "user", "a\0"),
    ("remember", "source", "x" * 513),
    ("remember", "created_at", 1.5),
    ("remember", "created_at", True),
    ("list_memories", "limit", "5"),
    ("list_memories", "limit", True),
    ("list_memories", "limit", 5.0),
    ("list_memories", "pinned", "yes"),
    ("list_memories", "kinds", {"fact": 1}),
    ("edit_memory", "version", "1"),
    ("edit_memory", "version", True),
    ("clear_memories", "dry_run", "no"),
    ("remember_many", "dry_run", 1),
    ("remove_agent", "erase", 1),
    ("remove_agent", "erase", 1.0),
    ("remove_agent", "erase", "true"),
    ("recall", "limit", "5"),
    ("recall", "budget", 0),
    ("recall", "mode", "Hybrid"),
    ("recall", "threshold", 1.5),
    ("recall", "observe", "no"),
    ("recall", "embedding", []),
    ("recall", "embedding", "1"),
    ("embed", "texts", "a text"),
    ("embed", "texts", []),
    ("remember_many", "memories", {}),
    ("remember_many", "memories", "[]"),
]
LEAST: dict[str, dict[str, Any]] = {
    "remember": {"content": "a text"},
    "remember_many": {"memories": [{"content": "a text"}]},
    "edit_memory": {"id": "1", "content": "a text"},
}


@pytest.mark.rows(102)
@pytest.mark.parametrize(("operation", "field", "value"), WRONG_TYPES)
def test_nothing_is_turned_into_another_type(operation: str, field: str, value: Any) -> None:
    body = {"agent": "ana"} | LEAST.get(operation, {}) | {field: value}
    with pytest.raises(InvalidField) as caught:
        read(OPERATIONS[operation].takes, body)
    assert caught.value.field == field


@pytest.mark.rows(102)
@pytest.mark.parametrize(
    ("operation", "field"),
    [("remember", "content"), ("remember", "agent"), ("get_memory", "id"), ("remember_many", "memories")],
)
def test_a_missing_field_is_named(operation: str, field: str) -> None:
    body = {"agent": "ana", "content": "x", "id": "1"}
    known = OPERATIONS[operation].takes.model_fields
    with pytest.raises(InvalidField) as caught:
        read(OPERATIONS[operation].takes, {k: v for k, v in body.items() if k != field and k in known})
    assert caught.value.field == field


@pytest.mark.rows(102)
@pytest.mark.parametrize(
    ("operation", "field", "hint"),
    [
        ("remember", "contents", "did you mean content?"),
        ("remember", "importanc", "did you mean importance?"),
        ("list_memories", "limits", "did you mean limit?"),
        ("show_agent", "zzz", "its fields are agent"),
        ("get_memory", "zzz", "its fields are agent, id"),
    ],
)
def test_an_unknown_field_is_told_the_one_that_was_meant(operation: str, field: str, hint: str) -> None:
    least = {"agent": "ana"} | LEAST.get(operation, {})
    least |= {"id": "1"} if operation == "get_memory" else {}
    with pytest.raises(InvalidField, match="is not a field of this operation") as caught:
        read(OPERATIONS[operation].takes, least | {field: 1})
    assert (caught.value.field, caught.value.hint) == (field, hint)


SEED_NAMES: list[tuple[type[Input], str, str, Any]] = [
    (OPERATIONS["show_agent"].takes, "agent", "agent_id", "ana"),
    (OPERATIONS["show_agent"].takes, "agent", "agentId", "ana"),
    (OPERATIONS["get_memory"].takes, "id", "memory_id", "1"),
    (Draft, "kind", "memory_type", "fact"),
    (Draft, "kind", "type", "fact"),
    (Draft, "session", "session_id", "s"),
    (Draft, "session", "chat_session_id", "s"),
    (Draft, "session", "sessionId", "s"),
    (Draft, "room", "room_id", "r"),
    (Draft, "room", "roomId", "r"),
    (Draft, "user", "user_id", "u"),
    (Draft, "user", "userId", "u"),
    (Draft, "trigger", "trigger_type", "cron"),
    (Draft, "created_at", "createdAt", NOON),
    (Conditions, "kinds", "memory_types", ["fact"]),
    (Conditions, "session", "session_id", "s"),
    (Conditions, "session", "chat_session_id", "s"),
    (Conditions, "room", "roomId", "r"),
    (Conditions, "user", "userId", "u"),
    (OPERATIONS["list_memories"].takes, "limit", "top_k", 7),
]


@pytest.mark.parametrize(("model", "field", "seed", "value"), SEED_NAMES)
def test_the_names_of_the_seeds_are_accepted_and_still_checked(
    model: type[Input], field: str, seed: str, value: Any
) -> None:
    least: dict[str, Any] = {"agent": "ana", "content": "x", "id": "1"}
    least = {k: v for k, v in least.items() if k in model.model_fields and k != field}
    assert read(model, least | {seed: value}) == read(model, least | {field: value})
    with pytest.raises(InvalidField) as caught:
        read(model, least | {seed: object()})
    assert caught.value.field == seed
    with pytest.raises(InvalidField, match="is not a field of this operation"):
        read(model, least | {field: value, seed: value})


@pytest.mark.rows(102)
@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        {1, 2},
        b"x",
        object(),
        1j,
        "\ud800",
        [10**5000],
        ["ok", {"k": math.nan}],
    ],
)
def test_what_json_cannot_carry_is_refused(value: Any) -> None:
    with pytest.raises(InvalidField) as caught:
        read(Draft, {"content": "x", "data": {"k": value}})
    assert caught.value.field == "data"


@pytest.mark.rows(102)
@pytest.mark.parametrize("key", [1, None, True, 1.5, ("a",), (), b"a", frozenset(), "\ud800"])
def test_the_keys_of_json_are_text(key: Any) -> None:
    with pytest.raises(InvalidField) as caught:
        read(Draft, {"content": "x", "data": {key: 1}})
    assert (caught.value.field or "").startswith("data")


@pytest.mark.rows(102)
def test_json_has_a_size_limit_in_bytes() -> None:
    most = TEXT_BYTES - len('{"a": ""}')
    assert read(Draft, {"content": "x", "data": {"a": "x" * most}})
    for text in ("x" * (most + 1), "é" * (most // 2 + 1)):
        with pytest.raises(InvalidField, match="is larger than 65536 bytes"):
            read(Draft, {"content": "x", "data": {"a": text}})


@pytest.mark.rows(102)
@pytest.mark.parametrize(
    "text", ["NaN", "[Infinity]", '{"a": -Infinity}', "{'a': 1}", "", "[", b"\xff", "01", "nul"]
)
def test_text_that_is_not_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(InvalidField, match="is not JSON") as caught:
        parse_json(text, "data")
    assert caught.value.field == "data"


@pytest.mark.rows(102)
@pytest.mark.parametrize(("opening", "closing"), [("[", ""), ("[", "]"), ('{"a":', ""), ('{"a":', "}")])
def test_text_of_json_that_is_nested_too_deep_is_refused(opening: str, closing: str) -> None:
    with pytest.raises(InvalidField, match="nested deeper than 64") as caught:
        parse_json(opening * 100_000 + closing * 100_000, "metadata")
    assert caught.value.field == "metadata"


def test_json_is_parsed() -> None:
    assert parse_json('{"a": [1, 1.5, null, true, "é"]}', "data") == {"a": [1, 1.5, None, True, "é"]}
    assert parse_json(b"1", "data") == 1


@pytest.mark.rows(102)
@pytest.mark.parametrize(
    "value",
    [
        *[
            "",
            " ",
            "now",
            "yesterday",
            "soon",
            "12:00",
            "2026",
            "2026-13-01",
            "2026-02-30",
            "2026-06-01T25:00",
        ],
        *[
            "1969-12-31T23:59:59.999Z",
            "0001-01-01",
            "1970-01-01T00:00:00+00:01",
            "10000-01-01",
            "-2026-01-01",
        ],
        *[
            "9999-12-31T23:59:59-00:01",
            -1,
            LAST_MOMENT + 1,
            10**30,
            1.0,
            True,
            None,
            [],
            {},
            math.nan,
            "1780315200000",
        ],
    ],
)
def test_a_bad_time_is_refused(value: Any) -> None:
    body = {"agent": "ana", "after": value}
    if value is None:
        assert read(Conditions, body)
        return
    with pytest.raises(InvalidField) as caught:
        read(Conditions, body)
    assert caught.value.field == "after"


@pytest.mark.rows(25)
@pytest.mark.parametrize(
    ("value", "millis"),
    [
        ("2026-06-01T12:00:00Z", NOON),
        ("2026-06-01T12:00:00", NOON),
        ("2026-06-01 12:00", NOON),
        ("2026-06-01T14:00:00.001+02:00", NOON + 1),
        ("2026-06-01", NOON - 43_200_000),
        (NOON, NOON),
        (0, 0),
        ("1970-01-01", 0),
        (LAST_MOMENT, LAST_MOMENT),
        ("9999-12-31T23:59:59.999Z", LAST_MOMENT),
    ],
)
def test_a_time_without_a_zone_is_utc(value: str | int, millis: int) -> None:
    assert read(Conditions, {"agent": "ana", "before": value}) == read(
        Conditions, {"agent": "ana", "before": millis}
    )


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_a_slug_of_a_slug_is_itself(text: str) -> None:
    assert slug(slug(text)) == slug(text) != ""


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_every_spelling_of_a_text_has_one_slug(text: str) -> None:
    assert slug(unicodedata.normalize("NFD", text)) == slug(unicodedata.normalize("NFC", text))


@pytest.mark.parametrize(
    ("text", "blank"),
    [
        *[("", True), (" \t\n", True), ("\u3000\xa0", True), ("\u200b\u2060\ufeff", True)],
        *[("\0\x1b\x7f\x9b", True), ("\u202e \u2066", True), ("\U000e0041", True)],
        *[
            ("a", False),
            ("\u200ba", False),
            (".", False),
            ("\u0301", False),
            ("🦊", False),
            ("\ud800", False),
        ],
    ],
)
def test_a_text_is_blank_when_there_is_nothing_to_see(text: str, blank: bool) -> None:
    assert is_blank(text) is blank


RIGHT: dict[str, Any] = {"agent": "ana", "id": "x", "recall_id": "x", "query": "x", "path": "x", "config": {}}
WRONG: list[Any] = [None, 5, -1, 10**9, "", "x" * 100_000, {}, [], [1], ["x"] * 2000, True, 3.5, float("nan")]


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_refusal_is_in_words_of_our_own(name: str) -> None:
    takes = OPERATIONS[name].takes
    right = {field: value for field, value in RIGHT.items() if field in takes.model_fields}
    said = []
    for field in takes.model_fields:
        for value in WRONG:
            try:
                read(takes, right | {field: value})
            except InputError as error:
                said.append(error.message.partition(": ")[2])
    assert said or not takes.model_fields
    foreign = ("Input should", "should have", "Field required", "Value error", "valid ", "{", "validation")
    assert [text for text in said if any(word in text for word in foreign)] == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"limit": 0}, "limit: must be at least 1"),
        ({"limit": 1001}, "limit: must be at most 1000"),
        ({"limit": "5"}, "limit: must be a whole number"),
        ({"metadata": 5}, "metadata: must be a JSON object"),
        ({"mode": "fast"}, "mode: must be keyword, vector or hybrid"),
        ({"tags_any": "x"}, "tags_any: must be a list"),
        ({"query": 5}, "query: must be a text"),
        ({"pinned": 1}, "pinned: must be true or false"),
        ({"threshold": "x"}, "threshold: must be a number"),
        ({"cursor": ""}, "cursor: is not a field of this operation"),
        ({"kinds": ["nope"]}, "kinds[0]: must be one of"),
    ],
)
def test_a_refusal_says_what_must_be(body: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        read(Recall, {"agent": "ana", **body})
    assert refused.value.message.startswith(message)
