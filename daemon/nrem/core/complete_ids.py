"""Put whole ids in the place of parts of them, in whatever names memories."""

from __future__ import annotations

from collections.abc import Callable

from nrem.model import Scope
from nrem.store import whole_ids
from nrem.store.database import Database
from nrem.wire import AgentRef, Input, MarkUsed, MemoryRef, Remember, Restore


def complete_ids(store: Database, scope_of: Callable[[str], Scope], request: Input) -> Input:
    """Return a request with the whole ids of the memories that it names; where they are whole, as it is."""
    if not isinstance(request, AgentRef):
        return request
    given = _named(request)
    if all(len(id) == whole_ids.WHOLE for ids in given.values() for id in ids):
        return request
    scope = scope_of(request.agent)
    with store.reading() as db:
        whole = {
            field: [whole_ids.complete(db, scope.number, id, field=field) for id in ids]
            for field, ids in given.items()
        }
    return request.model_copy(
        update={
            field: ids if isinstance(getattr(request, field), list) else ids[0]
            for field, ids in whole.items()
            if ids
        }
    )


def _named(request: AgentRef) -> dict[str, list[str]]:
    """Return the memories that a request names, by the field that names them."""
    match request:
        case MemoryRef():
            return {"id": [request.id]}
        case Restore() if request.only is not None:
            return {"only": [request.only]}
        case MarkUsed():
            return {"memory_ids": request.memory_ids}
        case Remember():
            return {"supersedes": request.supersedes}
        case _:
            return {}
