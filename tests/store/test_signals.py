from __future__ import annotations

from typing import Any

import pytest

from builders import NOON, Call, ManualClock, caller_of
from nrem.model import Caller
from nrem.runtime.app import App
from nrem.store import signals
from nrem.store.signals import Miss, Signal

DAY = 86_400_000


def remember(call: Call, *contents: str) -> list[str]:
    return [call("remember", agent="ana", content=content)["id"] for content in contents]


def read(app: App, *, since: int | None = None, agent: str = "ana") -> dict[str, Signal]:
    app.store.write(lambda db: None)  # what was queued before is written first
    with app.store.reading() as db:
        return signals.read(db, app.scope(agent).number, since=since)


def misses(app: App, *, since: int | None = None) -> list[Miss]:
    app.store.write(lambda db: None)
    with app.store.reading() as db:
        return signals.misses(db, app.scope("ana").number, since=since)


def rows(app: App, sql: str) -> list[tuple[Any, ...]]:
    app.store.write(lambda db: None)
    with app.store.reading() as db:
        return [tuple(row) for row in db.execute(sql)]


@pytest.mark.rows(50)
@pytest.mark.parametrize(
    ("caller", "body", "expected"),
    [
        (Caller(actor="owner", ingress="cli"), {}, "human"),
        (Caller(actor="owner", ingress="http"), {}, "agent"),
        (Caller(actor="claude", ingress="mcp"), {}, "agent"),
        (Caller(actor="owner", ingress="cli"), {"purpose": "cron"}, "cron"),
        (Caller(actor="claude", ingress="mcp"), {"purpose": "dream"}, "dream"),
        (Caller(actor="claude", ingress="http"), {"purpose": "replay"}, "replay"),
    ],
)
def test_who_asked_is_known_by_the_door_and_a_purpose_only_takes_away(
    app: App, call: Call, caller: Caller, body: dict[str, Any], expected: str
) -> None:
    [id] = remember(call, "walnut")
    caller_of(app, caller)("recall", agent="ana", query="walnut", **body)
    assert rows(app, "select asked_by from recalls") == [(expected,)]
    assert (id in read(app)) == (expected in ("human", "agent"))
    assert call("get_memory", agent="ana", id=id)["access_count"] == 1


@pytest.mark.rows(50)
def test_one_question_shows_a_memory_once_a_day(app: App, call: Call, clock: ManualClock) -> None:
    cake, nut = remember(call, "walnut cake", "walnut")
    for query in ("walnut cake", "cake, walnut?", "The WALNUT cake"):
        clock.advance(seconds=60)
        call("recall", agent="ana", query=query)
    found = read(app)
    assert found[cake] == Signal(memory=cake, exposures=1, weight=1.0, last_at=NOON + 180_000)
    assert found[nut] == Signal(memory=nut, exposures=1, weight=0.25, last_at=NOON + 180_000)
    assert rows(app, "select count(*) from recall_events") == [(6,)]
    call("recall", agent="ana", query="walnut")
    clock.advance(days=1)
    call("recall", agent="ana", query="walnut cake")
    assert read(app)[cake].exposures == 3
    assert read(app, agent="ben") == {}


@pytest.mark.rows(50)
def test_a_day_is_one_of_the_configured_zone(
    app: App, call: Call, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NREM_TIME__ZONE", "Asia/Tokyo")  # noon in UTC is 21:00 there
    app.reload()
    [id] = remember(call, "walnut")
    call("recall", agent="ana", query="walnut")
    clock.advance(seconds=4 * 3600)
    call("recall", agent="ana", query="walnut")
    assert read(app)[id].exposures == 2


def test_only_what_came_after_a_moment_is_new(app: App, call: Call, clock: ManualClock) -> None:
    [id] = remember(call, "walnut")
    found = call("recall", agent="ana", query="walnut")
    call("mark_used", agent="ana", recall_id=found["recall_id"], memory_ids=[id])
    clock.advance(seconds=60)
    call("recall", agent="ana", query="walnut")
    again = read(app, since=NOON)[id]  # shown again on that day: no new exposure, but a later sight
    assert again == Signal(memory=id, last_at=NOON + 60_000)
    assert read(app, since=NOON + 60_000) == {}
    assert read(app)[id].uses == 1


@pytest.mark.rows(50)
def test_a_miss_is_a_question_without_an_answer(app: App, call: Call, clock: ManualClock) -> None:
    remember(call, "walnut cake for the party", "the office is in Lisbon")
    call("recall", agent="ana", query="walnut cake")
    for days in (0, 0, 1):
        clock.advance(days=days)
        call("recall", agent="ana", query="what is the wifi password upstairs?")
    call("recall", agent="ana", query="wifi password upstairs", purpose="cron")
    call("recall", agent="ana", query="zeppelin", mode="keyword")
    assert misses(app) == [
        Miss(query="what is the wifi password upstairs?", count=3, days=2, last_at=NOON + DAY),
        Miss(query="zeppelin", count=1, days=1, last_at=NOON + DAY),
    ]
    assert [miss.count for miss in misses(app, since=NOON)] == [1, 1]


@pytest.mark.rows(9)
def test_pruning_takes_exactly_the_older_recalls_and_leaves_what_they_said(
    app: App, call: Call, clock: ManualClock
) -> None:
    ids = remember(call, "walnut cake", "walnut")
    asked = []
    for day in range(6):
        for query in ("walnut cake", "walnut", "walnut cake"):
            clock.time = NOON + day * DAY
            found = call("recall", agent="ana", query=query)
            asked.append((found["recall_id"], day))
            shown = found["hits"][0]["memory"]["id"]
            call("mark_used", agent="ana", recall_id=found["recall_id"], memory_ids=[shown])
    call("recall", agent="ben", query="walnut")
    call("mark_used", agent="ana", recall_id=asked[0][0], memory_ids=[ids[0]], verdict="wrong")
    before = read(app)
    pruned = call("prune", agent="ana", days=2)
    assert pruned == {"recalls": 9, "hits": 18}
    kept = [id for id, day in asked if day >= 3]
    scope = app.scope("ana").number
    assert rows(app, f"select id from recalls where scope = {scope} order by rowid") == [(id,) for id in kept]
    assert {row[0] for row in rows(app, "select recall_id from recall_events")} == set(kept)
    assert {row[0] for row in rows(app, "select recall_id from recall_uses")} == set(kept)
    after = read(app)
    assert {id: (s.exposures, s.uses, s.wrongs, s.last_at) for id, s in after.items()} == {
        id: (s.exposures, s.uses, s.wrongs, s.last_at) for id, s in before.items()
    }
    assert after[ids[0]].weight == pytest.approx(before[ids[0]].weight)
    assert call("get_memory", agent="ana", id=ids[0])["access_count"] == 18
    assert call("prune", agent="ana", days=2) == {"recalls": 0, "hits": 0}
    assert len(rows(app, "select 1 from recalls")) == 10  # with ben's, who was not meant


@pytest.mark.rows(9)
def test_how_long_recalls_are_kept_is_a_setting(app: App, call: Call, clock: ManualClock) -> None:
    remember(call, "walnut")
    call("recall", agent="ana", query="walnut")
    clock.advance(days=180)
    assert call("prune", agent="ana")["recalls"] == 0
    clock.advance(days=1)
    call("set_agent_config", agent="ana", config={"recall": {"retention_days": "none"}}, message="all")
    assert call("prune", agent="ana")["recalls"] == 0
    call("set_agent_config", agent="ana", config={}, message="as usual")
    assert call("prune", agent="ana")["recalls"] == 1


@pytest.mark.rows(9)
def test_pruning_makes_the_file_smaller(app: App, call: Call, clock: ManualClock) -> None:
    remember(call, *(f"walnut {i}" for i in range(50)))
    for i in range(200):
        call("recall", agent="ana", query=f"walnut {'x' * 2000} {i}", limit=50)
    clock.advance(days=9)
    size = rows(app, "pragma page_count")[0][0]
    assert call("prune", agent="ana", days=1)["recalls"] == 200
    assert rows(app, "pragma page_count")[0][0] < size / 2
    assert rows(app, "pragma freelist_count") == [(0,)]


def test_what_is_counted_is_read_from_one_index(app: App) -> None:
    with app.store.reading() as db:
        asked: list[str] = []
        db.set_trace_callback(asked.append)
        signals.read(db, app.scope("ana").number)
        db.set_trace_callback(None)
        [counting] = [sql for sql in asked if "from recall_events" in sql]
        steps = [row["detail"] for row in db.execute(f"explain query plan {counting}")]
    looked = [step for step in steps if "SUBQUERY" not in step]
    assert len(looked) > 1
    assert all("USING COVERING INDEX idx_recall_events_organic" in step for step in looked)
