"""A process is killed in the middle of a job: the next one begins it again, and only once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from builders import HashEmbedder, caller_of
from nrem.errors import Conflict
from nrem.runtime.app import App
from nrem.runtime.kinds import JobKind, Work
from nrem.runtime.worker import Worker
from nrem.store import jobs

CHILD = Path(__file__).with_name("working.py")


def live_and_die(home: Path) -> tuple[str, int]:
    """Run the child until it is in the middle of a job, and kill it; return the job and its fence."""
    with subprocess.Popen(
        [sys.executable, str(CHILD), str(home)],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    ) as child:
        assert child.stdout is not None
        id, fence = child.stdout.readline().decode().split()
        child.kill()
    return id, int(fence)


def test_a_job_whose_process_was_killed_is_begun_again(home: Path) -> None:
    with App.open(home, create=True, embedder=HashEmbedder()) as app:
        caller_of(app)("add_agent", agent="ana")
        scope, now = app.scope("ana").number, app.clock.now()
        job = jobs.New(id=app.clock.new_id(), kind="k", scope=scope, due_at=now)
        app.store.write(lambda db: jobs.enqueue(db, job, now=now))
    assert [live_and_die(home) for _ in range(3)] == [(job.id, 1), (job.id, 2), (job.id, 3)]
    begun: list[Work] = []
    with App.open(home, embedder=HashEmbedder()) as app:
        worker = Worker(app, {"k": JobKind(run=lambda app, work: begun.append(work))})
        assert (worker.run_one(), worker.run_one()) == (True, False)
        [work] = begun
        assert (work.claim.id, work.claim.fence, work.claim.attempts) == (job.id, 4, 4)
        assert not work.claim.taken_over
        with pytest.raises(Conflict):
            app.store.write(lambda db: jobs.finish(db, work.claim, now=now))
