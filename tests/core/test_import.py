"""What import takes in: all of a file or nothing of it, and nothing twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builders import Call, ManualClock
from nrem.core import import_
from nrem.errors import InputError, InvalidField
from nrem.model import KIND_ALIASES, Event
from nrem.runtime.app import App

pytestmark = pytest.mark.rows(96)

Chain = Callable[[str], list[Event]]
SECRET = "sk-ant-api03-" + "aB3dE6gH9jK2mN5pQ8" * 3

# Every field that a memory can have, none at its default.
FULL: dict[str, Any] = {
    "content": "It rained on the picnic\nall day",
    "kind": "episode",
    "category": "out_doors",
    "tags": ["rain", "picnic", "ñandú"],
    "data": {"mm": 3.5, "list": [True, None, {"deep": "日本"}]},
    "metadata": {"k": ["v"]},
    "context": "in spring",
    "importance": 0.125,
    "confidence": 0.875,
    "role": "tool",
    "session": "s1",
    "room": "garden",
    "user": "luis",
    "pinned": True,
    "source": "diary",
    "trigger": "cron",
    "created_at": "2025-01-02T03:04:05.678Z",
    "updated_at": "2025-02-03T04:05:06.789Z",
    "expires_at": "2030-01-01",
    "consolidated_at": "2025-03-04T05:06:07.001Z",
}


@pytest.fixture
def export(call: Call, tmp_path: Path) -> Callable[..., Path]:
    """Write an agent's memories to a file, as `nrem export` does."""

    def write(agent: str = "ana", **body: Any) -> Path:
        records = []
        cursor: dict[str, str] = {}
        while True:
            page = call("export_memories", agent=agent, **body, **cursor)
            records += page["memories"]
            if page["next"] is None:
                break
            cursor = {"cursor": page["next"]}
        return save(tmp_path / "exported.json", records)

    return write


@pytest.fixture
def take_in(call: Call) -> Callable[..., tuple[int, int]]:
    """Import a file, as `nrem import` does; return how many were stored and how many were known."""

    def run(file: Path, agent: str = "ben") -> tuple[int, int]:
        stored = known = 0
        ids: dict[str, str] = {}
        for batch in import_.batches(import_.read_source(file, None, None).records):
            memories = import_.named(batch, ids)
            answers = call("remember_many", agent=agent, memories=memories)["memories"]
            ids |= {one["legacy_id"]: answer["id"] for one, answer in zip(batch, answers, strict=True)}
            stored += sum(answer["stored"] for answer in answers)
            known += sum(answer["deduplicated"] for answer in answers)
        return stored, known

    return run


Export = Callable[..., Path]
TakeIn = Callable[..., tuple[int, int]]


def save(path: Path, records: Any) -> Path:
    path.write_text(json.dumps(records, ensure_ascii=False))
    return path


def comparable(file: Path) -> list[dict[str, Any]]:
    """The records of an export without what is made anew where they come in."""
    records: list[dict[str, Any]] = json.loads(file.read_text())
    texts = {record["id"]: record["content"] for record in records}
    for record in records:
        record["superseded_by"] = texts.get(record["superseded_by"])
        for name in ("id", "legacy_id", "version"):
            del record[name]
        for name in ("ingress", "actor"):
            del record["provenance"][name]
    return records


def contents(call: Call, agent: str = "ben") -> list[str]:
    page = call("list_memories", agent=agent, limit=1000)
    return [memory["content"] for memory in reversed(page["memories"])]


# There and back


def test_every_field_survives(call: Call, export: Export, take_in: TakeIn, clock: ManualClock) -> None:
    id = call("remember", agent="ana", **FULL)["id"]
    call("remember", agent="ana", content="plain")
    call("remember", agent="ana", content="from a web page", trust="untrusted")
    call("remember", agent="ana", content="It rained on the party", supersedes=[id])
    before = comparable(export())
    assert all(before[0][name] not in (None, [], False) for name in before[0])
    clock.advance(days=9)
    assert take_in(export()) == (4, 0)
    assert comparable(export("ben")) == before
    first = call("export_memories", agent="ben")["memories"][0]
    assert (first["legacy_id"], first["version"]) == (id, 1)


def test_what_superseded_what_survives(
    call: Call, export: Export, take_in: TakeIn, clock: ManualClock
) -> None:
    """Also where a text came back, where the successor is older, and where it was known there already."""
    ids: list[str] = []
    for text, *places in (
        ("in Lisbon",),
        ("in Berlin",),
        ("in Porto", 1),
        ("in Berlin", 2),
        ("in Lisbon", 3),
        ("in Rome",),
        ("in Oslo", 5),
    ):
        clock.advance(seconds=1)
        supersedes = [ids[place] for place in places]
        ids.append(call("remember", agent="ana", content=text, supersedes=supersedes)["id"])
    assert ids[4] == ids[0]
    call("remember", agent="ben", content="in Oslo")
    assert take_in(export()) == (5, 1)
    there = {memory["superseded_by"]: memory for memory in comparable(export())}
    here = {memory["superseded_by"]: memory for memory in comparable(export("ben"))}
    assert here.keys() == there.keys() == {None, "in Porto", "in Berlin", "in Lisbon", "in Oslo"}
    assert sorted(contents(call)) == sorted(contents(call, "ana"))
    assert take_in(export()) == (0, 6)


def test_what_is_superseded_by_something_that_is_not_there_is_left_out_and_counted(
    call: Call, tmp_path: Path, take_in: TakeIn
) -> None:
    """Taken in without that it would hold again."""
    records = [
        {"id": "a", "content": "in Berlin", "superseded_by": "b"},
        {"id": "b", "content": "in Porto", "superseded_by": "gone"},
        {"id": "c", "content": "in Lisbon", "superseded_by": None},
        {"id": "d", "content": "in Rome", "superseded_by": "e"},
        {"id": "e", "content": "in Oslo", "superseded_by": "d"},
    ]
    file = save(tmp_path / "in.json", records)
    source = import_.read_source(file, None, None)
    assert source.left_out == {"superseded memories whose successor is not in the file": 4}
    assert take_in(file) == (1, 0)
    assert contents(call) == ["in Lisbon"]


@pytest.mark.parametrize("word", KIND_ALIASES)
def test_every_kind_survives_with_the_word_it_was_given(
    call: Call, export: Export, take_in: TakeIn, word: str
) -> None:
    call("remember", agent="ana", content="a text", kind=word)
    take_in(export())
    [memory] = call("list_memories", agent="ben")["memories"]
    assert (memory["kind"], memory["kind_given"]) == (KIND_ALIASES[word], word)


def test_an_edited_memory_comes_as_it_is_now(
    call: Call, export: Export, take_in: TakeIn, clock: ManualClock
) -> None:
    id = call("remember", agent="ana", content="first")["id"]
    clock.advance(days=1)
    call("edit_memory", agent="ana", id=id, content="second")
    before = comparable(export())
    assert before[0]["updated_at"] > before[0]["created_at"]
    clock.advance(days=1)
    take_in(export())
    assert comparable(export("ben")) == before


def test_more_than_a_page_survives(call: Call, export: Export, take_in: TakeIn) -> None:
    drafts = [{"content": f"note {i}", "kind": "episodic"} for i in range(1000)]
    call("remember_many", agent="ana", memories=drafts)
    call("remember_many", agent="ana", memories=drafts[:200])  # an episode may happen again
    file = export()
    assert take_in(file) == (1200, 0)
    assert comparable(export("ben")) == comparable(export("ana"))
    assert take_in(file) == (0, 1200)


def test_initrunners_format_survives(call: Call, export: Export, take_in: TakeIn) -> None:
    for kind in ("semantic", "episodic", "procedural"):
        call("remember", agent="ana", content=f"a {kind}", kind=kind, category="c", metadata={"k": kind})
    before = json.loads(export(format="initrunner").read_text())
    assert take_in(export(format="initrunner")) == (3, 0)
    assert take_in(export(format="initrunner")) == (0, 3)
    assert json.loads(export("ben", format="initrunner").read_text()) == before


def test_the_first_id_is_kept_through_several_moves(call: Call, export: Export, take_in: TakeIn) -> None:
    call("remember", agent="ana", content="a text", legacy_id="17")
    take_in(export())
    assert call("export_memories", agent="ben")["memories"][0]["legacy_id"] == "17"
    assert take_in(export("ben"), "ana") == (0, 1)


# Again


def test_again_adds_nothing(call: Call, export: Export, take_in: TakeIn, chain: Chain) -> None:
    for i in range(3):
        call("remember", agent="ana", content=f"note {i}", kind="episodic")
    file = export()
    assert take_in(file) == (3, 0)
    before = chain("ben")
    assert take_in(file) == (0, 3)
    assert chain("ben") == before


def test_into_where_it_came_from_adds_nothing(call: Call, export: Export, take_in: TakeIn) -> None:
    call("remember", agent="ana", content="a text", kind="episodic")
    assert take_in(export(), "ana") == (0, 1)


def test_again_keeps_an_edit_made_since(call: Call, export: Export, take_in: TakeIn) -> None:
    call("remember", agent="ana", content="a text", category="one")
    file = export()
    take_in(file)
    [memory] = call("list_memories", agent="ben")["memories"]
    call("edit_memory", agent="ben", id=memory["id"], content="a better text", category="two")
    assert take_in(file) == (0, 1)
    [memory] = call("list_memories", agent="ben")["memories"]
    assert (memory["content"], memory["category"]) == ("a better text", "two")


def test_a_text_that_is_there_already_is_known(call: Call, export: Export, take_in: TakeIn) -> None:
    call("remember", agent="ana", content="a text")
    call("remember", agent="ben", content="a text")
    assert take_in(export()) == (0, 1)


def test_records_without_an_id_are_known_again(call: Call, take_in: TakeIn, tmp_path: Path) -> None:
    records = [
        {"content": "note", "memory_type": "episodic", "created_at": "2026-01-01"},
        {"content": "note", "memory_type": "episodic", "created_at": "2026-01-02"},
        {"created_at": "2026-01-01", "memory_type": "episodic", "content": "note"},  # the first, reordered
    ]
    file = save(tmp_path / "in.json", records)
    assert take_in(file) == (2, 1)
    assert take_in(file) == (0, 3)


@pytest.mark.parametrize(("id", "legacy"), [(7, "7"), (0, "0"), ("seven", "seven")])
def test_an_id_of_any_sort_is_kept_as_text(
    call: Call, take_in: TakeIn, tmp_path: Path, id: object, legacy: str
) -> None:
    take_in(save(tmp_path / "in.json", [{"id": id, "content": "a text"}]))
    assert call("list_memories", agent="ben")["memories"][0]["legacy_id"] == legacy


def test_one_record_twice_is_stored_once(take_in: TakeIn, tmp_path: Path) -> None:
    record = {"id": 1, "content": "a text", "kind": "episodic"}
    assert take_in(save(tmp_path / "in.json", [record, record])) == (1, 1)


# Bad files


@pytest.mark.rows(102)
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "file: is not JSON"),
        (b"not json", "file: is not JSON"),
        (b"[{]", "file: is not JSON"),
        (b'[{"content": "x", "importance": NaN}]', "file: is not JSON"),
        (b"\xff\xfe\xff", "file: is not JSON"),
        (b"[" * 100_000, "file: is nested deeper"),
        (b"{}", "file: must hold a JSON array"),
        (b"null", "file: must hold a JSON array"),
        (b'"text"', "file: must hold a JSON array"),
    ],
)
def test_a_file_must_be_a_json_array(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "in.json"
    file.write_bytes(content)
    with pytest.raises(InvalidField) as caught:
        import_.read_source(file, None, None)
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize("name", ["missing.json", "."])
def test_a_file_must_be_there(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be read") as caught:
        import_.read_source(tmp_path / name, None, None)
    assert caught.value.field == "file"


@pytest.mark.rows(102)
@pytest.mark.parametrize(
    ("record", "field"),
    [
        ("text", "record 2"),
        (["content"], "record 2"),
        (None, "record 2"),
        ({}, "record 2: content"),
        ({"content": None}, "record 2: content"),
        ({"content": 7}, "record 2: content"),
        ({"content": "x", "colour": "red"}, "record 2: colour"),
        ({"content": "x", "memory_type": "thought"}, "record 2: memory_type"),
        ({"content": "x", "kind": "relationship"}, "record 2: kind"),
        ({"content": "x", "created_at": "yesterday"}, "record 2: created_at"),
        ({"content": "x", "importance": 2}, "record 2: importance"),
        ({"content": "x", "tags": "red"}, "record 2: tags"),
        ({"content": "x", "tags": ["red", 7]}, "record 2: tags[1]"),
        ({"content": "x", "metadata": "{}"}, "record 2: metadata"),
        ({"content": "x", "provenance": {"trust": "some"}}, "record 2: trust"),
        ({"content": "x", "id": ""}, "record 2: legacy_id"),
        ({"content": "x\ud800"}, "record 2: content"),
    ],
)
def test_a_bad_record_is_named_and_nothing_is_written(
    take_in: TakeIn, chain: Chain, tmp_path: Path, record: object, field: str
) -> None:
    before = chain("ben")
    file = tmp_path / "in.json"
    file.write_text(json.dumps([{"content": "good"}, {"content": " "}, record, {"content": "good too"}]))
    with pytest.raises(InvalidField) as caught:
        take_in(file)
    assert caught.value.field == field
    assert caught.value.message.startswith(f"{field}: ")
    assert chain("ben") == before


def test_one_id_cannot_have_two_texts(take_in: TakeIn, chain: Chain, tmp_path: Path) -> None:
    before = chain("ben")
    records = [{"id": "a", "content": "one"}, {"id": "b", "content": "two"}, {"id": "a", "content": "three"}]
    with pytest.raises(InvalidField) as caught:
        take_in(save(tmp_path / "in.json", records))
    assert caught.value.message == "record 2: id: record 0 has the same id and another text"
    assert chain("ben") == before


def test_blank_records_are_skipped_and_counted(call: Call, tmp_path: Path) -> None:
    records = [{"content": text} for text in ("", "one", " \t\n", "\u3000", "two")]
    source = import_.read_source(save(tmp_path / "in.json", records), None, None)
    assert [record["content"] for record in source.records] == ["one", "two"]
    assert source.blank == 3


def test_an_empty_array_brings_nothing(take_in: TakeIn, tmp_path: Path) -> None:
    assert take_in(save(tmp_path / "in.json", [])) == (0, 0)


def test_secrets_stay_outside(call: Call, take_in: TakeIn, tmp_path: Path) -> None:
    record = {"content": f"the key {SECRET}", "tags": [SECRET], "metadata": {"k": SECRET}, "id": 1}
    file = save(tmp_path / "in.json", [record])
    assert take_in(file) == (1, 0)
    assert take_in(file) == (0, 1)
    assert SECRET not in json.dumps(call("export_memories", agent="ben"))
    assert contents(call) == ["the key [redacted:anthropic]"]


# Batches and caps


def test_a_batch_has_at_most_500_records() -> None:
    records = [{"content": str(i)} for i in range(1201)]
    batches = list(import_.batches(records))
    assert [len(batch) for batch in batches] == [500, 500, 201]
    assert [record for batch in batches for record in batch] == records
    assert list(import_.batches([])) == []


def test_a_batch_has_at_most_8_mib() -> None:
    sizes = [3, 3, 3, 9, 1, 7, 1]
    records = [{"content": "x" * (size << 20)} for size in sizes]
    batches = list(import_.batches(records))
    assert [[len(record["content"]) >> 20 for record in batch] for batch in batches] == [
        [3, 3],
        [3],
        [9],
        [1],
        [7],
        [1],
    ]


@pytest.mark.rows(36)
def test_caps_hold_for_what_comes_in(
    app: App, call: Call, take_in: TakeIn, chain: Chain, tmp_path: Path
) -> None:
    (app.home / "nrem.toml").write_text('[retention]\nprofile = "initrunner"\n')
    app.reload()
    for day, word in enumerate(("step", "more"), start=1):
        records = [
            {
                "id": f"{word}-{i}",
                "content": f"{word} {i}",
                "memory_type": "procedural",
                "created_at": f"2026-01-0{day}T00:{i:02}:00Z",
            }
            for i in range(60)
        ]
        take_in(save(tmp_path / "in.json", records))
    assert contents(call) == [f"step {i}" for i in range(20, 60)] + [f"more {i}" for i in range(60)]
    assert sum(event.op == "memory.forget" and event.cause == "cap" for event in chain("ben")) == 20
