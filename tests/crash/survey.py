"""What must hold of a home whose writer was killed or cut off: nothing acknowledged is lost, git is whole."""

from __future__ import annotations

from pathlib import Path

from builders import HashEmbedder, caller_of
from nrem.model import Event
from nrem.runtime.app import App
from nrem.store import commits, events, memories
from nrem.workspace import journal
from workspace.workshop import check_clean, git


def survey(home: Path, acknowledged: set[str], made: list[str]) -> list[Event]:
    """Open the store, publish, compare memories, events, ledger, files and history; return the events."""
    root = home / "workspaces" / "ana"
    with App.open(home, embedder=HashEmbedder()) as app:
        caller_of(app)("checkpoint", agent="ana")
        check_clean(root)
        found = caller_of(app)("verify", agent="ana")["findings"]
        assert [finding for finding in found if finding["level"] != "ok"] == []
        with app.store.reading() as db:
            chain = list(events.read(db, 1))
            events.verify(db, 1)
            live = {row[0] for row in db.execute("select id from memories where scope = 1")}
            known = commits.list_(db, 1, limit=10_000)
            memories.verify_rows(db, 1)
    assert acknowledged <= live
    log = git(root, "log", "--format=%H").split()
    assert [commit.commit for commit in known] == log
    assert set(made) <= set(log)
    read = {
        folder: {
            file.relative_to(root).as_posix(): file.read_bytes() for file in (root / folder).rglob("*.jsonl")
        }
        for folder in (journal.EVENTS, journal.STATE)
    }
    assert list(journal.parse_events(read[journal.EVENTS])) == chain
    assert {state.subject for state in journal.parse_states(read[journal.STATE])} == live
    # One after the other they have every event once.
    reached = 0
    for commit in reversed(known):
        if commit.events is not None:
            assert commit.events[0] == reached + 1
            reached = commit.events[1]
    assert reached == len(chain)
    return chain
