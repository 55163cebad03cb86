"""Every operation once, by its name."""

from __future__ import annotations

from collections.abc import Mapping

from nrem.wire.operation import Operation
from nrem.wire.tables import agents, care, dreams, memories, workspaces

OPERATIONS: Mapping[str, Operation] = {
    operation.name: operation
    for operation in (*agents.ROWS, *memories.ROWS, *workspaces.ROWS, *dreams.ROWS, *care.ROWS)
}
