"""Recall as of a moment, why, replay and bisect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from builders import NOON, Call, HashEmbedder, ManualClock, caller_of
from nrem.core.reembed import backfill
from nrem.errors import InputError, InvalidField, NotFound, Unavailable
from nrem.models.embeddings import PATIENT, Patience
from nrem.runtime.app import App
from nrem.store.driver import Connection

Ask = Callable[..., list[str]]


class Other(HashEmbedder):
    identity = "test:other-16"


class Away(HashEmbedder):
    """An embedder that is out of reach until told otherwise."""

    away = True

    def embed(self, texts: Sequence[str], patience: Patience = PATIENT) -> list[Sequence[float]]:
        if self.away:
            raise Unavailable("the embedder is away")
        return super().embed(texts)


def contents(answer: dict[str, Any]) -> list[str]:
    return [hit["memory"]["content"] for hit in answer["hits"]]


@pytest.fixture
def ask(call: Call) -> Ask:
    def run(query: str, agent: str = "ana", **given: Any) -> list[str]:
        return contents(call("recall", agent=agent, query=query, **given))

    return run


# As of


@pytest.mark.rows(105)
def test_what_was_edited_and_forgotten_is_there_as_it_was(call: Call, clock: ManualClock, ask: Ask) -> None:
    kept = call("remember", agent="ana", content="Luis drinks tea")["id"]
    gone = call("remember", agent="ana", content="Luis drinks milk")["id"]
    clock.advance(days=1)
    call("edit_memory", agent="ana", id=kept, content="Luis drinks coffee")
    call("forget", agent="ana", id=gone)
    clock.advance(days=1)
    call("remember", agent="ana", content="Luis drinks water")
    assert sorted(ask("what does Luis drink")) == ["Luis drinks coffee", "Luis drinks water"]
    assert sorted(ask("what does Luis drink", as_of="yesterday")) == ["Luis drinks coffee"]
    assert sorted(ask("what does Luis drink", as_of="2d ago")) == ["Luis drinks milk", "Luis drinks tea"]
    assert ask("what does Luis drink", as_of="2020-01-01") == []
    assert ask("what does Luis drink", agent="ben", as_of="now") == []


@pytest.mark.rows(105)
def test_ties_are_broken_as_they_were(call: Call) -> None:
    def episode() -> str:
        made: str = call("remember", agent="ana", content="tea was made", kind="episodic")["id"]
        return made

    ids = [episode() for _ in range(4)]
    call("forget", agent="ana", id=ids.pop(1))
    call("forget", agent="ana", id=ids.pop())  # its row's number is given to the next one
    call("remember", agent="ben", content="bread")
    ids.append(episode())
    then = call("recall", agent="ana", query="tea")
    assert [hit["memory"]["id"] for hit in then["hits"]] == ids
    call("forget", agent="ana", id=ids[0])
    episode()
    now = call("recall", agent="ana", query="tea", as_of=then["recall_id"])
    assert now["hits"] == then["hits"]


def test_an_answer_from_the_past_leaves_no_trace(call: Call, app: App) -> None:
    id = call("remember", agent="ana", content="tea is green")["id"]
    answer = call("recall", agent="ana", query="tea", as_of="now", observe=True)
    assert (answer["recall_id"], contents(answer)) == (None, ["tea is green"])
    assert answer["as_of"] == {"event": 2, "at": "2026-06-01T12:00:00+00:00", "commit": None}
    app.store.settle()
    assert call("get_memory", agent="ana", id=id)["access_count"] == 0
    assert call("why", agent="ana", id=id)["recalled"] == 0


def test_what_expired_since_had_not_expired_then(call: Call, clock: ManualClock, ask: Ask) -> None:
    call("remember", agent="ana", content="the code is 12", expires_at=NOON + 60_000)
    clock.advance(seconds=120)
    assert ask("code") == []
    assert ask("code", as_of="90 seconds ago") == ["the code is 12"]
    assert ask("code", as_of="now") == []


def test_a_commit_is_a_point(call: Call, ask: Ask) -> None:
    call("remember", agent="ana", content="tea is green")
    commit = call("checkpoint", agent="ana")["commit"]
    call("remember", agent="ana", content="tea is black")
    answer = call("recall", agent="ana", query="tea", as_of=commit[:8])
    assert contents(answer) == ["tea is green"]
    assert answer["as_of"]["commit"] == commit


def test_a_wrong_point_is_refused(call: Call) -> None:
    with pytest.raises(InvalidField, match="as_of: lies in the future"):
        call("recall", agent="ana", query="tea", as_of="2030-01-01")


def test_vectors_of_another_embedder_are_said_to_be_gone(home: Path, clock: ManualClock) -> None:
    with App.open(home, create=True, clock=clock, embedder=HashEmbedder()) as app:
        call = caller_of(app)
        call("add_agent", agent="ana")
        call("remember", agent="ana", content="tea is green")
        then = call("recall", agent="ana", query="tea")
    with App.open(home, clock=clock, embedder=Other()) as app:
        call = caller_of(app)
        while call("reembed")["left"]:
            pass
        answer = call("recall", agent="ana", query="tea", as_of=then["recall_id"], threshold=0.1)
        assert contents(answer) == ["tea is green"]
        assert answer["degraded"] == ["vector"]
        assert any("test:hash-16" in note for note in answer["notes"])
        [replayed] = call("replay", agent="ana", of=then["recall_id"])["recalls"]
        assert replayed["outcome"] == "drifted"  # the score has no part of a vector
        assert any("test:hash-16" in cause for cause in replayed["causes"])
        since = call("recall", agent="ana", query="tea", as_of="now")
        assert (since["degraded"], since["notes"]) == ([], [])


@pytest.mark.rows(105)
def test_a_vector_that_came_between_two_recalls_is_seen_by_the_second_only(
    home: Path, clock: ManualClock
) -> None:
    embedder = Away()
    embedder.away = False
    with App.open(home, create=True, clock=clock, embedder=embedder) as app:
        call = caller_of(app)
        call("add_agent", agent="ana")
        call("remember", agent="ana", content="tea is green")
        embedder.away = True
        call("remember", agent="ana", content="coffee is black")
        embedder.away = False
        asked = {"agent": "ana", "query": "black coffee", "explain": True}
        before = call("recall", **asked)
        assert backfill(app.store, embedder) == 1
        after = call("recall", **asked)
        assert before["hits"] != after["hits"]
        call("edit_memory", agent="ana", id=after["hits"][0]["memory"]["id"], tags=["drink"])
        for then in (before, after):
            assert call("recall", as_of=then["recall_id"], **asked)["hits"] == then["hits"]


def test_what_was_erased_is_said_to_be(call: Call, app: App) -> None:
    id = call("remember", agent="ana", content="tea is green")["id"]
    call("remember", agent="ana", content="tea is black")
    then = call("recall", agent="ana", query="tea")
    assert len(call("recall", agent="ana", query="tea", as_of=then["recall_id"])["hits"]) == 2
    call("forget", agent="ana", id=id)

    def erase(db: Connection) -> None:
        db.execute("update events set payload = null, salt = null where subject = ?", (id,))

    app.store.write(erase)
    answer = call("recall", agent="ana", query="tea", as_of=then["recall_id"])
    assert contents(answer) == ["tea is black"]
    assert answer["notes"] == ["erased: 1 of the memories of that time"]
    [replayed] = call("replay", agent="ana", of=then["recall_id"])["recalls"]
    assert (replayed["outcome"], replayed["causes"]) == ("drifted", answer["notes"])
    assert call("why", agent="ana", id=id)["state"] == "erased"


def test_a_replay_says_that_an_erased_memory_may_have_been_in_the_answer(call: Call) -> None:
    id = call("remember", agent="ana", content="tea is green")["id"]
    then = [call("recall", agent="ana", query=query)["recall_id"] for query in ("drinks", "tea is green")]
    call("erase_memory", agent="ana", id=id)
    first, second = (call("replay", agent="ana", of=one)["recalls"][0] for one in then)
    assert (first["outcome"], first["causes"]) == ("equal", ["erased: 1 of the memories of that time"])
    assert second["outcome"] == "impossible"
    assert second["causes"] == ["erased: the question gave away a memory that was erased"]


# Replay


@pytest.mark.rows(113)
def test_a_changed_configuration_is_named_as_the_cause(call: Call) -> None:
    call("remember", agent="ana", content="tea is green", importance=0.9)
    then = call("recall", agent="ana", query="tea")["recall_id"]
    call("set_agent_config", agent="ana", config={"recall": {"profile": "agentos"}}, message="try it")
    told = call("replay", agent="ana", of=then)
    assert (told["equal"], told["drifted"]) == (0, 1)
    assert told["recalls"][0]["causes"] == ["configuration: has changed since that recall"]
    answer = call("recall", agent="ana", query="tea", as_of=then)
    assert answer["notes"] == ["configuration: has changed since that recall"]


@pytest.mark.rows(113)
@pytest.mark.parametrize(
    "changed",
    [
        {"workspace": {"remote": "/srv/git/{agent}.git", "idle_minutes": 9}},
        {"dream": {"mode": "off"}, "recall": {"retention_days": 9}},
    ],
)
def test_what_cannot_change_an_answer_is_no_change_of_configuration(
    call: Call, changed: dict[str, Any]
) -> None:
    call("remember", agent="ana", content="tea is green")
    then = call("recall", agent="ana", query="tea")["recall_id"]
    call("set_agent_config", agent="ana", config=changed, message="elsewhere")
    assert call("recall", agent="ana", query="tea", as_of=then)["notes"] == []


def test_a_recall_with_a_vector_of_the_callers_cannot_be_asked_again(call: Call) -> None:
    call("remember", agent="ana", content="tea is green")
    for given in ({"query": "tea"}, {}):
        then = call("recall", agent="ana", embedding=[1.0] * 16, **given)["recall_id"]
        [told] = call("replay", agent="ana", of=then)["recalls"]
        assert told["outcome"] == "impossible"


def test_a_recall_with_a_redacted_filter_cannot_be_asked_again(call: Call) -> None:
    key = "sk-ant-" + "api03-Zx9Qw3Er7Ty1Ui5Op2As8Df4Gh6Jk0Lz"
    then = call("recall", agent="ana", query="tea", session=key)["recall_id"]
    [told] = call("replay", agent="ana", of=then)["recalls"]
    assert (told["outcome"], told["causes"]) == (
        "impossible",
        ["redacted: a secret in its filters is not kept"],
    )


def test_a_span_and_a_session_are_replayed(call: Call, clock: ManualClock) -> None:
    call("remember", agent="ana", content="tea is green", session="s1")
    first = call("recall", agent="ana", query="tea", session="s1", budget=9, limit=5)["recall_id"]
    clock.advance(days=1)
    second = call("recall", agent="ana", query="tea")["recall_id"]
    call("recall", agent="ben", query="tea")

    def ids(**given: Any) -> list[str]:
        told = call("replay", agent="ana", **given)
        assert told["equal"] == len(told["recalls"])
        return [one["recall_id"] for one in told["recalls"]]

    assert ids(of="s1") == [first]
    assert ids(since="2d ago") == [first, second]
    assert ids(since="1h ago") == [second]
    assert ids(until="1h ago") == [first]
    told = call("replay", agent="ana", since="2d ago", limit=1)
    assert (len(told["recalls"]), told["more"]) == (1, True)
    call("remember", agent="ana", content="milk is white", session="s2")
    assert "span of time" in call("replay", agent="ana", of="s2")["note"]


@pytest.mark.parametrize("given", [{}, {"of": "x", "since": "now"}, {"of": "unknown"}])
def test_what_cannot_be_replayed_is_refused(call: Call, given: dict[str, str]) -> None:
    with pytest.raises(InputError):
        call("replay", agent="ana", **given)


# Why


@pytest.mark.rows(108)
def test_why_tells_a_memorys_whole_life(call: Call, clock: ManualClock) -> None:
    id = call("remember", agent="ana", content="tea is green", session="s1", source="a talk")["id"]
    commit = call("checkpoint", agent="ana")["commit"]
    clock.advance(seconds=1)
    call("recall", agent="ana", query="green tea")
    call("recall", agent="ana", query="green tea")
    call("recall", agent="ana", query="tea")
    call("edit_memory", agent="ana", id=id, content="tea is black", tags=["drink"])
    call("pin_memory", agent="ana", id=id)
    told = call("why", agent="ana", id=id)
    assert told["state"] == "live"
    assert (told["recalled"], told["first_recalled_at"]) == (3, "2026-06-01T12:00:01+00:00")
    assert [(query["query"], query["count"]) for query in told["queries"]] == [("green tea", 2), ("tea", 1)]
    made, edited, pinned = told["events"]
    assert (made["operation"], made["actor"], made["ingress"]) == ("remember", "owner", "test")
    assert (made["content"], made["source"], made["session"]) == ("tea is green", "a talk", "s1")
    assert (made["commit"], edited["commit"]) == (commit, None)
    changes = {change["field"]: (change["before"], change["after"]) for change in edited["changes"]}
    assert changes["content"] == ("tea is green", "tea is black")
    assert changes["tags"] == (None, '["drink"]')
    assert [change["field"] for change in pinned["changes"]] == ["pinned"]
    call("forget", agent="ana", id=id)
    told = call("why", agent="ana", id=id)
    assert (told["state"], told["events"][-1]["operation"]) == ("forgotten", "forget")
    with pytest.raises(NotFound):
        call("why", agent="ben", id=id)
    with pytest.raises(NotFound):
        call("why", agent="ana", id="ana")  # the subject of an event, but of no memory


@pytest.mark.rows(108)
def test_why_tells_of_use_and_of_the_line_in_memory_md(call: Call, clock: ManualClock) -> None:
    old = call("remember", agent="ana", content="Luis lives in Madrid")["id"]
    found = call("recall", agent="ana", query="where does Luis live?")
    call("mark_used", agent="ana", recall_id=found["recall_id"], memory_ids=[old])
    first = call("dream", agent="ana")
    clock.advance(days=3)
    call("remember", agent="ana", content="Luis lives in Valencia")
    second = call("dream", agent="ana")
    told = call("why", agent="ana", id=old)
    assert (told["state"], told["used"], told["wrong"]) == ("live", 1, 0)
    made, promoted, demoted = told["events"]
    assert [e["operation"] for e in (made, promoted, demoted)] == ["remember", "promote", "demote"]
    [change] = first["outcome"]["changes"]
    assert (promoted["sweep"], promoted["commit"]) == (first["sweep"], first["commit"])
    assert (promoted["reason"], promoted["score"]) == (change["reason"], change["score"])
    assert (demoted["sweep"], demoted["commit"]) == (second["sweep"], second["commit"])
    assert "says what is true now" in demoted["reason"]
    assert 0 < demoted["score"] < 1


@pytest.mark.rows(108)
def test_why_knows_all_of_a_thousand(call: Call) -> None:
    many = [{"content": f"note {i} of many", "source": f"page {i}"} for i in range(1000)]
    ids = [made["id"] for made in call("remember_many", agent="ana", memories=many)["memories"]]
    commit = call("checkpoint", agent="ana")["commit"]
    for i, id in enumerate(ids):
        [made] = call("why", agent="ana", id=id)["events"]
        assert (made["source"], made["commit"]) == (f"page {i}", commit)


# Bisect


def test_bisect_finds_what_pushed_a_memory_out(call: Call) -> None:
    id = call("remember", agent="ana", content="green tea in the morning and after lunch with Luis")["id"]
    for i in range(5):
        call("remember", agent="ana", content=f"milk number {i}")
        call("checkpoint", agent="ana")
    pusher = call("remember", agent="ana", content="green tea")["id"]
    call("remember", agent="ana", content="milk again")
    commit = call("checkpoint", agent="ana")["commit"]
    for i in range(5):
        call("remember", agent="ana", content=f"bread number {i}")
        call("checkpoint", agent="ana")
    told = call("bisect", agent="ana", query="green tea", id=id, limit=1)
    assert (told["change"], told["subject"], told["operation"]) == ("stops", pusher, "memory.remember")
    assert told["commit"] == commit
    told = call("bisect", agent="ana", query="green tea", id=pusher, limit=1)
    assert (told["change"], told["subject"], told["commit"]) == ("starts", pusher, commit)
    with pytest.raises(InputError, match="at both ends it is in the answer"):
        call("bisect", agent="ana", query="green tea", id=id, limit=20, since=commit)
    with pytest.raises(NotFound):
        call("bisect", agent="ben", query="green tea", id=id)


def test_bisect_says_when_only_time_has_passed(call: Call, clock: ManualClock) -> None:
    id = call("remember", agent="ana", content="the code is 12", expires_at=NOON + 60_000)["id"]
    clock.advance(seconds=120)
    told = call("bisect", agent="ana", query="code", id=id)
    assert (told["change"], told["event"]) == ("stops", None)
    assert "expire" in told["note"]


def test_bisect_works_without_any_commit_of_it(call: Call) -> None:
    id = call("remember", agent="ana", content="green tea")["id"]
    call("forget", agent="ana", id=id)
    told = call("bisect", agent="ana", query="tea", id=id)
    assert (told["change"], told["operation"], told["commit"]) == ("stops", "memory.forget", None)
