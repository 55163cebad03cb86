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
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from io import FileIO
from itertools import accumulate, count, islice
from pathlib import Path
from time import perf_counter
from typing import Any

from nrem.clock import SystemClock
from nrem.core.remember import remember
from nrem.model import By, Caller, Kind, Memory, Provenance, Scope, Trust
from nrem.models.embeddings import PATIENT, Patience, embed_all
from nrem.policy import concepts, terms
from nrem.sections import Config
from nrem.store import database, driver, memories, migrations, scopes, search
from nrem.store.database import Database, open_database
from nrem.store.driver import Connection
from nrem.store.driver import sqlite3 as store_sqlite3
from nrem.store.vectors import Vector
from nrem.wire import Draft

WORDS = 25
VOCABULARY = 20_000
DIMENSION = 256
WARM = 50
BY = "bench"
CALLER = Caller(actor=BY, ingress=BY)
ORIGIN = Provenance(source=None, ingress=BY, trust=Trust.TRUSTED, actor=BY)
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

    @property
    def ratio(self) -> float | None:
        return self.value / self.baseline if self.baseline else None

    @property
    def met(self) -> bool | None:
        if self.ratio is None or self.target is None:
            return None
        return self.ratio >= self.target if self.at_least else self.ratio <= self.target

    def __str__(self) -> str:
        text = f"  {self.name:<50}{_number(self.value):>10} {self.unit:<4}"
        if self.baseline is None:
            return text
        text += f"{_number(self.baseline):>10} {self.ratio:>6.2f}x"
        if self.target is None:
            return text
        return f"{text}  {'>=' if self.at_least else '<='} {self.target}x  {'met' if self.met else 'MISSED'}"

    def as_json(self) -> dict[str, Any]:
        return vars(self) | {"ratio": self.ratio, "met": self.met}


@dataclass(frozen=True)
class Table:
    title: str
    lines: list[Line]
    notes: list[str]
    noise: str | None = None

    def show(self) -> None:
        print(f"\n{self.title}")
        print(f"  {'':<50}{'figure':>10} {'':<4}{'baseline':>10} {'ratio':>7}  target")
        for line in self.lines:
            print(f"{line}, but NOISY" if self.noise and line.met else line)
        for note in self.notes:
            print(f"  - {note}")
        if self.noise:
            print(f"  - NOISY: others use the disk, and their waits flatter the ratios: {self.noise}")

    def as_json(self) -> dict[str, Any]:
        return vars(self) | {"lines": [line.as_json() for line in self.lines]}


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3f}"


def _machine() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        "sqlite": f"{store_sqlite3.sqlite_version} ({store_sqlite3.__name__})",
        "cores": f"{os.cpu_count()} x {platform.machine()}",
        "load": " ".join(f"{value:.2f}" for value in os.getloadavg()),
    }


def _p99(times: Sequence[float]) -> float:
    return sorted(times)[math.ceil(len(times) * 0.99) - 1]


def _noise(fsyncs: Sequence[float]) -> str | None:
    """Say so when others use the disk: their waits hide what the store adds, and the ratios look too good."""
    quiet, usual, worst = sorted(fsyncs)[len(fsyncs) // 10], statistics.median(fsyncs), _p99(fsyncs)
    if usual < 1.5 * quiet and worst < 4 * quiet:
        return None
    return f"fsync took {quiet:.2f} ms at p10, {usual:.2f} at p50, {worst:.2f} at p99"


def _fsync(file: FileIO) -> float:
    """Append a page, and time its way to the disk."""
    file.write(bytes(4096))
    return _timed(partial(os.fsync, file.fileno()))


def _timed(run: Callable[[], object]) -> float:
    """Return how many milliseconds something takes."""
    start = perf_counter()
    run()
    return 1000 * (perf_counter() - start)


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
    remote = False
    instant = True
    problem: str | None = None

    def __init__(self) -> None:
        dice = random.Random(7)
        self._vectors = [[dice.gauss(0, 1) for _ in range(DIMENSION)] for _ in range(64)]
        self._turn = count()

    def embed(self, texts: Sequence[str], patience: Patience = PATIENT) -> list[Sequence[float]]:
        return [self._vectors[next(self._turn) % len(self._vectors)] for _ in texts]

    def close(self) -> None:
        pass

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
    memories.insert(db, scope, memory, vector, By(actor=BY, cause=BY, now=memory.created_at))


def _nothing(db: Connection) -> None:
    pass


def _add_agent(db: Connection, name: str) -> Scope:
    return scopes.add(db, name, By(actor=BY, cause=BY, now=CLOCK.now()))


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
    inline = Inline(path)
    with closing(inline.db):
        yield inline, _add_agent(inline.db, "ana")


# 1. One caller


def one_caller(folder: Path, quick: bool) -> Table:
    """Time remember, and the parts of it, against one durable row with the same text."""
    rounds = 400 if quick else 3000
    texts, embedder, settings = _texts(1), ReadyVectors(), Config()
    times: defaultdict[str, list[float]] = defaultdict(list)
    with ExitStack() as stack:
        store, scope = stack.enter_context(_store(folder / "remember"))
        inserts, inserts_scope = stack.enter_context(_store(folder / "insert"))
        inline, inline_scope = stack.enter_context(_inline_store(folder / "inline"))
        raw = Inline(folder / "raw.db")
        stack.enter_context(closing(raw.db))
        raw.db.execute("create table rows (id text not null, at integer, content text)")
        raw.db.execute("create unique index idx_rows_id on rows (id)")
        appended = stack.enter_context((folder / "appended").open("ab", buffering=0))

        def fsync(text: str) -> float:
            return _fsync(appended)

        def raw_row(text: str) -> float:
            values = (CLOCK.new_id(), CLOCK.now(), text)
            return _timed(
                lambda: raw.write(lambda db: db.execute("insert into rows values (?, ?, ?)", values))
            )

        def inline_insert(text: str) -> float:
            run = partial(_insert, scope=inline_scope.number, memory=_memory(text), vector=embedder.vector())
            return _timed(lambda: inline.write(run))

        def store_insert(text: str) -> float:
            run = partial(_insert, scope=inserts_scope.number, memory=_memory(text), vector=embedder.vector())
            return _timed(lambda: inserts.write(run))

        def whole(text: str) -> float:
            drafts = [Draft(content=text)]
            return _timed(
                lambda: remember(store, embedder, settings, scope, drafts, caller=CALLER, clock=CLOCK)
            )

        def embedding(text: str) -> float:
            return _timed(lambda: embed_all(embedder, [text]))

        arms = [fsync, raw_row, inline_insert, store_insert, whole, embedding]
        for turn, text in enumerate(islice(texts, rounds + WARM)):
            first = turn % len(arms)
            for arm in arms[first:] + arms[:first]:
                taken = arm(text)
                # A writer answers, then checkpoints: let it end before another arm is timed, and count it.
                behind = _timed(lambda: store.write(_nothing)) + _timed(lambda: inserts.write(_nothing))
                if turn >= WARM:
                    times[arm.__name__].append(taken)
                    times[f"{arm.__name__} and behind"].append(taken + behind)
        stored = store.write(lambda db: scopes.count(db, scope.number))
        assert stored == rounds + WARM, "a text was taken for a duplicate"

    p50 = {name: statistics.median(values) for name, values in times.items()}
    p99 = {name: _p99(values) for name, values in times.items()}
    row = p50["raw_row"]
    return Table(
        f"1. One caller, {rounds} times each, against a raw durable row",
        [
            Line("remember p50", p50["whole"], "ms", row, target=2.5),
            Line("remember p99", p99["whole"], "ms", p99["raw_row"]),
            Line("slowest, with its checkpoint", max(times["whole and behind"]), "ms", max(times["raw_row"])),
            Line("part: memories.insert in store.write p50", p50["store_insert"], "ms", row),
            Line("part: memories.insert, no writer thread p50", p50["inline_insert"], "ms", row),
            Line("part: embedding, a ready vector packed p50", p50["embedding"], "ms", row),
            Line("floor: fsync of one appended page p50", p50["fsync"], "ms", row),
        ],
        [
            "raw: one row, one index, WAL, synchronous=FULL, a transaction each, checkpoints as the store",
            "no model runs: the embedder answers at once, so remember has only the packing of its vector",
        ],
        _noise(times["fsync"]),
    )


# 2. Many callers


def many_callers(folder: Path, quick: bool) -> Table:
    """Time callers that wait for their acknowledgement: group commit against a lock around each operation."""
    callers, each, rounds = 16, 25 if quick else 100, 3 if quick else 7
    texts, embedder = _texts(2), ReadyVectors()
    figures: defaultdict[str, list[float]] = defaultdict(list)
    with ExitStack() as stack:
        store, scope = stack.enter_context(_store(folder / "groups"))
        inline, other = stack.enter_context(_inline_store(folder / "lock"))
        appended = stack.enter_context((folder / "appended").open("ab", buffering=0))
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
                    figures[f"{name} rate"].append(callers * each / seconds)
                    figures[f"{name} p99"].append(_p99(latencies))
                    figures[f"{name} p50"].append(statistics.median(latencies))
                store.write(_nothing)
                figures["fsync"] += [_fsync(appended) for _ in range(50)]
    of = {name: statistics.median(values) for name, values in figures.items()}
    return Table(
        f"2. {callers} callers that wait, {rounds} rounds of {callers * each}, against a lock per operation",
        [
            Line("writes per second", of["groups rate"], "/s", of["lock rate"], target=2.5, at_least=True),
            Line("p99", of["groups p99"], "ms", of["lock p99"], target=0.2),
            Line("p50", of["groups p50"], "ms", of["lock p50"]),
        ],
        ["both do memories.insert with a vector, each on a file of its own; medians of the rounds"],
        _noise(figures["fsync"]),
    )


def _all_at_once(
    write: Callable[[Memory, Vector], None], work: list[list[tuple[Memory, Vector]]]
) -> tuple[float, list[float]]:
    latencies: list[list[float]] = [[] for _ in work]
    barrier = threading.Barrier(len(work) + 1)

    def caller(items: list[tuple[Memory, Vector]], times: list[float]) -> None:
        barrier.wait()
        for memory, vector in items:
            times.append(_timed(partial(write, memory, vector)))

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
    """Time one agent's keyword queries in a small and in a large store, with the same rows of its own."""
    own, sizes, rounds = 100, (10_000, 100_000) if quick else (100_000, 1_000_000), 500 if quick else 3000
    names = [f"{size:,}" for size in sizes]
    notes = ["4 words of one of the agent's memories, each term's rows from search.postings, in one snapshot"]
    times: list[list[float]] = [[], []]
    dice, texts = random.Random(3), list(islice(_texts(4), own))
    with ExitStack() as stack:
        built = []
        for size, name in zip(sizes, names, strict=True):
            store, scope = stack.enter_context(_store(folder / str(size)))
            start = perf_counter()
            _fill(store, scope, texts, size)
            seconds = perf_counter() - start
            with store.reading() as db:
                segments = db.execute("select count(distinct segid) from memories_fts_idx").fetchone()[0]
                rows = db.execute("select rowid from memories where scope = ? order by 1", (scope.number,))
                places = {row[0]: place for place, row in enumerate(rows)}
            notes.append(f"{name} rows: built in {seconds:.0f} s, {segments} segments in the keyword index")
            built.append((store, scope.number, places))
        for turn in range(-WARM, rounds):
            query = terms.for_query(" ".join(dice.sample(dice.choice(texts).split(), 4)))
            answers: list[list[list[int]]] = [[], []]
            for i in (0, 1) if turn % 2 else (1, 0):
                store, number, places = built[i]
                start = perf_counter()
                with store.reading() as db:
                    found = search.postings(db, number, query)
                taken = 1000 * (perf_counter() - start)
                times[i] += [taken] if turn >= 0 else []
                answers[i] = [[places[row] for row in listed] for listed in found]
            assert answers[0] == answers[1], "the two stores answered differently"
            assert all(answers[0]), "a word of a memory was not found"
    (small, large), (small_p99, large_p99) = map(statistics.median, times), map(_p99, times)
    return Table(
        f"3. Keyword query of an agent with {own} rows, {names[1]} rows in the store against {names[0]}",
        [
            Line(f"query p50 at {names[1]}", large, "ms", small, target=1.5),
            Line(f"query p99 at {names[1]}", large_p99, "ms", small_p99),
        ],
        notes,
    )


def _fill(store: Database, scope: Scope, texts: list[str], size: int) -> None:
    """Spread an agent's memories evenly among those of 100 others, in one transaction for each of them."""
    foreign, turn = _texts(5), count()
    others = [store.write(partial(_add_agent, name=f"other-{i}")).number for i in range(100)]
    each = size // len(texts)

    def group(db: Connection, text: str) -> None:
        _insert(db, scope.number, _memory(text), None)
        for other_text in islice(foreign, each - 1):
            _insert(db, others[next(turn) % len(others)], _memory(other_text), None)

    for done, text in enumerate(texts):
        if done % 10 == 0:
            print(f"building: {done * each:,} of {size:,} rows", file=sys.stderr)
        store.write(partial(group, text=text))


# 4. Bytes


def on_disk(folder: Path, quick: bool) -> Table:
    """Weigh a closed store per memory, and its tables and indexes."""
    size = 2_000 if quick else 20_000
    embedder, files, parts = ReadyVectors(), {}, {}
    text_bytes = sum(len(text.encode()) for text in islice(_texts(6), size)) / size
    for vectors in (False, True):
        home = folder / f"vectors-{vectors}"
        with _store(home) as (store, scope):
            for text in islice(_texts(6), size):
                vector = embedder.vector() if vectors else None
                store.write(partial(_insert, scope=scope.number, memory=_memory(text), vector=vector))
        assert not (home / "nrem.db-wal").exists(), "the store was not closed in full"
        files[vectors] = (home / "nrem.db").stat().st_size
        parts = {name: bytes_ / size for name, bytes_ in _parts(home / "nrem.db").items()}
    lines = [
        Line("with a vector", files[True] / size, "B", text_bytes),
        Line("without", files[False] / size, "B", text_bytes),
    ]
    shown = sorted((name for name in parts if parts[name] >= 10), key=lambda name: -parts[name])
    lines += [Line(f"part: {name}", parts[name], "B", text_bytes) for name in shown]
    others = files[True] / size - sum(parts[name] for name in shown)
    lines.append(Line("part: all others, page maps and free pages", others, "B", text_bytes))
    notes = [
        f"{size} memories, a transaction each; the baseline is the text itself; "
        f"a vector is {DIMENSION} float32, {4 * DIMENSION} B"
    ]
    notes += [] if parts else ["no SQLite at hand has dbstat: not broken down"]
    return Table("4. Bytes on disk per memory, after checkpoint and close", lines, notes)


def _parts(path: Path) -> dict[str, int]:
    """Return the bytes of each table and index."""
    # Python's own SQLite often has dbstat where pysqlite3 has none.
    for module in (store_sqlite3, sqlite3):
        with closing(module.connect(path)) as db, suppress(module.Error):
            return dict(db.execute("select name, sum(pgsize) from dbstat group by name").fetchall())
    return {}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the store; see docs/benchmarks.md.")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, in less than a minute")
    parser.add_argument("--json", type=Path, metavar="FILE", help="save the figures")
    parser.add_argument("--dir", type=Path, help="where to make the temporary folder (its disk is measured)")
    parser.add_argument("--only", type=int, action="append", choices=(1, 2, 3, 4), help="some tables only")
    options = parser.parse_args()
    machine, tables = _machine(), []
    print("\n".join(f"{key}: {value}" for key, value in machine.items()))
    with tempfile.TemporaryDirectory(prefix="nrem-bench-", dir=options.dir) as name:
        for number, measure in enumerate((one_caller, many_callers, small_agent, on_disk), start=1):
            if options.only and number not in options.only:
                continue
            folder = Path(name) / str(number)
            folder.mkdir()
            table = measure(folder, options.quick)
            table.show()
            tables.append(table)
    missed = [line.name for table in tables for line in table.lines if line.met is False]
    print(f"\nmissed: {', '.join(missed) or 'none'}")
    if any(table.noise for table in tables):
        print("the disk was not quiet: what a NOISY table calls met is not shown to be; repeat alone")
    if options.json:
        saved = {"machine": machine, "quick": options.quick, "tables": [table.as_json() for table in tables]}
        options.json.write_text(json.dumps(saved, indent=2) + "\n")


if __name__ == "__main__":
    main()
