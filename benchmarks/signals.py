"""What it costs to count the signals of one agent with a million recall events.

python benchmarks/signals.py [RECALLS]        # 200,000 with 5 hits each, unless given
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from nrem.clock import SystemClock
from nrem.model import AskedBy, By
from nrem.store import recalls, scopes, signals
from nrem.store.database import Database, open_database
from nrem.store.driver import Connection

HITS = 5
MEMORIES = 20_000
QUESTIONS = 30_000
DAYS = 180
DAY = 86_400_000
STEP = 5_000


def fill(store: Database, clock: SystemClock, scope: int, count: int) -> None:
    """Write recalls as the daemon does, spread evenly over the days."""
    random.seed(1)
    memories = [clock.new_id() for _ in range(MEMORIES)]
    for start in range(0, count, STEP):

        def write(db: Connection, start: int = start) -> None:
            for i in range(start, min(start + STEP, count)):
                at = i * DAYS * DAY // count
                shown = [memories[int(random.random() ** 2 * MEMORIES)] for _ in range(HITS)]
                recalls.add(
                    db,
                    scope,
                    recalls.Recall(
                        id=clock.new_id(),
                        at=at,
                        now=at,
                        actor="bench",
                        ingress="bench",
                        asked_by=AskedBy.AGENT,
                        day=at // DAY,
                        query="what is it about?",
                        question=random.randrange(QUESTIONS),
                        request="{}",
                        seq=1,
                        config_hash="",
                        ranker="",
                        embedder=None,
                        degraded="",
                        hits=tuple((memory, 0.5, random.random()) for memory in dict.fromkeys(shown)),
                    ),
                )

        store.write(write)


def main(count: int) -> None:
    clock = SystemClock()
    with (
        tempfile.TemporaryDirectory() as folder,
        open_database(Path(folder) / "home", clock, create=True) as store,
    ):
        by = By(actor="bench", cause="bench", now=0)
        scope = store.write(lambda db: scopes.add(db, "bench", by)).number
        fill(store, clock, scope, count)
        with store.reading() as db:
            events = db.execute("select count(*) from recall_events").fetchone()[0]
            for name, run in (
                ("signals", lambda: len(signals.read(db, scope))),
                ("signals of the last day", lambda: len(signals.read(db, scope, since=(DAYS - 1) * DAY))),
                ("misses", lambda: len(signals.misses(db, scope))),
            ):
                begun = perf_counter()
                found = run()
                print(f"{name:24} {perf_counter() - begun:6.2f} s  {found:,} of {events:,} events")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
