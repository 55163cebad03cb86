"""nrem import --from: the databases of InitRunner and nexo."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import sqlite_vec
from click.testing import Result

from nrem.store.driver import Connection, sqlite3

Nrem = Callable[..., Result]
Answer = Callable[..., Any]
Refusal = Callable[..., dict[str, str]]

pytestmark = pytest.mark.rows(98)

INITRUNNER = """
create table meta (key text primary key, value text not null);
create table sessions (
  id integer primary key autoincrement, session_id text not null, agent_name text not null,
  timestamp text not null, messages_json text not null
);
create table memories (
  id integer primary key autoincrement, content text not null,
  category text not null default 'general', created_at text not null,
  memory_type text not null default 'semantic', metadata_json text, consolidated_at text
);
"""
OLD_INITRUNNER = """
create table memories (
  id integer primary key autoincrement, content text not null,
  category text not null default 'general', created_at text not null
);
"""
NEXO = """
create table memories (
  id text primary key, agent_id text not null, content text not null, tags text not null default '[]',
  created_at integer not null, concept_tags text not null default '[]', memory_type text
);
create virtual table memories_fts using fts5(content, id unindexed, agent_id unindexed);
create table interactions (
  id text primary key, session_id text not null, agent_id text not null, role text not null,
  content text not null, created_at integer not null
);
create table reminders (
  id text primary key, agent_id text not null, session_id text not null, plugin text not null,
  recipient text not null, message text not null, due_at integer not null, claimed_at integer,
  delivered_at integer, created_at integer not null
);
create table recall_events (
  id integer primary key autoincrement, agent_id text not null, memory_id text not null,
  query text not null, score real not null, ts_ms integer not null
);
"""


def make(path: Path, schema: str) -> Connection:
    db: Connection = sqlite3.connect(str(path))
    db.enable_load_extension(True)
    sqlite_vec.load(db)
    db.executescript(schema)
    return db


def put(db: Connection, table: str, rows: Iterable[dict[str, Any]]) -> None:
    for row in rows:
        marks = ", ".join("?" * len(row))
        db.execute(f"insert into {table} ({', '.join(row)}) values ({marks})", tuple(row.values()))
    db.commit()


@pytest.fixture
def initrunner(tmp_path: Path) -> Path:
    """A store of InitRunner as it is today, with vectors of 4 dimensions."""
    path = tmp_path / "assistant.db"
    db = make(path, INITRUNNER + "create virtual table memories_vec using vec0(embedding float[4]);")
    put(db, "meta", [{"key": "dimensions", "value": "4"}])
    put(
        db,
        "memories",
        [
            {"content": "Luis speaks Spanish", "created_at": "2025-01-02T03:04:05.678901+00:00"},
            {
                "content": "The deploy failed",
                "category": "ops",
                "created_at": "2025-02-01T00:00:00+00:00",
                "memory_type": "episodic",
                "metadata_json": '{"run": 7}',
                "consolidated_at": "2025-02-02T00:00:00+00:00",
            },
            {
                "content": "Restart the worker first",
                "created_at": "2025-03-01T00:00:00",
                "memory_type": "procedural",
            },
        ],
    )
    put(db, "memories_vec", [{"rowid": i, "embedding": "[1, 2, 3, 4]"} for i in (1, 2, 3)])
    session = {"session_id": "0123456789ab", "agent_name": "assistant", "timestamp": "2025-01-01"}
    put(db, "sessions", [session | {"messages_json": "[]"}] * 2)
    db.close()
    return path


def nexo_memory(agent: str, content: str, **rest: Any) -> dict[str, Any]:
    row = {"id": str(uuid.uuid4()), "agent_id": agent, "content": content, "created_at": 1_735_787_045_678}
    return row | rest


@pytest.fixture
def nexo(tmp_path: Path) -> Path:
    """A store of nexo with the memories of kate and luke."""
    path = tmp_path / "memory.db"
    db = make(
        path, NEXO + "create virtual table vec_memories using vec0(memory_id text primary key, e float[4]);"
    )
    first = nexo_memory("kate", "The project is called Zephyr", memory_type='"project"', tags='["work", "ñ"]')
    put(
        db,
        "memories",
        [
            first,
            nexo_memory("kate", "Tea, not coffee", created_at=1_735_787_045_679),
            nexo_memory("luke", "Of luke"),
        ],
    )
    put(db, "vec_memories", [{"memory_id": first["id"], "e": "[1, 2, 3, 4]"}])
    reminder = {
        **{"agent_id": "kate", "session_id": "s", "plugin": "p", "recipient": "r"},
        **{"message": "m", "due_at": 1, "created_at": 1},
    }
    put(db, "reminders", [reminder | {"id": "a"}, reminder | {"id": "b"}])
    turn = {
        "id": "c",
        "session_id": "s",
        "agent_id": "kate",
        "role": "user",
        "content": "hi",
        "created_at": 1,
    }
    put(db, "interactions", [turn])
    db.close()
    return path


def stored(answer: Answer, *fields: str) -> list[list[Any]]:
    """These fields of ana's memories, oldest first."""
    found = answer("list", "-a", "ana", "--limit", "1000")["memories"]
    return [[memory[field] for field in fields] for memory in reversed(found)]


def test_initrunners_memories_come_with_all_they_have(
    nrem: Nrem, answer: Answer, ana: str, initrunner: Path
) -> None:
    told = nrem("import", str(initrunner), "--from", "initrunner")
    assert told.stdout == "Imported 3 memories into ana; 0 known already.\n"
    assert "Left out: 2 session snapshots.\n" in told.stderr
    assert "Warning" not in told.stderr
    fields = ("legacy_id", "kind", "category", "content", "created_at", "metadata", "consolidated_at")
    assert stored(answer, *fields) == [
        ["1", "semantic", "general", "Luis speaks Spanish", "2025-01-02T03:04:05.679+00:00", None, None],
        [
            *("2", "episodic", "ops", "The deploy failed", "2025-02-01T00:00:00+00:00"),
            *({"run": 7}, "2025-02-02T00:00:00+00:00"),
        ],
        ["3", "procedural", "general", "Restart the worker first", "2025-03-01T00:00:00+00:00", None, None],
    ]
    assert {memory["source"] for [memory] in stored(answer, "provenance")} == {"initrunner"}
    assert answer("import", str(initrunner), "--from", "initrunner")["known"] == 3


def test_an_old_store_of_initrunner_has_fewer_columns(answer: Answer, ana: str, tmp_path: Path) -> None:
    db = make(tmp_path / "old.db", OLD_INITRUNNER)
    put(db, "memories", [{"content": "old", "category": "c", "created_at": "2024-01-01T00:00:00+00:00"}])
    db.close()
    told = answer("import", str(tmp_path / "old.db"), "--from", "initrunner")
    assert (told["stored"], told["left_out"], told["warnings"]) == (1, {}, [])
    assert stored(answer, "kind", "category", "metadata") == [["semantic", "c", None]]


@pytest.mark.parametrize(
    ("meta", "dimension"), [("", 1536), ("create table meta (key text, value text);", 1536)]
)
def test_vectors_without_a_recorded_dimension_have_1536(
    answer: Answer, ana: str, tmp_path: Path, meta: str, dimension: int
) -> None:
    db = make(
        tmp_path / "old.db",
        OLD_INITRUNNER + meta + "create virtual table memories_vec using vec0(embedding float[1536]);",
    )
    put(db, "memories", [{"content": "old", "created_at": "2024-01-01T00:00:00+00:00"}])
    db.close()
    told = answer("import", str(tmp_path / "old.db"), "--from", "initrunner")
    [(what, count)] = told["left_out"].items()
    assert what.startswith(f"vectors of {dimension} dimensions")
    assert count == 1


def test_the_recorded_dimension_is_told(answer: Answer, ana: str, initrunner: Path) -> None:
    told = answer("import", str(initrunner), "--from", "initrunner")["left_out"]
    assert [what for what in told if what.startswith("vectors of 4 dimensions")]


def test_what_initrunner_could_not_read_itself_is_warned_of(
    nrem: Nrem, answer: Answer, ana: str, tmp_path: Path
) -> None:
    row = {"created_at": "2025-01-01T00:00:00+00:00"}
    db = make(tmp_path / "odd.db", INITRUNNER)
    put(
        db,
        "memories",
        [
            row | {"content": "dreamt", "memory_type": "dream"},
            row | {"content": "torn", "metadata_json": '{"run": '},
            row | {"content": "listed", "metadata_json": "[1]"},
            row | {"content": "empty", "metadata_json": ""},
            row | {"content": "  "},
        ],
    )
    db.close()
    told = answer("import", str(tmp_path / "odd.db"), "--from", "initrunner")
    assert (told["stored"], told["blank"]) == (4, 1)
    assert sorted(told["warnings"]) == [
        "1 records of an unknown type were taken as semantic",
        "2 records came without their metadata, which is no JSON object",
    ]
    assert {(kind, metadata) for kind, metadata in stored(answer, "kind", "metadata")} == {("semantic", None)}
    shown = nrem("import", str(tmp_path / "odd.db"), "--from", "initrunner").stderr
    assert "Warning: 1 records of an unknown type were taken as semantic.\n" in shown


@pytest.mark.rows(36)
def test_caps_hold_for_what_comes_in(
    nrem: Nrem, answer: Answer, home: Path, tmp_path: Path, ana: str
) -> None:
    (home / "nrem.toml").write_text('[retention]\nprofile = "initrunner"\n')
    rows = [
        {"content": f"step {i}", "created_at": f"2025-01-01T{i // 60:02}:{i % 60:02}:00+00:00"}
        for i in range(130)
    ]
    db = make(tmp_path / "many.db", INITRUNNER)
    put(db, "memories", [row | {"memory_type": "procedural"} for row in rows])
    db.close()
    nrem("import", str(tmp_path / "many.db"), "--from", "initrunner")
    assert stored(answer, "content") == [[f"step {i}"] for i in range(30, 130)]


def test_nexos_memories_come_with_all_they_have(nrem: Nrem, answer: Answer, ana: str, nexo: Path) -> None:
    told = nrem("import", str(nexo), "--from", "nexo", "--source-agent", "kate")
    assert told.stdout == "Imported 2 memories into ana; 0 known already.\n"
    assert told.stderr.splitlines() == [
        "Left out: 1 interactions.",
        "Left out: 2 reminders.",
        "Left out: 1 memories of other agents.",
    ]
    first, second = stored(answer, "content", "kind", "category", "tags", "created_at", "legacy_id")
    assert first[:5] == [
        *("The project is called Zephyr", "semantic", "project"),
        *(["work", "ñ"], "2025-01-02T03:04:05.678+00:00"),
    ]
    assert uuid.UUID(first[5])
    assert second[:4] == ["Tea, not coffee", "semantic", "general", []]
    assert {memory["source"] for [memory] in stored(answer, "provenance")} == {"nexo"}
    assert answer("import", str(nexo), "--from", "nexo", "--source-agent", "kate")["known"] == 2


def test_several_agents_of_nexo_are_listed_to_choose_from(
    nrem: Nrem, refusal: Refusal, ana: str, nexo: Path
) -> None:
    error = refusal(2, "import", str(nexo), "--from", "nexo")
    assert error["field"] == "source_agent"
    assert error["message"] == "the file has the memories of several agents: kate (2), luke (1)"
    assert "--source-agent" in error["hint"]
    error = refusal(2, "import", str(nexo), "--from", "nexo", "--source-agent", "zed")
    assert error["hint"] == "it has kate, luke"
    assert nrem("list").stdout == "No memories.\n"


def test_the_only_agent_of_nexo_needs_no_name(answer: Answer, ana: str, tmp_path: Path) -> None:
    db = make(tmp_path / "one.db", NEXO)
    put(db, "memories", [nexo_memory("kate", "a text")])
    db.close()
    told = answer("import", str(tmp_path / "one.db"), "--from", "nexo")
    assert (told["stored"], told["left_out"]) == (1, {})


def test_the_first_nexo_had_no_types(answer: Answer, ana: str, tmp_path: Path) -> None:
    db = make(
        tmp_path / "old.db",
        "create table memories (id text primary key, agent_id text not null, content text not null,"
        " tags text not null default '[]', created_at integer not null)",
    )
    put(db, "memories", [nexo_memory("kate", "a text"), nexo_memory("kate", "odd", tags="{work}")])
    db.close()
    told = answer("import", str(tmp_path / "old.db"), "--from", "nexo")
    assert told["stored"] == 2
    assert told["warnings"] == ["1 records came without their tags, which are no JSON array"]
    assert stored(answer, "category", "tags") == [["general", []]] * 2


@pytest.mark.parametrize("system", ["initrunner", "nexo"])
def test_the_source_stays_as_it_is(
    nrem: Nrem, ana: str, request: pytest.FixtureRequest, tmp_path: Path, system: str
) -> None:
    file: Path = request.getfixturevalue(system)
    before = file.read_bytes()
    beside = sorted(path.name for path in tmp_path.iterdir())
    nrem("import", str(file), "--from", system, *(["--source-agent", "kate"] if system == "nexo" else []))
    assert file.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == beside


def test_a_source_that_is_in_use_is_read_as_it_stands(answer: Answer, ana: str, tmp_path: Path) -> None:
    """Both systems use a write-ahead log, in which the newest memories are until it is folded in."""
    file = tmp_path / "live.db"
    db = make(file, "pragma journal_mode = wal;" + INITRUNNER)
    put(db, "memories", [{"content": "in the log", "created_at": "2025-01-01T00:00:00+00:00"}])
    db.execute("insert into memories (content, created_at) values ('not committed', '2025-01-01')")
    before = file.read_bytes()
    answer("import", str(file), "--from", "initrunner")
    assert stored(answer, "content") == [["in the log"]]
    assert file.read_bytes() == before
    db.rollback()
    db.close()


def test_a_source_that_was_left_in_a_hurry_is_read_and_not_tidied(
    answer: Answer, ana: str, tmp_path: Path
) -> None:
    """Whoever opens such a database for writing folds the log into it."""
    db = make(tmp_path / "live.db", "pragma journal_mode = wal;" + INITRUNNER)
    put(db, "memories", [{"content": "in the log", "created_at": "2025-01-01T00:00:00+00:00"}])
    left = {}
    for suffix in ("", "-wal"):
        left[suffix] = (tmp_path / f"live.db{suffix}").read_bytes()
        (tmp_path / f"left.db{suffix}").write_bytes(left[suffix])
    db.close()
    answer("import", str(tmp_path / "left.db"), "--from", "initrunner")
    assert stored(answer, "content") == [["in the log"]]
    assert {suffix: (tmp_path / f"left.db{suffix}").read_bytes() for suffix in left} == left


def test_a_name_with_signs_of_an_address_is_a_file_all_the_same(
    answer: Answer, ana: str, initrunner: Path
) -> None:
    odd = initrunner.rename(initrunner.with_name("a b?mode=rw#%41ñ.db"))
    assert answer("import", str(odd), "--from", "initrunner")["stored"] == 3


@pytest.mark.rows(102)
@pytest.mark.parametrize("system", ["initrunner", "nexo"])
def test_what_is_no_database_of_that_system_is_refused(
    nrem: Nrem, refusal: Refusal, ana: str, tmp_path: Path, system: str
) -> None:
    (tmp_path / "export.json").write_text(json.dumps([{"content": "a text"}]) * 100)
    (tmp_path / "empty.db").touch()
    make(tmp_path / "other.db", "create table memories (id text, text text);").close()
    for name, message in (
        ("missing.db", "there is no file"),
        (".", "there is no file"),
        ("export.json", "cannot be read as an SQLite database"),
        ("empty.db", f"is not a database of {system}: memories has no"),
        ("other.db", f"is not a database of {system}: memories has no"),
    ):
        error = refusal(2, "import", str(tmp_path / name), "--from", system)
        assert error["field"] == "file"
        assert message in error["message"]
        assert error["hint"]
    assert not (tmp_path / "missing.db").exists()
    assert nrem("list").stdout == "No memories.\n"


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"content": "x", "created_at": "yesterday"}, "record 1: created_at"),
        ({"content": b"\x00\x01", "created_at": "2025-01-01"}, "record 1: content"),
        (
            {"content": "x", "created_at": "2025-01-01", "consolidated_at": "then"},
            "record 1: consolidated_at",
        ),
    ],
)
def test_a_row_that_cannot_be_taken_is_named_and_nothing_is_written(
    nrem: Nrem, refusal: Refusal, ana: str, tmp_path: Path, row: dict[str, Any], field: str
) -> None:
    db = make(tmp_path / "odd.db", INITRUNNER)
    put(db, "memories", [{"content": "good", "created_at": "2025-01-01"}, row])
    db.close()
    assert refusal(2, "import", str(tmp_path / "odd.db"), "--from", "initrunner")["field"] == field
    assert nrem("list").stdout == "No memories.\n"
