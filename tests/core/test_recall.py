from __future__ import annotations

import json
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import NOON, Call, HashEmbedder, ManualClock, caller_of
from nrem.errors import InputError, InvalidField, NotFound, Unavailable
from nrem.model import Caller
from nrem.policy import ranking, terms
from nrem.runtime.app import App
from nrem.store import matrices, matrix

Texts = Callable[..., list[str]]


@pytest.fixture
def texts(call: Call) -> Texts:
    """Recall for ana, and return the texts of the hits."""

    def run(query: str = "", **body: Any) -> list[str]:
        found = call("recall", agent="ana", query=query, **body)
        return [hit["memory"]["content"] for hit in found["hits"]]

    return run


def fill(call: Call, *contents: str, agent: str = "ana", **body: Any) -> list[str]:
    return [call("remember", agent=agent, content=content, **body)["id"] for content in contents]


def rows(app: App, query: str, *values: object) -> list[tuple[Any, ...]]:
    app.store.write(lambda db: None)  # what was queued before is written first
    with app.store.reading() as db:
        return [tuple(row) for row in db.execute(query, values)]


# Finding


@pytest.mark.rows(38, 40)
def test_the_best_answer_comes_first(call: Call, texts: Texts) -> None:
    fill(
        call,
        "The staging database listens on port 5433",
        "Luis likes short replies",
        "Deploys are on Fridays",
    )
    assert texts("which port has the staging database?")[0].startswith("The staging")
    assert texts("how short should replies to Luis be?")[0].startswith("Luis")


@pytest.mark.rows(38)
@pytest.mark.parametrize(
    ("content", "query"),
    [
        ("Ana's laptop is a ThinkPad", "laptop of Ana"),
        ("the state-of-the-art model", "state of the art"),
        ("call parseHttpHeader first", "http header parse"),
        ("see src/nrem/store/driver.py", "driver.py"),
        ("max_memories is 1000", "max memories"),
        ("the code is 4711-A", "4711"),
        ("東京タワーに行きました", "東京"),
        ("机器学习系统", "学习"),
        ("ภาษาไทยไม่มีช่องว่าง", "ไทย"),
        ("Мы встретились в Москве", "москве"),
        ("Das Straßenfest war schön", "strassenfest"),
        ("El niño comió jamón", "nino jamon"),
        ("한국어 공부", "한국어"),
        ("हिन्दी में लिखना", "हिन्दी"),
    ],
)
def test_words_of_every_sort_are_found(call: Call, texts: Texts, content: str, query: str) -> None:
    fill(call, content, "an unrelated remark", "something else entirely")
    assert texts(query, mode="keyword") == [content]


@pytest.mark.rows(17)
def test_a_memory_is_found_by_a_concept_and_by_a_tag(call: Call, texts: Texts) -> None:
    fill(call, "we shipped it", tags=["release-42"])
    assert texts("release-42", mode="keyword") == ["we shipped it"]


@pytest.mark.rows(37)
def test_a_memory_is_found_by_its_context_after_one_that_says_it(call: Call, texts: Texts) -> None:
    fill(call, "yes, on Tuesday", context="Luis asked whether the dentist has time")
    fill(call, "the dentist is closed")
    assert texts("dentist", mode="keyword") == ["the dentist is closed", "yes, on Tuesday"]


def test_a_turn_is_found_by_the_turns_beside_it(call: Call, texts: Texts) -> None:
    for i, content in enumerate(["Where did you go?", "To the lighthouse", "And with whom?", "With Eva"]):
        fill(call, content, kind="message", session="s", created_at=NOON + i)
    fill(call, "With Otto", kind="message", session="another", created_at=NOON)
    found = texts("lighthouse", mode="keyword", kinds=["message"])
    assert found[0] == "To the lighthouse"
    assert sorted(found[1:]) == ["And with whom?", "Where did you go?", "With Eva"]


def test_so_is_a_turn_without_a_session_but_no_other_memory(call: Call, texts: Texts) -> None:
    for kind in ("message", "episodic"):
        for content in (f"{kind}: Where did you go?", f"{kind}: To the lighthouse"):
            fill(call, content, kind=kind)
    found = texts("lighthouse", mode="keyword", kinds=["message", "episodic"])
    assert sorted(found[:2]) == ["episodic: To the lighthouse", "message: To the lighthouse"]
    assert found[2:] == ["message: Where did you go?"]


@pytest.mark.rows(39)
def test_vector_mode_ranks_by_meaning_alone(call: Call, texts: Texts) -> None:
    fill(call, "alpha beta gamma", "alpha beta", "delta")
    assert texts("alpha beta", mode="vector")[0] == "alpha beta"
    assert len(texts("alpha", mode="vector")) == 3


def test_what_the_named_person_said_comes_before_what_others_said(call: Call, texts: Texts) -> None:
    for user in ("Eva", "Luis"):
        fill(call, "I moved to Oslo", kind="message", user=user, session=user)
    asked = {"kinds": ["message"], "explain": True}
    [first, second] = call("recall", agent="ana", query="Where did Luis move?", **asked)["hits"]
    assert (first["memory"]["user"], second["memory"]["user"]) == ("Luis", "Eva")


def test_a_date_in_the_question_prefers_what_is_from_then(call: Call, texts: Texts) -> None:
    fill(call, "the garden party", kind="episodic", created_at="2026-03-10T12:00:00Z")
    fill(call, "the garden party", kind="episodic", created_at="2026-05-20T12:00:00Z")
    days = {"May 2026": "2026-05", "March 2026": "2026-03"}
    for word, month in days.items():
        found = call("recall", agent="ana", query=f"the garden party in {word}")
        assert found["hits"][0]["memory"]["created_at"].startswith(month)


def test_yesterday_is_the_day_before_the_question(call: Call) -> None:
    for day in ("2026-05-30", "2026-05-20"):
        fill(call, "lunch with Eva", kind="episodic", created_at=f"{day}T12:00:00Z")
    for asked_at, day in (("2026-05-31T09:00:00Z", "2026-05-30"), ("2026-05-21T09:00:00Z", "2026-05-20")):
        found = call("recall", agent="ana", query="with whom was lunch yesterday?", asked_at=asked_at)
        assert found["hits"][0]["memory"]["created_at"].startswith(day)


# Filters, limits


@pytest.mark.rows(46, 47)
@pytest.mark.parametrize(
    "condition",
    [
        {"kinds": ["fact"]},
        {"memory_types": ["fact"]},
        {"category": "Rare One"},
        {"tags_any": ["rare", "other"]},
        {"tags_all": ["rare", "kept"]},
        {"room": "r"},
        {"user": "u"},
        {"session": "s"},
        {"metadata": {"a": {"b": 1}}},
        {"after": "2026-06-01T13:00:00Z"},
        {"trust": "untrusted"},
        {"pinned": False, "category": "rare_one"},
    ],
    ids=str,
)
def test_filters_hold_before_the_cut(
    call: Call, texts: Texts, clock: ManualClock, condition: dict[str, Any]
) -> None:
    for i in range(30):
        fill(call, f"walnut cake walnut {i}", pinned=True)
    clock.advance(seconds=7200)
    fill(
        call, "walnut, rarely", kind="fact", category="rare one", tags=["rare", "kept"], room="r", user="u",
        session="s", metadata={"a": {"b": 1, "c": 2}}, trust="untrusted",
    )  # fmt: skip
    assert texts("walnut cake", limit=1, **condition) == ["walnut, rarely"]


@pytest.mark.rows(46)
def test_turns_and_documents_are_found_only_when_asked_for(call: Call, texts: Texts) -> None:
    fill(call, "walnut one", kind="message")
    fill(call, "walnut two", kind="document")
    fill(call, "walnut three", kind="chunk")
    assert texts("walnut") == ["walnut three"]
    assert sorted(texts("walnut", kinds=["message", "document"])) == ["walnut one", "walnut two"]


def test_what_has_expired_is_found_only_when_asked_for(call: Call, texts: Texts, clock: ManualClock) -> None:
    fill(call, "the code is walnut", expires_at="2026-06-01T12:00:10Z")
    assert texts("walnut") == ["the code is walnut"]
    clock.advance(seconds=10)
    assert texts("walnut") == []
    assert texts("walnut", expired=True) == ["the code is walnut"]
    assert texts("walnut", asked_at="2026-06-01T12:00:09Z") == ["the code is walnut"]


def test_five_hits_unless_told_otherwise(call: Call, texts: Texts) -> None:
    fill(call, *[f"walnut {i}" for i in range(30)])
    assert len(texts("walnut")) == 5
    assert len(texts("walnut", top_k=12)) == 12


def test_a_budget_holds_and_a_long_hit_gives_way_to_a_shorter_one(call: Call, texts: Texts) -> None:
    fill(call, "walnut walnut cake " + "x " * 200, "walnut cake", "walnut")
    assert sorted(texts("walnut cake", budget=10)) == ["walnut", "walnut cake"]
    assert len(texts("walnut cake", budget=1000)) == 3
    assert len(texts("walnut cake", budget=1000, limit=1)) == 1


@pytest.mark.rows(45)
def test_a_threshold_is_a_cosine_that_hits_must_reach(call: Call, texts: Texts) -> None:
    fill(call, "alpha beta", "alpha gamma delta", "epsilon")
    found = call("recall", agent="ana", query="alpha beta", explain=True)["hits"]
    cosines = {hit["memory"]["content"]: hit["explain"]["cosine"] for hit in found}
    assert cosines["alpha beta"] == pytest.approx(1, abs=1e-6)
    assert texts("alpha beta", threshold=0.99) == ["alpha beta"]
    assert len(texts("alpha beta", threshold=-1.0)) == 3


@pytest.mark.rows(45)
def test_a_hit_without_a_vector_fails_every_threshold(app: App, call: Call, texts: Texts) -> None:
    fill(call, "alpha", "beta")
    app.store.write(lambda db: db.execute("delete from vec_memories where memory = 1"))
    app.store.write(lambda db: db.execute("update scopes set vector_generation = vector_generation + 1"))
    assert texts("alpha") == ["alpha", "beta"]
    assert texts("alpha", threshold=-1.0) == ["beta"]


@pytest.mark.rows(49)
@pytest.mark.parametrize("request_", [{"mode": "vector"}, {"mode": "hybrid"}, {"embedding": [1.0] * 16}])
def test_where_no_memory_has_a_vector_words_serve_and_it_is_said(
    app: App, call: Call, request_: dict[str, Any]
) -> None:
    fill(call, "alpha")
    call("remember", agent="ben", content="another agent's alpha")
    without = "delete from vec_memories where scope = (select scope from scopes where name = 'ana')"
    app.store.write(lambda db: db.execute(without))
    app.store.write(lambda db: db.execute("update scopes set vector_generation = vector_generation + 1"))
    found = call("recall", agent="ana", query="alpha", threshold=0.5, **request_)
    assert [hit["memory"]["content"] for hit in found["hits"]] == ["alpha"]
    assert (found["mode"], found["degraded"]) == ("keyword", ["vector"])
    assert found["notes"] == [
        "vector search: no memory has a vector yet",
        "threshold: ignored, because vectors could not be used",
    ]


@pytest.mark.rows(43)
def test_ties_are_broken_by_importance_then_recency(call: Call, texts: Texts, clock: ManualClock) -> None:
    for importance in (0.2, 0.9, 0.2):
        clock.advance(seconds=1)
        call("remember", agent="ana", content="walnut", kind="episodic", importance=importance)
    found = call("recall", agent="ana", query="walnut", limit=2)["hits"]
    assert [hit["memory"]["importance"] for hit in found] == [0.9, 0.2]
    assert found[1]["memory"]["created_at"] == "2026-06-01T12:00:03+00:00"


# What it says about itself


@pytest.mark.rows(48)
@pytest.mark.parametrize("mode", ["keyword", "vector", "hybrid"])
@pytest.mark.parametrize("profile", ["default", "agentos"])
def test_the_parts_of_a_score_add_up(call: Call, mode: str, profile: str) -> None:
    fill(call, "walnut cake", "walnut tree", "cake of May", user="Luis")
    asked = {"query": "Luis: walnut cake in May", "mode": mode, "profile": profile, "explain": True}
    found = call("recall", agent="ana", **asked)["hits"]
    assert found
    for hit in found:
        assert sum(hit["explain"]["parts"].values()) == pytest.approx(hit["explain"]["score"], abs=1e-12)
    scores = [hit["explain"]["score"] for hit in found]
    assert scores == sorted(scores, reverse=True)


def test_scores_are_given_only_when_asked_for(call: Call) -> None:
    fill(call, "walnut")
    assert call("recall", agent="ana", query="walnut")["hits"][0]["explain"] is None


def test_the_agents_own_profile_holds(call: Call) -> None:
    fill(call, "walnut")
    call("set_agent_config", agent="ana", config={"recall": {"profile": "agentos"}}, message="as before")
    [hit] = call("recall", agent="ana", query="walnut", explain=True)["hits"]
    assert set(hit["explain"]["parts"]) >= {"recency", "importance", "confidence"}


# The record


@pytest.mark.rows(50, 51)
def test_every_hit_leaves_one_line_and_counts_as_use(app: App, call: Call, clock: ManualClock) -> None:
    ids = fill(call, "walnut cake", "walnut")
    clock.advance(seconds=5)
    found = call("recall", agent="ana", query="walnut cake")
    events = rows(app, "select recall_id, memory_id, rank, coverage, ts_ms from recall_events order by rank")
    assert events == [
        (found["recall_id"], ids[0], 1, 1.0, clock.time),
        (found["recall_id"], ids[1], 2, 0.5, clock.time),
    ]
    call("recall", agent="ana", query="walnut cake", limit=1)
    app.store.write(lambda db: None)
    shown = call("get_memory", agent="ana", id=ids[0])
    assert (shown["access_count"], shown["last_accessed_at"]) == (2, "2026-06-01T12:00:05+00:00")
    assert shown["memory"]["version"] == 1
    assert call("get_memory", agent="ana", id=ids[1])["access_count"] == 1


@pytest.mark.rows(50)
def test_the_record_holds_what_decided_the_answer(app: App, call: Call, clock: ManualClock) -> None:
    fill(call, "walnut")
    found = call("recall", agent="ana", query="walnut?", limit=3, category="General", asked_at=NOON - 1000)
    [row] = rows(
        app,
        "select id, at, now, actor, ingress, query, request, seq, length(config_hash), ranker, embedder,"
        " degraded from recalls",
    )
    assert row[:6] == (found["recall_id"], clock.time, NOON - 1000, "owner", "test", "walnut?")
    assert json.loads(row[6]) == {"limit": 3, "category": "General", "asked_at": NOON - 1000}
    assert row[7:] == (2, 16, f"{ranking.VERSION}.{terms.VERSION}", HashEmbedder.identity, "")


@pytest.mark.rows(51)
def test_use_counts_are_exact_after_recalls_side_by_side(app: App, call: Call) -> None:
    [id] = fill(call, "walnut")
    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            list(pool.map(lambda _: call("recall", agent="ana", query="walnut"), range(8)))
    app.store.write(lambda db: None)
    assert call("get_memory", agent="ana", id=id)["access_count"] == 160
    assert rows(app, "select count(*) from recall_events") == [(160,)]


@pytest.mark.rows(3, 7)
def test_recalls_beside_writes_are_never_half_of_something(call: Call) -> None:
    def write(i: int) -> None:
        id = call("remember", agent="ana", content=f"walnut {i}", kind="episodic", session="s")["id"]
        call("edit_memory", agent="ana", id=id, content=f"walnut cake {i}")
        if i % 3 == 0:
            call("forget", agent="ana", id=id)

    def ask(i: int) -> None:
        for hit in call("recall", agent="ana", query="walnut", limit=50)["hits"]:
            assert hit["memory"]["content"].startswith("walnut")

    with ThreadPoolExecutor(8) as pool:
        done = [pool.submit(run, i) for i in range(60) for run in (write, ask)]
        for one in done:
            one.result()
    assert len(call("recall", agent="ana", query="walnut cake", limit=100)["hits"]) == 40


def test_who_asked_comes_from_the_caller(app: App, call: Call) -> None:
    fill(call, "walnut")
    caller_of(app, Caller(actor="claude", ingress="mcp"))("recall", agent="ana", query="walnut")
    assert rows(app, "select actor, ingress from recalls") == [("claude", "mcp")]


@pytest.mark.rows(51)
def test_an_unobserved_recall_leaves_no_trace(app: App, call: Call) -> None:
    [id] = fill(call, "walnut")
    before = rows(app, "select * from events")
    assert call("recall", agent="ana", query="walnut", observe=False)["recall_id"] is None
    assert rows(app, "select count(*) from recalls") == [(0,)]
    assert rows(app, "select count(*) from recall_events") == [(0,)]
    assert call("get_memory", agent="ana", id=id)["access_count"] == 0
    assert rows(app, "select * from events") == before


def test_a_recall_without_a_hit_is_recorded_too(app: App, call: Call) -> None:
    call("recall", agent="ana", query="walnut")
    assert rows(app, "select query from recalls") == [("walnut",)]


def test_a_secret_in_a_question_is_not_recorded(app: App, home: Path, call: Call) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    call("recall", agent="ana", query=f"what is {secret} for?", category=secret)
    app.close()
    assert secret.encode() not in b"".join(path.read_bytes() for path in home.iterdir() if path.is_file())


def test_half_of_a_secret_at_the_end_of_a_long_question_is_not_recorded(
    app: App, home: Path, call: Call
) -> None:
    secret, other = "ghp_" + "a1B2c3D4e5" * 4, "AKIA" + "Q2W3E4R5T6Y7U2I3"
    call("recall", agent="ana", query="x" * 3980 + " " + secret, category=other)
    app.close()
    stored = b"".join(path.read_bytes() for path in home.iterdir() if path.is_file())
    assert secret[:15].encode() not in stored
    assert other.lower().encode() not in stored.lower()


def test_a_secret_in_a_question_does_not_reach_the_embedder(call: Call, embedder: HashEmbedder) -> None:
    fill(call, "walnut")
    secret = "ghp_" + "a1B2c3D4e5" * 4
    call("recall", agent="ana", query=f"walnut {secret}")
    assert secret not in str(embedder.calls)


def test_a_record_for_an_agent_that_was_removed_meanwhile_is_dropped(app: App, call: Call) -> None:
    fill(call, "walnut")
    call("recall", agent="ana", query="walnut")
    call("remove_agent", agent="ana", erase=True)
    assert rows(app, "select count(*) from recalls") == [(0,)]


# Alone and in company


@pytest.mark.rows(3)
def test_other_agents_rows_change_no_answer_and_no_score(app: App, call: Call) -> None:
    chance = random.Random(7)
    words = [f"word{i}" for i in range(60)]

    def some(count: int) -> list[dict[str, Any]]:
        return [
            {"content": " ".join(chance.choices(words, k=8)), "kind": "message", "session": f"s{i // 9}"}
            for i in range(count)
        ]

    call("remember_many", agent="ana", memories=some(300))
    queries = [" ".join(chance.choices(words, k=4)) for _ in range(30)]

    def answers() -> list[Any]:
        return [
            call("recall", agent="ana", query=query, kinds=["message"], explain=True, observe=False)["hits"]
            for query in queries
        ]

    before = answers()
    for _ in range(4):
        call("remember_many", agent="ben", memories=some(1000))
    assert answers() == before


@pytest.mark.rows(3)
def test_a_thousand_nearer_foreign_vectors_hide_nothing(call: Call, texts: Texts) -> None:
    drafts = [{"content": f"walnut cake recipe {i}", "kind": "episodic"} for i in range(1000)]
    call("remember_many", agent="ben", memories=drafts)
    fill(call, "a cake", "bread")
    assert texts("walnut cake recipe", mode="vector") == ["a cake", "bread"]


def test_an_answer_is_the_same_whether_rows_came_one_by_one_or_were_there(
    home: Path, app: App, call: Call, clock: ManualClock, embedder: HashEmbedder
) -> None:
    chance = random.Random(3)
    words = [f"word{i}" for i in range(40)]
    ids = []
    for i in range(150):
        body = {"kind": "message", "session": f"s{i % 5}", "user": chance.choice(["Luis", "Eva"])}
        ids += fill(call, " ".join(chance.choices(words, k=6)), **body)
        call("recall", agent="ana", query=chance.choice(words), kinds=["message"], observe=False)
        if i % 7 == 0:
            call("forget", agent="ana", id=ids.pop(chance.randrange(len(ids))))
        if i % 11 == 5:
            call("edit_memory", agent="ana", id=chance.choice(ids), content=chance.choice(words))
    asked = [{"query": f"Luis {word}", "kinds": ["message"], "explain": True} for word in words]
    followed = [call("recall", agent="ana", observe=False, **body)["hits"] for body in asked]
    app.close()
    with App.open(home, clock=clock, embedder=embedder) as again:
        run = caller_of(again)
        assert [run("recall", agent="ana", observe=False, **body)["hits"] for body in asked] == followed


def test_a_user_who_is_gone_is_not_named_any_more(
    home: Path, app: App, call: Call, clock: ManualClock, embedder: HashEmbedder
) -> None:
    for user in ("Luis", "Carol"):
        fill(call, f"walnut of {user}", kind="message", user=user)
    asked = {"query": "what of Carol and Luis?", "kinds": ["message"], "explain": True, "observe": False}
    call("recall", agent="ana", **asked)
    call("clear_memories", agent="ana", user="Carol")
    warm = call("recall", agent="ana", **asked)["hits"]
    assert warm[0]["explain"]["parts"]["name"] > 0
    app.close()
    with App.open(home, clock=clock, embedder=embedder) as again:
        assert caller_of(again)("recall", agent="ana", **asked)["hits"] == warm


def test_one_old_memory_does_not_hide_the_years_of_the_others(call: Call) -> None:
    fill(call, "dinner with Eva", kind="episodic", created_at="2025-05-20T12:00:00Z")
    fill(call, "an old letter", kind="episodic", created_at=0)
    [hit, *_] = call("recall", agent="ana", query="dinner on May 20", explain=True)["hits"]
    assert hit["explain"]["parts"]["date"] > 0


def test_a_removed_agent_is_not_found_also_by_who_knew_its_number(app: App, call: Call) -> None:
    fill(call, "walnut")
    scope = app.scope("ana")
    call("remove_agent", agent="ana", erase=True)
    app._scopes["ana"] = scope
    for operation in ("recall", "show_agent"):
        with pytest.raises(NotFound):
            call(operation, agent="ana", **({"query": "walnut"} if operation == "recall" else {}))


def test_a_matrix_that_could_not_be_loaded_is_not_trusted(
    app: App, call: Call, texts: Texts, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(call, *[f"walnut {i}" for i in range(20)])
    assert len(texts("walnut", limit=100)) == 20
    whole = matrix.Matrix._put
    monkeypatch.setattr(matrix, "RELOAD_OVER", 0)
    monkeypatch.setattr(matrix.Matrix, "_put", lambda *_: 1 / 0)
    fill(call, "walnut 20")
    with pytest.raises(ZeroDivisionError):
        texts("walnut")
    monkeypatch.setattr(matrix.Matrix, "_put", whole)
    assert len(texts("walnut", limit=100)) == 21


def test_an_answer_is_the_same_when_vectors_stay_on_disk(
    call: Call, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(call, *[f"alpha word{i} word{i % 3}" for i in range(20)])
    hot = call("recall", agent="ana", query="word1 word2", observe=False, limit=20)["hits"]
    app.store.matrices = matrices.Matrices()
    monkeypatch.setattr(matrix, "MOST_VECTOR_BYTES", 0)
    assert call("recall", agent="ana", query="word1 word2", observe=False, limit=20)["hits"] == hot


# Bad input, and what is missing


@pytest.mark.rows(102)
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": " \n"}, "query"),
        ({"query": "x", "mode": "fuzzy"}, "mode"),
        ({"query": "x", "kinds": ["nope"]}, "kinds[0]"),
        ({"query": "x", "limit": 0}, "limit"),
        ({"query": "x", "limit": 1001}, "limit"),
        ({"query": "x", "limit": "5"}, "limit"),
        ({"query": "x", "threshold": 1.5}, "threshold"),
        ({"query": "x", "threshold": float("nan")}, "threshold"),
        ({"query": "x", "threshold": 0.5, "mode": "keyword"}, "threshold"),
        ({"query": "x", "profile": "magic"}, "profile"),
        ({"query": "x", "budget": 0}, "budget"),
        ({"embedding": []}, "embedding"),
        ({"embedding": [0.0, 0.0]}, "embedding"),
        ({"embedding": [float("inf")]}, "embedding[0]"),
        ({"embedding": [1.0], "mode": "keyword"}, "embedding"),
        ({"query": "\ud800"}, "query"),
    ],
    ids=str,
)
def test_a_wrong_question_names_its_field(call: Call, body: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidField) as caught:
        call("recall", agent="ana", **body)
    assert caught.value.field == field


def test_unknown_modes_and_kinds_are_told_the_valid_ones(call: Call) -> None:
    with pytest.raises(InvalidField, match="must be keyword, vector or hybrid"):
        call("recall", agent="ana", query="x", mode="fuzzy")
    with pytest.raises(InvalidField, match="semantic") as caught:
        call("recall", agent="ana", query="x", kinds=["nope"])
    assert "episodic" in str(caught.value) + str(caught.value.hint)


def test_a_huge_question_is_cut_with_a_note(call: Call, texts: Texts) -> None:
    fill(call, "walnut")
    found = call("recall", agent="ana", query="walnut " + " ".join(f"w{i}" for i in range(5000)))
    assert [hit["memory"]["content"] for hit in found["hits"]] == ["walnut"]
    assert any("4000 characters" in note for note in found["notes"])
    assert any("64 terms" in note for note in found["notes"])


def test_a_question_to_an_empty_memory_finds_nothing(call: Call, texts: Texts) -> None:
    assert texts("anything") == []
    assert texts("anything", mode="vector") == []


def test_a_question_of_stop_words_alone_is_looked_up(call: Call, texts: Texts) -> None:
    fill(call, "to be or not to be", "unrelated")
    assert texts("to be or not", mode="keyword") == ["to be or not to be"]


class Down(HashEmbedder):
    def embed(self, texts: Any, patience: Any = None) -> Any:
        raise Unavailable("no answer", hint="wait")


@pytest.mark.rows(49)
@pytest.mark.parametrize("mode", ["hybrid", "vector"])
def test_without_its_embedder_recall_goes_by_words_and_says_so(
    home: Path, app: App, call: Call, mode: str
) -> None:
    fill(call, "walnut cake", "bread")
    app.close()
    with App.open(home, embedder=Down()) as again:
        found = caller_of(again)("recall", agent="ana", query="walnut", mode=mode, threshold=0.9)
    assert [hit["memory"]["content"] for hit in found["hits"]] == ["walnut cake"]
    assert (found["degraded"], found["mode"]) == (["vector"], "keyword")
    assert any("threshold" in note for note in found["notes"])


def test_with_vectors_off_hybrid_goes_by_words_and_vector_is_an_error(
    home: Path, call: Call, app: App
) -> None:
    fill(call, "walnut cake", "bread")
    app.close()
    (home / "nrem.toml").write_text("[vector]\nenabled = false\n")
    with App.open(home) as again:
        run = caller_of(again)
        found = run("recall", agent="ana", query="walnut")
        assert (len(found["hits"]), found["mode"], found["degraded"]) == (1, "keyword", [])
        with pytest.raises(InputError, match="vectors are off"):
            run("recall", agent="ana", query="walnut", mode="vector")


@pytest.mark.rows(102)
def test_any_text_can_be_asked(call: Call) -> None:
    fill(call, "walnut cake", "the year 2023", user="Luis")

    @settings(max_examples=20_000, deadline=None)
    @given(st.text(min_size=1, max_size=80))
    def ask(query: str) -> None:
        if query.strip():
            found = call("recall", agent="ana", query=query, observe=False)
            assert len(found["hits"]) <= 2

    ask()
