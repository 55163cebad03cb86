"""What a matrix keeps in memory of the keyword index, and of the memories that were hits."""

from __future__ import annotations

import random

import pytest

from builders import Call, HashEmbedder
from nrem.runtime.app import App
from nrem.store import hits, listing, scopes, search
from nrem.store import matrix as matrix_module
from nrem.store.driver import Connection
from nrem.store.matrix import Matrix
from nrem.store.words import ASKED_OFTEN

WORDS = ["apple", "banana", "cherry", "dog", "elk", "naïve", "東京", "日"]


def caught_up(db: Connection, matrix: Matrix) -> Matrix:
    state = scopes.state(db, matrix.scope)
    matrix.follow(db, state.seq, state.vector_generation)
    return matrix


def ask_often(app: App, matrix: Matrix) -> None:
    with app.store.reading() as db:
        caught_up(db, matrix)
        for _ in range(ASKED_OFTEN + 1):
            matrix.postings(db, ["dog"])


def rowids(matrix: Matrix, db: Connection, term: str) -> list[int]:
    [places] = matrix.postings(db, [term])
    return [int(matrix.rowids[place]) for place in places]


def change(call: Call, chance: random.Random, ids: list[str], i: int) -> None:
    text = " ".join(chance.choices(WORDS, k=3)) + f" {i}"
    what = chance.random()
    if what < 0.5 or not ids:
        ids.append(call("remember", agent="ana", content=text, tags=chance.choices(WORDS))["id"])
    elif what < 0.75:
        call("edit_memory", agent="ana", id=chance.choice(ids), content=text)
    elif what < 0.85:
        call("edit_memory", agent="ana", id=chance.choice(ids), context=chance.choice(WORDS))
    else:
        call("forget", agent="ana", id=ids.pop(chance.randrange(len(ids))))


@pytest.mark.parametrize("seed", range(5))
def test_words_in_memory_are_those_of_the_index_whatever_happens(app: App, call: Call, seed: int) -> None:
    chance = random.Random(seed)
    call("remember", agent="ben", content=" ".join(WORDS))
    ids: list[str] = []
    matrix = Matrix(1, HashEmbedder.identity, 16)
    ask_often(app, matrix)
    for i in range(80):
        change(call, chance, ids, i)
        if chance.random() < 0.5:
            continue
        ask_often(app, matrix)  # it may have been loaded anew, when a rowid was used again
        with app.store.reading() as db:
            assert matrix._words is not None
            for term in ["appl", "banana", "cherri", "dog", "elk", "naive", "東京", "日", "absent", str(i)]:
                [expected] = search.postings(db, 1, [term])
                assert rowids(matrix, db, term) == expected.tolist()


@pytest.mark.parametrize("seed", range(3))
def test_memories_kept_as_hits_are_as_the_snapshot_has_them(app: App, call: Call, seed: int) -> None:
    chance = random.Random(seed)
    matrix = Matrix(1, HashEmbedder.identity, 16)
    ids: list[str] = []
    for i in range(60):
        change(call, chance, ids, i)
        with app.store.reading() as db:
            caught_up(db, matrix)
            places = [place for place in range(matrix.count) if matrix.alive[place]]
            chance.shuffle(places)
            expected = listing.by_rowids(db, 1, [int(matrix.rowids[place]) for place in places])
            assert matrix.memories(db, places) == expected


def test_no_more_memories_are_kept_than_may_be(app: App, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hits, "MOST", 3)
    for i in range(8):
        call("remember", agent="ana", content=f"note {i}")
    matrix = Matrix(1, HashEmbedder.identity, 16)
    with app.store.reading() as db:
        caught_up(db, matrix)
        for places in ([0, 1], [1, 2], [2, 3], [7]):
            found = [memory.content for memory in matrix.memories(db, places)]
            assert found == [f"note {place}" for place in places]
            assert len(matrix._hits._kept) <= 3


def test_a_scope_that_grew_large_is_looked_up_in_the_index(
    app: App, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix_module, "MOST_TERMS", 6)
    matrix = Matrix(1, HashEmbedder.identity, 16)
    for i in range(3):
        call("remember", agent="ana", content=f"dog {i}")
    ask_often(app, matrix)
    assert matrix._words is not None
    call("remember", agent="ana", content="dog 3")
    ask_often(app, matrix)
    assert matrix._words is None
    with app.store.reading() as db:
        assert len(rowids(matrix, db, "dog")) == 4


def test_words_are_read_only_of_scopes_that_are_asked_often(app: App, call: Call) -> None:
    call("remember", agent="ana", content="dog")
    matrix = Matrix(1, HashEmbedder.identity, 16)
    with app.store.reading() as db:
        caught_up(db, matrix)
        for _ in range(ASKED_OFTEN):
            assert rowids(matrix, db, "dog") == [1]
            assert matrix._words is None
        assert rowids(matrix, db, "dog") == [1]
        assert matrix._words is not None


def test_what_is_kept_counts_in_the_size_of_a_matrix(app: App, call: Call) -> None:
    call("remember", agent="ana", content="dog " * 100)
    matrix = Matrix(1, HashEmbedder.identity, 16)
    with app.store.reading() as db:
        bare = caught_up(db, matrix).size
        matrix.memories(db, [0])
        assert matrix.size >= bare + 400
    with_hit = matrix.size
    ask_often(app, matrix)
    assert matrix.size > with_hit


def test_a_recall_that_may_read_the_words_is_not_one_for_the_event_loop(app: App, call: Call) -> None:
    call("remember", agent="ana", content="dog")
    quick = []
    for _ in range(2 * ASKED_OFTEN):
        call("recall", agent="ana", query="dog", observe=False)
        quick.append(app.is_warm("ana"))
    assert quick.count(False) == 1
    assert quick.index(False) == ASKED_OFTEN - 1
