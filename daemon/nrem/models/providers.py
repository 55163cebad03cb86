"""Embedders that ask a server: OpenAI and what speaks like it, Google, Ollama."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nrem.errors import Unavailable
from nrem.models.embeddings import PATIENT, Embedder, Patience
from nrem.models.remote import Remote
from nrem.sections import Embeddings


class _Remote(Remote):
    """One that makes vectors, which are checked."""

    section = "memory.embeddings"
    batch_size = 64
    remote = True
    instant = False
    problem: str | None = None

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

    def embed(self, texts: Sequence[str], patience: Patience = PATIENT) -> list[Sequence[float]]:
        answer = self._transport.post("embeddings", {"model": self._model, "input": list(texts)}, patience)
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

    def embed(self, texts: Sequence[str], patience: Patience = PATIENT) -> list[Sequence[float]]:
        model = f"models/{self._model}"
        requests = [{"model": model, "content": {"parts": [{"text": text}]}} for text in texts]
        answer = self._transport.post(f"{model}:batchEmbedContents", {"requests": requests}, patience)
        return self._checked(_each(answer, "embeddings", "values"), len(texts))

    def _headers(self, key: str | None) -> dict[str, str]:
        return {"x-goog-api-key": key} if key else {}


class Ollama(_Remote):
    usual_url = "http://127.0.0.1:11434"

    def embed(self, texts: Sequence[str], patience: Patience = PATIENT) -> list[Sequence[float]]:
        answer = self._transport.post("api/embed", {"model": self._model, "input": list(texts)}, patience)
        return self._checked(answer.get("embeddings") if isinstance(answer, dict) else None, len(texts))


PROVIDERS: Mapping[str, Callable[[str, str, Embeddings], Embedder]] = {
    "openai": OpenAI,
    "google": Google,
    "ollama": Ollama,
}
