from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from builders import Call, HashEmbedder
from nrem.models.embeddings import pack, unpack
from nrem.runtime.app import App
from nrem.store import matrices as matrices_module
from nrem.store import matrix as matrix_module
from nrem.store import scopes
from nrem.store.matrices import Matrices
from nrem.store.matrix import Matrix


def follow(app: App, matrix: Matrix) -> Matrix:
    with app.store.reading() as db:
        state = scopes.state(db, matrix.scope)
        matrix.follow(db, state.seq, state.vector_generation)
    return matrix


def fresh(app: App) -> Matrix:
    return follow(app, Matrix(1, HashEmbedder.identity, 16))


def described(matrix: Matrix) -> dict[int, tuple[Any, ...]]:
    """Return what a matrix knows of each live row, with rowids in place of its places."""
    n = matrix.count
    users = {number: name for name, number in matrix.user_numbers.items()}
    assert matrix.vectors is not None
    return {
        int(matrix.rowids[i]): (
            int(matrix.kinds[i]),
            int(matrix.lengths[i]),
            users.get(int(matrix.users[i])),
            int(matrix.created[i]),
            int(matrix.expires[i]),
            bool(matrix.superseded[i]),
            float(matrix.importance[i]),
            float(matrix.confidence[i]),
            tuple(int(matrix.rowids[j]) if j >= 0 else None for j in matrix.neighbours[i]),
            matrix.vectors[i].tolist() if matrix.has_vector[i] else None,
        )
        for i in range(n)
        if matrix.alive[i]
    }


def change(call: Call, chance: random.Random, ids: list[str], i: int) -> None:
    what = chance.random()
    if what < 0.6 or not ids:
        given = {
            "content": f"note {i} {chance.choice('abc')}",
            "kind": chance.choice(["message", "episodic", "semantic"]),
            "session": chance.choice([None, None, "s1", "s2"]),
            "room": chance.choice([None, "r1"]),
            "user": chance.choice([None, "Luis", "Ana"]),
            "created_at": chance.randrange(1_000_000, 20_000_000),
            "importance": chance.random(),
        }
        body = {name: value for name, value in given.items() if value is not None}
        if ids and chance.random() < 0.2:
            body |= {"superseded_by": chance.choice(ids), "legacy_id": str(i)}
        ids.append(call("remember", agent="ana", **body)["id"])
    elif what < 0.7:
        old = chance.choice(call("list_memories", agent="ana")["memories"])
        supersedes = [old["id"]] if old["superseded_by"] is None else []
        ids.append(call("remember", agent="ana", content=f"newer {i}", supersedes=supersedes)["id"])
    elif what < 0.8:
        call("edit_memory", agent="ana", id=chance.choice(ids), content=f"edited {i}", importance=0.25)
    else:
        call("forget", agent="ana", id=ids.pop(chance.randrange(len(ids))))


@pytest.mark.parametrize("seed", range(5))
def test_following_the_events_gives_what_loading_gives(app: App, call: Call, seed: int) -> None:
    chance = random.Random(seed)
    followed = Matrix(1, HashEmbedder.identity, 16)
    ids: list[str] = []
    for i in range(120):
        change(call, chance, ids, i)
        if chance.random() < 0.5:
            assert described(follow(app, followed)) == described(fresh(app))
    assert len(described(follow(app, followed))) == len(ids)


def test_it_knows_whether_any_row_is_superseded(app: App, call: Call) -> None:
    followed = fresh(app)
    old = call("remember", agent="ana", content="a note")["id"]
    assert follow(app, followed).with_superseded is False
    call("remember", agent="ana", content="a newer note", supersedes=[old])
    assert follow(app, followed).with_superseded is fresh(app).with_superseded is True
    assert followed.superseded[: followed.count].tolist() == [True, False]


def test_places_are_in_the_order_of_rowids_also_when_several_came_at_once(app: App, call: Call) -> None:
    followed = fresh(app)
    drafts = [{"content": f"note {i}", "kind": "episodic"} for i in range(100)]
    call("remember_many", agent="ana", memories=drafts)
    rowids = follow(app, followed).rowids[: followed.count]
    assert len(rowids) == 100
    assert (np.diff(rowids) > 0).all()
    assert followed.places([5, 77]).tolist() == [4, 76]


def test_neighbours_are_the_turns_beside_it_in_time_whatever_came_first(app: App, call: Call) -> None:
    for at in (4, 1, 3, 2, 5):
        call("remember", agent="ana", content=f"turn {at}", kind="message", session="s", created_at=at)
    call("remember", agent="ana", content="a fact", session="s", created_at=3)
    matrix = fresh(app)
    turn = {int(matrix.created[i]): i for i in range(5)}
    assert matrix.neighbours[turn[3]].tolist() == [turn[1], turn[2], turn[4], turn[5]]
    assert matrix.neighbours[turn[1]].tolist() == [-1, -1, turn[2], turn[3]]
    assert matrix.neighbours[5].tolist() == [-1, -1, -1, -1]


def test_turns_without_a_session_stand_beside_those_of_the_same_half_hour_and_room(
    app: App, call: Call
) -> None:
    minutes = [0, 10, 30, 55, 200]
    for at in minutes:
        call("remember", agent="ana", content=f"turn {at}", kind="message", created_at=at * 60_000)
    for given in ({"room": "r"}, {"session": "s"}, {"kind": "episodic"}, {"kind": "semantic"}):
        call(
            "remember", agent="ana", **{"content": "x", "kind": "message", "created_at": 5 * 60_000, **given}
        )
    matrix = fresh(app)
    assert matrix.neighbours[: len(minutes)].tolist() == [
        [-1, -1, 1, 2],
        [-1, 0, 2, -1],
        [0, 1, 3, -1],
        [-1, 2, -1, -1],
        [-1, -1, -1, -1],
    ]
    assert (matrix.neighbours[len(minutes) : matrix.count] == -1).all()
    assert (matrix.sessions[: len(minutes)] == -1).all()


@pytest.mark.rows(39)
def test_distances_from_memory_and_from_sql_are_the_same(
    app: App, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i in range(50):
        call("remember", agent="ana", content=f"word{i} word{i * 7 % 13} shared")
    call("remember", agent="ben", content="foreign shared")
    call("remember", agent="ana", content="...", kind="episodic", embedding=[1.0] + [0.0] * 15)
    app.store.write(lambda db: db.execute("delete from vec_memories where memory = 3"))
    packed = pack(HashEmbedder().embed(["word3 shared"])[0])
    assert packed is not None
    hot = fresh(app)
    monkeypatch.setattr(matrix_module, "MOST_VECTOR_BYTES", 0)
    cold = fresh(app)
    assert (hot.vectors is None, cold.vectors is None) == (False, True)
    with app.store.reading() as db:
        near, far = hot.cosines(db, unpack(packed)), cold.cosines(db, unpack(packed))
    assert np.isnan(near).sum() == 1
    np.testing.assert_allclose(near, far, atol=1e-6, equal_nan=True)


def test_the_least_recently_used_matrix_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    matrices = Matrices()
    first, second = matrices.get(1, "e", 8), matrices.get(2, "e", 8)
    assert matrices.get(1, "e", 8) is first
    monkeypatch.setattr(matrices_module, "MOST_BYTES", -1)
    third = matrices.get(3, "e", 8)
    monkeypatch.setattr(matrices_module, "MOST_BYTES", 1 << 20)
    assert matrices.get(3, "e", 8) is third
    assert matrices.get(2, "e", 8) is not second
    assert matrices.get(1, "e", 8) is not first


def test_another_embedder_has_a_matrix_of_its_own() -> None:
    matrices = Matrices()
    assert matrices.get(1, "a", 8) is not matrices.get(1, "b", 8)
    assert matrices.get(1, "a", 8) is not matrices.get(1, "a", 16)
