"""Builds the keyword index anew when it lacks something, or its rules have changed."""

from __future__ import annotations

from nrem.policy import terms
from nrem.store import checks, search
from nrem.store.driver import Connection
from nrem.store.memory_rows import SELECT, from_row


def keep_current(db: Connection) -> None:
    """Index every memory again, in one transaction, unless the index is whole and by today's rules."""
    row = db.execute("select value from store_meta where key = 'terms_version'").fetchone()
    if row is not None and row[0] == str(terms.VERSION) and checks.indexed(db) == (0, 0):
        return
    db.execute("begin immediate")
    try:
        db.execute("insert into memories_fts (memories_fts) values ('delete-all')")
        db.execute("update scopes set term_count = 0")
        rows = db.execute(f"select m.rowid as rowid, m.scope as scope, {SELECT} from memories m")
        for row in rows.fetchall():
            entry = search.entry(from_row(row))
            search.add(db, row["rowid"], row["scope"], entry)
            db.execute("update memories set terms = ? where rowid = ?", (entry.length, row["rowid"]))
            db.execute(
                "update scopes set term_count = term_count + ? where scope = ?", (entry.length, row["scope"])
            )
        db.execute("insert or replace into store_meta values ('terms_version', ?)", (str(terms.VERSION),))
        db.execute("commit")
    except BaseException:
        db.execute("rollback")
        raise
