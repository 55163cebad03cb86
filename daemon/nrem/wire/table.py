"""Every operation once: its name, what it takes and gives, its route, and who may use it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from nrem.model import AgentConfig
from nrem.wire.records import (
    AddAgent,
    Agent,
    AgentConfigs,
    AgentRef,
    Agents,
    Changed,
    Clear,
    Cleared,
    Edit,
    Embed,
    Embedded,
    Export,
    Exported,
    Forgotten,
    Input,
    ListAgents,
    ListMemories,
    MemoryRef,
    Page,
    Recall,
    Recalled,
    Reembed,
    Reembedded,
    Remember,
    RememberMany,
    RemoveAgent,
    RemovedAgent,
    SetAgentConfig,
    Shown,
    Stored,
    StoredMany,
    Versions,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    name: str
    summary: str
    route: str
    takes: type[Input]
    gives: type
    right: Literal["read", "write", "admin"]
    status: int = 200
    """What HTTP answers when it went well."""

    @property
    def method(self) -> str:
        return self.route.partition(" ")[0]

    @property
    def path(self) -> str:
        return self.route.partition(" ")[2]


_A = "/v1/agents/{agent}"
_M = _A + "/memories"

OPERATIONS: Mapping[str, Operation] = {
    operation.name: operation
    for operation in (
        Operation(
            name="add_agent",
            summary="Add an agent, with a memory of its own.",
            route="POST /v1/agents",
            takes=AddAgent,
            gives=Agent,
            right="admin",
            status=201,
        ),
        Operation(
            name="list_agents",
            summary="List the agents.",
            route="GET /v1/agents",
            takes=ListAgents,
            gives=Agents,
            right="read",
        ),
        Operation(
            name="show_agent",
            summary="Show one agent.",
            route=f"GET {_A}",
            takes=AgentRef,
            gives=Agent,
            right="read",
        ),
        Operation(
            name="remove_agent",
            summary="Remove an agent and erase all that it remembered.",
            route=f"DELETE {_A}",
            takes=RemoveAgent,
            gives=RemovedAgent,
            right="admin",
        ),
        Operation(
            name="set_agent_config",
            summary="Replace an agent's own configuration; every version is kept.",
            route=f"PUT {_A}/config",
            takes=SetAgentConfig,
            gives=AgentConfig,
            right="admin",
        ),
        Operation(
            name="list_agent_configs",
            summary="List the versions of an agent's configuration, newest first.",
            route=f"GET {_A}/config/versions",
            takes=AgentRef,
            gives=AgentConfigs,
            right="read",
        ),
        Operation(
            name="remember",
            summary="Store one memory.",
            route=f"POST {_M}",
            takes=Remember,
            gives=Stored,
            right="write",
            status=201,
        ),
        Operation(
            name="remember_many",
            summary="Store up to 1,000 memories in one transaction, all or none.",
            route=f"POST {_M}/batch",
            takes=RememberMany,
            gives=StoredMany,
            right="write",
            status=201,
        ),
        Operation(
            name="get_memory",
            summary="Show one memory.",
            route=f"GET {_M}/{{id}}",
            takes=MemoryRef,
            gives=Shown,
            right="read",
        ),
        Operation(
            name="list_memories",
            summary="List memories, newest first.",
            route=f"GET {_M}",
            takes=ListMemories,
            gives=Page,
            right="read",
        ),
        Operation(
            name="recall",
            summary="Find the memories that answer a question best.",
            route=f"POST {_A}/recall",
            takes=Recall,
            gives=Recalled,
            right="read",
        ),
        Operation(
            name="embed",
            summary="Turn texts into vectors with the store's embedder.",
            route="POST /v1/embed",
            takes=Embed,
            gives=Embedded,
            right="read",
        ),
        Operation(
            name="reembed",
            summary="Make the next vectors of the configured embedder; the old serve till all are there.",
            route="POST /v1/reembed",
            takes=Reembed,
            gives=Reembedded,
            right="admin",
        ),
        Operation(
            name="export_memories",
            summary="Give all memories that match, oldest first, in pages.",
            route=f"GET {_A}/export",
            takes=Export,
            gives=Exported,
            right="read",
        ),
        Operation(
            name="edit_memory",
            summary="Change a memory; the version before is kept.",
            route=f"PATCH {_M}/{{id}}",
            takes=Edit,
            gives=Changed,
            right="write",
        ),
        Operation(
            name="pin_memory",
            summary="Keep a memory from ever being evicted.",
            route=f"POST {_M}/{{id}}/pin",
            takes=MemoryRef,
            gives=Changed,
            right="write",
        ),
        Operation(
            name="unpin_memory",
            summary="Let a pinned memory go its way again.",
            route=f"POST {_M}/{{id}}/unpin",
            takes=MemoryRef,
            gives=Changed,
            right="write",
        ),
        Operation(
            name="forget",
            summary="Forget a memory; its history stays.",
            route=f"DELETE {_M}/{{id}}",
            takes=MemoryRef,
            gives=Forgotten,
            right="write",
        ),
        Operation(
            name="clear_memories",
            summary="Forget all memories that match, and say exactly how many.",
            route=f"POST {_M}/clear",
            takes=Clear,
            gives=Cleared,
            right="write",
        ),
        Operation(
            name="list_versions",
            summary="List every state a memory ever had, with who made it and when.",
            route=f"GET {_M}/{{id}}/versions",
            takes=MemoryRef,
            gives=Versions,
            right="read",
        ),
    )
}
