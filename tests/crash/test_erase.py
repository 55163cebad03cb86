"""An erasure is killed at every step: the next start finishes it, and nothing has the text any more."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from builders import HashEmbedder, caller_of
from haystack import holders
from nrem.runtime.app import App
from nrem.store import commits, erasures, events, memories
from workspace.workshop import check_clean, git

CHILD = Path(__file__).with_name("erasing.py")
TEXT = "The vault of Zorbulon opens with quixplat"
TOLD = ["zorbulon", "quixplat"]


def run(home: Path, id: str, last: int) -> int | None:
    """Let a child erase and die at its `last` step; return how many steps there were, if it lived."""
    done = subprocess.run(
        [sys.executable, str(CHILD), str(home), id, str(last)],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL)
    return int(done.stdout) if done.returncode == 0 else None


def prepare(home: Path) -> str:
    with App.open(home, create=True, embedder=HashEmbedder()) as app:
        call = caller_of(app)
        for agent in ("ana", "ben"):
            call("add_agent", agent=agent)
            call("remember", agent=agent, content="tea at four")
        id: str = call("remember", agent="ana", content=TEXT)["id"]
        call("checkpoint", agent="ana")
        call("edit_memory", agent="ana", id=id, content=f"{TEXT}!")
        call("recall", agent="ana", query=TEXT)
        call("checkpoint", agent="ana")
        call("checkpoint", agent="ben")
    return id


def check(home: Path, id: str, before: list[str], others: object) -> None:
    root = home / "workspaces" / "ana"
    with App.open(home, embedder=HashEmbedder()) as app:
        call = caller_of(app)
        with app.store.reading() as db:
            known = erasures.find(db, 1, id)
            if known is not None:
                assert known.is_done  # opening the store did it
            else:
                assert call("get_memory", agent="ana", id=id)["memory"]["version"] == 2
        receipt = call("erase_memory", agent="ana", id=id)
        assert (receipt["events"], receipt["versions"], receipt["recalls"]) == (3, 2, 1)
        assert receipt["commits"] == 2
        assert holders(home, TOLD) == set()
        call("checkpoint", agent="ana")
        check_clean(root)
        with app.store.reading() as db:
            events.verify(db, 1)
            memories.verify_rows(db, 1)
            ledger = [commit.commit for commit in commits.list_(db, 1, limit=100)]
            new = [erasures.current_commit(db, 1, commit) or commit for commit in before]
        log = git(root, "log", "--format=%H").split()
        assert ledger == log
        assert new == log[-len(before) :]
    assert holders(home, TOLD) == set()
    assert contents(home / "workspaces" / "ben") == others


def contents(root: Path) -> dict[str, bytes]:
    return {
        file.relative_to(root).as_posix(): file.read_bytes() for file in root.rglob("*") if file.is_file()
    }


@pytest.mark.rows(114)
def test_an_erasure_outlives_a_kill_at_every_step(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    id = prepare(whole)
    before = git(whole / "workspaces" / "ana", "log", "--format=%H").split()
    others = contents(whole / "workspaces" / "ben")
    step = 0
    while True:
        step += 1
        home = tmp_path / "home"
        shutil.copytree(whole, home)
        steps = run(home, id, step)
        check(home, id, before, others)
        shutil.rmtree(home)
        if steps is not None:
            break
    assert step > 20
