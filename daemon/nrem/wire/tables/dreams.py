"""The operations on dreaming."""

from __future__ import annotations

from nrem.model import Right
from nrem.wire.common import (
    AgentRef,
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
    MemoryRef,
)
from nrem.wire.operation import Operation

_A = "/v1/agents/{agent}"
_M = _A + "/memories"

ROWS = (
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
)
