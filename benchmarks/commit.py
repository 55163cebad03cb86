"""What a commit costs, beside `git add && git commit` of the same change, in workspaces of two sizes.

The arms take turns on equal repositories, so that a busy machine slows all: trust the ratios. nrem's objects,
ref and index are synced; git is measured as it comes, which syncs nothing, and with core.fsync=all.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter

from nrem.model import StateRecord
from nrem.workspace import journal
from nrem.workspace.commits import Person, Signature
from nrem.workspace.repository import Repository

SIZES = (1_024, 102_400)
"""Both fill their last files, so that the same change is the same number of bytes in either."""
APPENDS = 50
SIGNATURE = Signature(
    author=Person(name="ana", email="ana@nrem.invalid"),
    committer=Person(name="nrem", email="nrem@nrem.invalid"),
    at=1_780_000_000_000,
)
WORDS = [f"{syllable}{number}" for syllable in ("ka", "lo", "mi", "ter", "sun") for number in range(400)]
CHOICE = random.Random(20260601)

Files = Mapping[str, bytes]


def record(ordinal: int) -> StateRecord:
    payload: dict[str, object] = {
        "content": " ".join(CHOICE.choices(WORDS, k=25)),
        "id": f"{ordinal:032x}",
        "kind": "semantic",
    }
    payload |= {"category": "general", "created_at": SIGNATURE.at + ordinal, "provenance": {"actor": "ana"}}
    text = json.dumps(payload, sort_keys=True, separators=(",", ":"))
    return StateRecord(ordinal=ordinal, subject=f"{ordinal:032x}", seq=ordinal + 1, payload=text)


class Workspace:
    """A workspace's records, and the files that a change touches. A line of state stands for an event too."""

    def __init__(self, size: int) -> None:
        self.records = {ordinal: record(ordinal) for ordinal in range(size)}
        self.events = [journal.render_state(found) for found in self.records.values()]

    def all(self) -> Files:
        events = range(0, len(self.events), journal.EVENTS_PER_FILE)
        files = journal.render_states(self.records.values())
        return {
            **files,
            **{self._events_path(seq): self._events(seq) for seq in events},
            "MEMORY.md": b"# Memory\n",
        }

    def edit(self) -> Files:
        return self._touch([CHOICE.randrange(len(self.records))])

    def append(self) -> Files:
        return self._touch(range(len(self.records), len(self.records) + APPENDS))

    def _touch(self, ordinals: list[int] | range) -> Files:
        before = len(self.events)
        for ordinal in ordinals:
            self.records[ordinal] = record(ordinal)
            self.events.append(journal.render_state(self.records[ordinal]))
        shards = {ordinal // journal.STATES_PER_FILE for ordinal in ordinals}
        states = [self.records[n] for shard in shards for n in journal.ordinals(shard) if n in self.records]
        seqs = range(before - before % journal.EVENTS_PER_FILE, len(self.events), journal.EVENTS_PER_FILE)
        return {
            **journal.render_states(states),
            **{self._events_path(seq): self._events(seq) for seq in seqs},
        }

    def _events_path(self, seq: int) -> str:
        return journal.event_path(seq)

    def _events(self, seq: int) -> bytes:
        return b"".join(self.events[seq : seq + journal.EVENTS_PER_FILE])


def put(root: Path, files: Files) -> None:
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, check=True, stdout=subprocess.DEVNULL)


def by_git(root: Path, files: Files, sync: str) -> float:
    """Return how many milliseconds git takes for the same commit."""
    start = perf_counter()
    git(root, "-c", f"core.fsync={sync}", "add", "--", *files)
    git(root, "-c", f"core.fsync={sync}", "commit", "-q", "-m", "checkpoint")
    return (perf_counter() - start) * 1000


def measure(folder: Path, size: int, rounds: int) -> dict[str, dict[str, float]]:
    """Return the median milliseconds of each kind of change, for each arm."""
    workspace = Workspace(size)
    ours, theirs, synced = (folder / name for name in ("nrem", "git", "git-fsync"))
    ours.mkdir()
    everything = workspace.all()
    put(ours, everything)
    times: dict[str, dict[str, list[float]]] = {}
    with Repository.create(ours) as repository:
        head = repository.commit(everything, message="template", signature=SIGNATURE, parent=None)
        for copy in (theirs, synced):
            shutil.copytree(ours, copy)
            git(copy, "config", "user.name", "ana")
            git(copy, "config", "user.email", "ana@nrem.invalid")
            git(copy, "status")
        for round in range(rounds + 2):
            for name, change in (("one edit", workspace.edit), (f"{APPENDS} appends", workspace.append)):
                files = change()
                for root in (ours, theirs, synced):
                    put(root, files)
                arms = times.setdefault(name, {"nrem": [], "git": [], "git, core.fsync=all": []})
                start = perf_counter()
                head = repository.commit(files, message="checkpoint", signature=SIGNATURE, parent=head)
                taken = {
                    "nrem": (perf_counter() - start) * 1000,
                    "git": by_git(theirs, files, "none"),
                    "git, core.fsync=all": by_git(synced, files, "all"),
                }
                if round >= 2:  # the first two warm the caches
                    for arm, milliseconds in taken.items():
                        arms[arm].append(milliseconds)
        git(ours, "fsck", "--full", "--strict")
    return {name: {arm: statistics.median(ms) for arm, ms in arms.items()} for name, arms in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--dir", type=Path, help="where to work; a disk, not a tmpfs")
    options = parser.parse_args()
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    print(f"commit, median of {options.rounds} rounds in milliseconds; load {load}")
    print(f"  {'':<24}{'nrem':>8}{'git':>9}{'ratio':>8}  target{'git, synced':>15}{'ratio':>8}")
    small: dict[str, float] = {}
    for size in SIZES:
        with tempfile.TemporaryDirectory(dir=options.dir) as folder:
            found = measure(Path(folder), size, options.rounds)
        for name, arms in found.items():
            ours, plain, synced = arms.values()
            met = "met" if ours / plain <= 0.5 else "MISSED"
            print(
                f"  {f'{size:,}, {name}':<24}{ours:>8.2f}{plain:>9.2f}{ours / plain:>7.2f}x  <= 0.5x {met:<7}"
                f"{synced:>7.2f}{ours / synced:>7.2f}x"
            )
            growth = ours / small.setdefault(name, ours)
            if size != SIZES[0]:
                verdict = "met" if growth <= 1.5 else "MISSED"
                print(f"  {'':<24}from {SIZES[0]:,} to {size:,}: {growth:.2f}x, target <= 1.5x, {verdict}")


if __name__ == "__main__":
    main()
