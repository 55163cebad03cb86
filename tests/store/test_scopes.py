from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from builders import Call, HashEmbedder, ManualClock, caller_of, rows_with
from nrem.errors import Conflict, NotFound
from nrem.runtime.app import App
from nrem.store import events, memories, scopes


def number_of(app: App, agent: str) -> int:
    return app.scope(agent).number


def files_with(home: Path, text: str) -> list[str]:
    """Return which files of a home hold a text, in whatever place."""
    return [path.name for path in home.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


def fill(call: Call, agent: str, word: str) -> list[str]:
    """Store memories that have the word everywhere a text can be, and edit and forget some of them."""
    ids = []
    for i in range(30):
        stored = call(
            "remember",
            agent=agent,
            content=f"{word}content {i}",
            context=f"{word}context",
            tags=[f"{word}tag"],
            metadata={f"{word}key": f"{word}value"},
            data={f"{word}datakey": f"{word}datavalue"},
            category=f"{word}category",
            session=f"{word}session",
            room=f"{word}room",
            user=f"{word}user",
            source=f"{word}source",
        )
        ids.append(stored["id"])
    call("edit_memory", agent=agent, id=ids[0], content=f"{word}edited")
    call("forget", agent=agent, id=ids[1])
    call("set_agent_config", agent=agent, config={}, message=f"{word}message")
    return ids


def rows_of(app: App, scope: int) -> dict[str, list[tuple[Any, ...]]]:
    tables = ("scopes", "events", "memories", "memory_versions", "vec_memories", "agent_configs")
    with app.store.reading() as db:
        return {
            table: [
                tuple(row)
                for row in db.execute(f"select * from {table} where scope = ? order by 1, 2, 3", (scope,))
            ]
            for table in tables
        }


def test_an_agent_has_a_number_that_stays(app: App) -> None:
    assert [number_of(app, agent) for agent in ("ana", "ben")] == [1, 2]


def test_a_name_can_be_taken_once(call: Call) -> None:
    with pytest.raises(Conflict):
        call("add_agent", agent="ana")


def test_the_number_of_a_removed_agent_is_never_used_again(
    home: Path, app: App, call: Call, clock: ManualClock
) -> None:
    call("remove_agent", agent="ben", erase=True)
    call("add_agent", agent="cas")
    assert number_of(app, "cas") == 3
    call("remove_agent", agent="cas", erase=True)
    call("remove_agent", agent="ana", erase=True)
    app.close()
    with App.open(home, clock=clock) as again:
        caller_of(again)("add_agent", agent="ana")
        assert number_of(again, "ana") == 4


@pytest.mark.rows(114)
def test_nothing_that_a_removed_agent_stored_is_in_any_file(home: Path, app: App, call: Call) -> None:
    fill(call, "ana", "zanzibar")
    fill(call, "ben", "kathmandu")
    call("remember", agent="ana", content="zanzibar ends", kind="episodic")
    assert call("remove_agent", agent="ana", erase=True)["memories"] == 30
    app.close()
    assert files_with(home, "zanzibar") == []
    assert files_with(home, "kathmandu") == ["nrem.db"]


def test_a_removed_agent_is_unknown_at_once(app: App, call: Call) -> None:
    id = fill(call, "ana", "zanzibar")[0]
    call("remove_agent", agent="ana", erase=True)
    assert [agent["agent"] for agent in call("list_agents")["agents"]] == ["ben"]
    for operation, body in (
        ("show_agent", {}),
        ("get_memory", {"id": id}),
        ("list_versions", {"id": id}),
        ("list_memories", {}),
        ("remember", {"content": "too late"}),
        ("edit_memory", {"id": id, "content": "too late"}),
        ("forget", {"id": id}),
        ("clear_memories", {}),
        ("remove_agent", {"erase": True}),
    ):
        with pytest.raises(NotFound) as caught:
            call(operation, agent="ana", **body)
        assert caught.value.code == "agent_not_found"


@pytest.mark.rows(3)
def test_removing_one_agent_leaves_the_others_as_they_were(app: App, call: Call) -> None:
    fill(call, "ana", "zanzibar")
    fill(call, "ben", "kathmandu")
    before = rows_of(app, 2)
    call("remove_agent", agent="ana", erase=True)
    assert rows_of(app, 2) == before
    assert not any(rows_of(app, 1).values())
    with app.store.reading() as db:
        assert events.verify(db, 2) == 1 + 30 + 1 + 1 + 1
        assert memories.verify_rows(db, 2) == 29
        assert len(rows_with(db, 2, "kathmandutag")) == 29
        assert rows_with(db, 1, "zanzibartag") == []
        assert db.execute("select count(*) from memories_fts_docsize").fetchone()[0] == 29
        assert db.execute("pragma foreign_key_check").fetchall() == []


def test_a_removed_agents_name_can_be_used_again_and_starts_empty(app: App, call: Call) -> None:
    first = fill(call, "ana", "zanzibar")[0]
    call("remove_agent", agent="ana", erase=True)
    call("add_agent", agent="ana")
    assert call("show_agent", agent="ana")["memories"] == 0
    assert call("list_memories", agent="ana")["memories"] == []
    assert call("list_agent_configs", agent="ana")["versions"] == []
    with pytest.raises(NotFound):
        call("list_versions", agent="ana", id=first)
    assert call("remember", agent="ana", content="zanzibarcontent 2")["stored"]
    with app.store.reading() as db:
        assert events.verify(db, number_of(app, "ana")) == 2


@pytest.mark.parametrize("steps", [0, 1, 2], ids=["marked only", "memories gone", "versions gone"])
def test_a_removal_that_was_cut_short_is_finished_at_the_next_start(
    home: Path, app: App, call: Call, clock: ManualClock, steps: int
) -> None:
    fill(call, "ana", "zanzibar")
    fill(call, "ben", "kathmandu")
    others = rows_of(app, 2)
    app.store.write(lambda db: scopes.mark_removed(db, 1, now=clock.now()))
    for _ in range(steps):
        assert app.store.write(lambda db: scopes.erase_step(db, 1))
    app.close()
    assert files_with(home, "zanzibar") == ["nrem.db"]
    with App.open(home, clock=clock, embedder=HashEmbedder()) as again:
        assert not any(rows_of(again, 1).values())
        assert rows_of(again, 2) == others
        with again.store.reading() as db:
            assert scopes.removed(db) == []
    assert files_with(home, "zanzibar") == []


def test_a_name_is_free_while_its_removal_is_unfinished(app: App, call: Call, clock: ManualClock) -> None:
    fill(call, "ana", "zanzibar")
    app.store.write(lambda db: scopes.mark_removed(db, 1, now=clock.now()))
    call("add_agent", agent="ana")
    assert number_of(app, "ana") == 3
    assert call("list_memories", agent="ana")["memories"] == []


def test_more_rows_than_a_step_takes_are_all_erased(app: App, call: Call) -> None:
    for start in (0, 600):
        drafts = [{"content": f"note {i}"} for i in range(start, start + 600)]
        call("remember_many", agent="ana", memories=drafts)
    assert call("remove_agent", agent="ana", erase=True)["memories"] == 1200
    assert not any(rows_of(app, 1).values())
    with app.store.reading() as db:
        assert db.execute("select count(*) from memories_fts_docsize").fetchone()[0] == 0


@pytest.mark.rows(73)
def test_every_version_of_a_configuration_is_kept(app: App, call: Call) -> None:
    assert call("show_agent", agent="ana")["config_version"] == 0
    for i in (1, 2, 3):
        config = {"memory": {"semantic": {"max_memories": i}}}
        assert call("set_agent_config", agent="ana", config=config, message=f"change {i}")["version"] == i
    versions = call("list_agent_configs", agent="ana")["versions"]
    assert [(v["version"], v["message"], v["actor"]) for v in versions] == [
        (3, "change 3", "owner"),
        (2, "change 2", "owner"),
        (1, "change 1", "owner"),
    ]
    with app.store.reading() as db:
        assert scopes.config(db, 1) == {"memory": {"semantic": {"max_memories": 3}}}
        assert scopes.config(db, 2) == {}
        assert events.verify(db, 1) == 4


def test_a_removal_that_was_cut_off_before_its_words_were_merged_is_finished_at_start(
    home: Path, app: App, call: Call
) -> None:
    call("remember", agent="ana", content="zanzibar")
    app.store.write(lambda db: scopes.mark_removed(db, 1, now=1))
    while app.store.write(lambda db: scopes.erase_step(db, 1)):
        pass
    app.close()
    App.open(home).close()
    assert b"zanzibar" not in (home / "nrem.db").read_bytes()
