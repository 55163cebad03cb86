"""Ask the chat model what could be said better, within the day's budget; keep only what its sources say."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from nrem.clock import Clock
from nrem.errors import ConfigError, Unavailable
from nrem.model import Scope
from nrem.models import prompts
from nrem.models.chat import Bill, Chat, Prompt
from nrem.policy import naming, proposals
from nrem.policy.naming import Group, Name, Tags
from nrem.policy.proposals import Proposal, Source
from nrem.sections import Config
from nrem.store import model_calls
from nrem.store.database import Database
from nrem.store.model_calls import ModelCall

LEAST_TOKENS = 100
"""An answer that may have fewer is not worth the question."""
PURPOSE = "tidy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What a model proposes and may be done, and why the rest may not."""

    kept: tuple[Proposal, ...] = ()
    names: Mapping[Tags, Name] = field(default_factory=dict)
    """By the tags of a theme."""
    dropped: tuple[str, ...] = ()
    """What is wrong with each of the others."""
    note: str | None = None
    """Why there is no advice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a model is asked about."""

    lines: Sequence[Source]
    themes: Sequence[Group] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """The memories that it is told, each once."""
        told = (*self.lines, *(note for theme in self.themes for note in theme.notes))
        return tuple(dict.fromkeys(source.id for source in told))


def consult(
    store: Database, chat: Chat, settings: Config, scope: Scope, question: Question, *, clock: Clock
) -> Advice:
    """Ask about some memories once; an answer that cannot be had or read is noted, never raised."""
    prompt = prompts.tidy(question.lines, question.themes)
    begun, daily = clock.now(), settings.chat.daily_tokens
    if daily is not None:
        with store.reading() as db:
            used = model_calls.tokens_since(db, midnight(begun, settings))
        left = daily - used - prompt.tokens
        if left < LEAST_TOKENS:
            return Advice(note=f"the chat model was not asked: {_spent(daily, used, prompt)}")
        prompt = replace(prompt, most_tokens=min(prompt.most_tokens, left))
    bill = Bill()
    text, error = _ask(chat, prompt, bill)
    found = prompts.read_answer(text) if text is not None else None
    if text is not None and found is None:
        error = "the answer is no list of operations"
    call = ModelCall(
        id=clock.new_id(),
        at=begun,
        purpose=PURPOSE,
        template=f"{prompts.VERSION} {prompts.TEMPLATE}",
        prompt_hash=hashlib.sha256(f"{prompt.task}\0{prompt.data}".encode()).digest(),
        model=chat.identity,
        memory_ids=question.ids,
        output_hash=hashlib.sha256(text.encode()).digest() if text is not None else None,
        input_tokens=bill.input_tokens,
        output_tokens=bill.output_tokens,
        millis=clock.now() - begun,
        error=error,
    )
    store.write(functools.partial(model_calls.record, scope=scope.number, call=call))
    if found is None:
        return Advice(note=f"{chat.identity}: {error}")
    kept, dropped = proposals.check(found.proposals, question.lines)
    names, unnamed = naming.check(found.names, question.themes)
    return Advice(kept=kept, names=names, dropped=(*dropped, *unnamed))


def _ask(chat: Chat, prompt: Prompt, bill: Bill) -> tuple[str | None, str | None]:
    try:
        return chat.ask(prompt, bill), None
    except (Unavailable, ConfigError) as error:
        return None, error.message


def _spent(daily: int, used: int, prompt: Prompt) -> str:
    if daily - prompt.tokens < LEAST_TOKENS:
        return f"the question alone takes about {prompt.tokens} tokens, and chat.daily_tokens is {daily}"
    return f"{used} of the day's {daily} tokens are used up"


def midnight(now: int, settings: Config) -> int:
    """Return when the day began, in the configured zone."""
    moment = datetime.fromtimestamp(now / 1000, UTC).astimezone(ZoneInfo(settings.time.zone))
    begun = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return int(begun.timestamp() * 1000)
