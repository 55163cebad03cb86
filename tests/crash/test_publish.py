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
from crash.survey import survey
from nrem.clock import SystemClock
from nrem.core import rebuild
from nrem.model import Event
from nrem.runtime.app import App
from nrem.store import events
from workspace.workshop import git

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
    with App.open(home, create=True, embedder=HashEmbedder()) as app:
        caller_of(app)("add_agent", agent="ana")
    root = home / "workspaces" / "ana"
    chain: list[Event] = []
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
        chain = survey(home, acknowledged, made)
    assert len(acknowledged) > KILLS
    assert len(made) > KILLS
    for run in range(2, KILLS, 3):
        assert git(root, "show", f"HEAD:notes/{run}.md") == "by a person\n"
    (home / "nrem.db").unlink()
    with rebuild.prepared(home, clock=SystemClock()) as new:
        new.put_in_place()
    with App.open(home, embedder=HashEmbedder()) as app, app.store.reading() as db:
        assert list(events.read(db, 1)) == chain
