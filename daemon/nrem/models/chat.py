"""Text from a model: what is asked, in the words of each provider, and what came back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard

import httpx

from nrem import sections
from nrem.errors import ConfigError, Unavailable
from nrem.models.embeddings import Patience
from nrem.models.remote import Remote

PATIENCE = Patience(tries=3, seconds=120.0, pause=60.0)
MOST_TOKENS = 4000
"""Of an answer."""
BYTES_PER_TOKEN = 4
"""For what nobody counts."""
_OPENAI_HOSTS = ("openai.com", ".openai.azure.com")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What a model is asked: what it is to do, and apart from that what it is to do it with."""

    task: str
    data: str
    most_tokens: int = MOST_TOKENS
    """Of the answer."""

    @property
    def tokens(self) -> int:
        """About how many it takes itself."""
        return _estimate(self.task + self.data)


@dataclass(slots=True, kw_only=True)
class Bill:
    """What a question has taken so far, also when no answer came of it; estimated where nobody says."""

    input_tokens: int = 0
    output_tokens: int = 0


class Chat(Protocol):
    """A model that answers in text."""

    identity: str
    """`provider:model`."""

    def ask(self, prompt: Prompt, bill: Bill) -> str:
        """Return its answer; raise Unavailable when there is none now, ConfigError for a refused key.

        Every try that may cost something is added to the bill, whatever becomes of it.
        """

    def close(self) -> None:
        """Let go of what it holds open."""


class _Remote(Remote):
    """One that answers in text."""

    section = "chat"

    def __init__(self, provider: str, model: str, wanted: sections.Chat, patience: Patience) -> None:
        super().__init__(provider, model, wanted)
        self._patience = patience

    def _post(self, path: str, body: dict[str, Any], prompt: Prompt, bill: Bill) -> Any:
        def worked() -> None:
            bill.input_tokens += prompt.tokens

        return self._transport.post(path, body, self._patience, worked)

    def _text(self, text: object, prompt: Prompt, bill: Bill, *, asked: object, answered: object) -> str:
        """Return a text, if there is one; what it took goes on the bill as it was counted."""
        given = text if isinstance(text, str) else ""
        if _is_count(asked) and asked:
            bill.input_tokens += asked - prompt.tokens
        bill.output_tokens += answered if _is_count(answered) else _estimate(given)
        if not given.strip():
            raise Unavailable(
                f"{self.identity} gave no text", hint="check chat.model", code="provider_unavailable"
            )
        return given


def _estimate(text: str) -> int:
    return -(-len(text.encode(errors="replace")) // BYTES_PER_TOKEN)


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

    def ask(self, prompt: Prompt, bill: Bill) -> str:
        messages = [{"role": "system", "content": prompt.task}, {"role": "user", "content": prompt.data}]
        body = {"model": self._model, "messages": messages, self._cap: prompt.most_tokens}
        answer = self._post("chat/completions", body, prompt, bill)
        return self._text(
            _at(answer, "choices", 0, "message", "content"),
            prompt,
            bill,
            asked=_at(answer, "usage", "prompt_tokens"),
            answered=_at(answer, "usage", "completion_tokens"),
        )

    @property
    def _cap(self) -> str:
        """The name of the output's limit: OpenAI's newer models refuse the old one, other servers the new."""
        host = httpx.URL(self._wanted.base_url or self.usual_url).host
        return "max_completion_tokens" if host.endswith(_OPENAI_HOSTS) else "max_tokens"


class Anthropic(_Remote):
    key_variable = "ANTHROPIC_API_KEY"
    usual_url = "https://api.anthropic.com/v1"

    def ask(self, prompt: Prompt, bill: Bill) -> str:
        body = {
            "model": self._model,
            "max_tokens": prompt.most_tokens,
            "system": prompt.task,
            "messages": [{"role": "user", "content": prompt.data}],
        }
        answer = self._post("messages", body, prompt, bill)
        used = _at(answer, "usage")
        return self._text(
            _joined(_at(answer, "content")),
            prompt,
            bill,
            asked=_at(used, "input_tokens"),
            answered=_at(used, "output_tokens"),
        )

    def _headers(self, key: str | None) -> dict[str, str]:
        return {"anthropic-version": "2023-06-01"} | ({"x-api-key": key} if key else {})


class Google(_Remote):
    key_variable = "GOOGLE_API_KEY"
    usual_url = "https://generativelanguage.googleapis.com/v1beta"

    def ask(self, prompt: Prompt, bill: Bill) -> str:
        body = {
            "systemInstruction": {"parts": [{"text": prompt.task}]},
            "contents": [{"role": "user", "parts": [{"text": prompt.data}]}],
            "generationConfig": {"maxOutputTokens": prompt.most_tokens},
        }
        answer = self._post(f"models/{self._model}:generateContent", body, prompt, bill)
        used = _at(answer, "usageMetadata")
        said, thought = _at(used, "candidatesTokenCount"), _at(used, "thoughtsTokenCount")
        return self._text(
            _joined(_at(answer, "candidates", 0, "content", "parts")),
            prompt,
            bill,
            asked=_at(used, "promptTokenCount"),
            answered=said + thought if _is_count(said) and _is_count(thought) else said,
        )

    def _headers(self, key: str | None) -> dict[str, str]:
        return {"x-goog-api-key": key} if key else {}


class Ollama(_Remote):
    usual_url = "http://127.0.0.1:11434"

    def ask(self, prompt: Prompt, bill: Bill) -> str:
        messages = [{"role": "system", "content": prompt.task}, {"role": "user", "content": prompt.data}]
        # The only one that is told a temperature: its usual one is high, and no model of it refuses another.
        options = {"temperature": 0, "num_predict": prompt.most_tokens}
        body = {"model": self._model, "messages": messages, "stream": False, "options": options}
        answer = self._post("api/chat", body, prompt, bill)
        return self._text(
            _at(answer, "message", "content"),
            prompt,
            bill,
            asked=_at(answer, "prompt_eval_count"),
            answered=_at(answer, "eval_count"),
        )


def _joined(parts: object) -> str:
    """Return the text of an answer that comes in parts."""
    texts = [_at(part, "text") for part in parts] if isinstance(parts, list) else []
    return "".join(text for text in texts if isinstance(text, str))


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
