"""What one memory takes in and gives back."""

from __future__ import annotations

import time
import unicodedata
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from builders import NOON, Call, ManualClock
from nrem.errors import InvalidField, NotFound
from nrem.model import KIND_ALIASES, Event

Get = Callable[..., dict[str, Any]]
Chain = Callable[[str], list[Event]]
Found = Callable[[str, str], list[str]]

NOON_ISO = "2026-06-01T12:00:00+00:00"

# Every type that the five systems document, and what it is here.
KINDS = {
    "semantic": "semantic",
    "fact": "fact",
    "episodic": "episodic",
    "episode": "episodic",
    "procedural": "procedural",
    "procedure": "procedural",
    "conversation": "conversation",
    "message": "message",
    "document": "document",
    "chunk": "chunk",
    "fragment": "chunk",
    "summary": "summary",
    "goal": "goal",
    "task": "task",
    "action": "action",
}

SPACES = (
    " \t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000"
)


@pytest.mark.rows(12)
@pytest.mark.parametrize(("word", "kind"), KINDS.items())
def test_every_kind_is_accepted_and_the_callers_word_is_kept(
    call: Call, get: Get, word: str, kind: str
) -> None:
    shown = get(call("remember", agent="ana", content="a text", kind=word)["id"])
    assert (shown["kind"], shown["kind_given"]) == (kind, word)


@pytest.mark.rows(12)
def test_the_vocabulary_of_kinds_is_closed() -> None:
    assert {word: kind.value for word, kind in KIND_ALIASES.items()} == KINDS


@pytest.mark.rows(12)
def test_a_memory_is_semantic_unless_it_says_otherwise(call: Call, get: Get) -> None:
    assert get(call("remember", agent="ana", content="a text")["id"])["kind"] == "semantic"


@pytest.mark.rows(12, 102)
@pytest.mark.parametrize("word", ["memory", "Semantic", "", " semantic", "facts", 7, None, True, ["fact"]])
def test_an_unknown_kind_is_told_the_valid_ones_and_nothing_is_written(
    call: Call, chain: Chain, word: object
) -> None:
    before = chain("ana")
    with pytest.raises(InvalidField) as caught:
        call("remember", agent="ana", content="a text", kind=word)
    assert caught.value.field == "kind"
    assert all(known in caught.value.message for known in KINDS)
    assert chain("ana") == before


@pytest.mark.rows(12)
def test_a_relationship_is_sent_to_the_operation_for_relationships(call: Call) -> None:
    with pytest.raises(InvalidField, match="relationships have an operation of their own") as caught:
        call("remember", agent="ana", content="Ana knows Ben", kind="relationship")
    assert caught.value.field == "kind"


@pytest.mark.rows(13)
@pytest.mark.parametrize(
    ("section", "word"),
    [
        ("semantic", "semantic"),
        ("episodic", "episodic"),
        ("episodic", "episode"),
        ("procedural", "procedural"),
        ("procedural", "procedure"),
    ],
)
def test_a_disabled_kind_refuses_writes_and_keeps_what_it_has(
    call: Call, get: Get, chain: Chain, section: str, word: str
) -> None:
    old = call("remember", agent="ana", content="before", kind=word)["id"]
    call("set_agent_config", agent="ana", config={"memory": {section: {"enabled": False}}}, message="off")
    before = chain("ana")
    with pytest.raises(InvalidField, match=f"{section} memories are disabled") as caught:
        call("remember", agent="ana", content="after", kind=word)
    assert (caught.value.field, caught.value.code) == ("kind", "kind_disabled")
    assert caught.value.hint == f"set memory.{section}.enabled = true to allow them"
    assert chain("ana") == before
    assert get(old)["content"] == "before"
    assert call("remember", agent="ana", content="after", kind="fact")["stored"]
    assert call("remember", agent="ben", content="after", kind=word)["stored"]


NESTED: list[dict[str, Any]] = [
    {},
    {"zebra": 1, "ant": 2, "": 3},
    {"list": [1, [2, [3, []]], {}, {"a": None}], "yes": True, "no": False, "none": None},
    {"int": 2**63, "large": -(10**40), "float": 0.1, "tiny": 5e-324, "huge": 1.7e308, "minus": -0.0},
    {"text": 'quotes " and \\ and \n and \0 and é and 漢字 and 🦊', "key \0 🦊": "", "$.a": "[0]"},
    {"status": "open", "result": {"code": 0, "steps": [{"name": "a", "ok": True}]}},
]


@pytest.mark.rows(14, 26)
@pytest.mark.parametrize("data", NESTED)
def test_data_comes_back_unchanged_beside_a_searchable_text(
    call: Call, get: Get, found: Found, data: dict[str, Any]
) -> None:
    id = call("remember", agent="ana", content="a searchable text", kind="task", data=data)["id"]
    assert repr(get(id)["data"]) == repr(data)  # repr tells 1 from 1.0 and True, and shows the order of keys
    assert found("ana", "searchable") == ["a searchable text"]


@pytest.mark.rows(18)
@pytest.mark.parametrize("metadata", NESTED)
def test_nested_metadata_survives(call: Call, get: Get, metadata: dict[str, Any]) -> None:
    id = call("remember", agent="ana", content="a text", metadata=metadata)["id"]
    assert repr(get(id)["metadata"]) == repr(metadata)


@pytest.mark.rows(15)
@pytest.mark.parametrize(
    ("given", "slug"),
    [
        ("My Notes!", "my_notes"),
        ("---", "general"),
        ("", "general"),
        ("  \t ", "general"),
        ("Мои Заметки", "мои_заметки"),
        ("研究 ノート", "研究_ノート"),
        ("a--b__c  d", "a_b_c_d"),
        ("__x__", "x"),
        ("Room 101", "room_101"),
        ("🦊", "general"),
        ("Café", "café"),
        (unicodedata.normalize("NFD", "Café"), "café"),
        (unicodedata.normalize("NFD", "Ångström Ö"), "ångström_ö"),
        ("हिन्दी नोट्स", "हिन्दी_नोट्स"),
        ("İzmir", "i̇zmir"),
        ("가", "가"),
    ],
)
def test_a_category_is_one_slug_that_either_spelling_finds(
    call: Call, get: Get, given: str, slug: str
) -> None:
    id = call("remember", agent="ana", content="a text", category=given)["id"]
    call("remember", agent="ana", content="another", category="something else")
    assert get(id)["category"] == slug
    for spelling in (given, slug, unicodedata.normalize("NFD", given), unicodedata.normalize("NFC", given)):
        page = call("list_memories", agent="ana", category=spelling)
        assert [memory["id"] for memory in page["memories"]] == [id]


@pytest.mark.rows(16)
def test_tags_come_back_verbatim_in_order_each_once(call: Call, get: Get) -> None:
    tags = [" spaced ", "UPPER", "upper", "🦊", "a,b", '"quoted"', "é", "e\u0301", "%", "123"]
    id = call("remember", agent="ana", content="a text", tags=[*tags, "UPPER", "🦊"])["id"]
    assert get(id)["tags"] == tags


@pytest.mark.rows(17)
def test_concept_tags_are_derived_and_stand_apart_from_tags(call: Call, get: Get, found: Found) -> None:
    text = "The payment-gateway rejects refunds; refunds need an approval by accounting"
    first, second = (
        get(call("remember", agent=agent, content=text, tags=["mine"])["id"], agent)
        for agent in ("ana", "ben")
    )
    assert first["concept_tags"][:2] == ["payment-gateway", "refunds"]
    assert first["concept_tags"] == second["concept_tags"]
    assert first["tags"] == ["mine"]
    assert call("list_memories", agent="ana", tags_any=["refunds"])["memories"] == []
    assert found("ana", "accounting") == [text]


@pytest.mark.rows(17)
def test_there_are_at_most_eight_concept_tags(call: Call, get: Get) -> None:
    text = "apple banana cherry damson elderberry fig grape hazelnut imbe jackfruit kiwi lemon"
    concepts = get(call("remember", agent="ana", content=text)["id"])["concept_tags"]
    assert concepts == text.split()[:8]


@pytest.mark.rows(19, 21, 102)
@pytest.mark.parametrize("field", ["importance", "confidence"])
@pytest.mark.parametrize("value", [-0.001, 1.001, 5, float("nan"), float("inf"), -float("inf"), "0.5", True])
def test_a_number_outside_zero_to_one_is_refused(call: Call, chain: Chain, field: str, value: object) -> None:
    before = chain("ana")
    with pytest.raises(InvalidField) as caught:
        call("remember", agent="ana", content="a text", **{field: value})
    assert caught.value.field == field
    assert chain("ana") == before


@pytest.mark.rows(19, 20, 21)
@pytest.mark.parametrize("value", [0, 0.0, 0.3, 0.123456789012345, 1])
def test_a_given_importance_or_confidence_is_kept(call: Call, get: Get, value: float) -> None:
    text = "a critical error ```code```"
    id = call("remember", agent="ana", content=text, importance=value, confidence=value)["id"]
    assert (get(id)["importance"], get(id)["confidence"]) == (value, value)


@pytest.mark.rows(21)
def test_confidence_starts_at_one(call: Call, get: Get) -> None:
    assert get(call("remember", agent="ana", content="a text")["id"])["confidence"] == 1.0


@pytest.mark.rows(20)
@pytest.mark.parametrize(
    ("content", "role", "importance"),
    [
        ("a plain text", None, 0.5),
        ("a plain text", "user", 0.5),
        ("a plain text", "assistant", 0.6),
        ("x" * 500, None, 0.5),
        ("x" * 501, None, 0.6),
        ("é" * 251, None, 0.6),
        ("an ERROR came", None, 0.65),
        ("an error, a bug, a fix", None, 0.65),
        ("terrors, bugs, prefixed, unimportant", None, 0.5),
        ("```x```", None, 0.6),
        ("```fix``` " + "x" * 500, "assistant", 0.95),
    ],
)
def test_importance_is_derived_when_it_is_not_given(
    call: Call, get: Get, content: str, role: str | None, importance: float
) -> None:
    assert get(call("remember", agent="ana", content=content, role=role)["id"])["importance"] == importance


@pytest.mark.rows(22)
@pytest.mark.parametrize("role", ["user", "assistant", "system", "tool", None])
def test_a_role_is_kept(call: Call, get: Get, role: str | None) -> None:
    assert get(call("remember", agent="ana", content="a text", role=role)["id"])["role"] == role


@pytest.mark.rows(22, 102)
@pytest.mark.parametrize("role", ["User", "function", "", 1])
def test_an_unknown_role_is_refused(call: Call, role: object) -> None:
    with pytest.raises(InvalidField, match="must be user, assistant, system or tool") as caught:
        call("remember", agent="ana", content="a text", role=role)
    assert caught.value.field == "role"


@pytest.mark.rows(24, 37, 53)
def test_all_fields_come_back(call: Call, clock: ManualClock) -> None:
    given: dict[str, Any] = {
        "content": "The deploy needs a ticket",
        "kind": "procedural",
        "category": "work",
        "tags": ["ops"],
        "data": {"steps": 3},
        "metadata": {"lang": "en"},
        "context": "said in the stand-up",
        "importance": 0.7,
        "confidence": 0.9,
        "role": "user",
        "session": "s-1",
        "room": "r-1",
        "user": "u-1",
        "pinned": True,
        "legacy_id": "42",
        "created_at": "2024-02-29T23:59:59.123+00:00",
        "updated_at": "2025-01-01T00:00:00+00:00",
        "expires_at": "2030-01-01T00:00:00+00:00",
        "consolidated_at": "2026-01-01T00:00:00+00:00",
    }
    id = call("remember", agent="ana", source="notes.md", trigger="cron", **given)["id"]
    assert call("get_memory", agent="ana", id=id) == {
        "memory": given
        | {
            "id": id,
            "kind_given": "procedural",
            "concept_tags": ["deploy", "ticket"],
            "provenance": {
                "source": "notes.md",
                "ingress": "test",
                "trust": "trusted",
                "actor": "owner",
                "trigger": "cron",
            },
            "version": 1,
            "superseded_by": None,
        },
        "access_count": 0,
        "last_accessed_at": None,
    }


@pytest.mark.rows(37)
def test_context_is_searchable_and_not_part_of_the_content(call: Call, get: Get, found: Found) -> None:
    id = call("remember", agent="ana", content="lunch at noon", context="from the calendar")["id"]
    assert (get(id)["content"], get(id)["context"]) == ("lunch at noon", "from the calendar")
    assert found("ana", "calendar") == ["lunch at noon"]


@pytest.mark.rows(25)
def test_times_start_at_now_and_are_written_as_iso(call: Call, get: Get, clock: ManualClock) -> None:
    shown = get(call("remember", agent="ana", content="a text")["id"])
    assert (shown["created_at"], shown["updated_at"]) == (NOON_ISO, NOON_ISO)
    assert (shown["expires_at"], shown["consolidated_at"]) == (None, None)
    clock.time += 7
    shown = get(call("remember", agent="ana", content="another")["id"])
    assert shown["created_at"] == "2026-06-01T12:00:00.007+00:00"


@pytest.mark.rows(25)
@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("2020-05-04T03:02:01Z", "2020-05-04T03:02:01+00:00"),
        ("2020-05-04T03:02:01", "2020-05-04T03:02:01+00:00"),
        ("2020-05-04T03:02:01.5+02:00", "2020-05-04T01:02:01.500+00:00"),
        ("2020-05-04", "2020-05-04T00:00:00+00:00"),
        (0, "1970-01-01T00:00:00+00:00"),
        (NOON + 1, "2026-06-01T12:00:00.001+00:00"),
    ],
)
def test_an_imported_memory_keeps_when_it_was_made(
    call: Call, get: Get, clock: ManualClock, given: str | int, shown: str
) -> None:
    id = call("remember", agent="ana", content="a text", created_at=given)["id"]
    assert (get(id)["created_at"], get(id)["updated_at"]) == (shown, shown)


@pytest.mark.rows(27)
def test_the_id_is_a_uuid_of_version_seven_and_gettable_at_once(call: Call, get: Get) -> None:
    ids = [call("remember", agent="ana", content=f"text {i}")["id"] for i in range(3)]
    assert [uuid.UUID(id).version for id in ids] == [7, 7, 7]
    assert ids == sorted(ids)
    assert [get(id)["content"] for id in ids] == ["text 0", "text 1", "text 2"]


# Characters without width, and controls: there is nothing to see, or to remember.
UNSEEN = "\x00\x07\x1b\x7f\x9b\xad\u061c\u180e\u200b\u200c\u200d\u2060\u202e\u2066\ufeff\U000e0041"


@pytest.mark.rows(27, 102)
@pytest.mark.parametrize("content", ["", *SPACES, SPACES, *UNSEEN, UNSEEN, " \u200b\n\ufeff "])
def test_blank_content_is_refused(call: Call, chain: Chain, content: str) -> None:
    before = chain("ana")
    with pytest.raises(InvalidField, match="must not be blank") as caught:
        call("remember", agent="ana", content=content)
    assert caught.value.field == "content"
    assert chain("ana") == before


@pytest.mark.rows(27)
@pytest.mark.parametrize("content", ["\ufeffx", "\u200b.", "x\x00", "\u0301", "\ue000", "\u2800"])
def test_content_with_anything_to_see_is_kept_as_it_is(call: Call, get: Get, content: str) -> None:
    assert get(call("remember", agent="ana", content=content)["id"])["content"] == content


@pytest.mark.parametrize("session", [*UNSEEN[1:], "\u200b\ufeff"])
def test_a_label_may_be_of_characters_that_are_not_seen(call: Call, get: Get, session: str) -> None:
    """It is another system's name for something, and not for eyes."""
    assert get(call("remember", agent="ana", content="a text", session=session)["id"])["session"] == session


@pytest.mark.rows(33)
@pytest.mark.parametrize("letter", ["x", "é", "漢", "0", "-"])
def test_one_word_as_long_as_the_limit_is_stored_in_no_time(call: Call, letter: str) -> None:
    content = letter * (65536 // len(letter.encode()))
    start = time.perf_counter()
    assert call("remember", agent="ana", content=content)["stored"]
    assert time.perf_counter() - start < 2


@pytest.mark.rows(102)
@pytest.mark.parametrize("field", ["content", "context"])
def test_a_text_may_have_as_many_bytes_as_the_limit_and_no_more(call: Call, get: Get, field: str) -> None:
    call("set_agent_config", agent="ana", config={"limits": {"content_bytes": 10}}, message="short")
    id = call("remember", agent="ana", **{"content": "a text", field: "é" * 5})["id"]
    assert get(id)[field] == "é" * 5
    with pytest.raises(InvalidField, match="has 11 bytes; the limit is 10") as caught:
        call("remember", agent="ana", **{"content": "a text", field: "é" * 5 + "e"})
    assert (caught.value.field, caught.value.code) == (field, "too_large")


def test_an_unknown_agent_is_named(call: Call) -> None:
    with pytest.raises(NotFound, match="there is no agent called eve") as caught:
        call("remember", agent="eve", content="a text")
    assert caught.value.code == "agent_not_found"
