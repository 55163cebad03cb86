"""Embedders that ask a server: OpenAI and what speaks like it, Google, Ollama."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from nrem.errors import Unavailable
from nrem.models.embeddings import USUAL, Embedder, Patience
from nrem.models.keys import read_key
from nrem.models.transport import Transport
from nrem.sections import Embeddings

SECTION = "memory.embeddings"


class _Remote:
    """What all of them share: an identity, a transport made at first use, answers that are checked."""

    batch_size = 64
    remote = True
    instant = False
    key_variable: str | None = None
    usual_url = ""

    def __init__(self, provider: str, model: str, wanted: Embeddings, patience: Patience = USUAL) -> None:
        self.identity = f"{provider}:{model}"
        self._provider = provider
        self._model = model
        self._wanted = wanted
        self._patience = patience

    @cached_property
    def _transport(self) -> Transport:
        url = self._wanted.base_url or self.usual_url
        key = read_key(self._provider, self._wanted, self.key_variable, section=SECTION)
        headers = self._headers(key)
        return Transport(self._provider, url.rstrip("/") + "/", headers, self._patience, section=SECTION)

    def close(self) -> None:
        if "_transport" in self.__dict__:
            self._transport.close()

    def _headers(self, key: str | None) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def _checked(self, found: object, count: int) -> list[Sequence[float]]:
        if (
            not isinstance(found, list)
            or len(found) != count
            or not all(isinstance(vector, list) and all(map(_is_number, vector)) for vector in found)
        ):
            raise Unavailable(
                f"{self._provider} did not give {count} vectors",
                hint="check memory.embeddings.model",
                code="provider_unavailable",
            )
        return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _each(answer: Any, outer: str, inner: str) -> list[Any] | None:
    """Return the inner value of each item of a list in an answer; None when it has another shape."""
    items = answer.get(outer) if isinstance(answer, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        return None
    return [item.get(inner) for item in items]


class OpenAI(_Remote):
    """OpenAI, or any server with its embeddings endpoint."""

    key_variable = "OPENAI_API_KEY"
    usual_url = "https://api.openai.com/v1"

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        answer = self._transport.post("embeddings", {"model": self._model, "input": list(texts)})
        places = _each(answer, "data", "index")
        vectors = _each(answer, "data", "embedding")
        if (
            places is not None
            and vectors is not None
            and sorted(map(repr, places)) == sorted(map(repr, range(len(places))))
        ):
            vectors = [vector for _, vector in sorted(zip(places, vectors, strict=True), key=lambda p: p[0])]
        return self._checked(vectors, len(texts))


class Google(_Remote):
    key_variable = "GOOGLE_API_KEY"
    usual_url = "https://generativelanguage.googleapis.com/v1beta"

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        model = f"models/{self._model}"
        requests = [{"model": model, "content": {"parts": [{"text": text}]}} for text in texts]
        answer = self._transport.post(f"{model}:batchEmbedContents", {"requests": requests})
        return self._checked(_each(answer, "embeddings", "values"), len(texts))

    def _headers(self, key: str | None) -> dict[str, str]:
        return {"x-goog-api-key": key} if key else {}


class Ollama(_Remote):
    usual_url = "http://127.0.0.1:11434"

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        answer = self._transport.post("api/embed", {"model": self._model, "input": list(texts)})
        return self._checked(answer.get("embeddings") if isinstance(answer, dict) else None, len(texts))


PROVIDERS: Mapping[str, Callable[[str, str, Embeddings, Patience], Embedder]] = {
    "openai": OpenAI,
    "google": Google,
    "ollama": Ollama,
}
