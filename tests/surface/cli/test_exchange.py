"""nrem export and import, as they are seen from the outside; what they carry is tested in core."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Nrem = Callable[..., Result]
Answer = Callable[..., Any]
Refusal = Callable[..., dict[str, str]]
Remember = Callable[..., str]

pytestmark = pytest.mark.rows(95, 96)

SECRET = "sk-ant-api03-" + "aB3dE6gH9jK2mN5pQ8" * 3


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return here


@pytest.fixture
def stored(remember: Remember, ana: str) -> list[str]:
    return [
        remember("a fact", "--kind", "fact", "--category", "one"),
        remember("an episode", "--kind", "episodic"),
        remember("a goal", "--kind", "goal"),
    ]


def contents(records: list[dict[str, Any]]) -> list[str]:
    return [record["content"] for record in records]


def test_export_writes_a_file_oldest_first(nrem: Nrem, folder: Path, stored: list[str]) -> None:
    assert nrem("export").stdout == "Exported 3 memories to memories.json.\n"
    records = json.loads((folder / "memories.json").read_text())
    assert contents(records) == ["a fact", "an episode", "a goal"]
    assert [record["id"] for record in records] == stored


def test_the_file_is_its_owners_alone(nrem: Nrem, folder: Path, stored: list[str]) -> None:
    nrem("export", "-o", "mine.json")
    assert stat.S_IMODE((folder / "mine.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("known", [True, False])
def test_export_through_a_link_writes_the_file_behind_it(
    nrem: Nrem, folder: Path, stored: list[str], known: bool
) -> None:
    (folder / "elsewhere").mkdir()
    if known:
        (folder / "elsewhere/real.json").write_text("before")
    (folder / "link.json").symlink_to("elsewhere/real.json")
    assert nrem("export", "-o", "link.json").stdout == "Exported 3 memories to link.json.\n"
    assert os.readlink(folder / "link.json") == "elsewhere/real.json"
    assert [file.name for file in (folder / "elsewhere").iterdir()] == ["real.json"]
    assert len(json.loads((folder / "elsewhere/real.json").read_text())) == 3


def test_export_into_a_named_pipe_is_read_at_its_other_end(
    nrem: Nrem, folder: Path, stored: list[str]
) -> None:
    os.mkfifo(folder / "pipe")
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit((folder / "pipe").read_text)
        assert nrem("export", "-o", "pipe").stdout == "Exported 3 memories to pipe.\n"
        assert contents(json.loads(read.result(timeout=10))) == ["a fact", "an episode", "a goal"]
    assert stat.S_ISFIFO((folder / "pipe").stat().st_mode)


def test_export_into_a_device_leaves_it_a_device(nrem: Nrem, stored: list[str]) -> None:
    assert nrem("export", "-o", "/dev/null").stdout == "Exported 3 memories to /dev/null.\n"
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_export_touches_no_file_beside_its_own(nrem: Nrem, folder: Path, stored: list[str]) -> None:
    others = {"memories.json.partial": "mine", ".memories.json": "mine too", "memories.json.tmp": "and mine"}
    for name, text in others.items():
        (folder / name).write_text(text)
    nrem("export")
    assert {name: (folder / name).read_text() for name in others} == others
    assert {file.name for file in folder.iterdir()} == {*others, "memories.json"}


def test_export_answers_in_json(answer: Answer, stored: list[str]) -> None:
    assert answer("export", "--output", "x.json") == {"file": "x.json", "count": 3, "left_out": 0}
    assert answer("export", "-o", "x.json", "--format", "initrunner")["left_out"] == 1


def test_export_takes_conditions(answer: Answer, folder: Path, stored: list[str]) -> None:
    assert answer("export", "--kind", "fact", "--type", "goal", "--category", "one")["count"] == 1
    assert contents(json.loads((folder / "memories.json").read_text())) == ["a fact"]


def test_export_to_standard_output_is_the_array_alone(nrem: Nrem, folder: Path, stored: list[str]) -> None:
    shown = nrem("export", "-o", "-")
    assert contents(json.loads(shown.stdout)) == ["a fact", "an episode", "a goal"]
    assert shown.stderr == ""
    assert list(folder.iterdir()) == []


def test_an_agent_without_memories_exports_an_empty_array(nrem: Nrem, folder: Path, ana: str) -> None:
    assert nrem("export").stdout == "Exported 0 memories to memories.json.\n"
    assert json.loads((folder / "memories.json").read_text()) == []


def test_the_format_of_initrunner_leaves_out_what_it_cannot_hold(
    nrem: Nrem, folder: Path, stored: list[str]
) -> None:
    told = nrem("export", "--format", "initrunner")
    assert told.stdout == "Exported 2 memories to memories.json.\n"
    assert told.stderr == "Left out: 1 that the initrunner format lacks, by their kind or as superseded.\n"
    records = json.loads((folder / "memories.json").read_text())
    assert list(records[0]) == ["id", "content", "category", "created_at", "memory_type", "metadata"]
    assert [record["memory_type"] for record in records] == ["semantic", "episodic"]


def test_what_is_superseded_goes_there_and_back_but_not_to_initrunner(
    nrem: Nrem, answer: Answer, remember: Remember, folder: Path, ana: str
) -> None:
    old = remember("in Berlin")
    remember("in Lisbon", "--supersedes", old)
    nrem("agent", "add", "ben")
    assert nrem("export", "-a", "ana", "--format", "initrunner").stdout.startswith("Exported 1 memory")
    assert contents(json.loads((folder / "memories.json").read_text())) == ["in Lisbon"]
    nrem("export", "-a", "ana")
    for told in ("Imported 2 memories into ben; 0 known", "Imported 0 memories into ben; 2 known"):
        assert nrem("import", "memories.json", "-a", "ben").stdout.startswith(told)
    listed = {memory["content"]: memory for memory in answer("list", "-a", "ben")["memories"]}
    assert listed["in Berlin"]["superseded_by"] == listed["in Lisbon"]["id"]
    (folder / "memories.json").write_text(json.dumps([{"content": "x", "superseded_by": "gone"}]))
    warned = nrem("import", "memories.json", "-a", "ben").stderr
    assert warned == "Left out: 1 superseded memories whose successor is not in the file.\n"


def test_a_place_that_cannot_be_written_is_named(refusal: Refusal, folder: Path, stored: list[str]) -> None:
    (folder / "folder").mkdir()
    for output in ("no/such/place.json", "folder"):
        error = refusal(2, "export", "-o", output)
        assert error["field"] == "output"
        assert output in error["message"]
    assert [file.name for file in folder.iterdir()] == ["folder"]


def test_an_export_that_fails_leaves_the_file_before_it_alone(
    nrem: Nrem, folder: Path, stored: list[str]
) -> None:
    (folder / "memories.json").write_text("precious")
    nrem("export", "-a", "nobody", exits=4)
    nrem("export", "--before", "someday", exits=2)
    assert [file.name for file in folder.iterdir()] == ["memories.json"]
    assert (folder / "memories.json").read_text() == "precious"


def test_import_tells_what_came_in(nrem: Nrem, answer: Answer, stored: list[str]) -> None:
    nrem("export")
    nrem("agent", "add", "ben")
    told = nrem("import", "memories.json", "-a", "ben")
    assert told.stdout == "Imported 3 memories into ben; 0 known already.\n"
    assert told.stderr == ""
    assert nrem("import", "memories.json", "-a", "ben").stdout == (
        "Imported 0 memories into ben; 3 known already.\n"
    )
    assert answer("import", "memories.json", "-a", "ben") == {
        "agent": "ben",
        "stored": 0,
        "known": 3,
        "differs": 0,
        "evicted": 0,
        "redacted": 0,
        "blank": 0,
        "left_out": {},
        "warnings": [],
    }


def test_import_tells_what_was_skipped_and_taken_out(nrem: Nrem, folder: Path, ana: str) -> None:
    records = [{"content": f"the key {SECRET}"}, {"content": " \n"}, {"content": "a text"}]
    (folder / "in.json").write_text(json.dumps(records))
    told = nrem("import", "in.json")
    assert told.stdout == "Imported 2 memories into ana; 0 known already.\n"
    assert told.stderr == "1 record had a secret, which was taken out.\n1 record blank, and skipped.\n"
    assert SECRET not in nrem("export", "-o", "-").output


def test_an_import_of_one_is_told_as_one(nrem: Nrem, folder: Path, ana: str) -> None:
    (folder / "in.json").write_text(json.dumps([{"content": "a text"}]))
    assert nrem("import", "in.json").stdout == "Imported 1 memory into ana; 0 known already.\n"
    assert nrem("export").stdout == "Exported 1 memory to memories.json.\n"


def test_a_record_whose_text_changed_since_is_left_as_it_is_and_told(
    nrem: Nrem, answer: Answer, folder: Path, ana: str
) -> None:
    for text in ("one", "two"):
        records = [{"id": 1, "content": f"text {text}"}, {"id": 2, "content": "the same"}]
        (folder / f"{text}.json").write_text(json.dumps(records))
    nrem("import", "one.json")
    told = nrem("import", "two.json")
    assert told.stdout == "Imported 0 memories into ana; 1 known already.\n"
    assert told.stderr == "1 record left as it is: another text came in before under the same id.\n"
    again = answer("import", "two.json")
    assert (again["stored"], again["known"], again["differs"]) == (0, 1, 1)
    assert contents(answer("list")["memories"]) == ["the same", "text one"]


@pytest.mark.rows(36)
def test_records_that_a_cap_has_no_room_for_are_told(
    nrem: Nrem, answer: Answer, folder: Path, ana: str
) -> None:
    nrem("agent", "add", "ben")
    for name in ("ana", "ben"):
        nrem("agent", "config", name, "--set", "memory.semantic.max_memories=2", "-m", "small")
    records = [{"content": f"note {day}", "created_at": f"2026-01-0{day}"} for day in range(1, 6)]
    (folder / "in.json").write_text(json.dumps(records))
    told = nrem("import", "in.json", "-a", "ana")
    assert told.stdout == "Imported 2 memories into ana; 0 known already.\n"
    assert told.stderr == "3 records not kept: the agent's cap has no room for more.\n"
    other = answer("import", "in.json", "-a", "ben")
    assert (other["stored"], other["known"], other["evicted"]) == (2, 0, 3)
    for name in ("ana", "ben"):
        assert contents(answer("list", "-a", name)["memories"]) == ["note 5", "note 4"]


@pytest.mark.rows(102)
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "in.json cannot be read: No such file or directory"),
        (b"memories", "file: is not JSON"),
        (b'[{"content": "x\xe9"}]', "file: is not JSON"),
        (b"{}", "file: must hold a JSON array of memories"),
        (b'[{"content": "ok"}, 7]', "record 1: must be a JSON object"),
        (
            b'[{"content": "ok"}, {"content": "x", "memory_type": "thought"}]',
            "record 1: memory_type: must be one",
        ),
    ],
)
def test_a_bad_file_is_refused_whole(
    nrem: Nrem, refusal: Refusal, folder: Path, ana: str, content: bytes | None, message: str
) -> None:
    if content is not None:
        (folder / "in.json").write_bytes(content)
    assert refusal(2, "import", "in.json")["message"].startswith(message)
    assert nrem("list").stdout == "No memories.\n"


@pytest.mark.rows(32, 102)
@pytest.mark.parametrize(
    ("setting", "bad", "field", "problem"),
    [
        ("limits.content_bytes=20", {"content": "x" * 21}, "content", "has 21 bytes; the limit is 20"),
        ("limits.content_bytes=20", {"context": "x" * 21}, "context", "has 21 bytes; the limit is 20"),
        ("memory.episodic.enabled=false", {"kind": "episode"}, "kind", "episodic memories are disabled"),
        ("secrets.on_secret=refuse", {"room": SECRET}, "room", "holds a secret (anthropic)"),
    ],
)
def test_what_only_the_store_can_refuse_is_refused_before_anything_is_written(
    nrem: Nrem,
    refusal: Refusal,
    folder: Path,
    ana: str,
    setting: str,
    bad: dict[str, str],
    field: str,
    problem: str,
) -> None:
    """The bad record is in the second batch; it is named by its place in the file."""
    nrem("agent", "config", "--set", setting, "-m", "strict")
    records = [{"content": f"note {i}"} for i in range(700)]
    records[612] |= bad
    (folder / "in.json").write_text(json.dumps(records))
    error = refusal(2, "import", "in.json")
    assert (error["field"], error["message"]) == (f"record 612: {field}", f"record 612: {field}: {problem}")
    assert error["hint"]
    assert nrem("list").stdout == "No memories.\n"


def test_a_bad_file_is_told_before_the_store_is_looked_for(nrem: Nrem) -> None:
    assert "cannot be read" in nrem("import", "none.json", exits=2).stderr


def test_import_needs_a_store(nrem: Nrem, folder: Path) -> None:
    (folder / "in.json").write_text("[]")
    assert nrem("import", "in.json", exits=6).stderr == (
        "Error: No memory store found.\nHint: nrem up --detach\n"
    )


def test_a_source_agent_goes_with_nexo_only(refusal: Refusal, folder: Path, ana: str) -> None:
    (folder / "in.json").write_text("[]")
    for words in ([], ["--from", "initrunner"]):
        assert refusal(2, "import", "in.json", "--source-agent", "kate", *words)["field"] == "source_agent"


def test_an_import_that_stops_midway_goes_on_when_it_is_repeated(
    nrem: Nrem, refusal: Refusal, answer: Answer, folder: Path, ana: str
) -> None:
    """The cap is full of pinned ones from the second batch on, which no record is to blame for."""
    nrem("agent", "config", "--set", "memory.semantic.max_memories=600", "-m", "small")
    records = [{"content": f"note {i}", "pinned": True} for i in range(700)]
    (folder / "in.json").write_text(json.dumps(records))
    assert refusal(5, "import", "in.json")["code"] == "cap_full"
    assert answer("agent", "show")["memories"] == 500
    nrem("agent", "config", "--unset", "memory.semantic.max_memories", "-m", "large")
    told = answer("import", "in.json")
    assert (told["stored"], told["known"]) == (200, 500)
