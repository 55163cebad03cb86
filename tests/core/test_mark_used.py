from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from builders import Call
from nrem.errors import InvalidField, NotFound
from nrem.runtime.app import App


def uses(app: App) -> list[tuple[Any, ...]]:
    with app.store.reading() as db:
        rows = db.execute("select recall_id, memory_id, verdict, actor from recall_uses order by rowid")
        return [tuple(row) for row in rows]


@pytest.fixture
def found(call: Call) -> dict[str, Any]:
    """An answer with two memories, whose record is still queued."""
    for content in ("walnut cake", "walnut", "a boat"):
        call("remember", agent="ana", content=content)
    return call("recall", agent="ana", query="walnut cake", limit=2)


def ids(found: dict[str, Any]) -> list[str]:
    return [hit["memory"]["id"] for hit in found["hits"]]


@pytest.mark.rows(50)
def test_a_verdict_is_kept_once_for_each_memory(app: App, call: Call, found: dict[str, Any]) -> None:
    recall, (first, second) = found["recall_id"], ids(found)
    marked = call("mark_used", agent="ana", recall_id=recall, memory_ids=[first, first])
    assert marked == {"recall_id": recall, "verdict": "used", "marked": 1}
    again = call("mark_used", agent="ana", recall_id=recall, memory_ids=[first, second])
    assert again["marked"] == 1
    wrong = call("mark_used", agent="ana", recall_id=recall, memory_ids=[first], verdict="wrong")
    assert wrong["marked"] == 1
    assert uses(app) == [
        (recall, first, "used", "owner"),
        (recall, second, "used", "owner"),
        (recall, first, "wrong", "owner"),
    ]


@pytest.mark.rows(108)
def test_why_tells_how_often_a_memory_was_of_use(call: Call, found: dict[str, Any]) -> None:
    first, second = ids(found)[:2]
    call("mark_used", agent="ana", recall_id=found["recall_id"], memory_ids=[first, second])
    call("mark_used", agent="ana", recall_id=found["recall_id"], memory_ids=[first], verdict="wrong")
    told = [call("why", agent="ana", id=id) for id in (first, second)]
    assert [(one["used"], one["wrong"]) for one in told] == [(1, 1), (1, 0)]


def test_what_was_not_in_the_answer_is_refused_by_name(app: App, call: Call, found: dict[str, Any]) -> None:
    boat = call("recall", agent="ana", query="a boat", limit=1)["hits"][0]["memory"]["id"]
    with pytest.raises(InvalidField, match=f"were not in that answer: {boat}"):
        call("mark_used", agent="ana", recall_id=found["recall_id"], memory_ids=[ids(found)[0], boat])
    assert uses(app) == []


def test_a_recall_that_never_was_is_not_found(call: Call) -> None:
    with pytest.raises(NotFound) as caught:
        call("mark_used", agent="ana", recall_id="nope", memory_ids=["x"])
    assert caught.value.code == "recall_not_found"


def test_each_verdict_is_written_behind_the_recall_that_it_is_about(app: App, call: Call) -> None:
    call("remember", agent="ana", content="walnut")

    def ask(_: int) -> int:
        answer = call("recall", agent="ana", query="walnut")
        marked = call("mark_used", agent="ana", recall_id=answer["recall_id"], memory_ids=ids(answer))
        return int(marked["marked"])

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(160))) == 160
    assert len(uses(app)) == 160
