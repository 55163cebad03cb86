"""Every operation once: its name, what it takes and gives, its route, and who may use it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nrem.model import AgentConfig, Backup, Right
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
from nrem.wire.care import (
    Backups,
    CreateBackup,
    Diagnosis,
    Doctor,
    ListBackups,
    Prune,
    Pruned,
)
from nrem.wire.common import (
    AgentRef,
    Input,
)
from nrem.wire.dreams import (
    Dream,
    Dreamed,
    DreamExplained,
    DreamStatus,
    ListSweeps,
    ProposalDecided,
    ProposalRef,
    SweepRef,
    Sweeps,
    SweepShown,
    Undone,
)
from nrem.wire.memories import (
    Changed,
    Clear,
    Cleared,
    Edit,
    Embed,
    Embedded,
    Export,
    Exported,
    Forgotten,
    ListMemories,
    MarkedUsed,
    MarkUsed,
    MemoryRef,
    Page,
    Recall,
    Recalled,
    Reembed,
    Reembedded,
    Remember,
    RememberMany,
    Shown,
    Stored,
    StoredMany,
    Versions,
)
from nrem.wire.workspaces import (
    Checkpoint,
    CheckpointMade,
    Log,
    ReadFile,
    ReadLog,
    WorkspaceFile,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    name: str
    summary: str
    route: str
    takes: type[Input]
    gives: type
    right: Right
    shared: bool = False
    """Names no agent, and is there also for whoever reaches one agent only."""
    status: int = 200
    """What HTTP answers when it went well."""
    patience: float = 60.0
    """How many seconds a client waits for the answer."""

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
            right=Right.ADMIN,
            status=201,
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
            summary="Remove an agent and erase all that it remembered.",
            route=f"DELETE {_A}",
            takes=RemoveAgent,
            gives=RemovedAgent,
            right=Right.ADMIN,
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
        Operation(
            name="remember",
            summary="Store one memory.",
            route=f"POST {_M}",
            takes=Remember,
            gives=Stored,
            right=Right.WRITE,
            status=201,
        ),
        Operation(
            name="remember_many",
            summary="Store up to 1,000 memories in one transaction, all or none.",
            route=f"POST {_M}/batch",
            takes=RememberMany,
            gives=StoredMany,
            right=Right.WRITE,
            status=201,
        ),
        Operation(
            name="get_memory",
            summary="Show one memory.",
            route=f"GET {_M}/{{id}}",
            takes=MemoryRef,
            gives=Shown,
            right=Right.READ,
        ),
        Operation(
            name="list_memories",
            summary="List memories, newest first.",
            route=f"GET {_M}",
            takes=ListMemories,
            gives=Page,
            right=Right.READ,
        ),
        Operation(
            name="recall",
            summary="Find the memories that answer a question best.",
            route=f"POST {_A}/recall",
            takes=Recall,
            gives=Recalled,
            right=Right.READ,
        ),
        Operation(
            name="mark_used",
            summary="Say which memories of an answer helped, or which are wrong.",
            route=f"POST {_A}/recalls/{{recall_id}}/used",
            takes=MarkUsed,
            gives=MarkedUsed,
            right=Right.WRITE,
        ),
        Operation(
            name="embed",
            summary="Turn texts into vectors with the store's embedder.",
            route="POST /v1/embed",
            takes=Embed,
            gives=Embedded,
            right=Right.READ,
            shared=True,
        ),
        Operation(
            name="reembed",
            summary="Make the next vectors of the configured embedder; the old serve till all are there.",
            route="POST /v1/reembed",
            takes=Reembed,
            gives=Reembedded,
            right=Right.ADMIN,
        ),
        Operation(
            name="export_memories",
            summary="Give all memories that match, oldest first, in pages.",
            route=f"GET {_A}/export",
            takes=Export,
            gives=Exported,
            right=Right.READ,
        ),
        Operation(
            name="edit_memory",
            summary="Change a memory; the version before is kept.",
            route=f"PATCH {_M}/{{id}}",
            takes=Edit,
            gives=Changed,
            right=Right.WRITE,
        ),
        Operation(
            name="pin_memory",
            summary="Keep a memory from ever being evicted.",
            route=f"POST {_M}/{{id}}/pin",
            takes=MemoryRef,
            gives=Changed,
            right=Right.WRITE,
        ),
        Operation(
            name="unpin_memory",
            summary="Let a pinned memory go its way again.",
            route=f"POST {_M}/{{id}}/unpin",
            takes=MemoryRef,
            gives=Changed,
            right=Right.WRITE,
        ),
        Operation(
            name="forget",
            summary="Forget a memory; its history stays.",
            route=f"DELETE {_M}/{{id}}",
            takes=MemoryRef,
            gives=Forgotten,
            right=Right.WRITE,
        ),
        Operation(
            name="clear_memories",
            summary="Forget all memories that match, and say exactly how many.",
            route=f"POST {_M}/clear",
            takes=Clear,
            gives=Cleared,
            right=Right.WRITE,
        ),
        Operation(
            name="list_versions",
            summary="List every state a memory ever had, with who made it and when.",
            route=f"GET {_M}/{{id}}/versions",
            takes=MemoryRef,
            gives=Versions,
            right=Right.READ,
        ),
        Operation(
            name="checkpoint",
            summary="Commit what happened, and what was changed in the workspace's files.",
            route=f"POST {_A}/workspace/checkpoints",
            takes=Checkpoint,
            gives=CheckpointMade,
            right=Right.WRITE,
            patience=600.0,
        ),
        Operation(
            name="read_file",
            summary="Read a text file of an agent's workspace.",
            route=f"GET {_A}/workspace/file",
            takes=ReadFile,
            gives=WorkspaceFile,
            right=Right.READ,
        ),
        Operation(
            name="log",
            summary="List the commits of an agent's workspace, newest first.",
            route=f"GET {_A}/workspace/log",
            takes=ReadLog,
            gives=Log,
            right=Right.READ,
        ),
        Operation(
            name="prune",
            summary="Delete the records of old recalls; what they say of memories is summed up first.",
            route=f"POST {_A}/maintenance/prune",
            takes=Prune,
            gives=Pruned,
            right=Right.ADMIN,
            patience=3600.0,
        ),
        Operation(
            name="dream",
            summary="Choose anew what stands in MEMORY.md: what proved useful comes, what did not goes.",
            route=f"POST {_A}/dream",
            takes=Dream,
            gives=Dreamed,
            right=Right.DREAM,
            patience=600.0,
        ),
        Operation(
            name="dream_status",
            summary="Tell how dreaming stands: the last sweep, and what holds back those that have no line.",
            route=f"GET {_A}/dream",
            takes=AgentRef,
            gives=DreamStatus,
            right=Right.READ,
        ),
        Operation(
            name="explain_dream",
            summary="Explain why a memory has a line in MEMORY.md or none, and what would change that.",
            route=f"GET {_M}/{{id}}/explain",
            takes=MemoryRef,
            gives=DreamExplained,
            right=Right.READ,
        ),
        Operation(
            name="list_sweeps",
            summary="List the sweeps of an agent, newest first.",
            route=f"GET {_A}/sweeps",
            takes=ListSweeps,
            gives=Sweeps,
            right=Right.READ,
        ),
        Operation(
            name="show_sweep",
            summary="Show what a sweep decided, with every term of every score.",
            route=f"GET {_A}/sweeps/{{sweep}}",
            takes=SweepRef,
            gives=SweepShown,
            right=Right.READ,
        ),
        Operation(
            name="undo_sweep",
            summary="Take back what a sweep did to the lines that are as it left them.",
            route=f"POST {_A}/sweeps/{{sweep}}/undo",
            takes=SweepRef,
            gives=Undone,
            right=Right.DREAM,
        ),
        Operation(
            name="accept_proposal",
            summary="Do what a sweep proposed.",
            route=f"POST {_A}/proposals/{{proposal}}/accept",
            takes=ProposalRef,
            gives=ProposalDecided,
            right=Right.DREAM,
        ),
        Operation(
            name="reject_proposal",
            summary="Refuse what a sweep proposed; it is not proposed again.",
            route=f"POST {_A}/proposals/{{proposal}}/reject",
            takes=ProposalRef,
            gives=ProposalDecided,
            right=Right.DREAM,
        ),
        Operation(
            name="create_backup",
            summary="Copy the store while it is in use, and check the copy.",
            route="POST /v1/backups",
            takes=CreateBackup,
            gives=Backup,
            right=Right.ADMIN,
            status=201,
            patience=3600.0,
        ),
        Operation(
            name="list_backups",
            summary="List the backups, newest first.",
            route="GET /v1/backups",
            takes=ListBackups,
            gives=Backups,
            right=Right.ADMIN,
        ),
        Operation(
            name="doctor",
            summary="Look for what is wrong with the store and where it lives, and say what to do.",
            route="GET /v1/doctor",
            takes=Doctor,
            gives=Diagnosis,
            right=Right.ADMIN,
            patience=3600.0,
        ),
    )
}
