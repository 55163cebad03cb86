"""Write the files of a sweep that was applied, commit them, and note it: the part that a crash can cut short.

The lines come from the ledger, so a repeat writes the same bytes; what people did meanwhile is taken in
first.
"""

from __future__ import annotations

import dataclasses

from nrem.clock import Clock
from nrem.core import memory_file
from nrem.core.dreamer import Dreamer, look
from nrem.core.gather import digest
from nrem.core.outcome import outcome
from nrem.core.publish import Reason, publish
from nrem.core.take_edits import take_edits
from nrem.errors import NotFound
from nrem.policy import diary, memory_doc
from nrem.policy.memory_doc import Parts
from nrem.store import commits, scopes, sweeps
from nrem.store.driver import Connection
from nrem.store.sweeps import Sweep
from nrem.workspace.files import Files

CAUSE = "dream"


def finish_sweep(dreamer: Dreamer, *, clock: Clock) -> Sweep | None:
    """Publish the sweep that was applied and is not published yet; None when there is none."""
    with dreamer.workspace.lock:
        with dreamer.store.reading() as db:
            sweep = sweeps.find_applied(db, dreamer.scope.number)
        if sweep is None:
            return None
        changed, parts = write_block(dreamer, clock=clock)
        commit = None
        if changed or sweep.promoted or sweep.demoted or sweep.superseded:
            _write_diary(dreamer, sweep)
            note = f"+{sweep.promoted} -{sweep.demoted} ~{sweep.superseded}"
            commit = publish_lines(dreamer, note, sweep.id, since=sweep.started_at, now=clock.now())
        return _note(dreamer, sweep, parts, commit, now=clock.now())


def write_block(dreamer: Dreamer, *, clock: Clock) -> tuple[bool, Parts]:
    """Bring the block of MEMORY.md to what the ledger says; tell whether that changed it, and what it is."""
    store, workspace, scope = dreamer.store, dreamer.workspace, dreamer.scope
    for _ in range(memory_file.TRIES):
        found = look(dreamer)
        if found.edits:
            found = take_edits(dreamer, found, clock=clock)
        with store.reading() as db:
            wanted = memory_file.lines(db, scope.number, zone=dreamer.settings.time.zone)
        block = memory_file.render(found, wanted, budget=dreamer.settings.dream.budget)
        if memory_file.put(store, workspace, scope, found, block):
            if block == (found.parts.block or b""):
                return False, found.parts
            return True, memory_doc.split(found.parts.with_block(block))
    raise memory_file.busy()


def publish_lines(dreamer: Dreamer, note: str, run: str, *, since: int, now: int) -> str | None:
    """Commit; return the commit that has the lines, also when an earlier try made it."""
    made = publish(
        dreamer.store, dreamer.workspace, dreamer.settings, dreamer.scope, Reason(CAUSE, note, run), now=now
    )
    if made.commit is not None:
        return made.commit
    with dreamer.store.reading() as db:
        return commits.find_last(db, dreamer.scope.number, cause=CAUSE, since=since)


def _write_diary(dreamer: Dreamer, sweep: Sweep) -> None:
    zone = dreamer.settings.time.zone
    files = Files(dreamer.workspace.root, managed=True)
    path = diary.path(sweep.started_at, zone=zone)
    try:
        page = files.read(path).decode(errors="replace")
    except NotFound:
        page = ""
    report = dataclasses.asdict(outcome(dreamer, sweep.report))
    written = diary.add(page, sweep=sweep.id, started_at=sweep.started_at, zone=zone, report=report)
    if written != page:
        files.write(path, written.encode())


def _note(dreamer: Dreamer, sweep: Sweep, parts: Parts, commit: str | None, *, now: int) -> Sweep:
    """Close a sweep. What came after it had read the store is left for the next one."""
    left = digest(sweep.report["read"], dreamer.settings, parts)

    def write(db: Connection) -> Sweep:
        number = scopes.get(db, dreamer.scope.name).number
        sweeps.finish(db, number, sweep.id, commit=commit, digest=left, now=now)
        return sweeps.get(db, number, sweep.id)

    return dreamer.store.write(write)
