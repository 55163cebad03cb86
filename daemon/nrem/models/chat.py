"""Text from a model: what is asked, in the words of each provider, and what came back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard

from nrem import sections
from nrem.errors import ConfigError, Unavailable
from nrem.models.embeddings import Patience
from nrem.models.remote import Remote

PATIENCE = Patience(tries=3, seconds=120.0)
MOST_TOKENS = 4000
"""Of an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What a model is asked: what it is to do, and apart from that what it is to do it with."""

    task: str
    data: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    text: str
    input_tokens: int
    output_tokens: int


class Chat(Protocol):
    """A model that answers in text."""

    identity: str
    """`provider:model`."""

    def ask(self, prompt: Prompt) -> Reply:
        """Return its answer; raise Unavailable when there is none now, ConfigError for a refused key."""

    def close(self) -> None:
        """Let go of what it holds open."""


class _Remote(Remote):
    """One that answers in text."""

    section = "chat"

    def __init__(self, provider: str, model: str, wanted: sections.Chat, patience: Patience) -> None:
        super().__init__(provider, model, wanted)
        self._patience = patience

    def _reply(self, text: object, asked: object, answered: object) -> Reply:
        """Return a reply, if there is a text; one that does not count its tokens has them estimated."""
        if not isinstance(text, str) or not text.strip():
            raise Unavailable(
                f"{self.identity} gave no text", hint="check chat.model", code="provider_unavailable"
            )
        known = asked if _is_count(asked) else 0
        return Reply(
            text=text,
            input_tokens=known,
            output_tokens=answered if _is_count(answered) else -(-len(text) // 4),
        )


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _at(answer: Any, *path: str | int) -> Any:
    """Return what stands at a path in an answer; None when it has another shape."""
    for step in path:
        try:
            answer = answer[step]
        except (KeyError, IndexError, TypeError):
            return None
    return answer


class OpenAI(_Remote):
    """OpenAI, or any server with its chat endpoint."""

    key_variable = "OPENAI_API_KEY"
    usual_url = "https://api.openai.com/v1"

    def ask(self, prompt: Prompt) -> Reply:
        messages = [{"role": "system", "content": prompt.task}, {"role": "user", "content": prompt.data}]
        body = {"model": self._model, "messages": messages, "temperature": 0}
        answer = self._transport.post("chat/completions", body, self._patience)
        text = _at(answer, "choices", 0, "message", "content")
        return self._reply(
            text, _at(answer, "usage", "prompt_tokens"), _at(answer, "usage", "completion_tokens")
        )


class Anthropic(_Remote):
    key_variable = "ANTHROPIC_API_KEY"
    usual_url = "https://api.anthropic.com/v1"

    def ask(self, prompt: Prompt) -> Reply:
        body = {
            "model": self._model,
            "max_tokens": MOST_TOKENS,
            "temperature": 0,
            "system": prompt.task,
            "messages": [{"role": "user", "content": prompt.data}],
        }
        answer = self._transport.post("messages", body, self._patience)
        parts = _at(answer, "content")
        texts = [_at(part, "text") for part in parts] if isinstance(parts, list) else []
        text = "".join(text for text in texts if isinstance(text, str))
        return self._reply(text, _at(answer, "usage", "input_tokens"), _at(answer, "usage", "output_tokens"))

    def _headers(self, key: str | None) -> dict[str, str]:
        return {"anthropic-version": "2023-06-01"} | ({"x-api-key": key} if key else {})


class Google(_Remote):
    key_variable = "GOOGLE_API_KEY"
    usual_url = "https://generativelanguage.googleapis.com/v1beta"

    def ask(self, prompt: Prompt) -> Reply:
        body = {
            "systemInstruction": {"parts": [{"text": prompt.task}]},
            "contents": [{"role": "user", "parts": [{"text": prompt.data}]}],
            "generationConfig": {"temperature": 0, "maxOutputTokens": MOST_TOKENS},
        }
        answer = self._transport.post(f"models/{self._model}:generateContent", body, self._patience)
        parts = _at(answer, "candidates", 0, "content", "parts")
        texts = [_at(part, "text") for part in parts] if isinstance(parts, list) else []
        text = "".join(text for text in texts if isinstance(text, str))
        used = _at(answer, "usageMetadata")
        return self._reply(text, _at(used, "promptTokenCount"), _at(used, "candidatesTokenCount"))

    def _headers(self, key: str | None) -> dict[str, str]:
        return {"x-goog-api-key": key} if key else {}


class Ollama(_Remote):
    usual_url = "http://127.0.0.1:11434"

    def ask(self, prompt: Prompt) -> Reply:
        messages = [{"role": "system", "content": prompt.task}, {"role": "user", "content": prompt.data}]
        body = {"model": self._model, "messages": messages, "stream": False, "options": {"temperature": 0}}
        answer = self._transport.post("api/chat", body, self._patience)
        text = _at(answer, "message", "content")
        return self._reply(text, _at(answer, "prompt_eval_count"), _at(answer, "eval_count"))


PROVIDERS: Mapping[str, Callable[[str, str, sections.Chat, Patience], Chat]] = {
    "openai": OpenAI,
    "anthropic": Anthropic,
    "google": Google,
    "ollama": Ollama,
}


def choose(wanted: sections.Chat, patience: Patience = PATIENCE) -> Chat | None:
    """Return the model that a configuration means; None when it names none."""
    if not wanted.model:
        return None
    before, colon, behind = wanted.model.partition(":")
    chosen, model = (before, behind) if colon and before in PROVIDERS else (wanted.provider, wanted.model)
    chosen = chosen or ("openai" if wanted.base_url else "")
    if chosen not in PROVIDERS:
        raise ConfigError(
            "chat.model is set, but not whose model it is",
            hint=f"set chat.provider to one of {', '.join(PROVIDERS)}",
            field="chat.provider",
        )
    return PROVIDERS[chosen](chosen, model, wanted, patience)
