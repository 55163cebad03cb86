"""Read memories as they are: one, a page, the versions of one. Reading changes nothing."""

from __future__ import annotations

import base64
import json

from nrem.errors import InvalidField
from nrem.model import Memory, Scope
from nrem.store import listing, memories
from nrem.store.database import Database
from nrem.wire import ListMemories, Page, Shown, Versions


def get(store: Database, scope: Scope, id: str) -> Shown:
    """Return one memory with its use."""
    with store.reading() as db:
        memory = memories.get(db, scope.number, id)
        use = memories.use(db, scope.number, id)
    return Shown(memory=memory, access_count=use.access_count, last_accessed_at=use.last_accessed_at)


def list_(store: Database, scope: Scope, request: ListMemories) -> Page:
    """Return a page, newest first: by number with totals, or by cursor without gap or repeat."""
    chosen = request.filter()
    if request.page is not None:
        if request.cursor is not None:
            raise InvalidField("cursor", "cannot be given with page", hint="give one of them")
        with store.reading() as db:
            total = listing.count(db, scope.number, chosen)
            found = listing.page(
                db, scope.number, chosen, limit=request.limit, offset=(request.page - 1) * request.limit
            )
        return Page(
            memories=tuple(found),
            page=request.page,
            limit=request.limit,
            total=total,
            total_pages=-(-total // request.limit),
        )
    last = read_cursor(request.cursor)
    with store.reading() as db:
        found = listing.after(db, scope.number, chosen, limit=request.limit + 1, last=last)
    more = len(found) > request.limit
    found = found[: request.limit]
    return Page(
        memories=tuple(found),
        limit=request.limit,
        next=write_cursor(found[-1]) if more else None,
    )


def versions(store: Database, scope: Scope, id: str) -> Versions:
    """Return every state a memory ever had, also of one that is forgotten."""
    with store.reading() as db:
        return Versions(id=id, versions=tuple(memories.versions(db, scope.number, id)))


def write_cursor(last: Memory) -> str:
    """Return the place behind a memory, in a form that callers only hand back."""
    return base64.urlsafe_b64encode(json.dumps([last.created_at, last.id]).encode()).decode()


def read_cursor(cursor: str | None) -> tuple[int, str] | None:
    if cursor is None:
        return None
    try:
        created_at, id = json.loads(base64.urlsafe_b64decode(cursor))
        if type(created_at) is int and abs(created_at) < 1 << 63 and isinstance(id, str) and id.isascii():
            return created_at, id
    except (ValueError, TypeError):
        pass  # falls through to the one answer for every cursor that is not ours
    raise InvalidField("cursor", "is not a cursor of this list", hint="take the `next` of the page before")
