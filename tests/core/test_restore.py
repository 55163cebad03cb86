"""A state of the past comes back, and what happened since stays in the history."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import NOON, Call, HashEmbedder, ManualClock
from core.test_publish import check
from nrem.core import soundness
from nrem.errors import Denied, InvalidField, NotFound
from nrem.model import Event
from nrem.runtime.app import App
from nrem.store import checks, commits, events
from nrem.workspace import journal

Chain = Callable[[str], list[Event]]
Get = Callable[..., dict[str, Any]]
Found = Callable[[str, str], list[str]]
Vectors = Callable[[str], dict[str, bytes]]


def state(call: Call, agent: str = "ana") -> dict[str, dict[str, Any]]:
    """Return all that an agent knows, by id, without when and how often each was changed."""
    known = {}
    cursor: dict[str, Any] = {}
    while True:
        page = call("list_memories", agent=agent, limit=100, **cursor)
        for memory in page["memories"]:
            known[memory["id"]] = {k: v for k, v in memory.items() if k not in ("version", "updated_at")}
        if page["next"] is None:
            return known
        cursor = {"cursor": page["next"]}


def whole(app: App, agent: str = "ana") -> None:
    """The chain, the rows, the indexes and git agree."""
    app.publish(app.scope(agent), "checkpoint")  # where nothing was restored, nothing was published
    number = app.scope(agent).number
    with app.store.reading() as db:
        events.verify(db, number)
        assert list(soundness.check_rows(db, number)) == []
        assert checks.indexed(db) == (0, 0)
    check(app, agent)


@pytest.fixture
def history(call: Call, clock: ManualClock) -> dict[str, str]:
    """Three memories; an hour later one is edited, one forgotten, one pinned, and one is new."""
    ids = {word: call("remember", agent="ana", content=f"{word} is old")["id"] for word in ("a", "b", "c")}
    clock.advance(seconds=3600)
    call("edit_memory", agent="ana", id=ids["a"], content="a is new", tags=["x"])
    call("forget", agent="ana", id=ids["b"])
    call("pin_memory", agent="ana", id=ids["c"])
    ids["d"] = call("remember", agent="ana", content="d is new")["id"]
    clock.advance(seconds=3600)
    return ids


@pytest.mark.rows(34)
def test_a_point_in_time_comes_back(
    call: Call, app: App, chain: Chain, found: Found, history: dict[str, str], clock: ManualClock
) -> None:
    before = len(chain("ana"))
    done = call("restore", agent="ana", to="2026-06-01T12:30:00Z")
    assert (done["added"], done["changed"], done["forgotten"], done["not_restored"]) == (1, 2, 1, 0)
    assert {m["id"]: m["change"] for m in done["memories"]} == {
        history["a"]: "changed",
        history["b"]: "added",
        history["c"]: "changed",
        history["d"]: "forgotten",
    }
    assert sorted(memory["content"] for memory in state(call).values()) == [
        "a is old",
        "b is old",
        "c is old",
    ]
    new = chain("ana")[before:]
    assert sorted(event.op for event in new) == ["memory.forget"] + ["memory.restore"] * 3
    assert {event.cause for event in new} == {"restore"}
    assert found("ana", "old") == ["a is old", "b is old", "c is old"]
    assert found("ana", "new") == []
    whole(app)
    [made] = call("log", agent="ana", limit=1)["commits"]
    assert (made["commit"], made["cause"], made["subject"]) == (
        done["commit"],
        "restore",
        "restore: +3 -0 ~0",
    )


def test_a_memory_keeps_its_id_its_birth_and_its_number_and_its_versions_count_on(
    call: Call, app: App, get: Get, history: dict[str, str], clock: ManualClock
) -> None:
    call("checkpoint", agent="ana")
    call("restore", agent="ana", to="2026-06-01T12:30:00Z")
    [a, b, c] = [get(history[word]) for word in "abc"]
    assert [memory["version"] for memory in (a, b, c)] == [3, 2, 3]
    assert {memory["created_at"] for memory in (a, b, c)} == {"2026-06-01T12:00:00+00:00"}
    assert {memory["updated_at"] for memory in (a, b, c)} == {"2026-06-01T14:00:00+00:00"}
    assert (a["tags"], c["pinned"]) == ([], False)
    operations = [v["operation"] for v in call("list_versions", agent="ana", id=b["id"])["versions"]]
    assert operations == ["remember", "forget", "restore"]
    with app.store.reading() as db:
        records = commits.records(db, app.scope("ana").number, journal.ordinals(0))
    assert [record.ordinal for record in records] == [2, 3, 4]
    [made] = call("log", agent="ana", limit=1)["commits"]
    assert made["subject"] == "restore: +1 -1 ~2"


@pytest.mark.rows(34)
def test_a_forget_is_undone(call: Call, app: App, get: Get, vectors: Vectors, embedder: HashEmbedder) -> None:
    id = call("remember", agent="ana", content="Luis likes tea", tags=["tea"])["id"]
    call("recall", agent="ana", query="tea")
    vector, memory = vectors("ana")[id], get(id)
    call("forget", agent="ana", id=id)
    with pytest.raises(NotFound):
        get(id)
    calls = len(embedder.calls)
    done = call("restore", agent="ana", only=id)
    assert (done["added"], done["changed"], done["forgotten"]) == (1, 0, 0)
    assert get(id) == memory | {"version": 2}
    assert vectors("ana")[id] == vector
    assert len(embedder.calls) == calls  # its vector was kept
    assert call("get_memory", agent="ana", id=id)["access_count"] == 1
    [hit] = call("recall", agent="ana", query="tea")["hits"]
    assert hit["memory"]["id"] == id
    whole(app)


def test_one_memory_comes_back_alone(call: Call, get: Get, history: dict[str, str]) -> None:
    done = call("restore", agent="ana", only=history["a"], to="2026-06-01T12:30:00Z")
    assert [m["id"] for m in done["memories"]] == [history["a"]]
    assert get(history["a"])["content"] == "a is old"
    assert get(history["c"])["pinned"]
    gone = call("restore", agent="ana", only=history["d"], to="2026-06-01T12:30:00Z")
    assert gone["forgotten"] == 1


def test_a_dry_run_gives_the_same_answer_and_changes_nothing(
    call: Call, app: App, chain: Chain, history: dict[str, str]
) -> None:
    call("checkpoint", agent="ana")
    before, known = chain("ana"), state(call)
    told = call("restore", agent="ana", to="2026-06-01T12:30:00Z", dry_run=True)
    assert (chain("ana"), state(call)) == (before, known)
    check(app, "ana")
    done = call("restore", agent="ana", to="2026-06-01T12:30:00Z")
    assert {**done, "commit": None, "dry_run": True} == told
    assert done["commit"] is not None


def test_nothing_to_restore_is_no_event_and_no_commit(call: Call, chain: Chain, clock: ManualClock) -> None:
    id = call("remember", agent="ana", content="Luis likes tea")["id"]
    clock.advance(seconds=60)
    call("pin_memory", agent="ana", id=id)
    call("unpin_memory", agent="ana", id=id)  # back where it was
    before = len(chain("ana"))
    done = call("restore", agent="ana", to="2026-06-01T12:00:30Z")
    assert (done["added"], done["changed"], done["forgotten"], done["commit"]) == (0, 0, 0, None)
    assert len(chain("ana")) == before


def test_a_point_may_be_a_commit_or_a_recall(call: Call, app: App, get: Get) -> None:
    id = call("remember", agent="ana", content="first")["id"]
    commit = call("checkpoint", agent="ana")["commit"]
    call("edit_memory", agent="ana", id=id, content="second")
    recall = call("recall", agent="ana", query="second")["recall_id"]
    app.store.write(lambda db: None)
    call("edit_memory", agent="ana", id=id, content="third")
    call("restore", agent="ana", to=commit[:10])
    assert get(id)["content"] == "first"
    call("restore", agent="ana", to=recall)
    assert get(id)["content"] == "second"


def test_a_recall_of_the_past_is_the_same_before_and_after_a_restore(
    call: Call, app: App, history: dict[str, str], clock: ManualClock
) -> None:
    def ask(point: str) -> list[tuple[str, str]]:
        hits = call("recall", agent="ana", query="old or new", as_of=point)["hits"]
        return [(hit["memory"]["id"], hit["memory"]["content"]) for hit in hits]

    then, lately = "2026-06-01T12:30:00Z", "2026-06-01T13:30:00Z"
    first, second = ask(then), ask(lately)
    clock.advance(seconds=1)
    call("restore", agent="ana", to=then)
    clock.advance(seconds=1)
    assert (ask(then), ask(lately)) == (first, second)
    assert sorted(ask("now")) == sorted(first)


def test_two_memories_that_swapped_their_texts_swap_them_back(
    call: Call, app: App, get: Get, vectors: Vectors, clock: ManualClock
) -> None:
    a = call("remember", agent="ana", content="tea")["id"]
    b = call("remember", agent="ana", content="milk")["id"]
    vectors_then = vectors("ana")
    clock.advance(seconds=60)
    call("edit_memory", agent="ana", id=a, content="nothing")
    call("edit_memory", agent="ana", id=b, content="tea")
    call("edit_memory", agent="ana", id=a, content="milk")
    call("restore", agent="ana", to="2026-06-01T12:00:30Z")
    assert (get(a)["content"], get(b)["content"]) == ("tea", "milk")
    assert vectors("ana") == vectors_then
    whole(app)


def test_a_text_that_another_memory_has_now_is_told_and_left(call: Call, app: App, chain: Chain) -> None:
    old = call("remember", agent="ana", content="Luis likes tea")["id"]
    call("forget", agent="ana", id=old)
    new = call("remember", agent="ana", content="Luis likes tea")["id"]
    before = len(chain("ana"))
    done = call("restore", agent="ana", only=old)
    assert (done["added"], done["not_restored"]) == (0, 1)
    assert done["left"] == [{"id": old, "reason": "another memory has its text now", "other": new}]
    assert len(chain("ana")) == before
    call("restore", agent="ana", to="2026-06-01T11:00:00Z")  # before everything
    assert state(call) == {}
    whole(app)


def test_what_was_erased_is_told_and_the_rest_comes_back(call: Call, app: App, clock: ManualClock) -> None:
    ids = [call("remember", agent="ana", content=text)["id"] for text in ("erased", "kept")]
    clock.advance(seconds=60)
    for id in ids:
        call("forget", agent="ana", id=id)
    number = app.scope("ana").number
    app.store.write(
        lambda db: db.execute(
            "update events set payload = null, salt = null where scope = ? and subject = ?", (number, ids[0])
        )
    )
    done = call("restore", agent="ana", to="2026-06-01T12:00:30Z")
    assert (done["added"], done["left"]) == (
        1,
        [{"id": ids[0], "reason": "its text was erased", "other": None}],
    )
    assert list(state(call)) == [ids[1]]


def test_a_vector_of_another_embedder_is_made_anew(
    call: Call, app: App, vectors: Vectors, clock: ManualClock
) -> None:
    id = call("remember", agent="ana", content="Luis likes tea")["id"]
    call("forget", agent="ana", id=id)
    app.store.write(lambda db: db.execute("update memory_versions set embedder = 'test:other'"))
    call("restore", agent="ana", only=id)
    assert vectors("ana") == {}
    with app.store.reading() as db:
        assert db.execute("select count(*) from pending_vectors").fetchone()[0] == 1


def test_the_agents_configuration_stays(call: Call, clock: ManualClock) -> None:
    clock.advance(seconds=60)
    call("set_agent_config", agent="ana", config={"limits": {"content_bytes": 100}}, message="short")
    call("remember", agent="ana", content="Luis likes tea")
    call("restore", agent="ana", to="2026-06-01T12:00:30Z")
    assert state(call) == {}
    assert call("show_agent", agent="ana")["config_version"] == 1


def test_without_a_place_to_commit_it_is_restored_all_the_same(
    call: Call, app: App, history: dict[str, str]
) -> None:
    (app.home / "workspaces" / "ana" / ".git" / "MERGE_HEAD").write_text("")
    done = call("restore", agent="ana", to="2026-06-01T12:30:00Z")
    assert (done["commit"], done["note"]) == (None, "a merge is under way in the workspace")
    assert history["b"] in state(call)


def test_a_point_is_needed_and_must_be_one(call: Call, visitor: Call, history: dict[str, str]) -> None:
    for body in ({}, {"only": history["a"]}, {"to": "tomorrow"}, {"to": "no such point"}):
        with pytest.raises(InvalidField) as caught:
            call("restore", agent="ana", **body)
        assert caught.value.field == "to"
        assert caught.value.hint
    for foreign in (history["a"], "0190-unknown"):
        with pytest.raises(NotFound) as missing:
            call("restore", agent="ben", only=foreign)
        assert missing.value.code == "memory_not_found"
    with pytest.raises(Denied):
        visitor("restore", agent="ana", to="yesterday")


def test_many_are_counted_and_some_are_named(call: Call, app: App, clock: ManualClock) -> None:
    clock.advance(seconds=60)
    call("remember_many", agent="ana", memories=[{"content": f"note {i}"} for i in range(150)])
    done = call("restore", agent="ana", to="2026-06-01T12:00:30Z")
    assert (done["forgotten"], len(done["memories"])) == (150, 100)
    whole(app)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["remember", "remember", "edit", "pin", "unpin", "forget", "restore"]),
        st.integers(0, 5),
        st.sampled_from(["tea", "milk", "juice", "water"]),
    ),
    max_size=14,
)
NAMES = itertools.count()


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(before=STEPS, after=STEPS)
def test_to_a_point_and_back_is_where_one_was(
    app: App, call: Call, clock: ManualClock, before: list[Any], after: list[Any]
) -> None:
    agent = f"agent{next(NAMES)}"
    call("add_agent", agent=agent)
    ids: list[str] = []
    _live(call, clock, agent, ids, before)
    then, then_at = state(call, agent), clock.now()
    clock.advance(seconds=1)
    _live(call, clock, agent, ids, after)
    now, now_at = state(call, agent), clock.now()
    clock.advance(seconds=1)
    assert call("restore", agent=agent, to=_iso(then_at))["not_restored"] == 0
    assert state(call, agent) == then
    whole(app, agent)
    clock.advance(seconds=1)
    assert call("restore", agent=agent, to=_iso(now_at))["not_restored"] == 0
    assert state(call, agent) == now
    whole(app, agent)


def _live(call: Call, clock: ManualClock, agent: str, ids: list[str], steps: list[Any]) -> None:
    """Do what the steps say, as far as it is possible."""
    for what, which, word in steps:
        clock.advance(seconds=1)
        live = state(call, agent)
        id = ids[which % len(ids)] if ids else None
        if what == "remember":
            stored = call("remember", agent=agent, content=word)
            if stored["stored"]:
                ids.append(stored["id"])
        elif what == "restore" and id is not None and id not in live:
            call("restore", agent=agent, only=id)
        elif id not in live:
            continue
        elif what == "forget":
            call("forget", agent=agent, id=id)
        elif what == "edit" and all(memory["content"] != word for memory in live.values()):
            call("edit_memory", agent=agent, id=id, content=word)
        elif what in ("pin", "unpin"):
            call(f"{what}_memory", agent=agent, id=id)


def _iso(moment: int) -> str:
    seconds = (moment - NOON) // 1000
    return f"2026-06-01T{12 + seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}Z"
