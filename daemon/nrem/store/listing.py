"""Which memories: filters, counts, pages and cursors over one scope, and whom a cap takes first."""

from __future__ import annotations

import json
from typing import Any

from nrem.model import Filter, Kind, Memory
from nrem.store.driver import Connection
from nrem.store.memory_rows import SELECT, from_row


def page(db: Connection, scope: int, filter: Filter, *, limit: int, offset: int = 0) -> list[Memory]:
    """Return matching memories, newest first, a page by number."""
    where, values = _where(scope, filter)
    rows = db.execute(
        f"select {SELECT} from memories m where {where} order by m.created_at desc, m.id desc"
        " limit :limit offset :offset",
        values | {"limit": limit, "offset": offset},
    )
    return [from_row(row) for row in rows]


def after(
    db: Connection,
    scope: int,
    filter: Filter,
    *,
    limit: int,
    last: tuple[int, str] | None,
    oldest_first: bool = False,
) -> list[Memory]:
    """Return matching memories that come behind the last one seen, newest first unless told otherwise."""
    where, values = _where(scope, filter)
    behind, order = (">", "asc") if oldest_first else ("<", "desc")
    if last is not None:
        where += f" and (m.created_at, m.id) {behind} (:last_at, :last_id)"
        values |= {"last_at": last[0], "last_id": last[1]}
    rows = db.execute(
        f"select {SELECT} from memories m where {where}"
        f" order by m.created_at {order}, m.id {order} limit :limit",
        values | {"limit": limit},
    )
    return [from_row(row) for row in rows]


def count(db: Connection, scope: int, filter: Filter) -> int:
    """Return exactly how many memories match."""
    where, values = _where(scope, filter)
    number: int = db.execute(f"select count(*) from memories m where {where}", values).fetchone()[0]
    return number


def rowids(db: Connection, scope: int, filter: Filter) -> list[int]:
    """Return the rows of all matching memories."""
    where, values = _where(scope, filter)
    cursor = db.cursor()
    cursor.row_factory = None
    return [row[0] for row in cursor.execute(f"select m.rowid from memories m where {where}", values)]


def by_rowids(db: Connection, scope: int, rowids: list[int]) -> list[Memory]:
    """Return the memories of some rows of a scope, in the order given."""
    marks = ", ".join("?" * len(rowids))
    cursor = db.cursor()
    cursor.row_factory = None
    rows = cursor.execute(
        f"select m.rowid, {SELECT} from memories m where m.rowid in ({marks}) and +m.scope = ?",
        (*rowids, scope),
    )
    found = {row[0]: from_row(row) for row in rows}
    return [found[rowid] for rowid in rowids]


def ids(db: Connection, scope: int, filter: Filter, *, limit: int) -> list[str]:
    """Return the ids of some matching memories, oldest first."""
    where, values = _where(scope, filter)
    rows = db.execute(
        f"select m.id from memories m where {where} order by m.created_at, m.id limit :limit",
        values | {"limit": limit},
    )
    return [row[0] for row in rows]


def beyond_cap(db: Connection, scope: int, kind: Kind, cap: int, *, last: frozenset[str]) -> list[str]:
    """Return whom a cap takes: never pinned ones; superseded, then distilled, then others, oldest first.

    `last` go at last.
    """
    total: int = db.execute(
        "select count(*) from memories where scope = ? and kind = ?", (scope, kind.value)
    ).fetchone()[0]
    if total <= cap:
        return []
    rows = db.execute(
        "select id from memories where scope = :scope and kind = :kind and not pinned"
        " order by id in (select value from json_each(:last)), superseded_by is null,"
        " consolidated_at is null, created_at, id limit :beyond",
        {"scope": scope, "kind": kind.value, "last": json.dumps(sorted(last)), "beyond": total - cap},
    )
    return [row[0] for row in rows]


def _where(scope: int, filter: Filter) -> tuple[str, dict[str, Any]]:
    conditions = ["m.scope = :scope"]
    values: dict[str, Any] = {"scope": scope}

    def listed(name: str, items: tuple[Any, ...]) -> str:
        values.update({f"{name}{i}": item for i, item in enumerate(items)})
        return ", ".join(f":{name}{i}" for i in range(len(items)))

    # The unary plus keeps SQLite from choosing the index of the kind where a rarer thing is given too.
    kind = "+m.kind" if filter.category or filter.room or filter.user or filter.session else "m.kind"
    if filter.kinds:
        conditions.append(f"{kind} in ({listed('kind', tuple(k.value for k in filter.kinds))})")
    if filter.exclude_kinds:
        conditions.append(f"{kind} not in ({listed('not', tuple(k.value for k in filter.exclude_kinds))})")
    if filter.tags_any:
        names = listed("any", filter.tags_any)
        conditions.append(f"exists (select 1 from json_each(m.tags) t where t.value in ({names}))")
    for i, tag in enumerate(filter.tags_all):
        values[f"all{i}"] = tag
        conditions.append(f"exists (select 1 from json_each(m.tags) t where t.value = :all{i})")
    for column, value in (
        ("category", filter.category),
        ("room_id", filter.room),
        ("user_id", filter.user),
        ("session_id", filter.session),
        ("trust", filter.trust),
        ("pinned", filter.pinned),
    ):
        if value is not None:
            conditions.append(f"m.{column} = :{column}")
            values[column] = int(value) if isinstance(value, bool) else str(value)
    if filter.after is not None:
        conditions.append("m.created_at >= :after")
        values["after"] = filter.after
    if filter.before is not None:
        conditions.append("m.created_at < :before")
        values["before"] = filter.before
    if filter.metadata is not None:
        conditions.append("json_contains(m.metadata, :metadata)")
        values["metadata"] = json.dumps(filter.metadata)
    return " and ".join(conditions), values
