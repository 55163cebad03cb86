"""Vectors of memories: made with the memory if that can be done, later if not, and never wrong ones."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders import Call, HashEmbedder, ManualClock, caller_of
from models.provider import DROP, HANG, Answer, Provider, running, status
from nrem.core.reembed import backfill
from nrem.errors import InputError, InvalidField, Unavailable
from nrem.models import transport
from nrem.models.embeddings import Embedder, pack, unpack
from nrem.runtime.app import App
from nrem.store import vectors as stored

Found = Callable[[str, str], list[str]]
Vectors = Callable[[str], dict[str, bytes]]
Get = Callable[..., dict[str, Any]]
Pending = Callable[[], dict[str, int]]

DOWN = {
    "error": status(500),
    "no answer": DROP,
    "refused": status(400),
    "not JSON": Answer(body=b"<html>"),
    "no vectors": Answer(body=b'{"data": []}'),
}
UNFIT: dict[str, Sequence[object]] = {
    "NaN": [math.nan] * 16,
    "a NaN": [1.0] * 15 + [math.nan],
    "infinity": [math.inf] + [1.0] * 15,
    "zero": [0.0] * 16,
    "empty": [],
    "short": [1.0] * 15,
    "long": [1.0] * 17,
}


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """A provider on a local port, never left alone for having failed."""
    monkeypatch.setattr(transport, "BREAK_SECONDS", 0.0)
    with running(monkeypatch) as provider:
        yield provider


@pytest.fixture
def app(home: Path, clock: ManualClock, provider: Provider) -> Iterator[App]:
    """A store whose embedder is the provider's."""
    home.mkdir()
    settings = f'[memory.embeddings]\nprovider = "openai"\nbase_url = "{provider.url}"\n'
    (home / "nrem.toml").write_text(settings)
    with App.open(home, create=True, clock=clock) as app:
        caller_of(app)("add_agent", agent="ana")
        yield app


@pytest.fixture
def remote(app: App) -> Embedder:
    assert app.embedder is not None
    assert app.embedder.identity == "openai:text-embedding-3-small"
    return app.embedder


@pytest.fixture
def pending(app: App) -> Pending:
    """Return how often each memory that waits for its vector was tried."""

    def read() -> dict[str, int]:
        with app.store.reading() as db:
            query = "select m.id, p.tries from pending_vectors p left join memories m on m.rowid = p.memory"
            return {row[0]: row[1] for row in db.execute(query)}

    return read


@pytest.fixture
def remember(call: Call) -> Callable[..., str]:
    """Store a memory of ana's; return its id."""

    def run(content: str, **fields: Any) -> str:
        answer = call("remember", agent="ana", content=content, **fields)
        assert answer["stored"]
        return str(answer["id"])

    return run


def packed(provider: Provider, text: str) -> bytes:
    """Return the vector that a text has to have in the store."""
    vector = pack([float(str(value)) for value in provider.vector(text)])
    assert vector is not None
    return vector


def contents(answer: dict[str, Any]) -> list[str]:
    return [hit["memory"]["content"] for hit in answer["hits"]]


Remember = Callable[..., str]


# On write


@pytest.mark.rows(30, 93)
def test_a_memory_gets_its_vector_when_it_is_stored(
    app: App, provider: Provider, remember: Remember, vectors: Vectors, pending: Pending
) -> None:
    first = remember("Luis likes tea", user="luis")
    second = remember("The office is in Lyon")
    assert vectors("ana") == {
        first: packed(provider, "luis: Luis likes tea"),
        second: packed(provider, "The office is in Lyon"),
    }
    assert pending() == {}
    with app.store.reading() as db:
        assert stored.serving(db) == stored.Serving("openai:text-embedding-3-small", 16)


@pytest.mark.rows(30)
@pytest.mark.parametrize("problem", DOWN)
def test_with_the_embedder_down_it_is_stored_found_by_words_and_pending(
    call: Call,
    provider: Provider,
    remember: Remember,
    found: Found,
    vectors: Vectors,
    pending: Pending,
    problem: str,
) -> None:
    before = remember("The office is in Lyon")
    provider.always = DOWN[problem]
    id = remember("Luis likes tea")
    assert vectors("ana").keys() == {before}
    assert pending() == {id: 0}
    assert found("ana", "tea") == ["Luis likes tea"]
    assert contents(call("recall", agent="ana", query="tea", mode="keyword")) == ["Luis likes tea"]
    assert "Luis likes tea" in contents(call("recall", agent="ana", query="tea"))


@pytest.mark.rows(30, 93)
def test_with_the_embedder_down_from_the_start_a_store_has_no_dimension_yet(
    app: App, call: Call, provider: Provider, remember: Remember, pending: Pending
) -> None:
    provider.always = status(500)
    first = remember("Luis likes tea")
    with app.store.reading() as db:
        assert stored.serving(db) is None
    assert contents(call("recall", agent="ana", query="tea")) == ["Luis likes tea"]
    provider.always = None
    remember("The office is in Lyon")
    with app.store.reading() as db:
        assert stored.serving(db) == stored.Serving("openai:text-embedding-3-small", 16)
    assert pending() == {first: 0}


@pytest.mark.rows(93)
def test_agents_are_made_listed_and_asked_before_there_is_any_vector(call: Call, provider: Provider) -> None:
    call("add_agent", agent="ben")
    assert call("list_memories", agent="ben")["memories"] == []
    for mode in ("keyword", "vector", "hybrid"):
        assert call("recall", agent="ben", query="anything", mode=mode)["hits"] == []


@pytest.mark.rows(30)
@pytest.mark.parametrize("problem", UNFIT)
def test_a_vector_that_is_none_is_not_stored(
    provider: Provider, remember: Remember, vectors: Vectors, pending: Pending, problem: str
) -> None:
    before = remember("The office is in Lyon")
    usual, bad = provider.vector, UNFIT[problem]
    provider.vector = lambda text: bad if "tea" in text else usual(text)
    id = remember("Luis likes tea")
    assert vectors("ana").keys() == {before}
    assert pending() == {id: 0}


@pytest.mark.rows(30, 32)
@pytest.mark.parametrize("problem", UNFIT)
def test_one_bad_vector_of_a_batch_does_not_take_the_others_with_it(
    call: Call, provider: Provider, remember: Remember, vectors: Vectors, pending: Pending, problem: str
) -> None:
    remember("The office is in Lyon")
    usual, bad = provider.vector, UNFIT[problem]
    provider.vector = lambda text: bad if "tea" in text else usual(text)
    drafts = [{"content": text} for text in ("boats", "tea", "tax")]
    boats, tea, tax = [item["id"] for item in call("remember_many", agent="ana", memories=drafts)["memories"]]
    assert pending() == {tea: 0}
    assert vectors("ana")[boats] == packed(provider, "boats")
    assert vectors("ana")[tax] == packed(provider, "tax")
    assert tea not in vectors("ana")


@pytest.mark.rows(30, 32)
def test_a_batch_whose_later_part_fails_is_stored_whole_and_pending(
    call: Call, provider: Provider, vectors: Vectors, pending: Pending
) -> None:
    provider.script.append(Answer(body=b'{"data": []}'))
    drafts = [{"content": f"note {i}"} for i in range(100)]
    ids = [item["id"] for item in call("remember_many", agent="ana", memories=drafts)["memories"]]
    assert vectors("ana") == {}
    assert pending() == dict.fromkeys(ids, 0)


@pytest.mark.rows(30, 49)
def test_a_provider_that_hangs_is_asked_once_and_words_serve(
    home: Path, clock: ManualClock, app: App, provider: Provider
) -> None:
    with (home / "nrem.toml").open("a") as settings:
        settings.write("timeout = 0.1\n")
    app.close()
    with App.open(home, clock=clock) as again:
        run = caller_of(again)
        run("remember", agent="ana", content="The office is in Lyon")
        provider.always = HANG
        provider.asked.clear()
        id = run("remember", agent="ana", content="Luis likes tea")["id"]
        answer = run("recall", agent="ana", query="tea")
        assert run("edit_memory", agent="ana", id=id, content="Luis likes green tea")["version"] == 2
        with again.store.reading() as db:
            assert stored.count_pending(db) == (1, 0)
    assert contents(answer) == ["Luis likes tea"]
    assert answer["degraded"] == ["vector"]
    assert answer["notes"] == ["vector search: openai did not answer (ReadTimeout)"]
    assert len(provider.asked) == 3


def test_others_can_write_and_search_while_the_provider_is_asked(
    app: App, call: Call, provider: Provider, remember: Remember
) -> None:
    remember("The office is in Lyon")
    usual, inside = provider.vector, []

    def vector(text: str) -> Sequence[object]:
        inside.append(app.store.write(lambda db: db.execute("select 1").fetchone()[0]))
        inside.append(len(call("recall", agent="ana", embedding=[1.0] * 16)["hits"]))
        return usual(text)

    provider.vector = vector
    remember("Luis likes tea")
    call("recall", agent="ana", query="tea")
    assert inside == [1, 1, 1, 2]


# Later


@pytest.fixture
def waiting(provider: Provider, remember: Remember) -> list[str]:
    """Three memories that were stored while the provider was down; one before them has a vector."""
    remember("The office is in Lyon")
    provider.always = status(503)
    ids = [
        remember("Luis likes tea"),
        remember("Ana has two boats", user="luis"),
        remember("Taxes are due in May"),
    ]
    provider.always = None
    provider.asked.clear()
    return ids


@pytest.mark.rows(31)
def test_what_waits_is_filled_once_and_then_found_by_meaning(
    app: App,
    call: Call,
    provider: Provider,
    remote: Embedder,
    waiting: list[str],
    vectors: Vectors,
    pending: Pending,
) -> None:
    assert pending() == dict.fromkeys(waiting, 0)
    tea = packed(provider, "Luis likes tea")
    request = {"agent": "ana", "embedding": list(map(float, unpack(tea))), "mode": "vector", "limit": 1}
    assert contents(call("recall", **request)) == ["The office is in Lyon"]  # loads what is kept in memory
    assert backfill(app.store, remote) == 3
    assert provider.texts == [["Luis likes tea", "luis: Ana has two boats", "Taxes are due in May"]]
    assert pending() == {}
    assert vectors("ana")[waiting[0]] == tea
    assert vectors("ana")[waiting[1]] == packed(provider, "luis: Ana has two boats")
    assert len(vectors("ana")) == 4
    assert contents(call("recall", **request)) == ["Luis likes tea"]
    provider.asked.clear()
    assert backfill(app.store, remote) == 0
    assert provider.asked == []
    with app.store.reading() as db:
        assert db.execute("select count(*) from vec_memories").fetchone()[0] == 4


@pytest.mark.rows(31)
def test_what_waits_is_filled_after_a_restart(
    home: Path, clock: ManualClock, app: App, waiting: list[str]
) -> None:
    app.close()
    with App.open(home, clock=clock) as again:
        assert again.embedder is not None
        assert backfill(again.store, again.embedder) == len(waiting)


@pytest.mark.rows(31)
@pytest.mark.parametrize("problem", ["NaN", "infinity", "zero", "empty"])
def test_what_never_gets_a_vector_is_tried_three_times(
    app: App,
    provider: Provider,
    remote: Embedder,
    waiting: list[str],
    found: Found,
    vectors: Vectors,
    pending: Pending,
    problem: str,
) -> None:
    usual, bad = provider.vector, UNFIT[problem]
    provider.vector = lambda text: bad if "tea" in text else usual(text)
    assert [backfill(app.store, remote) for _ in range(6)] == [2, 0, 0, 0, 0, 0]
    plain = ["dimension"]  # which tells whether it is the text or the embedder
    tea = ["Luis likes tea"]
    assert provider.texts[1:] == [plain, tea, plain, tea, plain]
    assert len(provider.texts[0]) == 3
    assert pending() == {waiting[0]: 3}
    assert waiting[0] not in vectors("ana")
    assert found("ana", "tea") == ["Luis likes tea"]


@pytest.mark.rows(31)
@pytest.mark.parametrize("problem", UNFIT)
def test_an_embedder_that_has_no_vector_for_anything_uses_up_no_tries(
    app: App,
    provider: Provider,
    remote: Embedder,
    waiting: list[str],
    pending: Pending,
    problem: str,
) -> None:
    usual = provider.vector
    provider.vector = lambda text: UNFIT[problem]
    for _ in range(5):
        with pytest.raises(Unavailable):
            backfill(app.store, remote)
    assert pending() == dict.fromkeys(waiting, 0)
    provider.vector = usual
    assert backfill(app.store, remote) == 3


@pytest.mark.rows(31)
def test_a_refused_model_is_not_asked_for_each_text(
    app: App, provider: Provider, remote: Embedder, waiting: list[str], pending: Pending
) -> None:
    provider.always = status(404)
    with pytest.raises(Unavailable, match="refused the request"):
        backfill(app.store, remote)
    assert len(provider.asked) == 2
    assert pending() == dict.fromkeys(waiting, 0)


@pytest.mark.rows(31)
def test_an_outage_is_no_try(
    app: App, provider: Provider, remote: Embedder, waiting: list[str], pending: Pending
) -> None:
    provider.always = status(503)
    for _ in range(5):
        with pytest.raises(Unavailable):
            backfill(app.store, remote)
    assert pending() == dict.fromkeys(waiting, 0)
    provider.always = None
    assert backfill(app.store, remote) == 3


@pytest.mark.rows(31)
def test_a_text_that_was_edited_meanwhile_keeps_the_vector_of_the_new_one(
    app: App, call: Call, provider: Provider, remote: Embedder, waiting: list[str], vectors: Vectors
) -> None:
    usual = provider.vector

    def vector(text: str) -> Sequence[object]:
        if text == "Luis likes tea":
            call("edit_memory", agent="ana", id=waiting[0], content="Luis likes coffee")
        return usual(text)

    provider.vector = vector
    assert backfill(app.store, remote) == 2
    provider.vector = usual
    assert vectors("ana")[waiting[0]] == packed(provider, "Luis likes coffee")


@pytest.mark.rows(31)
def test_a_text_that_was_edited_while_all_is_down_is_filled_with_the_new_one(
    app: App, call: Call, provider: Provider, remote: Embedder, waiting: list[str], vectors: Vectors
) -> None:
    provider.always = status(503)
    call("edit_memory", agent="ana", id=waiting[0], content="Luis likes coffee")
    call("edit_memory", agent="ana", id=waiting[1], category="harbour")
    provider.always = None
    assert backfill(app.store, remote) == 3
    assert vectors("ana")[waiting[0]] == packed(provider, "Luis likes coffee")
    assert vectors("ana")[waiting[1]] == packed(provider, "luis: Ana has two boats")


@pytest.mark.rows(31)
def test_what_is_forgotten_waits_no_longer(
    app: App, call: Call, provider: Provider, remote: Embedder, waiting: list[str], pending: Pending
) -> None:
    call("forget", agent="ana", id=waiting[0])
    assert pending() == dict.fromkeys(waiting[1:], 0)
    assert backfill(app.store, remote) == 2
    assert provider.texts == [["luis: Ana has two boats", "Taxes are due in May"]]


@pytest.mark.rows(31)
def test_what_is_forgotten_while_its_vector_is_made_gets_none(
    app: App, call: Call, provider: Provider, remote: Embedder, waiting: list[str], vectors: Vectors
) -> None:
    usual = provider.vector

    def vector(text: str) -> Sequence[object]:
        if text == "Luis likes tea":
            call("forget", agent="ana", id=waiting[0])
        return usual(text)

    provider.vector = vector
    assert backfill(app.store, remote) == 2
    assert len(vectors("ana")) == 3
    assert waiting[0] not in vectors("ana")


@pytest.mark.rows(31)
def test_an_agent_that_is_removed_leaves_nothing_waiting(
    app: App, call: Call, provider: Provider, remote: Embedder, waiting: list[str], pending: Pending
) -> None:
    call("remove_agent", agent="ana", erase=True)
    assert pending() == {}
    assert backfill(app.store, remote) == 0
    assert provider.asked == []


# Edits


@pytest.mark.rows(33)
def test_only_a_new_text_asks_the_provider(
    call: Call, provider: Provider, remember: Remember, vectors: Vectors
) -> None:
    id = remember("Luis likes tea", user="luis")
    before = vectors("ana")
    provider.asked.clear()
    for change in ({"category": "x"}, {"metadata": {"a": 1}}, {"content": "Luis likes tea"}, {"tags": ["a"]}):
        call("edit_memory", agent="ana", id=id, **change)
    call("pin_memory", agent="ana", id=id)
    assert provider.asked == []
    assert vectors("ana") == before
    call("edit_memory", agent="ana", id=id, content="Luis likes coffee")
    assert provider.texts == [["luis: Luis likes coffee"]]
    assert vectors("ana") == {id: packed(provider, "luis: Luis likes coffee")}


@pytest.mark.rows(30, 31, 33)
@pytest.mark.parametrize("problem", DOWN)
def test_an_edit_with_the_embedder_down_leaves_no_vector_of_the_old_text(
    app: App,
    call: Call,
    provider: Provider,
    remote: Embedder,
    remember: Remember,
    found: Found,
    vectors: Vectors,
    pending: Pending,
    problem: str,
) -> None:
    id = remember("Luis likes tea")
    provider.always = DOWN[problem]
    assert call("edit_memory", agent="ana", id=id, content="Luis likes coffee")["version"] == 2
    assert vectors("ana") == {}
    assert pending() == {id: 0}
    assert found("ana", "coffee") == ["Luis likes coffee"]
    assert found("ana", "tea") == []
    provider.always = None
    assert backfill(app.store, remote) == 1
    assert vectors("ana") == {id: packed(provider, "Luis likes coffee")}


@pytest.mark.rows(33)
@pytest.mark.parametrize("problem", UNFIT)
def test_an_edit_stores_no_vector_that_is_none(
    call: Call, provider: Provider, remember: Remember, vectors: Vectors, pending: Pending, problem: str
) -> None:
    id = remember("Luis likes tea")
    provider.vector = lambda text: UNFIT[problem]
    call("edit_memory", agent="ana", id=id, content="Luis likes coffee")
    assert vectors("ana") == {}
    assert pending() == {id: 0}


@pytest.mark.rows(33)
def test_a_new_text_is_found_by_meaning_and_the_old_is_not(
    call: Call, provider: Provider, remember: Remember
) -> None:
    id = remember("tea")
    remember("boats")

    def cosine(word: str) -> float:
        hits = call("recall", agent="ana", query=word, mode="vector", explain=True)["hits"]
        [value] = [hit["explain"]["cosine"] for hit in hits if hit["memory"]["id"] == id]
        return float(value)

    assert cosine("tea") == pytest.approx(1, abs=1e-5)
    call("edit_memory", agent="ana", id=id, content="coffee")
    assert cosine("coffee") == pytest.approx(1, abs=1e-5)
    assert cosine("tea") < 0.99


# Vectors that callers bring


@pytest.mark.rows(30)
def test_the_vector_of_a_caller_is_stored_at_length_1_and_its_text_not_embedded(
    provider: Provider, remember: Remember, vectors: Vectors, pending: Pending
) -> None:
    given = [float(i) for i in range(16)]
    id = remember("Luis likes tea", embedding=given)
    assert provider.texts == [["dimension"]]
    assert pending() == {}
    vector = unpack(vectors("ana")[id])
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)
    assert np.allclose(vector, np.array(given) / np.linalg.norm(given), atol=1e-6)


def test_in_a_batch_only_those_without_a_vector_are_embedded(
    call: Call, provider: Provider, vectors: Vectors
) -> None:
    drafts: list[dict[str, Any]] = [
        {"content": "tea"},
        {"content": "boats", "embedding": [1] * 16},
        {"content": "tax"},
    ]
    tea, boats, tax = [item["id"] for item in call("remember_many", agent="ana", memories=drafts)["memories"]]
    assert provider.texts == [["dimension"], ["tea", "tax"]]
    assert vectors("ana") == {
        tea: packed(provider, "tea"),
        boats: pack([1.0] * 16),
        tax: packed(provider, "tax"),
    }


@pytest.mark.rows(93)
@pytest.mark.parametrize("length", [1, 15, 17, 256])
def test_a_callers_vector_of_another_length_is_refused_by_name(
    call: Call, remember: Remember, length: int
) -> None:
    remember("The office is in Lyon")
    with pytest.raises(InvalidField, match=f"has {length} numbers; the store's vectors have 16") as caught:
        remember("Luis likes tea", embedding=[1.0] * length)
    assert caught.value.field == "embedding"
    drafts: list[dict[str, Any]] = [
        {"content": "a"},
        {"content": "b", "embedding": [1.0] * 16},
        {"content": "c", "embedding": [1.0] * length},
    ]
    with pytest.raises(InvalidField) as caught:
        call("remember_many", agent="ana", memories=drafts)
    assert caught.value.field == "memories[2].embedding"
    assert call("show_agent", agent="ana")["memories"] == 1


@pytest.mark.parametrize(
    "vector", [[0.0] * 16, [math.nan] * 16, [math.inf] * 16, [], ["a"] * 16, [None] * 16, "text", 1.0]
)
def test_a_callers_vector_that_is_none_is_refused_by_name(
    call: Call, remember: Remember, vector: object
) -> None:
    remember("The office is in Lyon")
    with pytest.raises(InvalidField) as caught:
        remember("Luis likes tea", embedding=vector)
    assert str(caught.value.field).startswith("embedding")
    drafts = [{"content": "a"}, {"content": "b", "embedding": vector}]
    with pytest.raises(InvalidField) as caught:
        call("remember_many", agent="ana", memories=drafts)
    assert str(caught.value.field).startswith("memories[1].embedding")
    assert call("show_agent", agent="ana")["memories"] == 1


# Recall


@pytest.fixture
def three(provider: Provider, remember: Remember) -> None:
    for text in ("tea", "boats", "tax"):
        remember(text)
    provider.asked.clear()


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize("mode", ["vector", "hybrid"])
def test_a_vector_can_be_asked_with_in_place_of_a_text(call: Call, provider: Provider, mode: str) -> None:
    for text in ("tea", "boats", "tax"):
        given = [7 * float(str(value)) for value in provider.vector(text)]
        answer = call("recall", agent="ana", embedding=given, mode=mode, explain=True)
        assert contents(answer)[0] == text
        assert answer["hits"][0]["explain"]["cosine"] == pytest.approx(1, abs=1e-5)
        assert answer["degraded"] == []
    assert provider.asked == []


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"embedding": [0.0] * 16}, "embedding"),
        ({"embedding": [1.0] * 16, "mode": "keyword"}, "embedding"),
        ({"query": " "}, "query"),
        ({}, "query"),
    ],
)
def test_a_question_without_a_direction_is_refused_by_name(
    call: Call, request_: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidField) as caught:
        call("recall", agent="ana", **request_)
    assert caught.value.field == field


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize("problem", DOWN)
@pytest.mark.parametrize("mode", ["vector", "hybrid"])
def test_with_the_embedder_down_words_answer_and_it_is_said(
    call: Call, provider: Provider, mode: str, problem: str
) -> None:
    provider.always = DOWN[problem]
    answer = call("recall", agent="ana", query="boats", mode=mode)
    assert (answer["degraded"], answer["mode"]) == (["vector"], "keyword")
    assert contents(answer) == ["boats"]
    provider.always = None
    answer = call("recall", agent="ana", query="boats", mode=mode)
    assert (answer["degraded"], answer["mode"]) == ([], mode)
    assert contents(answer)[0] == "boats"


@pytest.mark.usefixtures("three")
def test_a_threshold_that_cannot_be_held_is_said_to_be_ignored(call: Call, provider: Provider) -> None:
    provider.always = status(500)
    answer = call("recall", agent="ana", query="boats", threshold=0.9)
    assert contents(answer) == ["boats"]
    assert answer["notes"] == [
        "vector search: openai did not answer (status 500)",
        "threshold: ignored, because vectors could not be used",
    ]


@pytest.mark.usefixtures("three")
def test_words_alone_ask_no_provider(call: Call, provider: Provider) -> None:
    assert contents(call("recall", agent="ana", query="boats", mode="keyword")) == ["boats"]
    assert provider.asked == []


@pytest.mark.rows(49)
@pytest.mark.usefixtures("three")
@pytest.mark.parametrize("problem", UNFIT)
@pytest.mark.parametrize("request_", [{}, {"mode": "vector"}, {"threshold": 0.1}])
def test_a_question_that_gets_no_usable_vector_is_answered_by_words_and_it_is_said(
    call: Call, provider: Provider, problem: str, request_: dict[str, Any]
) -> None:
    provider.vector = lambda text: UNFIT[problem]
    answer = call("recall", agent="ana", query="boats", **request_)
    assert contents(answer) == ["boats"]
    assert (answer["mode"], answer["degraded"]) == ("keyword", ["vector"])
    lengths = {"short": 15, "long": 17}
    assert answer["notes"][0] == "vector search: openai:text-embedding-3-small gave " + (
        f"{lengths[problem]} numbers; the store's vectors have 16 (nrem doctor)"
        if problem in lengths
        else "no usable vector for the question"
    )
    assert len(answer["notes"]) == 1 + ("threshold" in request_)


# Embed


def test_one_text_is_embedded(call: Call, provider: Provider) -> None:
    answer = call("embed", texts=["tea"])
    assert (answer["embedder"], answer["dimension"]) == ("openai:text-embedding-3-small", 16)
    [vector] = answer["embeddings"]
    assert pack(vector) == packed(provider, "tea")
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)


def test_many_texts_are_embedded_in_order_and_in_batches(call: Call, provider: Provider) -> None:
    texts = [f"note {i}" for i in range(130)]
    answer = call("embed", texts=texts)
    assert [len(batch) for batch in provider.texts] == [64, 64, 2]
    expected = [unpack(packed(provider, text)) for text in texts]
    assert np.allclose(np.array(answer["embeddings"]), np.array(expected), atol=1e-6)


def test_a_text_without_a_vector_is_embedded_as_null(call: Call, provider: Provider) -> None:
    usual = provider.vector
    provider.vector = lambda text: [math.nan] * 16 if text == "b" else usual(text)
    answer = call("embed", texts=["a", "b", "c"])
    assert [vector is None for vector in answer["embeddings"]] == [False, True, False]
    assert answer["dimension"] == 16
    provider.vector = lambda text: []
    assert call("embed", texts=["a"]) == {
        "embedder": "openai:text-embedding-3-small",
        "dimension": 0,
        "embeddings": [None],
    }


@pytest.mark.parametrize("texts", [[], [""], [" "], ["a", "\n"], "a", None, [1], ["x"] * 1001])
def test_texts_that_cannot_be_embedded_are_refused(call: Call, provider: Provider, texts: object) -> None:
    with pytest.raises(InvalidField) as caught:
        call("embed", texts=texts)
    assert str(caught.value.field).startswith("texts")
    assert provider.asked == []


@pytest.mark.parametrize("problem", DOWN)
def test_embedding_with_the_provider_down_is_unavailable(
    call: Call, provider: Provider, problem: str
) -> None:
    provider.always = DOWN[problem]
    with pytest.raises(Unavailable):
        call("embed", texts=["tea"])


# Off


@pytest.fixture
def off(home: Path, clock: ManualClock) -> Iterator[App]:
    """A store in a home whose vectors are off."""
    home.mkdir()
    (home / "nrem.toml").write_text("[vector]\nenabled = false\n")
    with App.open(home, create=True, clock=clock) as app:
        caller_of(app)("add_agent", agent="ana")
        yield app


@pytest.mark.rows(93)
def test_without_vectors_all_is_stored_and_found_by_words(off: App) -> None:
    run = caller_of(off)
    id = run("remember", agent="ana", content="Luis likes tea")["id"]
    run("remember_many", agent="ana", memories=[{"content": "boats"}, {"content": "tax"}])
    run("edit_memory", agent="ana", id=id, content="Luis likes coffee")
    for mode in ("keyword", "hybrid"):
        answer = run("recall", agent="ana", query="coffee", mode=mode)
        assert contents(answer) == ["Luis likes coffee"]
        assert (answer["mode"], answer["degraded"]) == ("keyword", [])
    with off.store.reading() as db:
        assert stored.count_pending(db) == (3, 0)
        assert stored.serving(db) is None
        assert db.execute("select count(*) from vec_memories").fetchone()[0] == 0


@pytest.mark.rows(31, 93)
def test_what_was_stored_without_vectors_gets_its_own_once_they_are_on(
    off: App, home: Path, clock: ManualClock
) -> None:
    run = caller_of(off)
    run("remember", agent="ana", content="Luis likes tea")
    run("remember_many", agent="ana", memories=[{"content": "boats"}, {"content": "tax"}])
    assert contents(run("recall", agent="ana", query="boats", threshold=0.9)) == ["boats"]
    off.close()
    with App.open(home, clock=clock, embedder=HashEmbedder(), flags={"vector.enabled": True}) as on:
        run = caller_of(on)
        answer = run("recall", agent="ana", query="boats", mode="vector")
        assert (contents(answer), answer["degraded"]) == (["boats"], ["vector"])
        assert backfill(on.store, HashEmbedder()) == 3
        answer = run("recall", agent="ana", query="boats", mode="vector")
        assert (contents(answer)[0], answer["degraded"]) == ("boats", [])
        assert len(contents(answer)) == 3


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("recall", {"agent": "ana", "query": "tea", "mode": "vector"}),
        ("embed", {"texts": ["tea"]}),
        ("reembed", {}),
    ],
)
def test_without_vectors_what_needs_them_is_refused_with_the_setting(
    off: App, name: str, body: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match="vectors are off") as caught:
        caller_of(off)(name, **body)
    assert "vector.enabled = true" in str(caught.value.hint)


def test_without_vectors_those_that_callers_bring_still_serve(off: App) -> None:
    run = caller_of(off)
    run("remember", agent="ana", content="tea", embedding=[1.0, 0.0])
    run("remember", agent="ana", content="boats", embedding=[0.0, 1.0])
    answer = run("recall", agent="ana", embedding=[0.1, 3.0], mode="vector", explain=True)
    assert contents(answer) == ["boats", "tea"]


@pytest.mark.rows(31, 93)
def test_a_store_whose_first_vectors_come_late_searches_with_them(
    app: App, call: Call, provider: Provider, remote: Embedder, remember: Remember
) -> None:
    provider.always = status(503)
    remember("tea")
    provider.always = None
    assert backfill(app.store, remote) == 1
    with app.store.reading() as db:
        assert stored.serving(db) == stored.Serving(remote.identity, 16)
    answer = call("recall", agent="ana", query="tea", mode="vector")
    assert contents(answer) == ["tea"]


@pytest.mark.rows(31)
@pytest.mark.parametrize("problem", ["short", "long"])
def test_a_late_vector_of_another_length_is_not_stored(
    app: App,
    provider: Provider,
    remote: Embedder,
    waiting: list[str],
    vectors: Vectors,
    pending: Pending,
    problem: str,
) -> None:
    usual, bad = provider.vector, UNFIT[problem]
    provider.vector = lambda text: bad if "tea" in text else usual(text)
    assert backfill(app.store, remote) == 2
    assert waiting[0] not in vectors("ana")
    assert pending() == {waiting[0]: 1}


@pytest.mark.rows(31, 33)
def test_an_edit_that_gives_a_vector_ends_the_waiting(
    app: App, call: Call, provider: Provider, remote: Embedder, waiting: list[str], pending: Pending
) -> None:
    call("edit_memory", agent="ana", id=waiting[0], content="Luis likes coffee")
    assert pending() == dict.fromkeys(waiting[1:], 0)


@pytest.mark.rows(31, 33)
def test_a_new_text_is_tried_three_times_of_its_own(
    app: App, call: Call, provider: Provider, remote: Embedder, waiting: list[str], vectors: Vectors
) -> None:
    usual = provider.vector
    provider.vector = lambda text: [math.nan] if "tea" in text else usual(text)
    for _ in range(3):
        backfill(app.store, remote)
    provider.always = status(503)
    call("edit_memory", agent="ana", id=waiting[0], content="Luis likes coffee")
    provider.always = None
    assert backfill(app.store, remote) == 1
    assert vectors("ana")[waiting[0]] == packed(provider, "Luis likes coffee")


@pytest.mark.rows(31)
def test_one_text_that_is_refused_does_not_hold_up_the_others(
    app: App, provider: Provider, remote: Embedder, waiting: list[str], pending: Pending
) -> None:
    usual = provider.answer

    def answer(asked: Any) -> Answer:
        refused = any("tea" in text for text in asked.body["input"])
        if refused:
            provider.asked.append(asked)
            return status(400)
        return usual(asked)

    provider.answer = answer  # type: ignore[method-assign]
    for _ in range(6):
        with contextlib.suppress(Unavailable):
            backfill(app.store, remote)
    assert pending() == {waiting[0]: 3}


@pytest.mark.parametrize("query", ["tea"])
def test_a_store_without_vectors_asks_no_provider_inside_a_snapshot(
    app: App, call: Call, provider: Provider, query: str
) -> None:
    locked: list[bool] = []
    usual = provider.vector

    def vector(text: str) -> Sequence[object]:
        locked.extend(matrix.lock.locked() for matrix in app.store.matrices._kept.values())
        return usual(text)

    provider.vector = vector
    call("recall", agent="ana", query=query)
    assert True not in locked


def test_an_asked_vector_of_another_length_is_refused_by_name(call: Call, remember: Remember) -> None:
    remember("tea")
    with pytest.raises(InvalidField) as caught:
        call("recall", agent="ana", embedding=[1.0] * 3)
    assert caught.value.field == "embedding"


def test_two_lengths_in_one_first_batch_are_refused(call: Call) -> None:
    drafts: list[dict[str, Any]] = [
        {"content": "a", "embedding": [1.0] * 16},
        {"content": "b", "embedding": [1.0] * 3},
    ]
    with pytest.raises(InvalidField) as caught:
        call("remember_many", agent="ana", memories=drafts)
    assert caught.value.field == "memories[1].embedding"


@pytest.mark.rows(30)
@pytest.mark.parametrize("code", [401, 403])
def test_a_refused_key_does_not_lose_what_is_to_be_stored(
    provider: Provider, remember: Remember, pending: Pending, code: int
) -> None:
    provider.always = status(code)
    id = remember("tea")
    assert pending() == {id: 0}


def test_a_bad_answer_loses_nothing(provider: Provider, remember: Remember, pending: Pending) -> None:
    ids = []
    for i, answer in enumerate(
        (
            Answer(body=b"[" * 200_000),
            Answer(body=b'{"data": [{"embedding": [1' + b"0" * 400 + b"]}]}"),
            Answer(body=b"xx", headers={"Content-Encoding": "gzip"}),
        )
    ):
        provider.always = answer
        ids.append(remember(f"note {i}"))
    assert pending() == dict.fromkeys(ids, 0)
