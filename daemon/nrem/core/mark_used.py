"""Note which memories of an answer helped, and which are wrong."""

from __future__ import annotations

from nrem.clock import Clock
from nrem.model import Caller, Scope
from nrem.store import recalls, scopes
from nrem.store.database import Database
from nrem.store.driver import Connection
from nrem.wire import MarkedUsed, MarkUsed


def mark_used(
    store: Database, scope: Scope, request: MarkUsed, *, caller: Caller, clock: Clock
) -> MarkedUsed:
    """Mark memories of an answer, each once; whoever has its id finds it, though its record may be queued."""
    given = recalls.Verdict(
        recall=request.recall_id,
        memories=tuple(request.memory_ids),
        verdict=request.verdict,
        actor=caller.actor,
        at=clock.now(),
    )

    def write(db: Connection) -> int:
        return recalls.mark(db, scopes.get(db, scope.name).number, given)

    return MarkedUsed(recall_id=request.recall_id, verdict=request.verdict, marked=store.write(write))
