"""A sweep is killed around each step that makes something durable: it was whole, once, or never."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from builders import HashEmbedder, ManualClock, caller_of
from nrem.policy import memory_doc
from nrem.runtime.app import App
from nrem.runtime.publisher import Publisher
from nrem.store import events, promotions, sweeps
from workspace.workshop import check_clean, git

CHILD = Path(__file__).with_name("dreaming.py")
POINTS = [
    *(("write", number, when) for number in range(1, 7) for when in ("before", "after")),
    ("replace", 1, "before"),
    ("replace", 1, "after"),
    ("file", 1, "before"),
    ("file", 1, "after"),
    ("file", 3, "before"),
    ("commit", 1, "before"),
    ("commit", 1, "after"),
]
FACTS = (
    "Luis Ortega moved to Valencia on 3 March 2026 and works at Acme",
    "The contract with Globex ends on 31 December 2027",
)


@pytest.mark.rows(87)
@pytest.mark.parametrize(("what", "number", "when"), POINTS)
def test_a_killed_sweep_is_finished_once(home: Path, what: str, number: int, when: str) -> None:
    clock = ManualClock()
    with App.open(home, create=True, embedder=HashEmbedder(), clock=clock) as app:
        call = caller_of(app)
        call("add_agent", agent="ana")
        ids = {call("remember", agent="ana", content=text)["id"] for text in FACTS}
    root = home / "workspaces" / "ana"
    child = subprocess.run(
        [sys.executable, str(CHILD), str(home), what, str(number), when],
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert child.returncode == -signal.SIGKILL, child.stderr.decode()
    with App.open(home, embedder=HashEmbedder(), clock=clock) as app:
        Publisher(app).tick(clock.now())
        caller_of(app)("dream", agent="ana")
        number_ = app.scope("ana").number
        with app.store.reading() as db:
            assert set(promotions.active(db, number_)) == ids
            chain = list(events.read(db, number_))
            [sweep] = sweeps.list_(db, number_, limit=10)
        assert [event.op for event in chain].count("promotion.promote") == len(ids)
        assert not [
            event for event in chain if event.op in ("promotion.demote", "promotion.bar", "memory.edit")
        ]
        subjects = git(root, "log", "--format=%s").splitlines()
        assert subjects.count("dream: +2 -0 ~0") == 1
        assert sweep.state == "published"
        assert sweep.commit in git(root, "log", "--format=%H", "--grep=^dream:").split()
        block = memory_doc.split((root / "MEMORY.md").read_bytes()).block
        assert {line.label for line in memory_doc.parse(block)} == {id[-8:] for id in ids}
        assert caller_of(app)("dream", agent="ana")["sweep"] is None
        check_clean(root)
