"""The chat model is asked within a budget, every call is written down, and only sound advice is taken."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from builders import ManualClock
from models.provider import Answer, Provider, running, status
from nrem.core.consult import LEAST_TOKENS, Advice, Question, consult
from nrem.models import transport
from nrem.models.chat import MOST_TOKENS, Chat, Prompt, choose
from nrem.policy.naming import Group
from nrem.policy.proposals import Source
from nrem.runtime.app import App
from nrem.sections import Config

NOTES = (
    Source(id="a", text="Luis moved to Lisbon", at=1_700_000_000_000),
    Source(id="b", text="Luis lives in Madrid", at=1_600_000_000_000),
    Source(id="c", text="The deploy runs at 9:00", at=1_650_000_000_000),
    Source(id="d", text="The deploy is at 9:00 and never later", at=1_660_000_000_000),
)
THEME = Group(
    tags=("deploy", "hours"),
    notes=(NOTES[2], Source(id="e", text="The deploy needs two people", at=1_650_000_000_000)),
)
GOOD = {"op": "supersede", "ids": ["a", "b"]}
INVENTED = {"op": "rewrite", "ids": ["c"], "text": "The deploy runs at 10:00"}


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    with running(monkeypatch) as provider:
        yield provider


@pytest.fixture
def chat(provider: Provider) -> Iterator[Chat]:
    chosen = choose(settings(provider).chat)
    assert chosen is not None
    yield chosen
    chosen.close()


def settings(provider: Provider, **chat: object) -> Config:
    given = {"provider": "ollama", "model": "m", "base_url": provider.url, **chat}
    return Config.model_validate({"chat": given})


def asked(app: App, chat: Chat, config: Config) -> Advice:
    question = Question(lines=NOTES, themes=(THEME,))
    return consult(app.store, chat, config, app.scope("ana"), question, clock=app.clock)


def calls(app: App) -> list[dict[str, Any]]:
    with app.store.reading() as db:
        return [dict(row) for row in db.execute("select * from model_calls order by rowid")]


def test_sound_advice_is_taken_and_the_rest_dropped_alone(app: App, provider: Provider, chat: Chat) -> None:
    provider.text = f"Here you are:\n```json\n{json.dumps({'operations': [INVENTED, 7, GOOD]})}\n```"
    advice = asked(app, chat, settings(provider))
    assert [proposal.sources for proposal in advice.kept] == [("a", "b")]
    assert advice.dropped == ("it has a number that its sources do not have: 10:00",)
    assert advice.note is None


def test_memories_are_sent_as_data_beside_the_task(app: App, provider: Provider, chat: Chat) -> None:
    asked(app, chat, settings(provider))
    system, user = provider.asked[0].body["messages"]
    data = json.loads(user["content"])
    assert [note["text"] for note in data["notes"]] == [note.text for note in NOTES]
    assert data["notes"][0]["date"] == "2023-11-14"
    [theme] = data["themes"]
    assert (theme["tags"], [note["id"] for note in theme["notes"]]) == (["deploy", "hours"], ["c", "e"])
    assert not any(note.text in system["content"] for note in (*NOTES, *THEME.notes))


def test_a_theme_gets_a_name_in_the_same_answer(app: App, provider: Provider, chat: Chat) -> None:
    good = {"op": "theme", "ids": ["c", "e"], "text": "hours of the deploy"}
    lie = {"op": "theme", "ids": ["a"], "text": "Luis"}
    provider.text = json.dumps({"operations": [lie, GOOD, good]})
    advice = asked(app, chat, settings(provider))
    assert {tags: name.text for tags, name in advice.names.items()} == {
        ("deploy", "hours"): "hours of the deploy"
    }
    assert [proposal.sources for proposal in advice.kept] == [("a", "b")]
    assert advice.dropped == ("it cites a memory that it was not given",)
    assert len(provider.asked) == 1


def test_every_call_is_written_down_with_hashes_and_no_text(app: App, provider: Provider, chat: Chat) -> None:
    provider.text = json.dumps({"operations": []})
    asked(app, chat, settings(provider))
    [row] = calls(app)
    assert (row["purpose"], row["model"], row["error"]) == ("tidy", "ollama:m", None)
    assert (row["input_tokens"], row["output_tokens"]) == (11, 7)
    assert row["output_hash"] == hashlib.sha256(provider.text.encode()).digest()
    assert row["template"].startswith("tidy-3 ")
    assert json.loads(row["memory_ids"]) == ["a", "b", "c", "d", "e"]
    assert not any(note.text in str(row) for note in NOTES)


@pytest.mark.parametrize("text", ["I cannot do that.", "{", "[]", '{"operations": "all"}', "{}"])
def test_an_answer_that_is_no_plan_is_noted(app: App, provider: Provider, chat: Chat, text: str) -> None:
    provider.text = text
    advice = asked(app, chat, settings(provider))
    assert (advice.kept, advice.note) == ((), "ollama:m: the answer is no list of operations")
    assert calls(app)[0]["error"] == "the answer is no list of operations"


def test_a_provider_that_is_down_is_noted_and_never_raised(app: App, provider: Provider, chat: Chat) -> None:
    provider.always = status(503)
    advice = asked(app, chat, settings(provider))
    assert "did not answer (status 503)" in str(advice.note)
    [row] = calls(app)
    assert (row["output_hash"], row["output_tokens"]) == (None, 0)
    assert row["input_tokens"] == 3 * tokens_of(provider)  # it may have worked on each try


def tokens_of(provider: Provider) -> int:
    """Return about how many tokens the last question took."""
    system, user = provider.asked[-1].body["messages"]
    return Prompt(task=system["content"], data=user["content"]).tokens


def test_tries_that_fail_use_up_the_budget(app: App, provider: Provider, chat: Chat) -> None:
    config = settings(provider, daily_tokens=2000)
    provider.always = Answer(body=b"no JSON")
    for _ in range(transport.BREAK_AFTER):
        asked(app, chat, config)
    fitting = (2000 - LEAST_TOKENS) // tokens_of(provider)
    assert 0 < len(provider.asked) == len(calls(app)) == fitting < transport.BREAK_AFTER
    assert "of the day's 2000 tokens are used up" in str(asked(app, chat, config).note)


def test_an_answer_may_be_as_long_as_the_budget_has_room(app: App, provider: Provider, chat: Chat) -> None:
    for daily in ("none", 1500):
        asked(app, chat, settings(provider, daily_tokens=daily))
    first, second = (asked.body["options"]["num_predict"] for asked in provider.asked)
    assert first == MOST_TOKENS
    assert second == 1500 - tokens_of(provider) - (11 + 7)


def test_a_question_that_is_larger_than_the_budget_says_so(app: App, provider: Provider, chat: Chat) -> None:
    advice = asked(app, chat, settings(provider, daily_tokens=10))
    assert provider.asked == []
    assert re.search(
        r"the question alone takes about \d+ tokens, and chat.daily_tokens is 10", str(advice.note)
    )


def test_the_days_budget_holds_and_begins_anew_the_next_day(
    app: App, provider: Provider, chat: Chat, clock: ManualClock
) -> None:
    config = settings(provider, daily_tokens=1000)
    provider.text = json.dumps({"operations": []})
    answered = 0
    for _ in range(60):
        answered += asked(app, chat, config).note is None
    assert 0 < answered == len(provider.asked) < 60
    assert "tokens are used up" in str(asked(app, chat, config).note)
    clock.advance(days=1)
    assert asked(app, chat, config).note is None


def test_without_a_budget_there_is_no_end(app: App, provider: Provider, chat: Chat) -> None:
    config = settings(provider, daily_tokens="none")
    provider.text = json.dumps({"operations": []})
    assert all(asked(app, chat, config).note is None for _ in range(30))
