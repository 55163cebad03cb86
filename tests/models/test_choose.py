"""Which embedder a configuration means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nrem import config, sections
from nrem.errors import ConfigError
from nrem.models.embeddings import Embedder, choose, make
from nrem.models.local import WordLlama
from nrem.models.minilm import MiniLM
from nrem.models.providers import Google, Ollama, OpenAI
from nrem.sections import Config


def settings(chat: str = "", **embeddings: str) -> Config:
    return Config.model_validate({"memory": {"embeddings": embeddings}, "chat": {"provider": chat}})


def chosen(given: Config) -> Embedder:
    embedder = choose(given)
    assert embedder is not None
    return embedder


DEFAULTS = [
    ("", "local:wordllama-256", WordLlama),
    ("local", "local:wordllama-256", WordLlama),
    ("minilm", "minilm:all-MiniLM-L6-v2-int8", MiniLM),
    ("openai", "openai:text-embedding-3-small", OpenAI),
    ("anthropic", "openai:text-embedding-3-small", OpenAI),
    ("google", "google:text-embedding-004", Google),
    ("ollama", "ollama:nomic-embed-text", Ollama),
]


@pytest.mark.rows(92)
@pytest.mark.parametrize(("provider", "identity", "kind"), DEFAULTS)
def test_each_provider_has_a_model_of_its_own(provider: str, identity: str, kind: type) -> None:
    embedder = chosen(settings(provider=provider))
    assert (embedder.identity, type(embedder)) == (identity, kind)


@pytest.mark.rows(92)
@pytest.mark.parametrize(("provider", "identity", "kind"), [DEFAULTS[0], *DEFAULTS[3:]])
def test_without_a_provider_it_is_that_of_the_chat_model(provider: str, identity: str, kind: type) -> None:
    embedder = chosen(settings(chat=provider))
    assert (embedder.identity, type(embedder)) == (identity, kind)


@pytest.mark.rows(92)
@pytest.mark.parametrize(
    ("chat", "embeddings", "identity"),
    [
        ("", {"model": "openai:text-embedding-3-large"}, "openai:text-embedding-3-large"),
        ("google", {"model": "ollama:mxbai-embed-large"}, "ollama:mxbai-embed-large"),
        ("google", {"provider": "openai", "model": "ollama:x"}, "ollama:x"),
        (
            "google",
            {"provider": "openai", "model": "text-embedding-3-large"},
            "openai:text-embedding-3-large",
        ),
        ("google", {"provider": "openai"}, "openai:text-embedding-3-small"),
        ("google", {"provider": "local"}, "local:wordllama-256"),
        ("google", {"model": "gemini-embedding-001"}, "google:gemini-embedding-001"),
        ("anthropic", {"model": "text-embedding-3-large"}, "openai:text-embedding-3-large"),
        ("openai", {"provider": "anthropic", "model": "anthropic:m"}, "openai:m"),
        ("openai", {"model": "local:"}, "local:wordllama-256"),
        ("openai", {"model": "google:"}, "google:text-embedding-004"),
        ("", {"provider": "ollama", "model": "nomic-embed-text:v1.5"}, "ollama:nomic-embed-text:v1.5"),
        ("", {"model": "ollama:nomic-embed-text:v1.5"}, "ollama:nomic-embed-text:v1.5"),
        ("", {"provider": "openai", "model": "org/model:free"}, "openai:org/model:free"),
        ("", {"model": "minilm:/srv/model"}, "minilm:/srv/model"),
    ],
)
def test_model_goes_before_provider_and_provider_before_chat(
    chat: str, embeddings: dict[str, str], identity: str
) -> None:
    assert chosen(settings(chat, **embeddings)).identity == identity


@pytest.mark.rows(92)
@pytest.mark.parametrize(
    ("embeddings", "identity", "kind"),
    [
        ({"provider": "openai"}, "openai:text-embedding-3-small", OpenAI),
        ({"provider": "openai", "model": "bge-m3"}, "openai:bge-m3", OpenAI),
        ({"provider": "anthropic"}, "openai:text-embedding-3-small", OpenAI),
        ({"provider": "google"}, "google:text-embedding-004", Google),
        ({"provider": "ollama"}, "ollama:nomic-embed-text", Ollama),
    ],
)
def test_an_address_of_ones_own_changes_where_and_not_what(
    embeddings: dict[str, str], identity: str, kind: type
) -> None:
    embedder = chosen(settings(**embeddings, base_url="http://127.0.0.1:1"))
    assert (embedder.identity, type(embedder), embedder.remote) == (identity, kind, True)


@pytest.mark.rows(92)
def test_choosing_loads_nothing_and_asks_for_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr("nrem.models.local._read_files", lambda: pytest.fail("it was loaded"))
    assert chosen(settings(provider="openai")).remote
    assert not chosen(settings()).remote


@pytest.mark.parametrize("provider", ["local", "minilm"])
def test_what_is_inside_has_no_address(provider: str) -> None:
    with pytest.raises(ConfigError, match="is not asked over a network") as caught:
        choose(settings(provider=provider, base_url="http://127.0.0.1:1"))
    assert caught.value.field == "memory.embeddings.base_url"


@pytest.mark.parametrize("key", ["memory.embeddings.base_url", "chat.base_url"])
@pytest.mark.parametrize(
    "url", ["not a url", "127.0.0.1:8000", "http://", "ftp://host", "http://h:port", "http://[::1"]
)
def test_what_is_no_address_is_refused_by_the_name_of_its_field(home: Path, key: str, url: str) -> None:
    with pytest.raises(ConfigError, match="must be an address such as") as caught:
        config.load(home, environ={f"NREM_{key.upper().replace('.', '__')}": url})
    assert caught.value.field == key


def test_there_is_none_when_vectors_are_off() -> None:
    given: dict[str, Any] = {"vector": {"enabled": False}, "memory": {"embeddings": {"provider": "openai"}}}
    assert choose(Config.model_validate(given)) is None


@pytest.mark.parametrize("model", ["wordllama-512", "local:wordllama-64", "cohere:embed-v3"])
def test_a_local_model_that_there_is_none_of_is_a_config_error(model: str) -> None:
    with pytest.raises(ConfigError, match="there is no local model") as caught:
        choose(settings(model=model))
    assert (caught.value.field, caught.value.hint) == (
        "memory.embeddings.model",
        "the local one is wordllama-256",
    )


@pytest.mark.parametrize("key", ["memory.embeddings.provider", "chat.provider"])
def test_an_unknown_provider_in_the_file_is_named_with_those_there_are(home: Path, key: str) -> None:
    home.mkdir()
    section, _, name = key.rpartition(".")
    (home / "nrem.toml").write_text(f'[{section}]\n{name} = "cohere"\n')
    with pytest.raises(ConfigError, match="'openai', 'anthropic', 'google' or 'ollama'") as caught:
        config.load(home)
    assert caught.value.field == key


def test_an_unknown_provider_that_came_another_way_is_a_config_error_too() -> None:
    given = sections.Memory.model_construct(embeddings=sections.Embeddings.model_construct(provider="cohere"))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="there is no provider cohere") as caught:
        choose(Config.model_construct(memory=given))
    assert caught.value.field == "memory.embeddings.provider"
    assert "local, minilm, openai, anthropic, google, ollama" in str(caught.value.hint)


@pytest.mark.rows(92)
@pytest.mark.parametrize(
    ("variable", "value", "identity"),
    [
        ("NREM_MEMORY__EMBEDDINGS__MODEL", "google:g", "google:g"),
        ("NREM_MEMORY__EMBEDDINGS__PROVIDER", "ollama", "ollama:nomic-embed-text"),
        ("NREM_CHAT__PROVIDER", "anthropic", "openai:text-embedding-3-small"),
    ],
)
def test_the_environment_chooses_too(
    home: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, identity: str
) -> None:
    monkeypatch.setenv(variable, value)
    assert chosen(config.load(home).config).identity == identity


@pytest.mark.parametrize(
    "identity", [identity for provider, identity, _ in DEFAULTS if provider] + ["ollama:a:b", "minilm:/x"]
)
def test_an_identity_says_enough_to_make_the_embedder_again(identity: str) -> None:
    assert make(identity, sections.Embeddings()).identity == identity
