"""What the log and the status say of an embedder that fails, and when they take it back."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from builders import HashEmbedder, ManualClock, caller_of
from models.provider import HANG, Answer, Asked, Provider, running, status
from nrem.models import transport
from nrem.models.providers import OpenAI
from nrem.runtime.app import App
from nrem.runtime.tender import Tender

Said = Callable[[], list[tuple[str, str]]]


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """A provider on a local port, never left alone for having failed."""
    monkeypatch.setattr(transport, "BREAK_SECONDS", 0.0)
    with running(monkeypatch) as provider:
        yield provider


@pytest.fixture
def app(home: Path, clock: ManualClock, provider: Provider) -> Iterator[App]:
    home.mkdir()
    (home / "nrem.toml").write_text(
        f'[memory.embeddings]\nprovider = "openai"\nbase_url = "{provider.url}"\ntimeout = 0.2\n'
    )
    with App.open(home, create=True, clock=clock) as app:
        caller_of(app)("add_agent", agent="ana")
        yield app


@pytest.fixture
def tender(app: App) -> Tender:
    return Tender(app, threading.Event())


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Said:
    """Return what the log has since the last time, with its level."""
    caplog.set_level(logging.INFO, logger="nrem.vectors")

    def read() -> list[tuple[str, str]]:
        found = [(record.levelname, record.getMessage()) for record in caplog.records]
        caplog.clear()
        return found

    return read


def state(app: App) -> dict[str, Any]:
    return caller_of(app)("show_embedder")


def test_that_it_fails_and_that_it_is_back_is_said_once(
    app: App, provider: Provider, tender: Tender, said: Said
) -> None:
    tender.tick()
    assert said() == []
    provider.always = status(500)
    caller_of(app)("remember", agent="ana", content="tea")
    for _ in range(3):
        tender.tick()
    problem = "openai did not answer (status 500)"
    name = "openai:text-embedding-3-small"
    assert said() == [("WARNING", f"recall goes by words, because {name} does not serve: {problem}")]
    assert state(app) == {
        "configured": name,
        "serving": None,
        "dimension": None,
        "pending": 1,
        "given_up": 0,
        "problem": problem,
    }
    provider.always = None
    for _ in range(3):
        tender.tick()
    assert said() == [("INFO", f"{name} serves again")]
    told = state(app)
    assert (told["serving"], told["dimension"], told["pending"], told["problem"]) == (name, 16, 0, None)


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (status(404), "openai refused the request (status 404)"),
        (status(401), "openai refused the API key (status 401)"),
        (Answer(body=b"<html>"), "openai answered with something that is not JSON"),
    ],
)
def test_what_is_wrong_at_the_start_is_said_before_anybody_asks(
    app: App, provider: Provider, tender: Tender, said: Said, problem: Answer, told: str
) -> None:
    provider.always = problem
    tender.tick()
    [(level, message)] = said()
    assert level == "WARNING"
    assert told in message
    assert state(app)["problem"] == told


def test_a_missing_key_is_named_at_the_start(
    home: Path, clock: ManualClock, provider: Provider, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OpenAI, "usual_url", provider.url)
    flags = {"memory.embeddings.provider": "openai"}
    with App.open(home, create=True, clock=clock, flags=flags) as app:
        Tender(app, threading.Event()).tick()
        assert "OPENAI_API_KEY is not set" in state(app)["problem"]
    [(level, message)] = said()
    assert (level, "OPENAI_API_KEY" in message) == ("WARNING", True)
    assert provider.asked == []


def test_one_that_is_too_slow_for_recalls_does_not_count_as_back(
    app: App, provider: Provider, tender: Tender
) -> None:
    provider.always = status(500)
    tender.tick()
    provider.always = None
    usual, patient = provider.answer, iter([False, True])

    def answer(asked: Asked) -> Answer:
        if next(patient, False):
            return usual(asked)
        provider.stopped.wait()
        return HANG

    provider.answer = answer  # type: ignore[method-assign]
    tender.tick()
    assert state(app)["problem"] == "openai did not answer (ReadTimeout)"


def test_one_that_serves_is_not_asked_for_nothing(app: App, provider: Provider, tender: Tender) -> None:
    tender.tick()
    asked = len(provider.asked)
    tender.tick()
    assert len(provider.asked) == asked


def test_another_embedder_than_the_stores_is_said(home: Path, clock: ManualClock, said: Said) -> None:
    other = HashEmbedder()
    other.identity = "test:other"
    with App.open(home, create=True, clock=clock, embedder=other) as app:
        caller_of(app)("add_agent", agent="ana")
        caller_of(app)("remember", agent="ana", content="tea")
    with App.open(home, clock=clock, embedder=HashEmbedder()) as app:
        Tender(app, threading.Event()).tick()
        told = state(app)
    assert (told["configured"], told["serving"]) == ("test:hash-16", "test:other")
    assert told["problem"].startswith("the store's vectors are from test:other")
    [(level, message)] = said()
    assert (level, "test:other" in message) == ("WARNING", True)
