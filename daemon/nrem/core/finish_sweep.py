"""Write the files of a sweep that was applied, commit them, and note it: the part that a crash can cut short.

The lines come from the ledger, so a repeat writes the same bytes; what people did meanwhile is taken in
first.
"""

from __future__ import annotations

import dataclasses

from nrem.clock import Clock
from nrem.core import memory_file
from nrem.core.dreamer import Dreamer
from nrem.core.gather import digest
from nrem.core.memory_file import Found
from nrem.core.outcome import by_hand_of, outcome
from nrem.core.publish import Reason, publish
from nrem.core.take_edits import take_edits
from nrem.errors import NotFound
from nrem.policy import diary, memory_doc
from nrem.policy.memory_doc import PATH, Parts
from nrem.store import commits, scopes, sweeps
from nrem.store.driver import Connection
from nrem.store.sweeps import Sweep
from nrem.wire import ByHand
from nrem.workspace.files import Files

CAUSE = "dream"


def finish_sweep(dreamer: Dreamer, *, clock: Clock) -> Sweep | None:
    """Publish the sweep that was applied and is not published yet; None when there is none."""
    with dreamer.workspace.lock:
        with dreamer.store.reading() as db:
            sweep = sweeps.find_applied(db, dreamer.scope.number)
        if sweep is None:
            return None
        changed, found = write_block(dreamer, clock=clock)
        if found.by_hand:
            sweep = _note_by_hand(dreamer, sweep, found.by_hand)
        has_news = changed or sweep.promoted or sweep.demoted or sweep.superseded or by_hand_of(sweep.report)
        if has_news:
            _write_diary(dreamer, sweep)
        commit = None
        if has_news or not _is_committed(dreamer, found, now=clock.now()):
            note = f"+{sweep.promoted} -{sweep.demoted} ~{sweep.superseded}"
            commit = publish_lines(dreamer, note, sweep.id, since=sweep.started_at, now=clock.now())
        return _note(dreamer, sweep, found.parts, commit, now=clock.now())


def write_block(dreamer: Dreamer, *, clock: Clock) -> tuple[bool, Found]:
    """Bring the block of MEMORY.md to what the ledger says; tell whether that changed it, and what is there.

    What people did to it meanwhile is taken in first.
    """
    store, workspace, scope = dreamer.store, dreamer.workspace, dreamer.scope
    by_hand = ByHand()
    for _ in range(memory_file.TRIES):
        found = take_edits(dreamer, clock=clock)
        by_hand += found.by_hand
        with store.reading() as db:
            wanted = memory_file.lines(db, scope.number, zone=dreamer.settings.time.zone)
        block = memory_file.render(found, wanted, budget=dreamer.settings.dream.budget)
        if memory_file.put(store, workspace, scope, found, block):
            changed = block != (found.parts.block or b"")
            data = found.parts.with_block(block) if changed else found.data
            parts = memory_doc.split(data or b"")
            return changed, dataclasses.replace(found, data=data, parts=parts, by_hand=by_hand)
    raise memory_file.busy()


def _note_by_hand(dreamer: Dreamer, sweep: Sweep, late: ByHand) -> Sweep:
    """Note what people did to lines while the sweep ran, beside what it had taken in before."""
    told = dataclasses.asdict(by_hand_of(sweep.report) + late)

    def write(db: Connection) -> Sweep:
        number = scopes.get(db, dreamer.scope.name).number
        sweeps.note_by_hand(db, number, sweep.id, told)
        return sweeps.get(db, number, sweep.id)

    return dreamer.store.write(write)


def _is_committed(dreamer: Dreamer, found: Found, *, now: int) -> bool:
    """Tell whether git has MEMORY.md as it is; people may have changed what is no line, or only line ends."""
    if not dreamer.settings.workspace.git:
        return True
    repository = dreamer.workspace.repository(now=now)
    head = repository.head()
    try:
        return head is not None and repository.read(head, PATH) == found.data
    except NotFound:
        return found.data is None


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
    left = digest(sweep.report["read"], dreamer.settings, parts) if _is_settled(dreamer, sweep, parts) else ""

    def write(db: Connection) -> Sweep:
        number = scopes.get(db, dreamer.scope.name).number
        sweeps.finish(db, number, sweep.id, commit=commit, digest=left, now=now)
        return sweeps.get(db, number, sweep.id)

    return dreamer.store.write(write)


def _is_settled(dreamer: Dreamer, sweep: Sweep, parts: Parts) -> bool:
    """Tell whether the same sweep would change nothing more.

    Not when people wrote beside the block since its plan, which then has another room; and not when lines
    were held because enough left already.
    """
    if memory_file.room(parts, dreamer.settings.dream.budget) != sweep.report["room"]:
        return False
    held = any(change["change"] == "hold" for change in sweep.report["changes"])
    return not (held and sweep.demoted)
