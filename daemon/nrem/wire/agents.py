"""What the operations on agents and tokens take and give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from nrem.model import (
    AgentConfig,
    Moment,
    Right,
)
from nrem.wire.common import AgentRef, Input
from nrem.wire.fields import (
    AgentName,
    Json,
    Label,
    OrgName,
    RightWord,
    Time,
)


class AddAgent(AgentRef):
    source: Label | None = Field(
        default=None,
        description="A workspace to bring the agent from: a whole path, or an https or ssh URL of git."
        " Only for the owner, on the socket.",
    )


class ListAgents(Input):
    pass


class RemoveAgent(AgentRef):
    erase: bool = Field(
        default=False,
        description="Delete all memories and their history for good; else the workspace is moved aside.",
    )


class SetAgentConfig(AgentRef):
    config: Json
    message: Label


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteStatus:
    """The repository that an agent's commits are pushed to."""

    url: str
    ahead: int
    """Commits that it does not have yet."""
    pushed_at: Moment | None
    tried_at: Moment | None
    error: str | None
    """What the last try met."""
    diverged: bool
    """Whether it has commits that are not here: then nothing is pushed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    agent: str
    memories: int
    created_at: Moment
    config_version: int = 0
    unpublished: int = 0
    """Events that are not in the workspace's git yet; none where workspace.git is off."""
    unpublished_since: Moment | None = None
    """When the oldest of them was."""
    remote: RemoteStatus | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agents:
    agents: tuple[Agent, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfigs:
    versions: tuple[AgentConfig, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedAgent:
    agent: str
    memories: int
    kept: str | None = None
    """Where the workspace is now; None when it was erased."""


# Tokens


class CreateToken(Input):
    agent: AgentName | None = Field(default=None, description="The agent that it is for.")
    org: OrgName | None = Field(default=None, description="The organisation whose agents it is for.")
    rights: Annotated[list[RightWord], Field(min_length=1, max_length=len(Right))] = Field(
        default=[Right.READ, Right.WRITE, Right.DREAM]
    )
    label: Label | None = Field(default=None, description="What you will know it by.")
    expires_at: Time | None = None


class ListTokens(Input):
    pass


class TokenRef(Input):
    id: Label


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    id: str
    label: str
    agent: str | None
    org: str | None
    """With neither agent nor org it is for the whole store."""
    rights: tuple[Right, ...]
    created_at: Moment
    expires_at: Moment | None
    last_used_at: Moment | None
    """To the minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedToken(Token):
    token: str
    """The token itself; nothing will show it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    tokens: tuple[Token, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokedToken:
    id: str
