"""Which point of the past a word means."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from pathlib import Path

import pytest

from builders import NOON, Call, ManualClock
from nrem.core.point import Point, resolve
from nrem.errors import InvalidField
from nrem.runtime.app import App
from workspace.workshop import git

DAY = 86_400_000
Resolve = Callable[..., Point]


@pytest.fixture(autouse=True)
def _own_git_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "no-gitconfig"))


@pytest.fixture
def point(app: App, clock: ManualClock) -> Resolve:
    def run(word: str, agent: str = "ana", field: str = "as_of") -> Point:
        app.store.write(lambda db: None)  # what is queued is written first
        with app.store.reading() as db:
            return resolve(db, app.scope(agent).number, word, now=clock.now(), zone=UTC, field=field)

    return run


def test_a_time_is_the_newest_event_until_then(call: Call, clock: ManualClock, point: Resolve) -> None:
    call("remember", agent="ana", content="the first")
    call("remember", agent="ana", content="of the same moment")
    clock.advance(days=2)
    call("remember", agent="ana", content="the second")
    assert point("now") == Point(seq=4, at=NOON + 2 * DAY, word="now")
    assert point("1d ago") == Point(seq=3, at=NOON + DAY, word="1d ago")
    assert point("2d ago").seq == 3  # its event and the moment are one
    assert point("2026-06-01T11:59:59.999Z").seq == 0
    assert point("now", "ben").seq == 1


def test_the_future_is_no_point(point: Resolve) -> None:
    with pytest.raises(InvalidField, match="to: lies in the future") as caught:
        point("2026-06-02", field="to")
    assert caught.value.field == "to"


def test_a_commit_is_the_last_event_in_it(call: Call, app: App, clock: ManualClock, point: Resolve) -> None:
    call("remember", agent="ana", content="the first")
    first = call("checkpoint", agent="ana")["commit"]
    published = point(first)
    call("remember", agent="ana", content="the second")
    clock.advance(seconds=60)
    second = call("checkpoint", agent="ana")["commit"]
    assert published == point(first)
    assert point(first.upper()).seq == published.seq
    assert published.commit == first
    assert point(second[:7]) == Point(seq=published.seq + 1, at=NOON + 60_000, word=second[:7], commit=second)
    with pytest.raises(InvalidField):
        point(second, "ben")
    with pytest.raises(InvalidField):
        point(second[:6])


def test_a_commit_without_events_stands_for_those_before(call: Call, app: App, point: Resolve) -> None:
    call("remember", agent="ana", content="the first")
    made = point(call("checkpoint", agent="ana")["commit"])
    root = app.home / "workspaces" / "ana"
    (root / "notes" / "mine.md").write_text("mine\n")
    git(root, "add", "notes/mine.md")
    git(root, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-m", "mine")
    call("remember", agent="ana", content="the second")
    call("checkpoint", agent="ana")
    log = call("log", agent="ana")["commits"]
    [mine] = [entry["commit"] for entry in log if entry["cause"] == "person"]
    assert point(mine).seq == made.seq
    assert point(log[0]["commit"]).seq == made.seq + 1


def test_an_abbreviation_of_two_commits_is_refused(call: Call, app: App, point: Resolve) -> None:
    call("checkpoint", agent="ana", note="x")
    scope = app.scope("ana").number
    app.store.write(
        lambda db: db.executemany(
            "insert into commits (scope, id, cause, at, subject, added, changed, forgotten, files)"
            " values (?, ?, 'checkpoint', 0, '', 0, 0, 0, 0)",
            [(scope, "1234567" + last * 33) for last in "ab"],
        )
    )
    with pytest.raises(InvalidField, match="several commits"):
        point("1234567")
    assert point("1234567b").commit == "1234567" + "b" * 33


def test_a_recall_is_what_it_had_seen(call: Call, clock: ManualClock, point: Resolve) -> None:
    call("remember", agent="ana", content="tea is green")
    asked = call("recall", agent="ana", query="tea", asked_at="2026-05-01T00:00:00Z")["recall_id"]
    call("remember", agent="ana", content="tea is black")
    assert point(asked) == Point(seq=2, at=1_777_593_600_000, word=asked, recall=asked)
    with pytest.raises(InvalidField):
        point(asked, "ben")


def test_a_session_is_the_last_memory_made_in_it(call: Call, clock: ManualClock, point: Resolve) -> None:
    made = call("remember", agent="ana", content="said", session="chat-7", kind="message")
    clock.advance(seconds=5)
    call("remember", agent="ana", content="answered", session="chat-7", kind="message")
    clock.advance(days=30)
    call("edit_memory", agent="ana", id=made["id"], content="said otherwise")
    call("forget", agent="ana", id=made["id"])
    assert point("chat-7") == Point(seq=3, at=NOON + 5_000, word="chat-7")
    with pytest.raises(InvalidField):
        point("chat-7", "ben")


@pytest.mark.parametrize("word", ["", "someday", "deadbeef", "chat", "'; drop table events", "0" * 40])
def test_what_means_nothing_is_refused_with_the_forms(point: Resolve, word: str) -> None:
    with pytest.raises(InvalidField, match="as_of: is no time, and no commit, recall or session") as caught:
        point(word)
    assert "yesterday" in str(caught.value.hint)
