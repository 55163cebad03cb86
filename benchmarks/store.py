"""What the store costs, each figure beside a baseline that was measured in the same run.

All arms of a comparison take turns, so that a busy machine slows them alike: trust the ratios, not the
milliseconds. Texts and vectors are synthetic and the same in every run.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import random
import sqlite3
import statistics
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import accumulate, count, islice
from pathlib import Path
from time import perf_counter

from nrem.clock import SystemClock
from nrem.config import Config
from nrem.core.remember import remember
from nrem.model import By, Caller, Kind, Memory, Provenance, Scope, Trust
from nrem.models.embeddings import embed_all
from nrem.policy import concepts
from nrem.store import database, driver, memories, migrations, scopes, search
from nrem.store.database import Database, open_database
from nrem.store.driver import Connection
from nrem.store.driver import sqlite3 as store_sqlite3
from nrem.store.memories import Vector
from nrem.wire import Draft

WORDS = 25
VOCABULARY = 20_000
DIMENSION = 256
PARTS = 14
CALLER = Caller(actor="bench", ingress="bench")
ORIGIN = Provenance(source=None, ingress=CALLER.ingress, trust=Trust.TRUSTED, actor=CALLER.actor)
CLOCK = SystemClock()


# What is printed


@dataclass(frozen=True)
class Line:
    """A figure; with a baseline also its ratio, and the target that the ratio is held to."""

    name: str
    value: float
    unit: str
    baseline: float | None = None
    target: float | None = None
    at_least: bool = False
    ratio: float | None = field(init=False)
    met: bool | None = field(init=False)

    def __post_init__(self) -> None:
        ratio = self.value / self.baseline if self.baseline else None
        met = None
        if ratio is not None and self.target is not None:
            met = ratio >= self.target if self.at_least else ratio <= self.target
        object.__setattr__(self, "ratio", ratio)
        object.__setattr__(self, "met", met)

    def __str__(self) -> str:
        text = f"  {self.name:<52}{_number(self.value):>11} {self.unit:<6}"
        if self.baseline is None:
            return text
        text += f"{_number(self.baseline):>11}  {self.ratio:>6.2f}x"
        if self.target is None:
            return text
        return f"{text}  {'>=' if self.at_least else '<='} {self.target}x  {'met' if self.met else 'MISSED'}"


@dataclass(frozen=True)
class Table:
    title: str
    lines: list[Line]
    notes: list[str] = field(default_factory=list)

    def show(self) -> None:
        print(f"\n{self.title}")
        print(f"  {'':<52}{'figure':>11} {'unit':<6}{'baseline':>11}  {'ratio':>7}  target")
        for line in self.lines:
            print(line)
        for note in self.notes:
            print(f"  - {note}")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3f}"


def _machine(folder: Path) -> dict[str, str]:
    model = platform.processor() or platform.machine()
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line for line in lines if line.startswith("model name")).partition(":")[2].strip()
    return {
        "python": platform.python_version(),
        "sqlite": f"{store_sqlite3.sqlite_version} ({store_sqlite3.__name__})",
        "cores": f"{os.cpu_count()} x {model}",
        "load": " ".join(f"{value:.2f}" for value in os.getloadavg()),
        "folder": str(folder),
    }


# What is stored


def _texts(seed: int) -> Iterator[str]:
    """Yield texts whose word frequencies fall off as those of a language do."""
    dice = random.Random(seed)
    syllables = [a + b for a in "bdfgklmnprtv" for b in ("a", "e", "i", "o", "u", "an", "or")]
    words = ["".join(random.Random(i).choices(syllables, k=3)) for i in range(VOCABULARY)]
    weights = list(accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))
    while True:
        yield " ".join(dice.choices(words, cum_weights=weights, k=WORDS))


class ReadyVectors:
    """An embedder without a model: any text is answered with one of some vectors made before."""

    identity = f"bench:ready-{DIMENSION}"
    batch_size = 64

    def __init__(self) -> None:
        dice = random.Random(7)
        self._vectors = [[dice.gauss(0, 1) for _ in range(DIMENSION)] for _ in range(64)]
        self._turn = count()

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        return [self._vectors[next(self._turn) % len(self._vectors)] for _ in texts]

    def vector(self) -> Vector:
        packed = embed_all(self, [""])[0]
        assert packed is not None
        return Vector(self.identity, packed)


def _memory(text: str) -> Memory:
    now = CLOCK.now()
    return Memory(
        id=CLOCK.new_id(),
        kind=Kind.SEMANTIC,
        kind_given="semantic",
        content=text,
        category="general",
        concept_tags=concepts.derive(text),
        importance=0.5,
        confidence=1.0,
        provenance=ORIGIN,
        created_at=now,
        updated_at=now,
    )


def _insert(db: Connection, scope: int, memory: Memory, vector: Vector | None) -> None:
    by = By(actor=CALLER.actor, cause=CALLER.ingress, now=memory.created_at)
    memories.insert(db, scope, memory, vector, by)


def _add_agent(db: Connection, name: str) -> Scope:
    return scopes.add(db, name, By(actor=CALLER.actor, cause=CALLER.ingress, now=CLOCK.now()))


class Inline:
    """One connection with the store's pragmas and checkpoints, used by its callers: no thread, no groups."""

    def __init__(self, path: Path) -> None:
        self.db = driver.connect(path, read_only=False)
        self._wal = path.with_name(path.name + "-wal")
        self._next = database.CHECKPOINT_EVERY

    def write(self, run: Callable[[Connection], object]) -> None:
        self.db.execute("begin immediate")
        run(self.db)
        self.db.execute("commit")
        size = self._wal.stat().st_size
        if size >= self._next:
            how = "truncate" if size > database.TRUNCATE_OVER else "passive"
            self.db.execute(f"pragma wal_checkpoint({how})").fetchone()
            self._next = self._wal.stat().st_size + database.CHECKPOINT_EVERY

    def close(self) -> None:
        self.db.close()


@contextmanager
def _store(home: Path) -> Iterator[tuple[Database, Scope]]:
    with open_database(home, CLOCK, create=True) as store:
        yield store, store.write(lambda db: _add_agent(db, "ana"))


@contextmanager
def _inline_store(home: Path) -> Iterator[tuple[Inline, Scope]]:
    """A store's file with its whole schema, without the store's writer."""
    home.mkdir()
    path = home / "nrem.db"
    migrations.migrate(path, CLOCK)
    with closing(Inline(path)) as inline:
        yield inline, _add_agent(inline.db, "ana")


# Statistics


def _p99(times: Sequence[float]) -> float:
    return sorted(times)[math.ceil(len(times) * 0.99) - 1]


def _timed(run: Callable[[], object]) -> float:
    start = perf_counter()
    run()
    return perf_counter() - start


# 1. One caller


def one_caller(folder: Path, quick: bool) -> Table:
    """Time remember, and the parts of it, against one durable row."""
    block, blocks = 20, 10 if quick else 75
    texts, embedder, settings = _texts(1), ReadyVectors(), Config()
    times: defaultdict[str, list[float]] = defaultdict(list)
    with ExitStack() as stack:
        store, scope = stack.enter_context(_store(folder / "remember"))
        insert_store, insert_scope = stack.enter_context(_store(folder / "insert"))
        inline_store, inline_scope = stack.enter_context(_inline_store(folder / "inline"))
        raw = stack.enter_context(closing(Inline(folder / "raw.db")))
        raw.db.execute("create table rows (id text not null, at integer, content text)")
        raw.db.execute("create unique index idx_rows_id on rows (id)")

        def raw_row(text: str) -> float:
            values = (CLOCK.new_id(), CLOCK.now(), text)
            return _timed(
                lambda: raw.write(lambda db: db.execute("insert into rows values (?, ?, ?)", values))
            )

        def inline_insert(text: str) -> float:
            memory, vector = _memory(text), embedder.vector()
            return _timed(
                lambda: inline_store.write(lambda db: _insert(db, inline_scope.number, memory, vector))
            )

        def store_insert(text: str) -> float:
            memory, vector = _memory(text), embedder.vector()
            return _timed(
                lambda: insert_store.write(lambda db: _insert(db, insert_scope.number, memory, vector))
            )

        def whole(text: str) -> float:
            embedding = _timed(lambda: embed_all(embedder, [text]))
            times["embedding"].append(embedding)
            draft = Draft(content=text)
            return (
                _timed(
                    lambda: remember(store, embedder, settings, scope, [draft], caller=CALLER, clock=CLOCK)
                )
                - embedding
            )

        arms = {"raw": raw_row, "inline": inline_insert, "insert": store_insert, "remember": whole}
        for turn in range(-1, blocks):
            for name, arm in arms.items():
                taken = [arm(next(texts)) for _ in range(block)]
                times[name] += taken if turn >= 0 else []
                # The writer may still be at a checkpoint: let it end before another arm is timed.
                store.write(lambda db: None)
                insert_store.write(lambda db: None)
        stored = store.write(lambda db: scopes.count(db, scope.number))
        assert stored == block * (blocks + 1), "a text was taken for a duplicate"

    ms = {name: [1000 * value for value in values] for name, values in times.items()}
    p50 = {name: statistics.median(values) for name, values in ms.items()}
    p99 = {name: _p99(values) for name, values in ms.items()}
    return Table(
        f"1. One caller, {block * blocks} times each, against a raw durable row",
        [
            Line("remember p50", p50["remember"], "ms", p50["raw"], target=2.5),
            Line("memories.insert in store.write p50", p50["insert"], "ms", p50["raw"]),
            Line("memories.insert inline, no writer thread p50", p50["inline"], "ms", p50["raw"]),
            Line("remember p99", p99["remember"], "ms", p99["raw"]),
            Line("memories.insert in store.write p99", p99["insert"], "ms", p99["raw"]),
            Line("memories.insert inline, no writer thread p99", p99["inline"], "ms", p99["raw"]),
            Line("left out of remember: packing a ready vector p50", p50["embedding"], "ms"),
        ],
        ["raw: one row, one index, WAL, synchronous=FULL, a transaction each, the store's checkpoint policy"],
    )


# 2. Many callers


def many_callers(folder: Path, quick: bool) -> Table:
    """Time callers that wait for their acknowledgement: group commit against a lock around each operation."""
    callers, each, rounds = 16, 25 if quick else 100, 3 if quick else 7
    texts, embedder = _texts(2), ReadyVectors()
    rates: defaultdict[str, list[float]] = defaultdict(list)
    tails: defaultdict[str, list[float]] = defaultdict(list)
    medians: defaultdict[str, list[float]] = defaultdict(list)
    with _store(folder / "groups") as (store, scope), _inline_store(folder / "lock") as (inline, other):
        lock = threading.Lock()

        def grouped(memory: Memory, vector: Vector) -> None:
            store.write(lambda db: _insert(db, scope.number, memory, vector))

        def locked(memory: Memory, vector: Vector) -> None:
            with lock:
                inline.write(lambda db: _insert(db, other.number, memory, vector))

        for turn in range(-1, rounds):
            for name, write in (("lock", locked), ("groups", grouped)):
                work = [
                    [(_memory(text), embedder.vector()) for text in islice(texts, each)]
                    for _ in range(callers)
                ]
                seconds, latencies = _all_at_once(write, work)
                if turn >= 0:
                    rates[name].append(callers * each / seconds)
                    tails[name].append(1000 * _p99(latencies))
                    medians[name].append(1000 * statistics.median(latencies))
                store.write(lambda db: None)
    rate, p99, p50 = (
        {name: statistics.median(values) for name, values in kept.items()} for kept in (rates, tails, medians)
    )
    return Table(
        f"2. {callers} callers that wait, {rounds} rounds of {callers * each}, against a lock per operation",
        [
            Line("writes per second", rate["groups"], "/s", rate["lock"], target=2.5, at_least=True),
            Line("p99", p99["groups"], "ms", p99["lock"], target=0.2),
            Line("p50", p50["groups"], "ms", p50["lock"]),
        ],
        ["both do memories.insert with a vector, each on a file of its own; medians of the rounds"],
    )


def _all_at_once(
    write: Callable[[Memory, Vector], None], work: list[list[tuple[Memory, Vector]]]
) -> tuple[float, list[float]]:
    latencies: list[list[float]] = [[] for _ in work]
    barrier = threading.Barrier(len(work) + 1)

    def caller(items: list[tuple[Memory, Vector]], times: list[float]) -> None:
        barrier.wait()
        for memory, vector in items:
            start = perf_counter()
            write(memory, vector)
            times.append(perf_counter() - start)

    threads = [threading.Thread(target=caller, args=pair) for pair in zip(work, latencies, strict=True)]
    for thread in threads:
        thread.start()
    barrier.wait()
    start = perf_counter()
    for thread in threads:
        thread.join()
    return perf_counter() - start, [value for times in latencies for value in times]


# 3. A small agent among many


def small_agent(folder: Path, quick: bool) -> Table:
    """Time one agent's keyword queries in a small and in a large store."""
    own, sizes, rounds = 100, (10_000, 100_000) if quick else (100_000, 1_000_000), 400 if quick else 1000
    names = [f"{size // 1000}k" for size in sizes]
    notes = [
        "4 terms or-ed, ranked by BM25 with the agent's own statistics; the same rows and answers in both"
    ]
    postings: list[list[float]] = [[], []]
    totals: list[list[float]] = [[], []]
    dice = random.Random(3)
    with ExitStack() as stack:
        built = []
        for name, size in zip(names, sizes, strict=True):
            store, scope = stack.enter_context(_store(folder / name))
            start = perf_counter()
            full = _fill(store, scope, size, own)
            notes.append(f"{name}: built in {perf_counter() - start:.0f} s, {size - full} rows index-only")
            built.append((store, scope))
        own_terms = [
            search.index_terms(text, None, (), concepts.derive(text)) for text in islice(_texts(4), own)
        ]
        for turn in range(-20, rounds):
            query = list(dict.fromkeys(dice.choices(dice.choice(own_terms), k=12)))[:4]
            answers: list[list[tuple[int, float]]] = [[], []]
            for i in (0, 1) if turn % 2 else (1, 0):
                store, scope = built[i]
                start = perf_counter()
                with store.reading() as db:
                    found = {term: search.postings(db, scope.number, term) for term in query}
                    middle = perf_counter()
                    answers[i] = _bm25(db, scope.number, found)
                end = perf_counter()
                if turn >= 0:
                    postings[i].append(1000 * (middle - start))
                    totals[i].append(1000 * (end - start))
            assert answers[0] == answers[1], "the two stores answered differently"
    small, large = (statistics.median(values) for values in totals)
    return Table(
        f"3. Keyword query of an agent with {own} rows: {names[1]} rows in total against {names[0]}",
        [
            Line(f"query at {names[1]} p50", large, "ms", small, target=1.5),
            Line(
                f"of it postings at {names[1]} p50",
                statistics.median(postings[1]),
                "ms",
                statistics.median(postings[0]),
            ),
            Line(f"query at {names[1]} p99", _p99(totals[1]), "ms", _p99(totals[0])),
        ],
        notes,
    )


def _fill(store: Database, scope: Scope, size: int, own: int, patience: float = 240.0) -> int:
    """Spread an agent's rows evenly among those of 100 others; return how many rows are whole.

    When whole rows take too long, the others' remaining rows go into the keyword index only.
    """
    mine, foreign = _texts(4), _texts(5)
    others = [store.write(partial(_add_agent, name=f"other-{i}")) for i in range(100)]
    start, whole, turn, index_only = perf_counter(), 0, count(), count(1 << 40)

    def group(db: Connection) -> int:
        _insert(db, scope.number, _memory(next(mine)), None)
        written = 1
        for _ in range(size // own - 1):
            text, other = next(foreign), others[next(turn) % len(others)].number
            if perf_counter() - start < patience:
                _insert(db, other, _memory(text), None)
                written += 1
            else:
                words = search.index_terms(text, None, (), concepts.derive(text))
                search.add_terms(db, next(index_only), other, words)
        return written

    for _ in range(own):
        whole += store.write(group)
    return whole


def _bm25(db: Connection, scope: int, found: dict[str, list[int]]) -> list[tuple[int, float]]:
    """Rank rows; returns their places among the agent's rows, as row numbers differ between stores."""
    total, length = db.execute(
        "select memory_count, term_count from scopes where scope = ?", (scope,)
    ).fetchone()
    rows = sorted({row for listed in found.values() for row in listed})
    marks = ", ".join("?" * len(rows))
    lengths = dict(
        tuple(row) for row in db.execute(f"select rowid, terms from memories where rowid in ({marks})", rows)
    )
    scores: defaultdict[int, float] = defaultdict(float)
    for listed in found.values():
        idf = math.log(1 + (total - len(listed) + 0.5) / (len(listed) + 0.5))
        for row in listed:
            scores[row] += idf * 2.2 / (1 + 1.2 * (0.25 + 0.75 * lengths[row] * total / length))
    ranked = sorted(scores, key=lambda row: (-scores[row], row))[:10]
    return [(rows.index(row), round(scores[row], 9)) for row in ranked]


# 4. Bytes


def on_disk(folder: Path, quick: bool) -> Table:
    """Weigh a closed store per memory, and its tables and indexes."""
    size = 2_000 if quick else 20_000
    embedder, weights, parts = ReadyVectors(), {}, {}
    raw = sum(len(text.encode()) for text in islice(_texts(6), size)) / size
    for name in ("without vectors", "with vectors"):
        home = folder / name.replace(" ", "-")
        with _store(home) as (store, scope):
            empty = _pages(store)
            for text in islice(_texts(6), size):
                vector = embedder.vector() if name == "with vectors" else None
                store.write(partial(_insert, scope=scope.number, memory=_memory(text), vector=vector))
        assert not (home / "nrem.db-wal").exists(), "the store was not closed in full"
        weights[name] = ((home / "nrem.db").stat().st_size - empty) / size
        parts[name] = _parts(home / "nrem.db")
    lines = [Line(name, weight, "B", raw) for name, weight in weights.items()]
    for name, weighed in parts.items():
        shown = sorted(weighed.items(), key=lambda item: -item[1])[:PARTS]
        lines += [Line(f"{name}: {part}", weight / size, "B") for part, weight in shown]
        lines.append(Line(f"{name}: others", (sum(weighed.values()) - sum(dict(shown).values())) / size, "B"))
    notes = [f"{size} memories, a transaction each; the baseline is the text itself, as UTF-8"]
    notes += [] if parts["with vectors"] else ["no SQLite at hand has dbstat: not broken down"]
    return Table("4. Bytes on disk per memory, after checkpoint and close", lines, notes)


def _pages(store: Database) -> int:
    with store.reading() as db:
        pages: int = db.execute("pragma page_count").fetchone()[0]
        size: int = db.execute("pragma page_size").fetchone()[0]
    return pages * size


def _parts(path: Path) -> dict[str, int]:
    """Return the bytes of each table and index."""
    # Python's own SQLite often has dbstat where pysqlite3 has none.
    for module in (store_sqlite3, sqlite3):
        with closing(module.connect(path)) as db, suppress(module.Error):
            return dict(db.execute("select name, sum(pgsize) from dbstat group by name").fetchall())
    return {}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a short form, for a look")
    parser.add_argument("--json", type=Path, metavar="FILE", help="save the figures")
    parser.add_argument("--dir", type=Path, help="where to make the temporary folder (its disk is measured)")
    parser.add_argument("--only", type=int, action="append", choices=(1, 2, 3, 4), help="some tables only")
    options = parser.parse_args()
    tables = []
    with tempfile.TemporaryDirectory(prefix="nrem-bench-", dir=options.dir) as name:
        machine = _machine(Path(name))
        print("\n".join(f"{key}: {value}" for key, value in machine.items()))
        for number, measure in enumerate((one_caller, many_callers, small_agent, on_disk), start=1):
            if options.only and number not in options.only:
                continue
            folder = Path(name) / str(number)
            folder.mkdir()
            table = measure(folder, options.quick)
            table.show()
            tables.append(table)
    if options.json:
        saved = {"machine": machine, "quick": options.quick, "tables": [asdict(table) for table in tables]}
        options.json.write_text(json.dumps(saved, indent=2) + "\n")


if __name__ == "__main__":
    main()
