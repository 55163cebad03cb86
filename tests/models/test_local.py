"""The embedder that comes inside the wheel."""

from __future__ import annotations

import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from nrem.errors import ConfigError, Unavailable
from nrem.models import local
from nrem.models.embeddings import Vector, embed_all, unpack
from nrem.models.local import WordLlama


@pytest.fixture(scope="module")
def model() -> WordLlama:
    """One embedder for the whole file: loading takes longer than a test."""
    return WordLlama("wordllama-256")


def made(model: WordLlama, *texts: str) -> list[Vector]:
    packed = embed_all(model, texts)
    assert None not in packed
    return [unpack(vector) for vector in packed if vector is not None]


@pytest.mark.rows(92)
def test_it_loads_and_embeds_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        pytest.fail("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert len(made(WordLlama("wordllama-256"), "no network")) == 1


def test_the_loader_of_its_own_that_asks_the_network_is_not_imported(model: WordLlama) -> None:
    before = "wordllama" in sys.modules
    made(model, "hello")
    assert ("wordllama" in sys.modules) == before


@pytest.mark.rows(92, 93)
def test_vectors_have_256_dimensions_and_length_1(model: WordLlama) -> None:
    for vector in made(model, "The office is in Lyon", "a", "漢字", "🦊", "\x00x"):
        assert vector.shape == (256,)
        assert vector.dtype == np.float32
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)


@pytest.mark.rows(92)
def test_the_same_text_has_the_same_vector_in_every_load_and_batch(model: WordLlama) -> None:
    texts = ["The office is in Lyon", "Luis likes tea", "", "a longer text that is not like the others"]
    packed = embed_all(model, texts)
    assert embed_all(WordLlama("wordllama-256"), texts) == packed
    assert [embed_all(model, [text])[0] for text in texts] == packed
    assert embed_all(model, texts[::-1]) == packed[::-1]


def test_many_texts_keep_their_order(model: WordLlama) -> None:
    texts = [f"note {i} about {'tea' if i % 2 else 'boats'}" for i in range(2 * WordLlama.batch_size + 3)]
    packed = embed_all(model, texts)
    assert len(packed) == len(texts)
    for i in (0, 255, 256, 511, 512, 514):
        assert packed[i] == embed_all(model, [texts[i]])[0]


@pytest.mark.parametrize(
    ("question", "near", "far"),
    [
        ("What does Luis drink?", "He has a cup of tea every morning", "The server runs on port 8080"),
        ("automobile repair", "The car was fixed at the garage", "We sang songs at the wedding"),
        ("the dog sleeps", "a puppy is napping", "quarterly tax report"),
    ],
)
def test_a_similar_text_is_nearer_than_another(model: WordLlama, question: str, near: str, far: str) -> None:
    asked, one, other = made(model, question, near, far)
    assert asked @ one > asked @ other


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "   \r\n", "\x00"])
def test_a_text_with_nothing_in_it_has_no_vector_or_a_sound_one(model: WordLlama, text: str) -> None:
    [packed] = embed_all(model, [text])
    assert packed is None or np.isfinite(unpack(packed)).all()


def test_an_empty_text_has_no_vector_and_its_neighbours_have_theirs(model: WordLlama) -> None:
    before, nothing, after = embed_all(model, ["tea", "", "boats"])
    assert nothing is None
    assert [before, after] == embed_all(model, ["tea", "boats"])


def test_of_a_huge_text_the_start_counts(model: WordLlama) -> None:
    start = ("tea and boats " * local.LONGEST)[: local.LONGEST]
    huge, short = embed_all(model, [start + "quarterly tax report " * 50_000, start])
    assert huge is not None
    assert huge == short


def test_threads_share_one_load(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[int] = []
    read = local._read_files
    together = threading.Barrier(8)

    def counted() -> tuple[Any, Any]:
        loads.append(1)
        return read()

    monkeypatch.setattr(local, "_read_files", counted)
    model = WordLlama("wordllama-256")

    def run(_: int) -> bytes | None:
        together.wait()
        return embed_all(model, ["The office is in Lyon"])[0]

    with ThreadPoolExecutor(8) as pool:
        vectors = set(pool.map(run, range(8)))
    assert len(loads) == len(vectors) == 1


@pytest.mark.parametrize("name", ["wordllama-64", "", "WORDLLAMA-256"])
def test_another_model_is_a_config_error(name: str) -> None:
    with pytest.raises(ConfigError, match="there is no local model") as caught:
        WordLlama(name)
    assert caught.value.field == "memory.embeddings.model"


def test_a_missing_wheel_is_unavailable_and_says_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(Unavailable, match="wordllama is not installed") as caught:
        WordLlama("wordllama-256").embed(["x"])
    assert "vector.enabled = false" in str(caught.value.hint)
