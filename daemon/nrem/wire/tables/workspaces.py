"""The operations on workspaces."""

from __future__ import annotations

from nrem.model import Right
from nrem.wire.care import (
    Diagnosis,
)
from nrem.wire.operation import Operation
from nrem.wire.replays import Bisect, Bisected, Replay, Replays
from nrem.wire.workspaces import (
    Checkpoint,
    CheckpointMade,
    Diff,
    Differences,
    ListedFiles,
    ListFiles,
    Log,
    ReadFile,
    ReadLog,
    Restore,
    Restored,
    ShowFile,
    ShownFile,
    Verify,
    WorkspaceFile,
    WriteFile,
    WrittenFile,
)

_A = "/v1/agents/{agent}"
_M = _A + "/memories"

ROWS = (
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
        name="restore",
        summary="Bring the memories of a point in the past back, as new events on top.",
        route=f"POST {_A}/workspace/restore",
        takes=Restore,
        gives=Restored,
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
        name="write_file",
        summary="Write a text file of an agent's workspace, as a whole.",
        route=f"PUT {_A}/workspace/file",
        takes=WriteFile,
        gives=WrittenFile,
        right=Right.WRITE,
    ),
    Operation(
        name="list_files",
        summary="List the files and folders in a folder of an agent's workspace.",
        route=f"GET {_A}/workspace/files",
        takes=ListFiles,
        gives=ListedFiles,
        right=Right.READ,
    ),
    Operation(
        name="show_file",
        summary="Show a text file as it was in a commit of an agent's workspace.",
        route=f"GET {_A}/workspace/show",
        takes=ShowFile,
        gives=ShownFile,
        right=Right.READ,
    ),
    Operation(
        name="diff",
        summary="Tell what became of memories and files between two points of the past.",
        route=f"GET {_A}/workspace/diff",
        takes=Diff,
        gives=Differences,
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
        name="replay",
        summary="Ask recorded questions again of the state of their moment, and compare the answers.",
        route=f"POST {_A}/workspace/replay",
        takes=Replay,
        gives=Replays,
        right=Right.READ,
        patience=600.0,
    ),
    Operation(
        name="bisect",
        summary="Find since which commit and event a memory is, or is no more, in an answer.",
        route=f"POST {_M}/{{id}}/bisect",
        takes=Bisect,
        gives=Bisected,
        right=Right.READ,
        patience=600.0,
    ),
    Operation(
        name="verify",
        summary="Compare an agent's database, git and ledger, and name everything that differs.",
        route=f"GET {_A}/workspace/verify",
        takes=Verify,
        gives=Diagnosis,
        right=Right.READ,
        patience=3600.0,
    ),
)
