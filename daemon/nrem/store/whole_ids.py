"""Which memory a part of an id stands for."""

from __future__ import annotations

import re

from nrem.errors import InvalidField
from nrem.store import promotions
from nrem.store.driver import Connection

WHOLE = 36
PART = re.compile(r"[0-9a-f-]{6,35}", re.IGNORECASE)
LISTED = 5


def complete(db: Connection, scope: int, given: str, *, field: str) -> str:
    """Return the id that a label of MEMORY.md, or the beginning or end of one id, stands for.

    Forgotten and erased memories count too. What stands for none is returned as it is, for whoever looks it
    up to say so; for several, InvalidField names them.
    """
    if len(given) == WHOLE:
        return given
    labelled = promotions.by_label(db, scope).get(given)
    if labelled is not None or not PART.fullmatch(given):
        return labelled or given
    rows = db.execute(
        "select distinct subject from events indexed by idx_events_subject where scope = :scope"
        " and (subject like :part || '%' or subject like '%' || :part) and op like 'memory.%'"
        " order by subject limit :limit",
        {"scope": scope, "part": given, "limit": LISTED + 1},
    )
    found = [str(row[0]) for row in rows]
    if len(found) > 1:
        more = " and others" if len(found) > LISTED else ""
        raise InvalidField(
            field,
            f"{given} stands for {', '.join(found[:LISTED])}{more}",
            hint="give more of the id",
            code="ambiguous_id",
        )
    return found[0] if found else given
