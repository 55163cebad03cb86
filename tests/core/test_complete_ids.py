"""A memory is found by a part of its id, wherever one is named, and never by a part that fits two."""

from __future__ import annotations

import pytest

from builders import Call
from nrem.errors import InvalidField, NotFound


@pytest.fixture
def id(call: Call) -> str:
    stored: str = call("remember", agent="ana", content="Luis likes tea")["id"]
    return stored


@pytest.mark.parametrize("part", [slice(-6, None), slice(0, 35), slice(0, 13), slice(-35, None)])
def test_a_beginning_or_an_end_stands_for_the_memory(call: Call, id: str, part: slice) -> None:
    assert call("get_memory", agent="ana", id=id[part])["memory"]["id"] == id
    assert call("get_memory", agent="ana", id=id[part].upper())["memory"]["id"] == id


def test_it_does_wherever_a_memory_is_named(call: Call, id: str) -> None:
    end = id[-8:]
    assert call("edit_memory", agent="ana", id=end, content="Luis likes green tea")["id"] == id
    assert call("pin_memory", agent="ana", id=end)["id"] == id
    assert call("unpin_memory", agent="ana", id=end)["id"] == id
    assert call("explain_dream", agent="ana", id=end)["id"] == id
    assert call("bisect", agent="ana", id=end, query="tea")["id"] == id
    asked = call("recall", agent="ana", query="tea")["recall_id"]
    assert call("mark_used", agent="ana", recall_id=asked, memory_ids=[end])["marked"] == 1
    assert call("forget", agent="ana", id=end)["id"] == id
    for name in ("why", "list_versions"):  # of one that is forgotten too
        assert call(name, agent="ana", id=end)["id"] == id
    call("restore", agent="ana", only=end)
    newer = call("remember", agent="ana", content="Luis likes coffee", supersedes=[end])["id"]
    assert call("get_memory", agent="ana", id=end)["memory"]["superseded_by"] == newer
    assert call("erase_memory", agent="ana", id=end)["id"] == id
    assert call("erase_memory", agent="ana", id=end)["id"] == id


def test_what_fits_several_is_refused_with_their_names(call: Call, id: str) -> None:
    others = [call("remember", agent="ana", content=f"note {n}")["id"] for n in range(2)]
    with pytest.raises(InvalidField, match="stands for") as refused:
        call("forget", agent="ana", id=id[:8])
    assert (refused.value.code, refused.value.field) == ("ambiguous_id", "id")
    assert all(known in refused.value.message for known in [id, *others])
    assert len(call("list_memories", agent="ana")["memories"]) == 3


def test_many_that_fit_are_not_all_listed(call: Call, id: str) -> None:
    for n in range(6):
        call("remember", agent="ana", content=f"note {n}")
    with pytest.raises(InvalidField, match="and others") as refused:
        call("get_memory", agent="ana", id=id[:8])
    assert refused.value.message.count(id[:8]) == 6  # what was given, and five


@pytest.mark.parametrize("part", [slice(-5, None), slice(10, 20)])
def test_less_than_six_characters_or_a_middle_stand_for_nothing(call: Call, id: str, part: slice) -> None:
    with pytest.raises(NotFound):
        call("get_memory", agent="ana", id=id[part])


def test_wildcards_and_ids_of_other_agents_find_nothing(call: Call, id: str) -> None:
    for given in ("%%%%%%", "______", id[:-1] + "_"):
        with pytest.raises(NotFound):
            call("get_memory", agent="ana", id=given)
    with pytest.raises(NotFound):
        call("get_memory", agent="ben", id=id[-8:])
    assert call("remember", agent="ben", content="Ben likes tea")["id"] != id
