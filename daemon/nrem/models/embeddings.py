"""Text to vectors: what an embedder is, which one a configuration means, and which answers may be stored."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nrem import sections
from nrem.errors import ConfigError, Unavailable

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a server is asked before it counts as away, and for how many seconds each time."""

    tries: int
    seconds: float
    pause: float = 5.0
    """Most seconds between two tries. One that wants to be left alone for longer is not asked again."""


PATIENT = Patience(3, 30.0)
"""Where nobody waits: vectors that come later, and another embedder's."""
NEEDED = Patience(1, 25.0)
"""For whoever waits and wants nothing but the vectors."""
PROBE = Patience(1, 5.0)
"""For a question whose answer is whether it answers."""
BATCH_SECONDS = 10.0
"""For each call with a part of a batch that is to be stored."""
ALL_BATCHES_SECONDS = 20.0
"""After so long no further part is asked for: a client waits for a minute."""


class Embedder(Protocol):
    """Makes one vector per text."""

    identity: str
    """`provider:model`; vectors of two identities are never compared."""
    batch_size: int
    remote: bool
    """Whether it asks over a network, and so must not be waited for inside a snapshot."""
    problem: str | None
    """What kept the last call from vectors, for whoever looks after it; None when nothing did."""

    @property
    def instant(self) -> bool:
        """Whether a text's vector is there at once: nothing to load, nobody to ask."""

    def embed(self, texts: Sequence[str], patience: Patience = PATIENT) -> Sequence[Sequence[float] | Vector]:
        """Return a vector for each text, in order; raise Unavailable when that cannot be done now."""

    def close(self) -> None:
        """Let go of what it holds open."""


class Unusable:
    """Stands for an embedder that there is no way to ask any more."""

    batch_size = 1
    remote = False
    instant = True
    problem: str | None = None

    def __init__(self, identity: str) -> None:
        self.identity = identity

    def embed(self, texts: Sequence[str], patience: Patience = PATIENT) -> Sequence[Sequence[float] | Vector]:
        raise Unavailable(f"{self.identity} cannot be asked", hint="nrem reembed makes the vectors anew")

    def close(self) -> None:
        pass


def embed_all(embedder: Embedder, texts: Sequence[str], patience: Patience = PATIENT) -> list[bytes | None]:
    """Embed texts in batches; None stands for an answer that is no vector."""
    packed: list[bytes | None] = []
    for batch in _batches(embedder, texts):
        packed += _embed(embedder, batch, patience)
    return packed


def embed_soon(embedder: Embedder, texts: Sequence[str], wanted: sections.Embeddings) -> list[bytes | None]:
    """Embed what can be embedded while somebody waits; None also stands for what there was no time for."""
    usual = hurried(wanted)
    patience = usual if len(texts) == 1 else Patience(1, max(BATCH_SECONDS, usual.seconds))
    deadline = time.monotonic() + ALL_BATCHES_SECONDS
    packed: list[bytes | None] = []
    try:
        for batch in _batches(embedder, texts):
            if time.monotonic() > deadline:
                break
            packed += _embed(embedder, batch, patience)
    except (Unavailable, ConfigError):  # such as a key that is not set: the texts are worth more
        pass
    return packed + [None] * (len(texts) - len(packed))


def hurried(wanted: sections.Embeddings) -> Patience:
    """Return what a recall or a write has of patience, which can do without the vector."""
    return Patience(1, wanted.timeout)


def _batches(embedder: Embedder, texts: Sequence[str]) -> list[Sequence[str]]:
    size = embedder.batch_size
    return [texts[start : start + size] for start in range(0, len(texts), size)]


def _embed(embedder: Embedder, batch: Sequence[str], patience: Patience) -> list[bytes | None]:
    try:
        vectors = embedder.embed(batch, patience)
        if len(vectors) != len(batch):
            raise Unavailable(f"{embedder.identity} gave {len(vectors)} vectors for {len(batch)} texts")
    except (Unavailable, ConfigError) as error:
        embedder.problem = error.message
        raise
    packed = [pack(vector) for vector in vectors]
    embedder.problem = None if any(packed) else f"{embedder.identity} gave no usable vector"
    return packed


def pack(vector: Sequence[float] | Vector) -> bytes | None:
    """Return a vector at length 1 as float32 bytes; None when it has no direction or is not finite."""
    try:
        values = np.asarray(vector, dtype=np.float64)
    except OverflowError:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        norm = float(np.sqrt(values @ values)) if values.ndim == 1 else 0.0
    if not np.isfinite(norm) or norm == 0:
        return None
    return (values / norm).astype(np.float32).tobytes()


def dimension_of(embedder: Embedder, patience: Patience = PATIENT) -> int:
    """Return how many numbers an embedder's vectors have, which only a vector tells."""
    [packed] = embed_all(embedder, ["dimension"], patience)
    if packed is None:
        raise Unavailable(f"{embedder.identity} has no vector for a plain word", hint="check the model")
    return len(packed) // 4


def unpack(packed: bytes) -> Vector:
    return np.frombuffer(packed, dtype=np.float32)


# Which one


DEFAULT_MODELS = {
    "local": "wordllama-256",
    "minilm": "all-MiniLM-L6-v2-int8",
    "openai": "text-embedding-3-small",
    "anthropic": "text-embedding-3-small",  # it has no embedding model of its own
    "google": "text-embedding-004",
    "ollama": "nomic-embed-text",
}


def choose(settings: sections.Config) -> Embedder | None:
    """Return the embedder that a configuration means, not yet loaded; None when vectors are off."""
    if not settings.vector.enabled:
        return None
    wanted = settings.memory.embeddings
    usual = "openai" if wanted.base_url else settings.chat.provider or "local"
    provider, model = _named(wanted.model, wanted.provider or usual)
    if wanted.base_url and provider in ("local", "minilm"):
        raise ConfigError(
            f"memory.embeddings.base_url: {provider} is not asked over a network",
            hint="leave it out, or set memory.embeddings.provider to one that is",
            field="memory.embeddings.base_url",
        )
    return make(f"{provider}:{model}", wanted)


def make(identity: str, wanted: sections.Embeddings) -> Embedder:
    """Return the embedder of an identity; raise ConfigError for one that there is none for."""
    provider, _, model = identity.partition(":")
    if provider == "local":
        from nrem.models.local import WordLlama

        return WordLlama(model)
    if provider == "minilm":
        from nrem.models.minilm import MiniLM

        return MiniLM(model)
    from nrem.models.providers import PROVIDERS

    if provider not in PROVIDERS:
        raise _no_provider(provider)
    return PROVIDERS[provider](provider, model, wanted)


def remake(identity: str, wanted: sections.Embeddings, configured: str) -> Embedder:
    """Return the embedder whose vectors still serve, while the configured one's are made.

    One on a server is asked again only if the configuration is still for its provider: otherwise address and
    key in it are another's, and what people ask must not go to a server that nobody chose.
    """
    provider = identity.partition(":")[0]
    if provider not in ("local", "minilm", configured.partition(":")[0]):
        return Unusable(identity)
    try:
        return make(identity, wanted)
    except ConfigError:
        return Unusable(identity)


def _named(model: str, provider: str) -> tuple[str, str]:
    """Return provider and model of a setting such as `openai:text-embedding-3-large`, or of a provider."""
    before, colon, behind = model.partition(":")
    if colon and before in DEFAULT_MODELS:
        provider, model = before, behind
    if provider not in DEFAULT_MODELS:
        raise _no_provider(provider)
    model = model or DEFAULT_MODELS[provider]
    return ("openai" if provider == "anthropic" else provider), model


def _no_provider(provider: str) -> ConfigError:
    return ConfigError(
        f"memory.embeddings.provider: there is no provider {provider}",
        hint=f"it is one of {', '.join(DEFAULT_MODELS)}; with base_url, any OpenAI-compatible server",
        field="memory.embeddings.provider",
    )
