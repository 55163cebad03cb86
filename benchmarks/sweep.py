"""What a sweep costs: time, memory, what a second one with nothing new costs, and how long a recall waits.

Each size of agent is built by one process, with ten recall events for each memory, and swept by another, so
that what building took is not counted. Wall clock and CPU time of the process are given: on a machine that
has other work, compare CPU times and ratios. A recall while a sweep is at work is asked by another thread
of the same process, with the daemon's switch interval. Texts are synthetic and the same in every run.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from rich.console import Console
from rich.table import Table

from nrem.model import AskedBy
from nrem.runtime.app import App
from nrem.runtime.service import SWITCH_SECONDS
from nrem.store import recalls
from nrem.store.driver import Connection
from nrem.surface.operations import call
from scale import CALLER, Synthetic, Texts, asker

AGENT = "ana"
HITS = 5
EVENTS = 10
"""Recall events for each memory."""
DAYS = 180
DAY = 86_400_000
BATCH = 1000
IDLE = 400
"""Recalls that are timed while nothing else goes on."""
NAMES = ("Luis", "Marta", "Globex", "Lisbon", "Acme", "Sevilla", "Carla", "Porto")


# Building


def build(home: Path, size: int) -> None:
    """Fill a home with one agent, its recalls and its commits."""
    with App.open(home, create=True, embedder=Synthetic()) as app:
        call(app, CALLER, "add_agent", {"agent": AGENT})
        texts, chance, ids = Texts(), random.Random(7), list[str]()
        for start in range(0, size, BATCH):
            told = [_told(text, chance) for text in texts.some(min(BATCH, size - start))]
            body = {"agent": AGENT, "memories": [{"content": text, "kind": "semantic"} for text in told]}
            ids += [memory["id"] for memory in call(app, CALLER, "remember_many", body)["memories"]]
        count = size * EVENTS // HITS
        for start in range(0, count, BATCH):
            moments = range(start, min(start + BATCH, count))
            app.store.write(partial(_recalls, app=app, ids=ids, moments=moments, count=count))
        call(app, CALLER, "checkpoint", {"agent": AGENT})


def _told(text: str, chance: random.Random) -> str:
    """Return a text of two sentences, with a name and a number as most have."""
    words = text.split()
    words[3] = chance.choice(NAMES)
    words[7] = str(chance.randrange(2000))
    return f"The {' '.join(words[:12])}. Then {' '.join(words[12:])}."


def _recalls(db: Connection, *, app: App, ids: list[str], moments: range, count: int) -> None:
    """Write recalls as the daemon does, spread over the last days."""
    now, chance = app.clock.now(), random.Random(moments.start)
    for i in moments:
        at = now - DAYS * DAY + i * DAYS * DAY // count
        recalls.add(
            db,
            app.scope(AGENT).number,
            recalls.Recall(
                id=app.clock.new_id(), at=at, now=at, actor="bench", ingress="bench", asked_by=AskedBy.AGENT,
                day=at // DAY, query=f"question {i % 5000}", question=i % 5000, request="{}", seq=1,
                config_hash="", ranker="", embedder=None, degraded="", vector_generation=0,
                hits=tuple((id, 0.5, 0.5) for id in chance.sample(ids, HITS)),
            ),
        )  # fmt: skip


# Measuring


def measure(home: Path) -> dict[str, float]:
    """Sweep a home that was built, and return what it took."""
    found: dict[str, float] = {}
    sys.setswitchinterval(SWITCH_SECONDS)
    with App.open(home, embedder=Synthetic()) as app:
        scope, ask = app.scope(AGENT), asker(app, AGENT)
        queries = Texts().some(IDLE, words=5)
        ask(queries[0])
        idle = _times(ask, queries)
        before = _peak(reset=True)
        wall, cpu = perf_counter(), process_time()
        dreamed = app.dream(scope, caller=CALLER)
        found["first sweep"], found["first sweep, CPU"] = perf_counter() - wall, process_time() - cpu
        found["extra memory"] = _peak() - before
        assert dreamed.sweep is not None
        wall = perf_counter()
        assert app.dream(scope, caller=CALLER).sweep is None
        found["second sweep"] = perf_counter() - wall
        call(app, CALLER, "remember", {"agent": AGENT, "content": "Luis moved to Sevilla on 3 March 2026"})
        times = list[float]()
        done = threading.Event()

        def keep_asking() -> None:
            while not done.is_set():
                times.extend(_times(ask, queries[:10]))

        asking = threading.Thread(target=keep_asking)
        asking.start()
        app.dream(scope, caller=CALLER)
        done.set()
        asking.join()
        idle += _times(ask, queries)  # before and after, for a machine that has other work
        found["recall p99, idle"] = float(np.percentile(idle, 99))
        found["recall p99, during"] = float(np.percentile(times, 99))
        found["recalls, during"] = len(times)
    return found


def _times(ask: Callable[[str], object], queries: list[str]) -> list[float]:
    times = []
    for query in queries:
        begun = perf_counter()
        ask(query)
        times.append(perf_counter() - begun)
    return times


def _peak(*, reset: bool = False) -> float:
    """Return the most bytes that this process had in memory since the last reset."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return 1024.0 * int(line.split()[1])


# Figures


def report(measured: dict[int, dict[str, float]]) -> None:
    table = Table("memories", "what", "measured", "target", "")
    for size, found in measured.items():
        first, slower = found["first sweep"], found["recall p99, during"] / found["recall p99, idle"]
        large = size >= 100_000
        megabytes = found["extra memory"] / 2**20
        again = found["second sweep"] / first
        rows = [
            ("first sweep", f"{first:.2f} s, CPU {found['first sweep, CPU']:.2f} s",
             "<= 10 s" if large else "", first <= 10),
            ("extra memory", f"{megabytes:.0f} MB", "<= 300 MB" if large else "", megabytes <= 300),
            ("second sweep, nothing new", f"{1000 * found['second sweep']:.1f} ms, {again:.2%}",
             "<= 1 %", again <= 0.01),
            ("recall p99 during a sweep", f"{1000 * found['recall p99, during']:.1f} ms, {slower:.1f}x idle",
             "<= 5x", slower <= 5),
        ]  # fmt: skip
        smaller = measured.get(size // 10)
        if smaller is not None:
            ratio = found["first sweep, CPU"] / smaller["first sweep, CPU"]
            rows.append((f"CPU against {size // 10:,} memories", f"{ratio:.1f}x", "<= 12x", ratio <= 12))
        for what, value, target, met in rows:
            table.add_row(f"{size:,}", what, value, target, "" if not target else "met" if met else "MISSED")
    Console(width=120).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10000,100000", help="memories of the agent")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return
    measured = {}
    for size in map(int, options.sizes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder) / "home"
            build(home, size)
            command = [sys.executable, __file__, "--measure", str(home)]
            measured[size] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    report(measured)
    if options.json:
        options.json.write_text(json.dumps(measured, indent=2) + "\n")


if __name__ == "__main__":
    main()
