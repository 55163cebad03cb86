"""The operations on agents and tokens."""

from __future__ import annotations

from nrem.model import AgentConfig, Right
from nrem.wire.agents import (
    AddAgent,
    Agent,
    AgentConfigs,
    Agents,
    CreatedToken,
    CreateToken,
    ListAgents,
    ListTokens,
    RemoveAgent,
    RemovedAgent,
    RevokedToken,
    SetAgentConfig,
    TokenRef,
    Tokens,
)
from nrem.wire.common import (
    AgentRef,
)
from nrem.wire.operation import Operation

_A = "/v1/agents/{agent}"

ROWS = (
    Operation(
        name="add_agent",
        summary="Add an agent, with a memory of its own or one that a workspace brings.",
        route="POST /v1/agents",
        takes=AddAgent,
        gives=Agent,
        right=Right.ADMIN,
        status=201,
        patience=3600.0,
    ),
    Operation(
        name="list_agents",
        summary="List the agents.",
        route="GET /v1/agents",
        takes=ListAgents,
        gives=Agents,
        right=Right.READ,
        shared=True,
    ),
    Operation(
        name="show_agent",
        summary="Show one agent.",
        route=f"GET {_A}",
        takes=AgentRef,
        gives=Agent,
        right=Right.READ,
    ),
    Operation(
        name="remove_agent",
        summary="Remove an agent; its workspace is moved aside, or with `erase` deleted too.",
        route=f"DELETE {_A}",
        takes=RemoveAgent,
        gives=RemovedAgent,
        right=Right.ADMIN,
        patience=600.0,
    ),
    Operation(
        name="set_agent_config",
        summary="Replace an agent's own configuration; every version is kept.",
        route=f"PUT {_A}/config",
        takes=SetAgentConfig,
        gives=AgentConfig,
        right=Right.ADMIN,
    ),
    Operation(
        name="list_agent_configs",
        summary="List the versions of an agent's configuration, newest first.",
        route=f"GET {_A}/config/versions",
        takes=AgentRef,
        gives=AgentConfigs,
        right=Right.READ,
    ),
    Operation(
        name="create_token",
        summary="Make a token, for an agent, an organisation or the whole store.",
        route="POST /v1/tokens",
        takes=CreateToken,
        gives=CreatedToken,
        right=Right.ADMIN,
        status=201,
    ),
    Operation(
        name="list_tokens",
        summary="List the tokens, newest first; none can be read again.",
        route="GET /v1/tokens",
        takes=ListTokens,
        gives=Tokens,
        right=Right.ADMIN,
    ),
    Operation(
        name="revoke_token",
        summary="End a token at once.",
        route="DELETE /v1/tokens/{id}",
        takes=TokenRef,
        gives=RevokedToken,
        right=Right.ADMIN,
    ),
)
