"""What a recall costs as the store grows, beside one matrix product over the same vectors in the same run.

Each size of store is built once; its agents' recalls and the matrix product take turns, so that a busy
machine slows them alike. Trust the ratios. Texts and vectors are synthetic and the same in every run.

The product goes through 100 MB, so what is timed right behind it finds the processor's caches empty. The
small agent is asked that way, and several times in a row, as in a conversation.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from time import perf_counter

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the yardstick is one thread's work

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from nrem.core.recall import recall
from nrem.model import Caller
from nrem.models.embeddings import PATIENT, Patience, Vector
from nrem.runtime.app import App
from nrem.surface.operations import call
from nrem.wire import Recall

DIMENSION = 256
WORDS = 25
VOCABULARY = 20_000
CALLER = Caller(actor="bench", ingress="bench")
Row = dict[str, object]


class Synthetic:
    """An embedder without a model: a text's words choose where it points, at once."""

    identity = f"bench:synthetic-{DIMENSION}"
    batch_size = 1000
    remote = False
    instant = True
    problem: str | None = None

    def __init__(self) -> None:
        self._centres = np.random.default_rng(1).standard_normal((2000, DIMENSION)).astype(np.float32)

    def embed(self, texts: Sequence[str], patience: Patience = PATIENT) -> list[Vector]:
        return [
            self._centres[hash_of(text) % 2000] + self._centres[hash_of(text[::-1]) % 2000] for text in texts
        ]

    def close(self) -> None:
        pass


def hash_of(text: str) -> int:
    """Return a number that is the same in every process."""
    return int.from_bytes(text.encode()[:24], "big")


class Texts:
    """Sentences of words as frequent as words are."""

    def __init__(self) -> None:
        self._chance = random.Random(5)
        letters = "bcdfghklmnprstvz"
        self._words = [
            "".join(letters[i >> shift & 15] + "a" for shift in (0, 4, 8, 12)) for i in range(VOCABULARY)
        ]
        self._weights = list(accumulate(1 / (i + 10) for i in range(VOCABULARY)))

    def some(self, count: int, words: int = WORDS) -> list[str]:
        return [
            " ".join(self._chance.choices(self._words, cum_weights=self._weights, k=words))
            for _ in range(count)
        ]


def build(app: App, agents: dict[str, int], texts: Texts) -> None:
    """Fill a store with agents of the given sizes, through its own operations."""
    for agent, rows in track(agents.items(), "Building", transient=True):
        call(app, CALLER, "add_agent", {"agent": agent})
        for start in range(0, rows, 1000):
            memories = [{"content": text, "kind": "episodic"} for text in texts.some(min(1000, rows - start))]
            call(app, CALLER, "remember_many", {"agent": agent, "memories": memories})


def asker(app: App, agent: str, *, observe: bool = False) -> Callable[[str], object]:
    """Return the recall of one agent, from request to records; without the JSON around it."""
    scope = app.scope(agent)
    settings = app.settings(scope)

    def ask(query: str) -> object:
        request = Recall(agent=agent, query=query, observe=observe)
        return recall(app.store, app.embedder, settings, scope, request, caller=CALLER, clock=app.clock)

    return ask


def interleaved(arms: dict[str, Callable[[str], object]], queries: list[str]) -> dict[str, list[float]]:
    """Time every arm on every query, in turns."""
    times: dict[str, list[float]] = {name: [] for name in arms}
    for arm in arms.values():
        arm(queries[0])  # warm
    chance = random.Random(3)
    for query in queries:
        for name in chance.sample(list(arms), len(arms)):  # each comes behind each: caches are cold alike
            start = perf_counter()
            arms[name](query)
            times[name].append(1000 * (perf_counter() - start))
    return times


IN_A_ROW = 20


def by_turns(arms: dict[str, Callable[[str], object]], queries: list[str]) -> dict[str, list[float]]:
    """Time arms in turns of several queries, so that none finds the caches full of another's vectors."""
    times: dict[str, list[float]] = {name: [] for name in arms}
    for start in range(0, len(queries), IN_A_ROW):
        for name, arm in arms.items():
            for i, query in enumerate(queries[start : start + IN_A_ROW]):
                begun = perf_counter()
                arm(query)
                if i:  # the first one fetches what the arm before it pushed out
                    times[name].append(1000 * (perf_counter() - begun))
    return times


def matmul(rows: int) -> Callable[[str], object]:
    """The yardstick: one product over the vectors of all rows, and nothing else."""
    chance = np.random.default_rng(2)
    vectors = chance.standard_normal((rows, DIMENSION), dtype=np.float32)
    query = chance.standard_normal(DIMENSION, dtype=np.float32)
    return lambda _: vectors @ query


def row(name: str, times: list[float], base: list[float], target: float | None = None) -> Row:
    ratio = float(np.percentile(times, 50) / np.percentile(base, 50))
    return {
        "what": name,
        "p50 ms": round(float(np.percentile(times, 50)), 3),
        "p99 ms": round(float(np.percentile(times, 99)), 3),
        "baseline p50 ms": round(float(np.percentile(base, 50)), 3),
        "ratio": round(ratio, 3),
        "target": "" if target is None else f"<= {target}",
        "": "" if target is None else ("met" if ratio <= target else "MISSED"),
    }


def grid(folder: Path, sizes: list[int], counts: list[int], rounds: int) -> tuple[list[Row], list[Row]]:
    """Ask an agent of each store size and agent count; return the table and the held targets."""
    table, targets = [], []
    small: dict[int, list[float]] = {}
    for size in sizes:
        for count in counts:
            if size // count < 10:
                continue
            texts = Texts()
            agents = {f"a{i}": size // count for i in range(count)}
            extra = size == 100_000 and count == 100
            if extra:
                agents |= {"five-hundred": 500, "fifty-thousand": 50_000}
            agents["hundred"] = 100
            with App.open(folder / f"{size}-{count}", create=True, embedder=Synthetic()) as app:
                build(app, agents, texts)
                arms = {"matmul": matmul(size), "agent": asker(app, "a0"), "hundred": asker(app, "hundred")}
                if extra:
                    arms |= {
                        "500": asker(app, "five-hundred"),
                        "50k": asker(app, "fifty-thousand"),
                        "observed": asker(app, "five-hundred", observe=True),
                    }
                times = interleaved(arms, texts.some(rounds, words=5))
                if extra:
                    some = {name: arms[name] for name in ("matmul", "500", "observed")}
                    turns = by_turns(some, texts.some(2 * rounds, words=5))
            name = f"{size:,} memories, {count:,} agents: one of {size // count:,} rows"
            table.append(row(name, times["agent"], times["matmul"]))
            if count == 100:
                small[size] = times["hundred"]
            if extra:
                base = times["matmul"]
                name = "500 rows of 100k, against a matmul over 100k"
                targets.append(row(f"{name}, {IN_A_ROW} in a row", turns["500"], turns["matmul"], 0.10))
                targets.append(row(f"{name}, right behind one", times["500"], base, 0.10))
                targets.append(row("50k rows of 150k, against a matmul over 100k", times["50k"], base, 1.0))
                name = "recorded, against unrecorded"
                targets.append(row(f"{name}, {IN_A_ROW} in a row", turns["observed"], turns["500"], 1.05))
                targets.append(row(f"{name}, right behind a matmul", times["observed"], times["500"], 1.05))
    for size in sizes[1:]:
        if size in small and 100_000 in small and size > 100_000:
            name = f"100 rows at {size:,}, against at 100,000"
            targets.append(row(name, small[size], small[100_000], 1.5))
    return table, targets


def show(title: str, rows: list[Row]) -> None:
    if rows:
        table = Table(*rows[0], title=title)
        for line in rows:
            table.add_row(*map(str, line.values()))
        Console(width=150).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,10000,100000,1000000", help="memories in the store")
    parser.add_argument("--agents", default="1,100,1000", help="agents that share them")
    parser.add_argument("--rounds", type=int, default=200, help="questions for each figure")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sizes = [int(size) for size in options.sizes.split(",")]
        counts = [int(count) for count in options.agents.split(",")]
        table, targets = grid(Path(folder), sizes, counts, options.rounds)
    show("Recall, beside one matrix product over all vectors of the store", table)
    show("Targets", targets)
    if options.json:
        options.json.write_text(json.dumps({"grid": table, "targets": targets}, indent=2) + "\n")


if __name__ == "__main__":
    main()
