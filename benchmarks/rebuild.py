"""What it takes to make the store from git, and to verify it, beside the least that must be done.

That is `git clone` of the workspace and parsing the JSON of every event; and, apart, inserting the same rows
into a plain SQLite table. All run in turns on one home: trust the ratios.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sqlite3
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from nrem.clock import SystemClock
from nrem.core import rebuild
from nrem.model import Caller
from nrem.runtime.app import App
from nrem.surface.operations import call

BATCH = 500
EDITS = 10
"""One memory of so many is changed after it was stored."""
WORDS = [f"{syllable}{number}" for syllable in ("ka", "lo", "mi", "ter", "sun") for number in range(400)]
CHOICE = random.Random(20260601)
OWNER = Caller(actor="owner", ingress="bench")


def make(home: Path, size: int) -> None:
    """Store and publish memories; vectors are off, as they are made after a rebuild."""
    with App.open(home, create=True, flags={"vector.enabled": False}) as app:

        def run(name: str, **body: Any) -> dict[str, Any]:
            return call(app, OWNER, name, body)

        run("add_agent", agent="ana")
        ids: list[str] = []
        for start in range(0, size, BATCH):
            texts = [" ".join(CHOICE.choices(WORDS, k=25)) for _ in range(min(BATCH, size - start))]
            stored = run("remember_many", agent="ana", memories=[{"content": text} for text in texts])
            ids += [memory["id"] for memory in stored["memories"]]
            run("checkpoint", agent="ana")
        for id in ids[::EDITS]:
            run("edit_memory", agent="ana", id=id, category="changed")
        run("checkpoint", agent="ana")


def clone_and_parse(workspace: Path, folder: Path) -> list[dict[str, Any]]:
    """Do the least: bring the repository over, and read every event."""
    clone = folder / "clone"
    shutil.rmtree(clone, ignore_errors=True)
    subprocess.run(["git", "clone", "-q", f"file://{workspace}", str(clone)], check=True)
    files = sorted(clone.glob(".nrem/events/*/*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_bytes().splitlines()]


def insert(events: list[dict[str, Any]], folder: Path) -> None:
    """Put the same rows into a plain table, in one transaction."""
    file = folder / "plain.db"
    file.unlink(missing_ok=True)
    db = sqlite3.connect(file)
    db.execute("create table events (seq integer primary key, op, subject, payload, chain)")
    rows = [(e["seq"], e["op"], e["subject"], e["payload"], e["chain"]) for e in events]
    with db:
        db.executemany("insert into events values (?, ?, ?, ?, ?)", rows)
    db.close()


def build(home: Path) -> None:
    with rebuild.prepared(home, clock=SystemClock()) as new:
        new.put_in_place()
    (home / "nrem.db.before-rebuild").unlink()


def verify(app: App) -> None:
    found = call(app, OWNER, "verify", {"agent": "ana"})["findings"]
    assert all(finding["level"] == "ok" for finding in found), found


def timed(run: Callable[[], object]) -> float:
    begun = perf_counter()
    run()
    return perf_counter() - begun


def measure(size: int, rounds: int, folder: Path) -> dict[str, float]:
    home = folder / f"home-{size}"
    make(home, size)
    workspace = home / "workspaces" / "ana"
    took: dict[str, list[float]] = {"clone and parse": [], "plain insert": [], "rebuild": [], "verify": []}
    for _ in range(rounds):
        events = clone_and_parse(workspace, folder)
        took["clone and parse"].append(timed(lambda: clone_and_parse(workspace, folder)))
        took["plain insert"].append(timed(partial(insert, events, folder)))
        took["rebuild"].append(timed(lambda: build(home)))
        with App.open(home, flags={"vector.enabled": False}) as app:
            took["verify"].append(timed(partial(verify, app)))
    return {name: statistics.median(times) for name, times in took.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for size in arguments.sizes:
            found = measure(size, arguments.rounds, Path(folder))
            base = found["clone and parse"] + found["plain insert"]
            print(f"{size:,} memories")
            for name, seconds in found.items():
                print(f"  {name:16} {seconds:7.2f} s  {seconds / base:5.1f}x")


if __name__ == "__main__":
    main()
