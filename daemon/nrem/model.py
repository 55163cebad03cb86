"""The records that cross boundaries: frozen, keyword-only, times in UTC epoch milliseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, PlainSerializer


def iso(millis: int) -> str:
    """Render a moment as ISO-8601 in UTC, with milliseconds only where there are any."""
    moment = datetime.fromtimestamp(millis // 1000, UTC).replace(microsecond=millis % 1000 * 1000)
    return moment.isoformat(timespec="milliseconds" if millis % 1000 else "seconds")


def _millis(value: object) -> object:
    """Read what iso wrote."""
    if not isinstance(value, str):
        return value
    return round((datetime.fromisoformat(value) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)


Moment = Annotated[int, BeforeValidator(_millis), PlainSerializer(iso, return_type=str, when_used="json")]
"""Epoch milliseconds inside, ISO-8601 outside."""


class Kind(StrEnum):
    SEMANTIC = "semantic"
    FACT = "fact"
    EPISODIC = "episodic"
    PROCEDURAL = "procedural"
    CONVERSATION = "conversation"
    MESSAGE = "message"
    DOCUMENT = "document"
    CHUNK = "chunk"
    SUMMARY = "summary"
    GOAL = "goal"
    TASK = "task"
    ACTION = "action"


KIND_ALIASES: Mapping[str, Kind] = {
    **{kind.value: kind for kind in Kind},
    "episode": Kind.EPISODIC,
    "procedure": Kind.PROCEDURAL,
    "fragment": Kind.CHUNK,
}

DEDUPLICATED = frozenset({Kind.SEMANTIC, Kind.FACT, Kind.PROCEDURAL, Kind.CONVERSATION})
"""Kinds of which a scope holds each text at most once, superseded ones apart."""


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class Trust(StrEnum):
    TRUSTED = "trusted"
    UNTRUSTED = "untrusted"


class Right(StrEnum):
    READ = "read"
    WRITE = "write"
    DREAM = "dream"
    HOOK = "hook"
    ADMIN = "admin"
    """Everything, for the agents that it reaches."""


class AskedBy(StrEnum):
    """What stands behind a recall. Only people and agents at work say by it that a memory is of use."""

    HUMAN = "human"
    AGENT = "agent"
    CRON = "cron"
    DREAM = "dream"
    REPLAY = "replay"

    @property
    def is_organic(self) -> bool:
        return self in (AskedBy.HUMAN, AskedBy.AGENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who is asking, through which door, what they may do and to whom, and how far their text is trusted."""

    actor: str
    ingress: str
    trust: Trust = Trust.TRUSTED
    rights: frozenset[Right] = frozenset({Right.ADMIN})
    reach: str | None = None
    """An agent's name, or an organisation's with a dot at its end; None is everybody."""

    def may(self, right: Right) -> bool:
        return right in self.rights or Right.ADMIN in self.rights

    def reaches(self, agent: str) -> bool:
        if self.reach is None or self.reach == agent:
            return True
        return self.reach.endswith(".") and agent.startswith(self.reach)


@dataclass(frozen=True, slots=True, kw_only=True)
class By:
    """Who makes a change, why, and when; goes into the change's event."""

    actor: str
    cause: str
    now: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    source: str | None
    ingress: str
    trust: Trust
    actor: str
    trigger: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One memory as it stands now. Use is not part of it: reading a memory never changes it."""

    id: str
    kind: Kind
    kind_given: str
    content: str
    category: str
    tags: tuple[str, ...] = ()
    concept_tags: tuple[str, ...] = ()
    data: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    context: str | None = None
    importance: float
    confidence: float
    role: Role | None = None
    session: str | None = None
    room: str | None = None
    user: str | None = None
    pinned: bool = False
    provenance: Provenance
    legacy_id: str | None = None
    version: int = 1
    created_at: Moment
    updated_at: Moment
    expires_at: Moment | None = None
    consolidated_at: Moment | None = None
    superseded_by: str | None = None
    """The memory that says what is true in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """How often a memory was recalled; derived from recall events, apart from its state."""

    access_count: int = 0
    last_accessed_at: Moment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A state a memory had, and the event that made it."""

    version: int
    at: Moment
    operation: str
    actor: str
    cause: str
    memory: Memory | None
    """None for the event that forgot it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """An agent, by its name and its number. The number is never used again."""

    number: int
    name: str
    created_at: Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig:
    """One version of an agent's own configuration."""

    version: int
    config: dict[str, Any]
    message: str
    actor: str
    at: Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One link of a scope's chain."""

    seq: int
    at: int
    op: str
    subject: str
    actor: str
    cause: str
    payload_hash: bytes
    chain: bytes
    payload: str | None
    salt: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRecord:
    """Something as it stands now, by the number it was given when it came. Numbers are never used again."""

    ordinal: int
    subject: str
    seq: int
    """The event that made it what it is."""
    payload: str
    """The one JSON text of its state, as the event has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallLine:
    """An answered question as git has it, by its number among those of its scope."""

    number: int
    id: str
    at: int
    now: int
    actor: str
    ingress: str
    asked_by: AskedBy
    day: int
    query: str | None
    """None where only its hash is kept."""
    query_hash: str | None
    question: int
    """The same for questions with the same terms."""
    request: str
    seq: int
    config_hash: str
    ranker: str
    embedder: str | None
    degraded: str
    hits: tuple[tuple[str, float, float], ...]
    """Memory, score and coverage, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A version of something that is no more, by the event that made it and the one that ended it."""

    subject: str
    seq: int
    ended_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What a commit changes: memories by what became of them, and people's own files."""

    added: int = 0
    changed: int = 0
    forgotten: int = 0
    files: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A commit of a workspace, as the database knows it."""

    commit: str
    parent: str | None
    cause: str
    """What it was made for; `person` when somebody else than nrem made it."""
    at: int
    subject: str
    events: tuple[int, int] | None
    """The first and the last event that it publishes; None when it publishes only files."""
    chain: bytes | None
    state: bytes | None
    counts: Counts


@dataclass(frozen=True, slots=True)
class NewCommit:
    """What a commit became when history was written anew."""

    id: str
    state: bytes | None
    """The hash of its state, where that has changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which memories of one scope; all given conditions must hold."""

    kinds: tuple[Kind, ...] = ()
    exclude_kinds: tuple[Kind, ...] = ()
    category: str | None = None
    tags_any: tuple[str, ...] = ()
    tags_all: tuple[str, ...] = ()
    room: str | None = None
    user: str | None = None
    session: str | None = None
    metadata: Mapping[str, Any] | None = None
    after: int | None = None
    before: int | None = None
    trust: Trust | None = None
    pinned: bool | None = None


# Care: backups, and what doctor finds


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentContents:
    """What a store holds of one agent, down to the last link of its chain."""

    scope: int
    agent: str
    memories: int
    events: int
    chain: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a store holds; two copies of one state have the same."""

    schema: tuple[str, ...]
    """The steps of its schema, in order."""
    agents: tuple[AgentContents, ...]
    newest_event: Moment | None


Origin = Literal["manual", "before-migration", "before-restore"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A copy of the store in its folder of backups."""

    name: str
    origin: Origin
    made_at: Moment
    size: int
    version: str | None = None
    """The nrem that made it; this and what follows is None for a file without a manifest."""
    sha256: str | None = None
    contents: Contents | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """Events of one agent that the replaced store had and the restored one has not."""

    agent: str
    events: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What a store holds after a backup took its place."""

    name: str
    contents: Contents
    kept: str | None
    """The backup that the replaced store became; None when there was none."""
    lost: tuple[Lost, ...] | None
    """None when the replaced store could not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuiltAgent:
    """An agent as its workspace has it."""

    agent: str
    memories: int
    events: int
    chain: str
    commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """A store made from workspaces, and what the one before it had more."""

    agents: tuple[RebuiltAgent, ...]
    without_git: tuple[str, ...]
    """Agents whose folder has no commit, so that nothing of them can be rebuilt."""
    without_workspace: tuple[str, ...]
    """Agents of the store before that have no folder at all."""
    left_out: tuple[str, ...]
    """Agents that were not to be rebuilt."""
    lost: tuple[Lost, ...] | None
    """Events that were not in git; None when the store before could not be read."""
    kept: str | None
    """The file that the store before became; None when there was none."""


Level = Literal["ok", "warning", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What doctor says of one thing it looked at."""

    id: str
    level: Level
    subject: str
    message: str
    hint: str | None = None
    """What to do; None when nothing need be done."""
