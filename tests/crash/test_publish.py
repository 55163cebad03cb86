"""A process that publishes is killed again and again: nothing acknowledged is lost, and git stays whole."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from builders import HashEmbedder, caller_of
from nrem.clock import SystemClock
from nrem.core import rebuild
from nrem.runtime.app import App
from nrem.store import commits, events, memories
from nrem.workspace import journal
from workspace.workshop import check_clean, git

CHILD = Path(__file__).with_name("publishing.py")
KILLS = int(os.environ.get("KILLS", "6"))
"""scripts/torture sets more."""


def live_and_die(home: Path, run: int, seconds: float) -> list[dict[str, str]]:
    """Run the child, kill it some time after its store is open, and return what it said."""
    with subprocess.Popen(
        [sys.executable, str(CHILD), str(home), str(run)],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    ) as child:
        assert child.stdout is not None
        assert json.loads(child.stdout.readline()) == {"ready": True}
        time.sleep(seconds)
        child.kill()
        said = child.stdout.read().splitlines(keepends=True)
    return [json.loads(line) for line in said if line.endswith(b"\n")]


@pytest.mark.rows(90)
def test_kills_while_publishing_lose_nothing(home: Path) -> None:
    root = home / "workspaces" / "ana"
    with App.open(home, create=True, embedder=HashEmbedder()) as app:
        caller_of(app)("add_agent", agent="ana")
    acknowledged: set[str] = set()
    made: list[str] = []
    chance = random.Random(5)
    for run in range(KILLS):
        if run % 3 == 2:  # a person works in it too
            (root / "notes" / f"{run}.md").write_text("by a person\n")
            git(root, "add", "notes")
            git(root, "commit", "-qm", f"person {run}")
            made.append(git(root, "rev-parse", "HEAD").strip())
        said = live_and_die(home, run, chance.uniform(0.02, 0.25))
        acknowledged |= {line["id"] for line in said if "id" in line}
        made += [line["commit"] for line in said if line.get("commit")]
        with App.open(home, embedder=HashEmbedder()) as app:
            caller_of(app)("checkpoint", agent="ana")
            check_clean(root)
            found = caller_of(app)("verify", agent="ana")["findings"]
            assert {finding["level"] for finding in found} == {"ok"}
            with app.store.reading() as db:
                chain = list(events.read(db, 1))
                live = {row[0] for row in db.execute("select id from memories where scope = 1")}
                known = commits.list_(db, 1, limit=10_000)
                memories.verify_rows(db, 1)
        assert acknowledged <= live
        log = git(root, "log", "--format=%H").split()
        assert [commit.commit for commit in known] == log
        assert set(made) <= set(log)
        read = {
            folder: {
                file.relative_to(root).as_posix(): file.read_bytes()
                for file in (root / folder).rglob("*.jsonl")
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
    assert len(acknowledged) > KILLS
    assert len(made) > KILLS
    for run in range(2, KILLS, 3):
        assert git(root, "show", f"HEAD:notes/{run}.md") == "by a person\n"
    (home / "nrem.db").unlink()
    with rebuild.prepared(home, clock=SystemClock()) as new:
        new.put_in_place()
    with App.open(home, embedder=HashEmbedder()) as app, app.store.reading() as db:
        assert list(events.read(db, 1)) == chain
