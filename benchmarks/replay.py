"""What a look into the past costs: the state of a moment beside a recall of now, the log beside git's.

    .venv/bin/python benchmarks/replay.py --sizes 1000,10000

Half of the memories are edited or forgotten after the moment that is asked for.
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from nrem.model import Caller
from nrem.runtime.app import App
from nrem.surface.operations import call

OWNER = Caller(actor="owner", ingress="benchmark")
TURNS = 7
QUERIES = ("green tea in the morning", "who deploys on friday", "the port of the server")
WORDS = (
    "green tea morning deploy friday port server luis spanish reply short river train window number paper"
    " kitchen walnut market bridge garden meeting budget invoice release branch secret holiday winter"
).split()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000", help="how many memories, with commas between")
    sizes = [int(size) for size in parser.parse_args().sizes.split(",")]
    print("| memories | recall now | as of, first | of that per memory | as of, again | again against now |")
    print("|---|---|---|---|---|---|")
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder, App.open(Path(folder) / "home", create=True) as app:
            _measure(app, size)
    print("\n| commits | nrem log, the newest 100 | git log of the same | ratio |")
    print("|---|---|---|---|")
    for commits in (100, 1000):
        with tempfile.TemporaryDirectory() as folder, App.open(Path(folder) / "home", create=True) as app:
            _measure_log(app, commits)


def _measure_log(app: App, commits: int) -> None:
    call(app, OWNER, "add_agent", {"agent": "ana"})
    for i in range(commits):
        call(app, OWNER, "remember", {"agent": "ana", "content": f"note {i}"})
        call(app, OWNER, "checkpoint", {"agent": "ana"})
    root = app.home / "workspaces" / "ana"
    ours = _median(lambda: _log(app))
    git = _median(lambda: _git_log(root))
    print(f"| {commits:,} | {ours * 1e3:.2f} ms | {git * 1e3:.2f} ms | {ours / git:.2f}x |", flush=True)


def _log(app: App) -> None:
    assert len(call(app, OWNER, "log", {"agent": "ana", "limit": 100})["commits"]) == 100


def _git_log(root: Path) -> None:
    subprocess.run(
        ["git", "log", "-100", "--format=%H %at %s%n%b"], cwd=root, check=True, capture_output=True
    )


def _measure(app: App, size: int) -> None:
    call(app, OWNER, "add_agent", {"agent": "ana"})
    chosen = random.Random(size)
    ids = []
    for start in range(0, size, 1000):
        many = [
            {"content": " ".join(chosen.sample(WORDS, 8)) + f" {start + i}"}
            for i in range(min(1000, size - start))
        ]
        stored = call(app, OWNER, "remember_many", {"agent": "ana", "memories": many})
        ids += [made["id"] for made in stored["memories"]]
    moment = call(app, OWNER, "recall", {"agent": "ana", "query": QUERIES[0]})["recall_id"]
    for id in ids[: size // 4]:
        call(app, OWNER, "edit_memory", {"agent": "ana", "id": id, "tags": ["changed"]})
    for id in ids[size // 4 : size // 2]:
        call(app, OWNER, "forget", {"agent": "ana", "id": id})

    queries = itertools.cycle(QUERIES)
    _recall(app, QUERIES[0])  # so that the matrix is there
    now = _median(lambda: _recall(app, next(queries)))

    def first() -> None:
        app.store.pasts.drop(app.scope("ana").number)
        _recall(app, next(queries), as_of=moment)

    built = _median(first)
    again = _median(lambda: _recall(app, next(queries), as_of=moment))
    print(
        f"| {size:,} | {now * 1e3:.2f} ms | {built * 1e3:.0f} ms | {built / size * 1e6:.0f} µs"
        f" | {again * 1e3:.2f} ms | {again / now:.2f}x |",
        flush=True,
    )


def _recall(app: App, query: str, **given: str) -> None:
    call(app, OWNER, "recall", {"agent": "ana", "query": query, "observe": False, **given})


def _median(run: Callable[[], None]) -> float:
    taken = []
    for _ in range(TURNS):
        begun = time.perf_counter()
        run()
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


if __name__ == "__main__":
    main()
