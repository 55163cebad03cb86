"""The operations on the care of the store."""

from __future__ import annotations

from nrem.model import Backup, Right
from nrem.wire.care import (
    Backups,
    CreateBackup,
    Diagnosis,
    Doctor,
    EmbedderState,
    ListBackups,
    Prune,
    Pruned,
    ShowEmbedder,
)
from nrem.wire.jobs import (
    Job,
    JobRef,
    Jobs,
    ListJobs,
)
from nrem.wire.memories import (
    Reembed,
    Reembedded,
)
from nrem.wire.operation import Operation

_A = "/v1/agents/{agent}"

ROWS = (
    Operation(
        name="show_embedder",
        summary="Say what makes vectors, how many are missing, and what is wrong.",
        route="GET /v1/embedder",
        takes=ShowEmbedder,
        gives=EmbedderState,
        right=Right.ADMIN,
    ),
    Operation(
        name="reembed",
        summary="Make the next vectors of the configured embedder; the old serve till all are there.",
        route="POST /v1/reembed",
        takes=Reembed,
        gives=Reembedded,
        right=Right.ADMIN,
        patience=3600.0,
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
        name="list_jobs",
        summary="List what is done in the background, newest first.",
        route="GET /v1/jobs",
        takes=ListJobs,
        gives=Jobs,
        right=Right.ADMIN,
    ),
    Operation(
        name="retry_job",
        summary="Queue a job anew that failed too often.",
        route="POST /v1/jobs/{id}/retry",
        takes=JobRef,
        gives=Job,
        right=Right.ADMIN,
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
