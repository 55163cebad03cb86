"""Chat models: what each provider is sent, and what becomes of each answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from models.provider import DROP, HANG, Answer, Provider, refusing_url, said, status
from nrem import sections
from nrem.errors import ConfigError, Unavailable
from nrem.models import transport
from nrem.models.chat import MOST_TOKENS, PATIENCE, Bill, Chat, Prompt, choose
from nrem.models.embeddings import Patience

NAMES = ("openai", "anthropic", "google", "ollama")
PATHS = {
    "openai": "/chat/completions",
    "anthropic": "/messages",
    "google": "/models/m:generateContent",
    "ollama": "/api/chat",
}
KEY = "sk-veryverysecret"
PROMPT = Prompt(task="Tidy.", data='[{"id": "a"}]')
each = pytest.mark.parametrize("name", NAMES)
opened: list[Chat] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    while opened:
        opened.pop().close()


def chat_of(provider: Provider, name: str, patience: Patience = PATIENCE, **wanted: str) -> Chat:
    chat = choose(
        sections.Chat.model_validate({"provider": name, "model": "m", "base_url": provider.url} | wanted),
        patience,
    )
    assert chat is not None
    opened.append(chat)
    return chat


# Which


def test_without_a_model_there_is_none() -> None:
    assert choose(sections.Chat()) is None
    assert choose(sections.Chat(provider="openai")) is None


@pytest.mark.parametrize(
    ("wanted", "identity"),
    [
        (sections.Chat(provider="google", model="gemini"), "google:gemini"),
        (sections.Chat(model="ollama:llama3:8b"), "ollama:llama3:8b"),
        (sections.Chat(provider="openai", model="anthropic:claude"), "anthropic:claude"),
        (sections.Chat(provider="ollama", model="llama3:8b"), "ollama:llama3:8b"),
        (sections.Chat(model="local-model", base_url="http://127.0.0.1:1/v1"), "openai:local-model"),
    ],
)
def test_a_configuration_means_one_model(wanted: sections.Chat, identity: str) -> None:
    chat = choose(wanted)
    assert chat is not None
    assert chat.identity == identity


def test_a_model_of_nobody_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="not whose model") as caught:
        choose(sections.Chat(model="gpt-x"))
    assert caught.value.field == "chat.provider"


# What is asked


@each
def test_each_provider_is_asked_in_its_own_words(
    provider: Provider, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    provider.text = "yes"
    bill = Bill()
    assert chat_of(provider, name, api_key_env="MY_KEY").ask(PROMPT, bill) == "yes"
    assert bill == Bill(input_tokens=11, output_tokens=7)
    [asked] = provider.asked
    assert asked.path == PATHS[name]
    assert PROMPT.task in json.dumps(asked.body)
    headers = {"anthropic": ("x-api-key", KEY), "google": ("x-goog-api-key", KEY)}
    header, value = headers.get(name, ("authorization", f"Bearer {KEY}"))
    assert asked.headers[header] == value
    if name != "google":
        assert asked.body["model"] == "m"
        assert asked.body["messages"][-1] == {"role": "user", "content": PROMPT.data}
    else:
        assert asked.body["contents"] == [{"role": "user", "parts": [{"text": PROMPT.data}]}]


def test_the_key_can_be_in_a_file(provider: Provider, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n")
    chat_of(provider, "anthropic", api_key_file=str(tmp_path / "key")).ask(PROMPT, Bill())
    assert provider.asked[0].headers["x-api-key"] == KEY


@pytest.mark.parametrize(
    ("name", "variable"),
    [("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY"), ("google", "GOOGLE_API_KEY")],
)
def test_a_missing_key_names_its_variable(provider: Provider, name: str, variable: str) -> None:
    with pytest.raises(ConfigError, match=variable) as caught:
        chat_of(provider, name, base_url="").ask(PROMPT, Bill())
    assert caught.value.field == "chat.api_key_env"


# What becomes of an answer


@each
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nothing",
        b"[]",
        b"null",
        b"{}",
        b'{"choices": [], "content": 3}',
        b'{"choices": [{"mess',
        b"[" * 9999,
    ],
)
def test_an_answer_of_another_shape_is_unavailable(provider: Provider, name: str, body: bytes) -> None:
    provider.always = Answer(body=body)
    with pytest.raises(Unavailable):
        chat_of(provider, name).ask(PROMPT, Bill())


@each
def test_an_empty_text_is_unavailable(provider: Provider, name: str) -> None:
    provider.text = "  "
    with pytest.raises(Unavailable, match="gave no text"):
        chat_of(provider, name).ask(PROMPT, Bill())


def test_tokens_that_are_not_counted_are_estimated(provider: Provider) -> None:
    body = said("/api/chat", "x" * 40) | {"eval_count": True}
    provider.script.append(Answer(body=json.dumps(body).encode()))
    bill = Bill()
    chat_of(provider, "ollama").ask(PROMPT, bill)
    assert bill == Bill(input_tokens=11, output_tokens=10)


@pytest.mark.parametrize("fault", [status(500), status(429), DROP])
def test_it_is_asked_three_times(provider: Provider, fault: Answer) -> None:
    provider.text = "yes"
    provider.script.extend([fault, fault])
    assert chat_of(provider, "openai").ask(PROMPT, Bill()) == "yes"
    provider.always = fault
    with pytest.raises(Unavailable, match="did not answer"):
        chat_of(provider, "openai").ask(PROMPT, Bill())
    assert len(provider.asked) == 6


def test_a_refused_key_is_a_config_error(provider: Provider) -> None:
    provider.always = status(401)
    with pytest.raises(ConfigError, match="refused the API key") as caught:
        chat_of(provider, "openai").ask(PROMPT, Bill())
    assert caught.value.field == "chat.api_key_env"


def test_after_five_failures_it_is_left_alone(provider: Provider) -> None:
    provider.always = status(500)
    chat = chat_of(provider, "openai")
    for _ in range(transport.BREAK_AFTER):
        with pytest.raises(Unavailable):
            chat.ask(PROMPT, Bill())
    asked = len(provider.asked)
    with pytest.raises(Unavailable, match="left alone"):
        chat.ask(PROMPT, Bill())
    assert len(provider.asked) == asked


def test_one_that_says_nothing_is_given_up(provider: Provider) -> None:
    provider.always = HANG
    with pytest.raises(Unavailable, match="ReadTimeout"):
        chat_of(provider, "openai", Patience(1, 0.05)).ask(PROMPT, Bill())


def test_an_answer_that_is_too_large_is_not_read_and_not_asked_for_again(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "MOST_BYTES", 1 << 20)
    provider.text = "x" * (3 << 20)
    bill = Bill()
    with pytest.raises(Unavailable, match="more than 1 MiB"):
        chat_of(provider, "openai").ask(PROMPT, bill)
    assert (len(provider.asked), bill) == (1, Bill(input_tokens=PROMPT.tokens))


def test_nobody_there_is_unavailable() -> None:
    chat = choose(sections.Chat(model="m", base_url=refusing_url()), Patience(1, 1.0))
    assert chat is not None
    opened.append(chat)
    with pytest.raises(Unavailable, match="ConnectError"):
        chat.ask(PROMPT, Bill())


# What it costs


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("openai", ("max_tokens",)),
        ("anthropic", ("max_tokens",)),
        ("google", ("generationConfig", "maxOutputTokens")),
        ("ollama", ("options", "num_predict")),
    ],
)
def test_every_answer_has_a_limit(provider: Provider, name: str, where: tuple[str, ...]) -> None:
    for prompt in (PROMPT, replace(PROMPT, most_tokens=123)):
        chat_of(provider, name).ask(prompt, Bill())
        found: Any = provider.asked[-1].body
        for key in where:
            found = found[key]
        assert found == prompt.most_tokens
    assert PROMPT.most_tokens == MOST_TOKENS


@each
def test_a_temperature_is_only_told_where_every_model_takes_one(provider: Provider, name: str) -> None:
    chat_of(provider, name).ask(PROMPT, Bill())
    assert ("temperature" in json.dumps(provider.asked[0].body)) == (name == "ollama")


@each
def test_an_empty_text_is_billed_as_it_was_counted(provider: Provider, name: str) -> None:
    provider.text = ""
    bill = Bill()
    with pytest.raises(Unavailable):
        chat_of(provider, name).ask(PROMPT, bill)
    assert bill == Bill(input_tokens=11, output_tokens=7)


def test_what_google_thought_is_billed_too(provider: Provider) -> None:
    body = said(":generateContent", "yes")
    body["usageMetadata"]["thoughtsTokenCount"] = 900
    provider.script.append(Answer(body=json.dumps(body).encode()))
    bill = Bill()
    chat_of(provider, "google").ask(PROMPT, bill)
    assert bill == Bill(input_tokens=11, output_tokens=907)


@pytest.mark.parametrize(
    ("fault", "billed"),
    [
        (status(500), 3),
        (DROP, 3),
        (Answer(body=b"<html>"), 1),
        (Answer(body=b"{}"), 1),
        (status(429), 0),
        (status(400), 0),
    ],
)
def test_each_try_that_may_cost_something_is_billed(provider: Provider, fault: Answer, billed: int) -> None:
    provider.always = fault
    bill = Bill()
    with pytest.raises(Unavailable):
        chat_of(provider, "openai").ask(PROMPT, bill)
    assert bill == Bill(input_tokens=billed * PROMPT.tokens)


def test_a_timeout_is_billed_and_a_provider_that_is_not_there_is_not(provider: Provider) -> None:
    provider.always = HANG
    bill = Bill()
    with pytest.raises(Unavailable):
        chat_of(provider, "openai", Patience(2, 0.05)).ask(PROMPT, bill)
    assert bill == Bill(input_tokens=2 * PROMPT.tokens)
    chat = choose(sections.Chat(model="m", base_url=refusing_url()), Patience(1, 1.0))
    assert chat is not None
    opened.append(chat)
    with pytest.raises(Unavailable):
        chat.ask(PROMPT, bill := Bill())
    assert bill == Bill()


def test_a_try_that_failed_is_billed_beside_the_one_that_did_not(provider: Provider) -> None:
    provider.script.append(status(503))
    bill = Bill()
    chat_of(provider, "openai").ask(PROMPT, bill)
    assert bill == Bill(input_tokens=PROMPT.tokens + 11, output_tokens=7)


# When it is asked again


@pytest.mark.parametrize(
    "after",
    [
        {"Retry-After": "3600"},
        {"Retry-After": "Sun, 18 Nov 2125 13:00:00 GMT"},
    ],
)
@pytest.mark.parametrize("code", [429, 503])
def test_one_that_wants_to_be_left_alone_for_long_is_not_asked_again(
    provider: Provider, code: int, after: dict[str, str]
) -> None:
    provider.always = Answer(code, b"{}", after)
    with pytest.raises(Unavailable, match=f"status {code}"):
        chat_of(provider, "openai").ask(PROMPT, Bill())
    assert len(provider.asked) == 1


def test_one_that_wants_to_be_left_alone_for_a_moment_is(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("nrem.models.transport.time.sleep", slept.append)
    for after in ("7", "-1", "soon", "Wed, 99 Nov"):
        provider.script.append(Answer(429, b"{}", {"Retry-After": after}))
        chat_of(provider, "openai").ask(PROMPT, Bill())
    assert slept == [7.0, 0.0, 0.0, 0.0]
