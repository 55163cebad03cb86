"""Every setting by its section: its type, its default, and what it is for."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import re
import zoneinfo
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

from nrem.model import KIND_ALIASES, Kind


def _none(value: object) -> object:
    """The word none as None: neither TOML nor the environment has a null."""
    return None if isinstance(value, str) and value.lower() == "none" else value


def _list(value: object) -> tuple[object, ...]:
    """A list, or the JSON text of one."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            value = json.loads(value)
    if not isinstance(value, list | tuple):
        raise ValueError('must be a list of strings, such as ["a", "b"] (as JSON in a variable)')
    return tuple(value)


def _kinds(value: tuple[str, ...]) -> tuple[str, ...]:
    """Kinds by their own names, each once."""
    for word in value:
        if word not in KIND_ALIASES:
            raise ValueError(f"must be kinds of memories: {', '.join(Kind)}")
    return tuple(dict.fromkeys(KIND_ALIASES[word].value for word in value))


def _zone(value: str) -> str:
    """A zone that this machine knows."""
    try:
        zoneinfo.ZoneInfo(value)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("must be a time zone such as Europe/Madrid or UTC") from None
    return value


def _remote(value: str) -> str:
    """An address to push to, without credentials in it."""
    if not value or value.startswith("/"):
        return value
    try:
        parsed = urlsplit(value)
        known = parsed.scheme in ("https", "ssh", "http", "file")
        if not known and not re.fullmatch(r"([\w.-]+@)?\w[\w.-]*:(?!//).+", value):
            raise ValueError
    except ValueError:
        raise ValueError("must be https://, ssh://, file://, user@host:path, or an absolute path") from None
    if parsed.password is not None or (parsed.scheme in ("https", "http") and parsed.username is not None):
        raise ValueError("must not hold credentials; workspace.remote_token_file names the file with them")
    if parsed.scheme == "http" and parsed.hostname not in ("127.0.0.1", "::1", "localhost"):
        raise ValueError("must be https, unless it is this machine")
    return value


def _address(value: str) -> str:
    """An address that can be asked over HTTP."""
    try:
        parsed = urlsplit(value)
        known = parsed.scheme in ("https", "http") and parsed.hostname and (parsed.port or True)
    except ValueError:
        known = False
    if value and not known:
        raise ValueError("must be an address such as https://host/v1 or http://127.0.0.1:11434")
    return value


def _time_of_day(value: str) -> str:
    """A time such as 03:00, or the word never."""
    if value != "never" and not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", value):
        raise ValueError("must be a time such as 03:00, or never")
    return value


Limit = Annotated[Annotated[int, Field(ge=1)] | None, BeforeValidator(_none)]
Port = Annotated[Annotated[int, Field(ge=1, le=65535)] | None, BeforeValidator(_none)]
OptionalText = Annotated[str | None, BeforeValidator(_none)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_list)]
# A shorter one would be found in every other word.
SecretTexts = Annotated[tuple[Annotated[SecretStr, Field(min_length=4)], ...], BeforeValidator(_list)]
Kinds = Annotated[tuple[str, ...], BeforeValidator(_list), AfterValidator(_kinds)]
Interval = Literal["after_session", "after_autonomous", "manual"]
Provider = Literal["", "local", "minilm", "openai", "anthropic", "google", "ollama"]
ChatProvider = Literal["", "openai", "anthropic", "google", "ollama"]
Zone = Annotated[str, AfterValidator(_zone)]
TimeOfDay = Annotated[str, AfterValidator(_time_of_day)]
Address = Annotated[str, AfterValidator(_address)]
RemoteUrl = Annotated[str, AfterValidator(_remote)]
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Endpoint(_Section):
    """Where a model is and how to be let in."""

    provider: str
    model: str
    base_url: Address = Field("", description="Address of the provider's endpoint, if not its usual one.")
    api_key_env: str = Field("", description="Name of the environment variable that holds the API key.")
    api_key_file: str = Field("", description="File that holds the API key.")


class Embeddings(Endpoint):
    provider: Provider = Field("", description="Provider of the embedding model; empty is chat.provider's.")
    model: str = Field("", description="Name of the model, or provider:model; empty is the provider's own.")
    timeout: float = Field(
        3.0, ge=0.1, le=20, description="Seconds that a recall or a write waits for a server, at most."
    )


class Episodic(_Section):
    enabled: bool = Field(True, description="Keep memories of what happened.")
    max_episodes: Limit = Field(None, description="Most episodic memories kept per agent, or none.")


class Semantic(_Section):
    enabled: bool = Field(True, description="Keep memories of facts.")
    max_memories: Limit = Field(None, description="Most semantic memories kept per agent, or none.")


class Procedural(_Section):
    enabled: bool = Field(True, description="Keep memories of how to do things.")
    max_procedures: Limit = Field(None, description="Most procedural memories kept per agent, or none.")


class Consolidation(_Section):
    enabled: bool = Field(True, description="Distill facts from episodes.")
    interval: Interval = Field("after_session", description="When episodes are distilled.")
    max_episodes_per_run: int = Field(20, ge=1, description="Most episodes read by one distillation.")
    model_override: OptionalText = Field(None, description="Model that distills; none is the agent's own.")


class Memory(_Section):
    max_sessions: Limit = Field(None, description="Most sessions kept per agent, or none.")
    max_resume_messages: int = Field(20, ge=1, description="Most messages loaded when a session resumes.")
    store_backend: Literal["sqlite-vec"] = Field("sqlite-vec", description="sqlite-vec is the only backend.")
    embeddings: Embeddings = Field(Embeddings(), description="The embedding model.")
    episodic: Episodic = Field(Episodic(), description="What happened.")
    semantic: Semantic = Field(Semantic(), description="Facts.")
    procedural: Procedural = Field(Procedural(), description="How to do things.")
    consolidation: Consolidation = Field(Consolidation(), description="Distillation of episodes.")


class Server(_Section):
    socket: str = Field("", description="Path of the daemon's socket; empty is nrem.sock in the home.")
    host: str = Field("127.0.0.1", description="Address that the daemon listens on.")
    port: Port = Field(6736, description="Port that the daemon listens on, or none.")
    allowed_hosts: Texts = Field((), description="More names that the daemon answers to, for tunnels.")
    rate: Limit = Field(50, description="Most requests a second with one agent's tokens, or none.")
    burst: int = Field(200, ge=1, description="Most requests at once with one agent's tokens.")


class Mcp(_Section):
    toolset: Literal["typed", "unified"] = Field(
        "typed", description="typed gives agents a tool for each thing to do, unified one tool for all."
    )


class Vector(_Section):
    enabled: bool = Field(True, description="Find memories by meaning, beside by words.")


class Chat(Endpoint):
    provider: ChatProvider = Field(
        "", description="Provider of the chat model; its embedder is the default one."
    )
    model: str = Field(
        "", description="Name of the model, or provider:model; empty is none: no model is asked."
    )
    daily_tokens: Limit = Field(200_000, description="Most tokens a day, asked and answered, or none.")


class Weights(_Section):
    cosine: Weight = Field(0.5, description="How much a cosine of 1 counts in profile agentos.")
    keyword: Weight = Field(0.25, description="How much having all of the question's terms counts.")
    recency: Weight = Field(0.1, description="How much being new counts.")
    importance: Weight = Field(0.1, description="How much an importance of 1 counts.")
    confidence: Weight = Field(0.05, description="How much a confidence of 1 counts.")
    half_life_days: float = Field(
        7.0, gt=0, allow_inf_nan=False, description="Days after which being new counts half."
    )


class Recall(_Section):
    profile: Literal["default", "agentos"] = Field("default", description="How hits are scored.")
    retention_days: Limit = Field(180, description="Days for which the record of a recall is kept, or none.")
    agentos: Weights = Field(Weights(), description="What counts how much in profile agentos.")


class Time(_Section):
    zone: Zone = Field("UTC", description="Time zone in which days begin, such as Europe/Madrid.")


class Retention(_Section):
    profile: Literal["keep", "initrunner"] = Field(
        "keep", description="keep deletes nothing; initrunner has the limits that InitRunner has by default."
    )


class Secrets(_Section):
    enabled: bool = Field(True, description="Look for secrets in what is stored.")
    on_secret: Literal["redact", "refuse"] = Field("redact", description="Store the rest, or refuse it all.")
    exclude_rules: Texts = Field((), description="Names of detection rules that are switched off.")
    literals: SecretTexts = Field((), description="Exact strings that are never stored; masked when shown.")


class Limits(_Section):
    content_bytes: int = Field(65536, ge=1, le=2**24, description="Largest memory in bytes, up to 16 MiB.")


class Workspace(_Section):
    git: bool = Field(True, description="Commit what happens to the git repository of the workspace.")
    idle_minutes: int = Field(
        5, ge=0, description="Minutes without a write after which events are committed; 0 is never."
    )
    recalls: Literal["full", "hashed", "off"] = Field(
        "full", description="What git has of recalls: all, all but the words asked, or nothing."
    )
    remote: RemoteUrl = Field(
        "", description="Git repository that commits are pushed to, with {agent} for the name; empty is none."
    )
    remote_token_file: str = Field("", description="File with the token, or user:token, for an https remote.")


class Dream(_Section):
    mode: Literal["off", "propose", "auto"] = Field(
        "auto", description="auto changes MEMORY.md, propose asks first, off does nothing at all."
    )
    profile: Literal["default", "classic"] = Field(
        "default", description="default weighs every line anew; classic promotes by recalls, once ever."
    )
    budget: int = Field(8000, ge=0, le=2**20, description="Most characters of MEMORY.md, people's included.")
    kinds: Kinds = Field(
        ("semantic", "fact", "conversation"), description="Kinds of memories that get lines."
    )
    at: TimeOfDay = Field("03:00", description="When a sweep begins by itself each night, or never.")
    idle_minutes: int = Field(10, ge=0, description="Minutes without a write before such a sweep begins.")
    missed: Literal["latest_only", "skip"] = Field(
        "latest_only",
        description="Nights without the daemon: latest_only makes one sweep for all of them, skip none.",
    )


_DECIDING: dict[str, Any] = {
    "recall": {"profile"},
    "vector": True,
    "memory": {"embeddings": {"provider", "model", "base_url"}},
    "time": True,
    "secrets": True,
}
"""What can make a difference to what a recall answers."""


class Config(_Section):
    memory: Memory = Field(Memory(), description="What agents remember.")
    recall: Recall = Field(Recall(), description="What is found.")
    vector: Vector = Field(Vector(), description="Search by meaning.")
    chat: Chat = Field(Chat(), description="The chat model.")
    time: Time = Field(Time(), description="Days and hours.")
    server: Server = Field(Server(), description="The daemon.")
    mcp: Mcp = Field(Mcp(), description="What agents see over MCP.")
    retention: Retention = Field(Retention(), description="What is deleted.")
    secrets: Secrets = Field(Secrets(), description="What is never stored.")
    limits: Limits = Field(Limits(), description="How large things may be.")
    workspace: Workspace = Field(Workspace(), description="The files of an agent, under git.")
    dream: Dream = Field(Dream(), description="What stands in MEMORY.md.")

    @functools.cached_property
    def fingerprint(self) -> str:
        """What two configurations have in common when they answer the same; secrets do not go into it."""
        decides = self.model_dump_json(include=_DECIDING)
        if self.recall.agentos != Weights():
            decides += self.recall.agentos.model_dump_json()
        return hashlib.sha256(decides.encode()).hexdigest()[:16]
