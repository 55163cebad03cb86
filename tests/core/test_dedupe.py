"""A text that is known already is not stored again."""

from __future__ import annotations

import random
import string
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest

from builders import Call, ManualClock
from nrem.model import Event

Get = Callable[..., dict[str, Any]]
Chain = Callable[[str], list[Event]]

KEPT_ONCE = ["semantic", "fact", "procedural", "conversation"]
KEPT_ALWAYS = ["episodic", "message", "document", "chunk", "summary", "goal", "task", "action"]


def key(seed: int) -> str:
    return "ghp_" + "".join(random.Random(seed).choices(string.ascii_letters + string.digits, k=36))


@pytest.mark.rows(28)
@pytest.mark.parametrize("kind", KEPT_ONCE)
def test_the_same_text_twice_gives_the_first_id_and_changes_nothing(
    call: Call, get: Get, chain: Chain, clock: ManualClock, kind: str
) -> None:
    first = call("remember", agent="ana", content="The sky is blue", kind=kind)
    assert (first["stored"], first["deduplicated"]) == (True, False)
    before, events = get(first["id"]), chain("ana")
    clock.advance(days=1)
    second = call(
        "remember",
        agent="ana",
        content="The sky is blue",
        kind=kind,
        category="other",
        tags=["x"],
        pinned=True,
    )
    assert second == {
        "id": first["id"], "stored": False, "deduplicated": True, "reason": None, "redacted": [], "notes": []
    }  # fmt: skip
    assert get(first["id"]) == before
    assert chain("ana") == events


@pytest.mark.rows(28)
@pytest.mark.parametrize("kind", KEPT_ALWAYS)
def test_turns_episodes_and_the_rest_are_never_deduplicated(call: Call, kind: str) -> None:
    ids = {call("remember", agent="ana", content="again", kind=kind)["id"] for _ in range(3)}
    assert len(ids) == 3
    assert call("list_memories", agent="ana", kinds=[kind], page=1)["total"] == 3


@pytest.mark.rows(28)
def test_both_words_of_a_kind_count_as_one(call: Call) -> None:
    first = call("remember", agent="ana", content="Rinse, then wash", kind="procedural")
    second = call("remember", agent="ana", content="Rinse, then wash", kind="procedure")
    assert (second["id"], second["deduplicated"]) == (first["id"], True)


@pytest.mark.rows(28)
def test_another_kind_or_another_agent_has_a_copy_of_its_own(call: Call) -> None:
    stored = [call("remember", agent="ana", content="The sky is blue", kind=kind) for kind in KEPT_ONCE]
    stored += [call("remember", agent="ben", content="The sky is blue", kind=kind) for kind in KEPT_ONCE]
    assert all(item["stored"] for item in stored)
    assert len({item["id"] for item in stored}) == 8


@pytest.mark.rows(28)
@pytest.mark.parametrize("text", ["Café Müller", "Å", "한국어", "が"])
def test_composed_and_decomposed_spellings_are_the_same_text(call: Call, get: Get, text: str) -> None:
    composed, decomposed = unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)
    assert composed != decomposed
    first = call("remember", agent="ana", content=decomposed)
    assert call("remember", agent="ana", content=composed)["id"] == first["id"]
    assert get(first["id"])["content"] == decomposed


@pytest.mark.rows(28)
@pytest.mark.parametrize(
    "other", ["the sky is blue", "The sky is blue ", "The  sky is blue", "The sky is blue."]
)
def test_a_text_that_differs_in_any_character_is_another(call: Call, other: str) -> None:
    call("remember", agent="ana", content="The sky is blue")
    assert call("remember", agent="ana", content=other)["stored"]


@pytest.mark.rows(28, 103)
def test_texts_are_compared_after_their_secrets_were_taken_out(call: Call) -> None:
    first = call("remember", agent="ana", content=f"Use {key(1)} to push")
    second = call("remember", agent="ana", content=f"Use {key(2)} to push")
    assert (second["id"], second["deduplicated"]) == (first["id"], True)
    assert second["redacted"] == ["github-token"]


@pytest.mark.rows(28)
def test_a_forgotten_text_can_be_stored_again(call: Call, get: Get) -> None:
    first = call("remember", agent="ana", content="The sky is blue")
    call("forget", agent="ana", id=first["id"])
    again = call("remember", agent="ana", content="The sky is blue")
    assert again["stored"]
    assert again["id"] != first["id"]
    assert get(again["id"])["version"] == 1


@pytest.mark.rows(28)
def test_the_old_text_of_an_edited_memory_can_be_stored_again(call: Call) -> None:
    first = call("remember", agent="ana", content="The sky is blue")
    call("edit_memory", agent="ana", id=first["id"], content="The sky is grey")
    assert call("remember", agent="ana", content="The sky is blue")["stored"]
    assert call("remember", agent="ana", content="The sky is grey")["id"] == first["id"]


@pytest.mark.rows(96, 98)
@pytest.mark.parametrize("kind", ["semantic", "episodic", "message"])
def test_a_known_legacy_id_is_not_stored_again(call: Call, get: Get, chain: Chain, kind: str) -> None:
    first = call("remember", agent="ana", content="imported", kind=kind, legacy_id="17")
    events = chain("ana")
    assert get(first["id"])["legacy_id"] == "17"
    again = call("remember", agent="ana", content="imported", kind=kind, legacy_id="17")
    assert (again["id"], again["stored"], again["deduplicated"]) == (first["id"], False, True)
    assert chain("ana") == events


@pytest.mark.rows(96)
def test_a_memorys_own_id_is_known_as_a_legacy_id(call: Call) -> None:
    first = call("remember", agent="ana", content="an episode", kind="episodic")
    again = call("remember", agent="ana", content="an episode", kind="episodic", legacy_id=first["id"])
    assert again["id"] == first["id"]
    other = call("remember", agent="ben", content="an episode", kind="episodic", legacy_id=first["id"])
    assert other["stored"]


@pytest.mark.rows(96)
@pytest.mark.parametrize("kind", ["semantic", "episodic"])
def test_a_legacy_id_that_came_with_another_text_is_left_as_it_is(
    call: Call, get: Get, chain: Chain, kind: str
) -> None:
    first = call("remember", agent="ana", content="imported", kind=kind, legacy_id="17")
    before, events = get(first["id"]), chain("ana")
    other = call("remember", agent="ana", content="something else", kind=kind, legacy_id="17")
    assert other == {
        "id": first["id"], "stored": False, "deduplicated": False, "reason": "differs", "redacted": [],
        "notes": [],
    }  # fmt: skip
    assert (get(first["id"]), chain("ana")) == (before, events)


@pytest.mark.rows(96)
def test_a_legacy_id_is_known_with_every_text_that_its_memory_ever_had(call: Call, chain: Chain) -> None:
    first = call("remember", agent="ana", content="one", legacy_id="17")
    for text in ("two", "three"):
        call("edit_memory", agent="ana", id=first["id"], content=text)
    events = chain("ana")
    for text, known in (("one", True), ("two", True), ("three", True), ("four", False)):
        answer = call("remember", agent="ana", content=text, legacy_id="17")
        assert (answer["id"], answer["stored"], answer["deduplicated"]) == (first["id"], False, known)
        assert answer["reason"] == (None if known else "differs")
    assert chain("ana") == events


@pytest.mark.rows(96)
def test_an_import_is_known_also_after_the_memory_was_edited_here(call: Call, get: Get) -> None:
    first = call("remember", agent="ana", content="imported", legacy_id="17")
    call("edit_memory", agent="ana", id=first["id"], content="improved")
    again = call("remember", agent="ana", content="imported", legacy_id="17")
    assert (again["id"], again["stored"], again["deduplicated"]) == (first["id"], False, True)
    assert get(first["id"])["content"] == "improved"


@pytest.mark.rows(96)
def test_a_legacy_id_is_free_again_once_its_memory_is_forgotten(call: Call) -> None:
    first = call("remember", agent="ana", content="imported", legacy_id="17")
    call("forget", agent="ana", id=first["id"])
    assert call("remember", agent="ana", content="something else", legacy_id="17")["stored"]


@pytest.mark.rows(96)
def test_each_agent_has_legacy_ids_of_its_own(call: Call) -> None:
    assert call("remember", agent="ana", content="imported", legacy_id="17")["stored"]
    assert call("remember", agent="ben", content="something else", legacy_id="17")["stored"]
