"""Another embedder: noticed before any search, and its vectors made in steps while the old ones serve."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from builders import Call, HashEmbedder, ManualClock, caller_of
from models.provider import Provider, running, status
from nrem.core import reembed
from nrem.core.reembed import backfill
from nrem.errors import Conflict, InvalidField, Unavailable
from nrem.models import transport
from nrem.models.embeddings import Embedder, make, pack, unpack
from nrem.models.local import WordLlama
from nrem.runtime.app import App
from nrem.sections import Embeddings
from nrem.store import vectors as stored

A = "local:wordllama-256"
B = "test:hash-16"
TEXTS = ["tea", "boats", "tax", "lyon", "piano"]

Open = Callable[[Embedder], App]


class Partial(HashEmbedder):
    """Has no vector for texts with the word void."""

    def _vector(self, text: str) -> list[float]:
        return [0.0] * 16 if "void" in text else super()._vector(text)


class Other(HashEmbedder):
    identity = "test:other-16"

    def _vector(self, text: str) -> list[float]:
        return super()._vector(text)[::-1]


class Shorter(HashEmbedder):
    """A server that answers under the same name with vectors of another length."""

    def _vector(self, text: str) -> list[float]:
        return super()._vector(text)[:8]


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reembed, "STEP", 2)


@pytest.fixture
def open_with(home: Path, clock: ManualClock) -> Iterator[Open]:
    """Open the store with an embedder, after closing it if it was open."""
    opened: list[App] = []

    def open_it(embedder: Embedder) -> App:
        if opened:
            opened.pop().close()
        opened.append(App.open(home, create=True, clock=clock, embedder=embedder))
        return opened[0]

    yield open_it
    for app in opened:
        app.close()


@pytest.fixture(scope="module")
def local() -> WordLlama:
    return WordLlama("wordllama-256")


@pytest.fixture
def ids(open_with: Open, local: WordLlama) -> dict[str, str]:
    """The memories of ana's, made with A: id by text."""
    run = caller_of(open_with(local))
    run("add_agent", agent="ana")
    return {text: run("remember", agent="ana", content=text)["id"] for text in TEXTS}


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    monkeypatch.setattr(transport, "BREAK_SECONDS", 0.0)
    with running(monkeypatch) as provider:
        yield provider


def kept(app: App, embedder: str) -> dict[str, bytes]:
    """Return an embedder's vectors by the memory's text."""
    with app.store.reading() as db:
        rows = db.execute(
            "select m.content, v.embedding from vec_memories v join memories m on m.rowid = v.memory"
            " where v.embedder = ?",
            (embedder,),
        ).fetchall()
    return {row[0]: row[1] for row in rows}


def serving(app: App) -> stored.Serving | None:
    with app.store.reading() as db:
        return stored.serving(db)


def pending(app: App) -> list[str]:
    with app.store.reading() as db:
        query = "select m.content from pending_vectors p join memories m on m.rowid = p.memory order by 1"
        return [row[0] for row in db.execute(query)]


def cosines(run: Call, query: str) -> dict[str, float]:
    """Return the cosine of each memory to a question, as a search by meaning alone sees it."""
    answer = run("recall", agent="ana", query=query, mode="vector", explain=True, limit=100)
    assert (answer["mode"], answer["degraded"]) == ("vector", [])
    return {hit["memory"]["content"]: hit["explain"]["cosine"] for hit in answer["hits"]}


def expected(embedder: Embedder, query: str, texts: Sequence[str]) -> dict[str, Any]:
    vectors = [unpack(pack(vector) or b"") for vector in embedder.embed([query, *texts])]
    return {
        text: pytest.approx(float(vector @ vectors[0]), abs=1e-5)
        for text, vector in zip(texts, vectors[1:], strict=True)
    }


def finish(run: Call) -> list[dict[str, Any]]:
    """Run steps until nothing is left; return them."""
    steps = [run("reembed")]
    while steps[-1]["left"]:
        assert len(steps) < 50
        steps.append(run("reembed"))
    return steps


def asked(embedder: HashEmbedder) -> Counter[str]:
    """Return the texts of memories that were embedded; one plain word finds the dimension out."""
    return Counter(text for texts in embedder.calls for text in texts if text != "dimension")


# Noticed


@pytest.mark.rows(94)
@pytest.mark.parametrize(
    "request_", [{"query": "tea"}, {"query": "tea", "mode": "vector"}, {"embedding": [1.0] * 16}]
)
def test_another_embedder_is_refused_before_it_is_asked(
    open_with: Open, ids: dict[str, str], request_: dict[str, Any]
) -> None:
    embedder = HashEmbedder()
    run = caller_of(open_with(embedder))
    with pytest.raises(Conflict) as caught:
        run("recall", agent="ana", **request_)
    assert caught.value.code == "embedding_model_changed"
    assert A in caught.value.message
    assert B in caught.value.message
    assert str(caught.value.hint).startswith("nrem reembed")
    assert embedder.calls == []


@pytest.mark.rows(94)
def test_another_provider_is_refused_before_anything_is_sent(
    open_with: Open, ids: dict[str, str], provider: Provider
) -> None:
    run = caller_of(open_with(make("openai:m", Embeddings(base_url=provider.url))))
    with pytest.raises(Conflict) as caught:
        run("recall", agent="ana", query="tea")
    assert caught.value.code == "embedding_model_changed"
    assert provider.asked == []


@pytest.mark.rows(94)
def test_another_embedder_of_the_same_dimension_is_noticed_too(open_with: Open) -> None:
    run = caller_of(open_with(HashEmbedder()))
    run("add_agent", agent="ana")
    run("remember", agent="ana", content="tea")
    with pytest.raises(Conflict, match=r"test:hash-16.*test:other-16") as caught:
        caller_of(open_with(Other()))("recall", agent="ana", query="tea")
    assert caught.value.code == "embedding_model_changed"


@pytest.mark.rows(94)
def test_words_find_all_the_same(open_with: Open, ids: dict[str, str]) -> None:
    embedder = HashEmbedder()
    run = caller_of(open_with(embedder))
    answer = run("recall", agent="ana", query="tea", mode="keyword")
    assert [hit["memory"]["content"] for hit in answer["hits"]] == ["tea"]
    assert embedder.calls == []


@pytest.mark.rows(30, 94)
def test_what_is_stored_or_edited_meanwhile_is_pending_and_mixes_no_vectors(
    open_with: Open, ids: dict[str, str]
) -> None:
    embedder = HashEmbedder()
    app = open_with(embedder)
    run = caller_of(app)
    assert run("remember", agent="ana", content="new coffee")["stored"]
    run("edit_memory", agent="ana", id=ids["tea"], content="green tea")
    assert pending(app) == ["green tea", "new coffee"]
    assert kept(app, B) == {}
    assert kept(app, A).keys() == {"boats", "tax", "lyon", "piano"}
    answer = run("recall", agent="ana", query="coffee", mode="keyword")
    assert [hit["memory"]["content"] for hit in answer["hits"]] == ["new coffee"]
    embedder.calls.clear()
    assert backfill(app.store, embedder) == 0
    assert embedder.calls == []


@pytest.mark.rows(94)
def test_with_the_old_embedder_back_all_is_as_before(
    open_with: Open, local: WordLlama, ids: dict[str, str]
) -> None:
    caller_of(open_with(HashEmbedder()))("remember", agent="ana", content="coffee")
    app = open_with(local)
    assert cosines(caller_of(app), "tea") == expected(local, "tea", TEXTS)
    assert backfill(app.store, local) == 1
    assert cosines(caller_of(app), "tea") == expected(local, "tea", [*TEXTS, "coffee"])


@pytest.mark.rows(93, 94)
def test_with_another_dimension_under_the_same_name_words_serve(open_with: Open) -> None:
    run = caller_of(open_with(HashEmbedder()))
    run("add_agent", agent="ana")
    run("remember", agent="ana", content="tea")
    app = open_with(Shorter())
    run = caller_of(app)
    for mode in ("vector", "hybrid"):
        answer = run("recall", agent="ana", query="tea", mode=mode)
        assert [hit["memory"]["content"] for hit in answer["hits"]] == ["tea"]
        assert (answer["mode"], answer["degraded"]) == ("keyword", ["vector"])
        [note] = answer["notes"]
        assert "gave 8 numbers; the store's vectors have 16" in note
        with pytest.raises(InvalidField, match="has 8 numbers"):
            run("recall", agent="ana", embedding=[1.0] * 8, mode=mode)
    assert [
        h["memory"]["content"] for h in run("recall", agent="ana", query="tea", mode="keyword")["hits"]
    ] == ["tea"]
    assert run("remember", agent="ana", content="coffee")["stored"]
    assert pending(app) == ["coffee"]
    assert kept(app, B).keys() == {"tea"}


# Steps


@pytest.mark.rows(94)
def test_the_old_vectors_serve_until_all_new_ones_are_there(
    open_with: Open, local: WordLlama, ids: dict[str, str]
) -> None:
    embedder = HashEmbedder()
    app = open_with(embedder)
    run = caller_of(app)
    old = kept(app, A)
    steps = [run("reembed")]
    assert steps[0] == {"embedder": B, "done": 2, "left": 3, "failed": 0}
    while steps[-1]["left"]:
        assert cosines(run, "tea") == expected(local, "tea", TEXTS)
        assert kept(app, A) == old
        assert serving(app) == stored.Serving(A, 256)
        assert len(kept(app, B)) == sum(step["done"] for step in steps)
        steps.append(run("reembed"))
    assert sum(step["done"] for step in steps) == 5
    assert [step["left"] for step in steps] == sorted((step["left"] for step in steps), reverse=True)
    assert steps[-1]["failed"] == 0
    assert asked(embedder) == Counter(TEXTS)

    assert serving(app) == stored.Serving(B, 16)
    assert kept(app, A) == {}
    assert kept(app, B) == {text: pack(embedder._vector(text)) for text in TEXTS}
    assert cosines(run, "tea") == expected(HashEmbedder(), "tea", TEXTS)
    assert pending(app) == []


@pytest.mark.rows(94)
def test_after_the_switch_a_new_process_uses_the_new_vectors_only(
    open_with: Open, local: WordLlama, ids: dict[str, str]
) -> None:
    finish(caller_of(open_with(HashEmbedder())))
    assert cosines(caller_of(open_with(HashEmbedder())), "boats") == expected(HashEmbedder(), "boats", TEXTS)
    with pytest.raises(Conflict) as caught:
        caller_of(open_with(local))("recall", agent="ana", query="boats")
    assert caught.value.code == "embedding_model_changed"


@pytest.mark.rows(94)
def test_a_second_run_finds_nothing_to_do(open_with: Open, ids: dict[str, str]) -> None:
    app = open_with(HashEmbedder())
    run = caller_of(app)
    finish(run)
    vectors = kept(app, B)
    embedder = HashEmbedder()
    app = open_with(embedder)
    assert sum(step["done"] for step in finish(caller_of(app))) == 0
    assert asked(embedder) == Counter()
    assert kept(app, B) == vectors


@pytest.mark.rows(94)
@pytest.mark.parametrize("before", range(1, 6))
def test_stopped_after_any_step_it_goes_on_where_it_was(
    open_with: Open, ids: dict[str, str], before: int
) -> None:
    first, second = HashEmbedder(), HashEmbedder()
    run = caller_of(open_with(first))
    for _ in range(before):
        run("reembed")
    app = open_with(second)
    finish(caller_of(app))
    assert asked(first) + asked(second) == Counter(TEXTS)
    assert serving(app) == stored.Serving(B, 16)
    assert kept(app, A) == {}
    assert kept(app, B).keys() == set(TEXTS)


@pytest.mark.rows(94)
def test_reopened_after_every_step_each_text_is_embedded_once(open_with: Open, ids: dict[str, str]) -> None:
    total: Counter[str] = Counter()
    for _ in range(50):
        embedder = HashEmbedder()
        step = caller_of(open_with(embedder))("reembed")
        total += asked(embedder)
        if not step["left"]:
            break
    assert step["left"] == 0
    assert total == Counter(TEXTS)


@pytest.mark.rows(94)
def test_all_agents_are_embedded_anew(open_with: Open, local: WordLlama, ids: dict[str, str]) -> None:
    run = caller_of(open_with(local))
    run("add_agent", agent="ben")
    run("remember_many", agent="ben", memories=[{"content": f"note {i}", "user": "luis"} for i in range(3)])
    app = open_with(HashEmbedder())
    run = caller_of(app)
    assert sum(step["done"] for step in finish(run)) == 8
    assert kept(app, B)["note 1"] == pack(HashEmbedder()._vector("luis: note 1"))
    assert len(run("recall", agent="ben", query="note", mode="vector")["hits"]) == 3


# Meanwhile


@pytest.mark.rows(94)
def test_what_is_stored_meanwhile_is_found_at_once_and_gets_both_vectors(
    open_with: Open, local: WordLlama, ids: dict[str, str]
) -> None:
    app = open_with(HashEmbedder())
    run = caller_of(app)
    run("reembed")
    run("remember", agent="ana", content="coffee")
    assert kept(app, A).keys() == {*TEXTS, "coffee"}
    assert cosines(run, "coffee") == expected(local, "coffee", [*TEXTS, "coffee"])
    assert pending(app) == []
    finish(run)
    assert kept(app, A) == {}
    assert kept(app, B)["coffee"] == pack(HashEmbedder()._vector("coffee"))
    assert cosines(run, "coffee") == expected(HashEmbedder(), "coffee", [*TEXTS, "coffee"])


@pytest.mark.rows(94)
def test_what_is_edited_ahead_of_the_pass_gets_the_vector_of_its_new_text(
    open_with: Open, local: WordLlama, ids: dict[str, str]
) -> None:
    app = open_with(HashEmbedder())
    run = caller_of(app)
    run("reembed")
    run("edit_memory", agent="ana", id=ids["piano"], content="violin")
    assert kept(app, A)["violin"] == pack(local.embed(["violin"])[0])
    finish(run)
    assert kept(app, B).keys() == {"tea", "boats", "tax", "lyon", "violin"}
    assert kept(app, B)["violin"] == pack(HashEmbedder()._vector("violin"))


@pytest.mark.rows(94)
def test_a_text_that_changes_while_its_vector_is_made_gets_no_vector_of_the_old(
    open_with: Open, ids: dict[str, str], provider: Provider
) -> None:
    app = open_with(make("openai:m", Embeddings(base_url=provider.url)))
    run = caller_of(app)
    usual = provider.vector

    def vector(text: str) -> Sequence[object]:
        if text == "boats":
            run("edit_memory", agent="ana", id=ids["boats"], content="ships")
        return usual(text)

    provider.vector = vector
    assert run("reembed")["done"] == 1
    finish(run)
    assert kept(app, "openai:m").keys() == {"tea", "ships", "tax", "lyon", "piano"}
    assert kept(app, "openai:m")["ships"] == pack(HashEmbedder()._vector("ships"))
    assert pending(app) == []


@pytest.mark.rows(94)
def test_what_is_forgotten_ahead_of_the_pass_is_not_embedded(open_with: Open, ids: dict[str, str]) -> None:
    embedder = HashEmbedder()
    app = open_with(embedder)
    run = caller_of(app)
    run("reembed")
    run("forget", agent="ana", id=ids["piano"])
    finish(run)
    assert kept(app, B).keys() == set(TEXTS) - {"piano"}
    assert asked(embedder)["piano"] == 0


@pytest.mark.rows(94)
def test_what_the_new_embedder_has_no_vector_for_is_found_by_words_and_tried_again(
    open_with: Open, ids: dict[str, str], local: WordLlama
) -> None:
    caller_of(open_with(local))("remember", agent="ana", content="void space")
    app = open_with(Partial())
    run = caller_of(app)
    steps = finish(run)
    assert steps[-1] == {"embedder": B, "done": 0, "left": 0, "failed": 1}
    assert pending(app) == ["void space"]
    assert kept(app, B).keys() == set(TEXTS)
    for mode in ("keyword", "hybrid"):
        answer = run("recall", agent="ana", query="space", mode=mode)
        assert answer["hits"][0]["memory"]["content"] == "void space"
    partial = Partial()
    assert [backfill(app.store, partial) for _ in range(4)] == [0] * 4
    assert asked(partial) == {"void space": 1}  # with the two passes before, it was tried three times
    assert pending(app) == ["void space"]


@pytest.mark.rows(31, 94)
def test_what_had_no_vector_then_gets_one_when_the_embedder_has_one(
    open_with: Open, local: WordLlama, ids: dict[str, str]
) -> None:
    caller_of(open_with(local))("remember", agent="ana", content="void space")
    finish(caller_of(open_with(Partial())))
    app = open_with(HashEmbedder())
    assert backfill(app.store, HashEmbedder()) == 1
    assert kept(app, B).keys() == {*TEXTS, "void space"}
    assert pending(app) == []


@pytest.mark.rows(31, 94)
def test_what_was_pending_is_made_with_the_others(
    open_with: Open, ids: dict[str, str], provider: Provider
) -> None:
    app = open_with(make("openai:m", Embeddings(base_url=provider.url)))
    run = caller_of(app)
    run("remember", agent="ana", content="coffee")
    assert pending(app) == ["coffee"]
    provider.asked.clear()
    finish(run)
    assert pending(app) == []
    texts = Counter(text for texts in provider.texts for text in texts)
    assert texts - Counter(["dimension"]) == Counter([*TEXTS, "coffee"])


# A provider as the new one, and as the old one


@pytest.mark.rows(94)
def test_an_outage_in_the_middle_costs_one_step_and_the_old_vectors_serve(
    open_with: Open, local: WordLlama, ids: dict[str, str], provider: Provider
) -> None:
    app = open_with(make("openai:m", Embeddings(base_url=provider.url)))
    run = caller_of(app)
    run("reembed")
    provider.always = status(500)
    with pytest.raises(Unavailable):
        run("reembed")
    assert cosines(run, "tea") == expected(local, "tea", TEXTS)
    assert len(kept(app, "openai:m")) == 2
    provider.always = None
    provider.asked.clear()
    finish(run)
    assert [text for texts in provider.texts for text in texts] == ["tax", "lyon", "piano"]
    assert serving(app) == stored.Serving("openai:m", 16)


@pytest.mark.rows(94)
def test_an_old_embedder_on_a_server_is_not_asked_when_the_configuration_is_for_another(
    home: Path, open_with: Open, local: WordLlama, provider: Provider
) -> None:
    home.mkdir()
    run = caller_of(open_with(make("openai:m", Embeddings(base_url=provider.url))))
    run("add_agent", agent="ana")
    run("remember_many", agent="ana", memories=[{"content": text} for text in TEXTS])
    app = open_with(local)
    run = caller_of(app)
    run("reembed")
    provider.asked.clear()
    answer = run("recall", agent="ana", query="tea")
    assert provider.asked == []
    assert answer["degraded"] == ["vector"]
    assert [hit["memory"]["content"] for hit in answer["hits"]] == ["tea"]
    assert run("remember", agent="ana", content="coffee")["stored"]
    assert pending(app) == ["coffee"]
    finish(run)
    assert pending(app) == []
    assert cosines(run, "tea") == expected(local, "tea", [*TEXTS, "coffee"])


@pytest.mark.rows(94)
def test_another_choice_in_the_middle_starts_anew_and_leaves_nothing_behind(
    open_with: Open, local: WordLlama, ids: dict[str, str]
) -> None:
    caller_of(open_with(HashEmbedder()))("reembed")
    other = Other()
    app = open_with(other)
    run = caller_of(app)
    with pytest.raises(Conflict, match=A):
        run("recall", agent="ana", query="tea")
    finish(run)
    assert asked(other) == Counter(TEXTS)
    assert (kept(app, A), kept(app, B)) == ({}, {})
    assert cosines(run, "tea") == expected(Other(), "tea", TEXTS)


@pytest.mark.rows(94)
def test_the_old_choice_in_the_middle_needs_nothing(
    open_with: Open, local: WordLlama, ids: dict[str, str]
) -> None:
    caller_of(open_with(HashEmbedder()))("reembed")
    app = open_with(local)
    run = caller_of(app)
    assert cosines(run, "tea") == expected(local, "tea", TEXTS)
    assert sum(step["done"] for step in finish(run)) == 0
    assert kept(app, B) == {}
    assert cosines(run, "tea") == expected(local, "tea", TEXTS)


@pytest.mark.rows(94)
def test_what_was_stored_while_vectors_were_off_is_made_up_for(
    home: Path, clock: ManualClock, open_with: Open
) -> None:
    home.mkdir()
    (home / "nrem.toml").write_text("[vector]\nenabled = false\n")
    with App.open(home, create=True, clock=clock) as off:
        run = caller_of(off)
        run("add_agent", agent="ana")
        run("remember_many", agent="ana", memories=[{"content": text} for text in TEXTS])
    (home / "nrem.toml").unlink()
    app = open_with(HashEmbedder())
    run = caller_of(app)
    finish(run)
    assert serving(app) == stored.Serving(B, 16)
    assert cosines(run, "tea") == expected(HashEmbedder(), "tea", TEXTS)


@pytest.mark.rows(94)
def test_what_is_edited_behind_the_first_pass_gets_the_vector_of_its_new_text(
    open_with: Open, local: WordLlama, ids: dict[str, str]
) -> None:
    app = open_with(HashEmbedder())
    run = caller_of(app)
    run("reembed")
    run("edit_memory", agent="ana", id=ids["tea"], content="coffee")
    assert kept(app, A)["coffee"] == pack(local.embed(["coffee"])[0])
    finish(run)
    assert kept(app, B).keys() == {"coffee", "boats", "tax", "lyon", "piano"}
    assert kept(app, B)["coffee"] == pack(HashEmbedder()._vector("coffee"))
    assert pending(app) == []


@pytest.mark.rows(94)
@pytest.mark.parametrize("name", ["forget", "pin_memory", "edit_memory", "clear_memories"])
def test_what_has_both_vectors_can_be_changed(open_with: Open, ids: dict[str, str], name: str) -> None:
    run = caller_of(open_with(HashEmbedder()))
    run("reembed")
    body = {"edit_memory": {"category": "x"}}.get(name, {})
    if name != "clear_memories":
        body = body | {"id": ids["tea"]}
    run(name, agent="ana", **body)
    finish(run) if name != "clear_memories" else None
    assert len(run("list_versions", agent="ana", id=ids["tea"])["versions"]) == 2


@pytest.mark.rows(94)
def test_a_new_dimension_under_the_same_name_is_made_anew(open_with: Open) -> None:
    run = caller_of(open_with(HashEmbedder()))
    run("add_agent", agent="ana")
    run("remember_many", agent="ana", memories=[{"content": text} for text in TEXTS])
    app = open_with(Shorter())
    run = caller_of(app)
    finish(run)
    assert serving(app) == stored.Serving(B, 8)
    assert {len(vector) for vector in kept(app, B).values()} == {32}
    assert cosines(run, "tea") == expected(Shorter(), "tea", TEXTS)


@pytest.mark.rows(94)
def test_an_empty_store_changes_its_embedder_too(open_with: Open, ids: dict[str, str]) -> None:
    app = open_with(HashEmbedder())
    run = caller_of(app)
    run("clear_memories", agent="ana")
    finish(run)
    run("remember", agent="ana", content="tea")
    assert cosines(run, "tea") == expected(HashEmbedder(), "tea", ["tea"])


@pytest.mark.rows(92, 94)
def test_the_local_one_serves_while_those_of_an_own_address_are_made(
    home: Path, clock: ManualClock, local: WordLlama, open_with: Open, ids: dict[str, str], provider: Provider
) -> None:
    open_with(local).close()
    settings = f'[memory.embeddings]\nprovider = "openai"\nbase_url = "{provider.url}"\n'
    (home / "nrem.toml").write_text(settings)
    with App.open(home, clock=clock) as app:
        run = caller_of(app)
        run("reembed")
        provider.asked.clear()
        assert cosines(run, "tea") == expected(local, "tea", TEXTS)
        run("remember", agent="ana", content="coffee")
        assert "coffee" in kept(app, A)
        assert provider.asked == []


@pytest.mark.rows(94)
@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_vectors_that_callers_brought_give_way_too(
    home: Path, clock: ManualClock, open_with: Open, mode: str
) -> None:
    home.mkdir()
    (home / "nrem.toml").write_text("[vector]\nenabled = false\n")
    with App.open(home, create=True, clock=clock) as off:
        run = caller_of(off)
        run("add_agent", agent="ana")
        run("remember", agent="ana", content="tea", embedding=[1.0, 2.0])
    (home / "nrem.toml").unlink()
    run = caller_of(open_with(HashEmbedder()))
    run("reembed")
    assert run("recall", agent="ana", query="tea", mode=mode)["hits"]
    assert run("remember", agent="ana", content="coffee")["stored"]
    finish(run)
