"""The store is made again from git alone, to the byte, and goes on from there."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Call, HashEmbedder, ManualClock, caller_of
from nrem.core import rebuild, reembed
from nrem.errors import Corrupt, NotFound, Unavailable
from nrem.model import Event, Rebuilt
from nrem.runtime.app import App
from nrem.store import driver, events, promotions
from workspace.workshop import check_clean, git


def fill(call: Call) -> None:
    """Give ana and ben memories of all fates, and publish them."""
    for agent in ("ana", "ben"):
        ids = [
            call("remember", agent=agent, content=f"note {i} of {agent} about walnuts", tags=["nut"])["id"]
            for i in range(300)
        ]
        for id in ids[::7]:
            call("edit_memory", agent=agent, id=id, content=f"{id} was about almonds", data={"a": [1, None]})
        for id in ids[::11]:
            call("forget", agent=agent, id=id)
        call("pin_memory", agent=agent, id=ids[1])
        call("remember", agent=agent, content="café ☕ 好", kind="episode", context="at noon", user="luis")
        call("set_agent_config", agent=agent, config={"memory": {}}, message="nothing")
        call("checkpoint", agent=agent)


def look(app: App, agent: str) -> dict[str, Any]:
    """Return all that must be the same afterwards."""
    call = caller_of(app)
    number = app.scope(agent).number
    with app.store.reading() as db:
        chain: list[Event] = list(events.read(db, number))
        versions = db.execute(
            "select id, version, seq, ended_seq from memory_versions where scope = ? order by ended_seq",
            (number,),
        )
        ended = [tuple(row) for row in versions]
        promoted = promotions.active(db, number)
        barred = promotions.bars(db, number)
    return {
        "export": call("export_memories", agent=agent, limit=1000),
        "configs": call("list_agent_configs", agent=agent),
        "created": call("show_agent", agent=agent)["created_at"],
        "log": [
            {name: value for name, value in commit.items() if name != "at"}
            for commit in call("log", agent=agent)["commits"]
        ],
        "chain": chain,
        "ended": ended,
        "promoted": promoted,
        "barred": barred,
    }


def make_anew(home: Path, clock: ManualClock, without: tuple[str, ...] = ()) -> Rebuilt:
    with rebuild.prepared(home, without=without, clock=clock) as new:
        new.put_in_place()
        return new.rebuilt


Open = Callable[[], App]


@pytest.fixture
def reopen(home: Path, clock: ManualClock) -> Open:
    return lambda: App.open(home, clock=clock, embedder=HashEmbedder())


def state_of(root: Path) -> str:
    return git(root, "log", "-1", "--format=%(trailers:key=Nrem-State)").strip()


@pytest.mark.rows(106)
def test_a_store_that_is_gone_comes_back_from_git(
    app: App, call: Call, home: Path, clock: ManualClock, reopen: Open
) -> None:
    """T23."""
    fill(call)
    asked = call("recall", agent="ana", query="walnuts of ana")
    app.store.settle()
    call("remember", agent="ana", content="and so the recall is committed")
    call("checkpoint", agent="ana")
    assert call("dream", agent="ana")["commit"] is not None
    before = {agent: look(app, agent) for agent in ("ana", "ben")}
    assert before["ana"]["promoted"]
    used = call("get_memory", agent="ana", id=asked["hits"][0]["memory"]["id"])
    root = home / "workspaces/ana"
    state = state_of(root)
    app.close()
    (home / "nrem.db").unlink()
    made = make_anew(home, clock)
    assert [agent.agent for agent in made.agents] == ["ana", "ben"]
    assert (made.kept, made.lost, made.without_workspace) == (None, (), ())
    with reopen() as again:
        call = caller_of(again)
        assert {agent: look(again, agent) for agent in ("ana", "ben")} == before
        assert {f["level"] for f in call("verify", agent="ana")["findings"]} == {"ok"}
        assert call("get_memory", agent="ana", id=asked["hits"][0]["memory"]["id"]) == used
        assert used["access_count"] == 1
        while reembed.backfill(again.store, HashEmbedder()):
            pass
        assert call("replay", agent="ana", of=asked["recall_id"])["recalls"][0]["outcome"] != "impossible"
        hits = call("recall", agent="ana", query="walnuts of ana")["hits"]
        assert len(hits) == 5
        assert call("checkpoint", agent="ana")["commit"] is None
        call("remember", agent="ana", content="one more")
        call("checkpoint", agent="ana", note="after")
        changed = git(root, "show", "--name-only", "--format=", "HEAD").split()
        assert len(changed) == 3  # one file of events, of state, of recalls: not everything again
        check_clean(root)
        id = call("list_memories", agent="ana", limit=1)["memories"][0]["id"]
        call("forget", agent="ana", id=id)
        call("checkpoint", agent="ana")
    assert state_of(root) == state


@pytest.mark.rows(106)
def test_what_git_has_not_is_named_and_the_old_store_is_kept(
    app: App, call: Call, home: Path, clock: ManualClock, reopen: Open
) -> None:
    fill(call)
    call("add_agent", agent="cas")
    call("set_agent_config", agent="cas", config={"workspace": {"git": False}}, message="no git")
    call("add_agent", agent="dan")
    for i in range(3):
        call("remember", agent="ben", content=f"unpublished {i}")
    app.close()
    shutil.rmtree(home / "workspaces/cas/.git")
    shutil.rmtree(home / "workspaces/dan")
    made = make_anew(home, clock)
    assert made.without_git == ("cas",)
    assert made.without_workspace == ("dan",)
    assert made.lost is not None
    assert {lost.agent: lost.events for lost in made.lost} == {"ben": 3, "cas": 2, "dan": 1}
    assert made.kept == "nrem.db.before-rebuild"
    db = driver.connect(home / made.kept, read_only=True)
    assert db.execute("select count(*) from memories where content like 'unpub%'").fetchone()[0] == 3
    db.close()
    with reopen() as again:
        assert [a["agent"] for a in caller_of(again)("list_agents")["agents"]] == ["ana", "ben"]
    assert make_anew(home, clock).kept == "nrem.db.before-rebuild-2"


@pytest.mark.rows(106)
def test_what_is_not_put_in_place_leaves_no_trace(
    app: App, call: Call, home: Path, clock: ManualClock
) -> None:
    fill(call)
    app.close()
    before = {file.name: file.read_bytes() for file in home.iterdir() if file.is_file()}
    with rebuild.prepared(home, clock=clock):
        pass
    after = {file.name: file.read_bytes() for file in home.iterdir() if file.is_file()}
    assert before.keys() == after.keys()
    assert before["nrem.db"] == after["nrem.db"]


@pytest.mark.rows(106)
def test_a_store_that_cannot_be_read_is_kept_as_it_is(
    app: App, call: Call, home: Path, clock: ManualClock, reopen: Open
) -> None:
    fill(call)
    app.close()
    (home / "nrem.db").write_bytes(b"no database at all" * 1000)
    made = make_anew(home, clock)
    assert made.lost is None
    assert (home / "nrem.db.before-rebuild").read_bytes() == b"no database at all" * 1000
    with reopen() as again:
        assert caller_of(again)("show_agent", agent="ana")["memories"] == 273


@pytest.mark.rows(106)
def test_the_branch_counts_not_the_folder(app: App, call: Call, home: Path, clock: ManualClock) -> None:
    fill(call)
    app.close()
    (home / "workspaces/ana/.nrem/events/000/00000.jsonl").write_text("nonsense\n")
    assert make_anew(home, clock).agents[0].agent == "ana"


@pytest.mark.rows(106)
@pytest.mark.parametrize(
    ("path", "says"),
    [
        (".nrem/events/000/00001.jsonl", ".nrem/events/000/00001.jsonl:3 "),
        (".nrem/state/000/00001.jsonl", ".nrem/state/000/00001.jsonl:3 "),
    ],
)
def test_a_damaged_workspace_is_refused_unless_it_is_left_out(
    app: App, call: Call, home: Path, clock: ManualClock, path: str, says: str
) -> None:
    fill(call)
    app.close()
    file = home / "workspaces/ana" / path
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join([*lines[:2], lines[2].replace("walnut", "hazelnut"), *lines[3:]]))
    git(home / "workspaces/ana", "commit", "-qam", "not nrem's")
    before = (home / "nrem.db").read_bytes()
    with pytest.raises(Corrupt) as caught:
        make_anew(home, clock)
    assert says in caught.value.message
    assert caught.value.hint is not None
    assert "--without ana" in caught.value.hint
    assert (home / "nrem.db").read_bytes() == before
    made = make_anew(home, clock, without=("ana",))
    assert ([agent.agent for agent in made.agents], made.left_out) == (["ben"], ("ana",))


def test_a_name_that_is_none_cannot_be_left_out(app: App, home: Path, clock: ManualClock) -> None:
    app.close()
    with pytest.raises(NotFound, match="no workspace of zoe"):
        make_anew(home, clock, without=("zoe",))


def test_a_store_in_use_is_not_rebuilt(app: App, home: Path, clock: ManualClock) -> None:
    with pytest.raises(Unavailable) as caught:
        make_anew(home, clock)
    assert caught.value.code == "store_locked"


@pytest.mark.rows(106)
@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["new", "edit", "forget", "pin", "publish"]), st.integers(0, 50))))
def test_whatever_happened_comes_back_the_same(
    tmp_path_factory: pytest.TempPathFactory, done: list[tuple[str, int]]
) -> None:
    home, clock = tmp_path_factory.mktemp("any") / "h", ManualClock()
    with App.open(home, create=True, clock=clock, embedder=HashEmbedder()) as app:
        call = caller_of(app)
        call("add_agent", agent="ana")
        ids: list[str] = []
        for number, (what, which) in enumerate(done):
            clock.advance(seconds=1)
            if what == "new" or (what != "publish" and not ids):
                ids.append(call("remember", agent="ana", content=f"note {number}")["id"])
            elif what == "edit":
                call("edit_memory", agent="ana", id=ids[which % len(ids)], content=f"edited {number}")
            elif what == "forget":
                call("forget", agent="ana", id=ids.pop(which % len(ids)))
            elif what == "pin":
                call("pin_memory", agent="ana", id=ids[which % len(ids)])
            else:
                call("checkpoint", agent="ana")
        call("checkpoint", agent="ana")
        before = look(app, "ana")
    (home / "nrem.db").unlink()
    make_anew(home, clock)
    with App.open(home, clock=clock, embedder=HashEmbedder()) as app:
        assert look(app, "ana") == before
