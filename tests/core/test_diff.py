"""What is told to be different between two points is what was different."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import Call, ManualClock
from nrem.core import diff as diffing
from nrem.errors import InputError, NotFound
from nrem.model import iso
from nrem.runtime.app import App
from nrem.workspace import patches
from workspace.workshop import git

Get = Callable[..., dict[str, Any]]


@pytest.fixture(autouse=True)
def _own_git_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """git reads no configuration but the repository's."""
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "no-gitconfig"))


@pytest.fixture
def root(app: App) -> Path:
    return app.home / "workspaces" / "ana"


@pytest.fixture
def checkpoint(call: Call, clock: ManualClock) -> Callable[[], str]:
    """Commit what there is, let an hour pass, and return the last commit."""

    def run() -> str:
        call("checkpoint", agent="ana")
        last: str = call("log", agent="ana", limit=1)["commits"][0]["commit"]
        clock.advance(seconds=3600)
        return last

    return run


def told(found: dict[str, Any]) -> dict[str, str]:
    return {change["id"]: change["change"] for change in found["memories"]}


@pytest.mark.rows(90)
def test_memories_that_came_changed_and_went(call: Call, checkpoint: Callable[[], str]) -> None:
    kept, edited, gone = (
        call("remember", agent="ana", content=text, tags=["luis"])["id"] for text in ("tea", "Lisbon", "snow")
    )
    first = checkpoint()
    new = call("remember", agent="ana", content="walnuts")["id"]
    call("edit_memory", agent="ana", id=edited, content="Porto", tags=["city"])
    call("forget", agent="ana", id=gone)
    passing = call("remember", agent="ana", content="passing")["id"]
    call("forget", agent="ana", id=passing)
    call("pin_memory", agent="ana", id=kept)
    call("unpin_memory", agent="ana", id=kept)
    second = checkpoint()
    found = call("diff", agent="ana", a=first[:10], b=second[:10])
    assert told(found) == {new: "added", edited: "changed", gone: "forgotten"}
    assert (found["added"], found["changed"], found["forgotten"], found["more"]) == (1, 1, 1, 0)
    by_id = {change["id"]: change for change in found["memories"]}
    assert (by_id[new]["content"], by_id[new]["kind"]) == ("walnuts", "semantic")
    assert by_id[gone]["content"] == "snow"
    assert by_id[edited]["fields"] == [
        {"field": "content", "before": "Lisbon", "after": "Porto"},
        {"field": "tags", "before": '["luis"]', "after": '["city"]'},
    ]
    assert (found["a"]["commit"], found["b"]["commit"], found["notes"]) == (first, second, [])
    back = call("diff", agent="ana", a=second, b=first)
    assert told(back) == {new: "forgotten", edited: "changed", gone: "added"}
    assert {"field": "content", "before": "Porto", "after": "Lisbon"} in back["memories"][1]["fields"]


def test_lines_of_memory_md_that_came_and_went(call: Call, clock: ManualClock) -> None:
    old = call("remember", agent="ana", content="Luis lives in Madrid")["id"]
    start = call("checkpoint", agent="ana")["commit"]
    first = call("dream", agent="ana")["commit"]
    clock.advance(days=3)
    new = call("remember", agent="ana", content="Luis lives in Valencia")["id"]
    second = call("dream", agent="ana")["commit"]

    def lines(a: str, b: str) -> tuple[list[str], list[str]]:
        found = call("diff", agent="ana", a=a, b=b)
        return found["promoted"], found["demoted"]

    assert lines(start, first) == ([old], [])
    assert lines(first, second) == ([new], [old])
    assert lines(second, first) == ([old], [new])
    assert lines(start, second) == ([new], [])  # the other line came and went in between


@pytest.mark.rows(90)
def test_points_are_times_recalls_and_sessions_too(
    call: Call, app: App, clock: ManualClock, checkpoint: Callable[[], str]
) -> None:
    one = call("remember", agent="ana", content="one", session="monday")["id"]
    recall = call("recall", agent="ana", query="one")["recall_id"]
    app.store.write(lambda db: None)  # what is queued is written first
    clock.advance(seconds=60)
    two = call("remember", agent="ana", content="two")["id"]
    for word in ("monday", recall, "30s ago", "2026-06-01T12:00:30Z"):
        found = call("diff", agent="ana", a=word)
        assert told(found) == {two: "added"}, word
        assert found["b"]["word"] == "now"
    assert told(call("diff", agent="ana", a="2026-05-01")) == {one: "added", two: "added"}
    for field, body in (("a", {"a": "no such thing"}), ("b", {"a": "now", "b": "in a year"})):
        with pytest.raises(InputError) as caught:
            call("diff", agent="ana", **body)
        assert caught.value.field == field


@pytest.mark.rows(90)
def test_files_and_their_text(call: Call, root: Path, checkpoint: Callable[[], str]) -> None:
    (root / "notes/plan.md").write_text("one\ntwo")
    (root / "old.md").write_text("old\n")
    (root / "picture").write_bytes(b"\0\1")
    first = checkpoint()
    call("remember", agent="ana", content="walnuts")
    (root / "notes/plan.md").write_text("one\nthree\n")
    (root / "old.md").unlink()
    (root / "picture").write_bytes(b"\0\2")
    (root / "übung.md").write_text("new\n")
    second = checkpoint()
    found = call("diff", agent="ana", a=first, b=second)
    assert found["files"] == ["notes/plan.md", "old.md", "picture", "übung.md"]
    assert found["text"] is None
    text = call("diff", agent="ana", a=first, b=second, text=True)["text"]
    paths = ["notes/plan.md", "old.md", "übung.md"]
    shown = git(root, "-c", "core.quotePath=false", "diff", "--no-renames", first, second, "--", *paths)
    kept = [
        line for line in shown.splitlines() if not line.startswith(("index ", "new file", "deleted file"))
    ]
    assert [line for line in text.splitlines() if "picture" not in line] == kept
    assert "Binary files a/picture and b/picture differ" in text
    back = call("diff", agent="ana", a=second, b=first, text=True)
    assert "+++ b/old.md" in back["text"]
    everything = call("diff", agent="ana", a="2026-05-01", b=first, text=True)
    assert everything["a"]["commit"] is None
    assert {"MEMORY.md", "old.md"} <= set(everything["files"])
    nothing = call("diff", agent="ana", a=first, b="2026-05-01", text=True)
    assert "+++ /dev/null" in nothing["text"]
    assert set(nothing["files"]) == set(everything["files"])


def test_a_long_diff_is_cut_at_a_line_and_says_so(
    call: Call, root: Path, checkpoint: Callable[[], str]
) -> None:
    first = checkpoint()
    for name in ("a.md", "b.md"):
        (root / name).write_text("".join(f"line {i}\n" for i in range(8000)))
    (root / "c.md").write_text("x\n" * (patches.MOST_COMPARED // 2 + 1))
    second = checkpoint()
    found = call("diff", agent="ana", a=first, b=second, text=True)
    assert found["text_cut"]
    assert len(found["text"]) <= patches.LIMIT
    assert found["text"].endswith("\n")
    assert found["files"] == ["a.md", "b.md", "c.md"]
    (root / "c.md").write_text("y\n")
    third = checkpoint()
    assert "too large" in call("diff", agent="ana", a=second, b=third, text=True)["text"]


def test_texts_and_lists_are_bounded_and_counted(call: Call) -> None:
    call(
        "remember_many",
        agent="ana",
        memories=[{"content": f"{i} " + "x" * 3000} for i in range(diffing.MOST.memories + 3)],
    )
    found = call("diff", agent="ana", a="2026-05-01")
    assert (found["added"], len(found["memories"]), found["more"]) == (503, 500, 3)
    assert {len(change["content"]) for change in found["memories"]} == {diffing.MOST.text}


def test_an_erased_text_is_said_to_be_erased(call: Call, app: App, checkpoint: Callable[[], str]) -> None:
    edited, gone = (call("remember", agent="ana", content=text)["id"] for text in ("tea", "snow"))
    first = checkpoint()
    call("edit_memory", agent="ana", id=edited, content="coffee")
    call("forget", agent="ana", id=gone)
    number = app.scope("ana").number
    app.store.write(
        lambda db: db.execute(
            "update events set payload = null, salt = null where scope = ? and op = 'memory.remember'",
            (number,),
        )
    )
    found = call("diff", agent="ana", a=first)
    by_id = {change["id"]: change for change in found["memories"]}
    assert by_id[edited] == {
        "id": edited,
        "change": "changed",
        "kind": "semantic",
        "content": "coffee",
        "fields": [],
        "erased": True,
    }
    assert (by_id[gone]["change"], by_id[gone]["content"], by_id[gone]["erased"]) == ("forgotten", None, True)


def test_what_is_not_committed_yet_is_noted(call: Call, checkpoint: Callable[[], str]) -> None:
    first = checkpoint()
    id = call("remember", agent="ana", content="tea")["id"]
    found = call("diff", agent="ana", a=first)
    assert told(found) == {id: "added"}
    assert [note.partition(":")[0] for note in found["notes"]] == ["the newest events are not in git yet"]


def test_without_git_memories_are_compared_all_the_same(call: Call) -> None:
    call("set_agent_config", agent="ben", config={"workspace": {"git": False}}, message="none")
    id = call("remember", agent="ben", content="tea")["id"]
    found = call("diff", agent="ben", a="2026-05-01", text=True)
    assert told(found) == {id: "added"}
    assert any("workspace.git is off" in note for note in found["notes"])


def test_a_commit_of_another_agent_is_no_point(call: Call, checkpoint: Callable[[], str]) -> None:
    first = checkpoint()
    with pytest.raises(InputError):
        call("diff", agent="ben", a=first)
    with pytest.raises(NotFound):
        call("diff", agent="cleo", a="now")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.sampled_from("remf"), st.integers(0, 5)), min_size=1, max_size=12))
def test_a_diff_turns_one_state_into_the_other(
    call: Call, clock: ManualClock, steps: list[tuple[str, int]]
) -> None:
    """Between any two moments of a random life, applying the difference to the first gives the second."""
    call("clear_memories", agent="ana")
    states: list[tuple[str, dict[str, str]]] = []

    def note() -> None:
        page = call("list_memories", agent="ana", limit=100)["memories"]
        states.append((iso(clock.now()), {memory["id"]: memory["content"] for memory in page}))
        clock.advance(seconds=1)

    note()
    for number, (what, which) in enumerate(steps):
        known = sorted(states[-1][1])
        if what == "r" or not known:
            call("remember", agent="ana", content=f"text {number} {clock.time}")
        elif what == "f":
            call("forget", agent="ana", id=known[which % len(known)])
        else:
            call(
                "edit_memory", agent="ana", id=known[which % len(known)], content=f"new {number} {clock.time}"
            )
        note()
    for a, before in states[::3]:
        for b, after in states[::2]:
            state = dict(before)
            for change in call("diff", agent="ana", a=a, b=b)["memories"]:
                if change["change"] == "forgotten":
                    assert state.pop(change["id"]) == change["content"]
                else:
                    assert (change["id"] in state) == (change["change"] == "changed")
                    state[change["id"]] = change["content"]
            assert state == after
