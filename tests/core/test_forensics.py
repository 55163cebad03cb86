"""Of any of a thousand memories it can be told where it comes from, what became of it, and why."""

from __future__ import annotations

import random

import pytest

from builders import Call, ManualClock
from nrem.runtime.app import App


@pytest.mark.rows(108)
def test_why_tells_everything_of_every_memory(app: App, call: Call, clock: ManualClock) -> None:
    """T24."""
    chance = random.Random(3)
    texts = [
        f"Luis keeps key {i} of house {i % 37} in Lisbon since 2026-03-{i % 28 + 1:02d}" for i in range(1000)
    ]
    drafts = [
        {"content": text, "source": f"note {i}", "session": f"s{i % 9}"} for i, text in enumerate(texts)
    ]
    ids = [stored["id"] for stored in call("remember_many", agent="ana", memories=drafts)["memories"]]
    clock.advance(seconds=60)
    edited, forgotten = set(chance.sample(ids, 60)), set(chance.sample(ids, 60))
    for id in sorted(edited):
        call("edit_memory", agent="ana", id=id, content=f"{id} was told anew")
    for id in sorted(forgotten):
        call("forget", agent="ana", id=id)
    answers = [call("recall", agent="ana", query=f"key {i} of Luis") for i in range(40)]
    app.store.settle()
    swept = call("dream", agent="ana")
    promoted = {
        change["id"]: change for change in swept["outcome"]["changes"] if change["change"] == "promote"
    }
    assert promoted
    recalled = [hit["memory"]["id"] for answer in answers for hit in answer["hits"]]
    commits = {commit["commit"] for commit in call("log", agent="ana")["commits"]}
    for i, id in enumerate(ids):
        told = call("why", agent="ana", id=id)
        first = told["events"][0]
        assert (first["operation"], first["content"], first["source"]) == ("remember", texts[i], f"note {i}")
        assert (first["session"], first["actor"]) == (f"s{i % 9}", "owner")
        assert all(event["commit"] in commits for event in told["events"])
        did = [event["operation"] for event in told["events"][1:]]
        assert did == ["edit"] * (id in edited) + ["forget"] * (id in forgotten) + ["promote"] * (
            id in promoted
        )
        if id in edited:
            assert [change["field"] for change in told["events"][1]["changes"]] == ["content"]
        if id in promoted:
            last = told["events"][-1]
            assert (last["sweep"], last["reason"]) == (swept["sweep"], promoted[id]["reason"])
            assert last["score"] == pytest.approx(promoted[id]["score"])
        assert told["state"] == ("forgotten" if id in forgotten else "live")
        assert told["recalled"] == recalled.count(id)
