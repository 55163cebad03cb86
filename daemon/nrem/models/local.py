"""The embedder that needs no key and no network: static word vectors that come inside a wheel."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nrem.errors import ConfigError, Unavailable
from nrem.models.embeddings import PATIENT, Patience, Vector

LONGEST = 8192
"""Characters of a text that count; a static model says no more about a longer one."""


class WordLlama:
    """wordllama's vectors and tokenizer, loaded at first use from the files of its wheel."""

    batch_size = 256
    remote = False
    problem: str | None = None

    def __init__(self, model: str) -> None:
        if model != "wordllama-256":
            raise ConfigError(
                f"memory.embeddings.model: there is no local model {model}",
                hint="the local one is wordllama-256",
                field="memory.embeddings.model",
            )
        self.identity = f"local:{model}"
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    @property
    def instant(self) -> bool:
        return self._loaded is not None

    def embed(self, texts: Sequence[str], patience: Patience = PATIENT) -> list[Vector]:
        tokenizer, vectors = self._load()
        encoded = tokenizer.encode_batch([text[:LONGEST] for text in texts], add_special_tokens=False)
        zero = np.zeros(vectors.shape[1], dtype=np.float32)
        return [vectors[e.ids].mean(axis=0, dtype=np.float32) if e.ids else zero for e in encoded]

    def close(self) -> None:
        self._loaded = None

    def _load(self) -> tuple[Any, Any]:
        with self._lock:
            if self._loaded is None:
                self._loaded = _read_files()
            return self._loaded


def _read_files() -> tuple[Any, Any]:
    # Its own loader looks for the tokenizer on the network first; the wheel has all that is needed.
    spec = importlib.util.find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise Unavailable(
            "wordllama is not installed", hint="pip install wordllama, or set vector.enabled = false"
        )
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = Path(spec.origin).parent
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    [vectors] = load_file(folder / "weights" / "l2_supercat_256.safetensors").values()
    return tokenizer, vectors
