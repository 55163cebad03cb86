"""One sweep of an agent's memory: what proved useful gets a line in MEMORY.md, what did not gives its up.

gather -> decide -> ask the chat model, if there is one -> apply in one transaction -> publish (MEMORY.md,
diary, commit) -> ledger. Killed before it is applied, a sweep never was; killed after, finish_sweep repeats
the rest, with the same bytes and no second commit.
"""

from __future__ import annotations

from typing import Any

from nrem.clock import Clock
from nrem.core import memory_file
from nrem.core.advise import Advised, advise
from nrem.core.dreamer import Dreamer, look
from nrem.core.finish_sweep import CAUSE, finish_sweep
from nrem.core.gather import Gathered, digest, gather, marks
from nrem.core.outcome import outcome
from nrem.core.take_edits import take_edits
from nrem.model import By, Caller
from nrem.policy import advice
from nrem.policy.advice import Word
from nrem.policy.projection import Decision, Plan, Verdict
from nrem.store import memories, model_lines, promotions, scopes, sweeps
from nrem.store.driver import Connection
from nrem.store.model_lines import ModelLine
from nrem.store.promotions import Grounds, Proposal
from nrem.wire import Dreamed

OFF = "dream.mode is off: nothing is read and nothing is written"
NOTHING_NEW = "nothing has happened since the last sweep that could change a line"
FORGOTTEN = "its memory is gone"
MEANWHILE = "a memory was changed meanwhile"
_CHANGES = (Verdict.PROMOTE, Verdict.DEMOTE, Verdict.SUPERSEDE, Verdict.HOLD)


def dream(dreamer: Dreamer, *, dry_run: bool = False, caller: Caller, clock: Clock) -> Dreamed:
    """Solve anew which memories have a line in MEMORY.md, as far as `dream.mode` lets it.

    A dry run writes nothing and asks no model. Raises Conflict while another sweep of this agent is at work.
    """
    mode = dreamer.settings.dream.mode
    if mode == "off":
        return Dreamed(sweep=None, mode=mode, dry_run=dry_run, note=OFF)
    if dry_run:
        found = look(dreamer)
        gathered = gather(dreamer, found, now=clock.now())
        _, plan = gathered.decide()
        report = _report(gathered, plan)
        return Dreamed(sweep=None, mode=mode, dry_run=True, outcome=outcome(dreamer, report))
    finish_sweep(dreamer, clock=clock)
    if not is_due(dreamer, now=clock.now()):
        return Dreamed(sweep=None, mode=mode, note=NOTHING_NEW)
    return _sweep(dreamer, mode, caller=caller, clock=clock)


def is_due(dreamer: Dreamer, *, now: int) -> bool:
    """Tell whether there is anything that the last sweep did not see."""
    found = look(dreamer)
    with dreamer.store.reading() as db:
        last = sweeps.list_(db, dreamer.scope.number, limit=1)
        read = marks(db, dreamer.scope.number, now=now)
    return not last or last[0].digest != digest(read, dreamer.settings, found.parts)


def _sweep(dreamer: Dreamer, mode: str, *, caller: Caller, clock: Clock) -> Dreamed:
    id, now, scope = clock.new_id(), clock.now(), dreamer.scope
    by = By(actor=caller.actor, cause=CAUSE, now=now)

    def begin(db: Connection) -> None:
        number = scopes.get(db, scope.name).number
        sweeps.begin(db, number, id, mode=mode, actor=caller.actor, now=now)

    dreamer.store.write(begin)
    try:
        found = look(dreamer)
        memory_file.keep_base(dreamer.store, scope, found)
        if found.edits:
            found = take_edits(dreamer, found, clock=clock)
        gathered = gather(dreamer, found, now=now)
        _, plan = gathered.decide()
        report = _report(gathered, plan)
        if mode == "auto":
            changes = gathered.gone or any(decision.verdict in _CHANGES for decision in plan.decisions)
            advised = advise(dreamer, gathered, plan, clock=clock) if changes else None
            report = dreamer.store.write(lambda db: _apply(db, dreamer, id, gathered, plan, advised, by))
        else:
            proposed = _proposals(dreamer, id, gathered, plan, clock=clock)
            dreamer.store.write(lambda db: _propose(db, dreamer, id, gathered, proposed, report))
    except BaseException:
        dreamer.store.write(lambda db: sweeps.give_up(db, scope.number, id))
        raise
    done = finish_sweep(dreamer, clock=clock)
    with dreamer.store.reading() as db:
        waiting = tuple(proposal.id for proposal in promotions.open_proposals(db, scope.number))
    return Dreamed(
        sweep=id,
        mode=mode,
        outcome=outcome(dreamer, report),
        proposals=waiting if mode == "propose" else (),
        commit=done.commit if done is not None else None,
    )


def _apply(
    db: Connection,
    dreamer: Dreamer,
    id: str,
    gathered: Gathered,
    plan: Plan,
    advised: Advised | None,
    by: By,
) -> dict[str, Any]:
    """Write what was decided: the sweep, the promotions that begin and end, and an event for each."""
    number = scopes.get(db, dreamer.scope.name).number
    told = None
    if advised is not None:
        words = [word for word in advised.words if model_lines.holds(db, number, word.sources)]
        plan = advice.carry_out(plan, words, advised.model)
        for word in words:
            model_lines.put(db, number, _said(word, advised.model, id), by)
        told = _told(advised, words)
    report = _report(gathered, plan, told)
    counts = dict.fromkeys(_CHANGES, 0)
    for gone in gathered.gone:
        promotions.demote(db, number, gone, Grounds(sweep=id, reason=FORGOTTEN), by)
    live = memories.contents(db, number, (decision.id for decision in plan.decisions))
    for decision in plan.decisions:
        if decision.verdict not in _CHANGES or decision.id not in live:
            continue
        grounds = Grounds(sweep=id, reason=decision.reason, score=decision.score.p)
        if decision.verdict is Verdict.PROMOTE:
            promotions.promote(db, number, decision.id, grounds, by)
        elif decision.verdict is not Verdict.HOLD:
            promotions.demote(db, number, decision.id, grounds, by)
        counts[decision.verdict] += 1
    sweeps.apply(
        db,
        number,
        id,
        report | {"read": _left(db, number, gathered, now=by.now)},
        (counts[Verdict.PROMOTE], counts[Verdict.DEMOTE] + len(gathered.gone), counts[Verdict.SUPERSEDE]),
    )
    return report


def _said(word: Word, model: str, sweep: str) -> ModelLine:
    return ModelLine(
        memory=word.memory,
        sources=word.sources,
        line=word.line,
        successor=word.successor,
        model=model,
        sweep=sweep,
    )


def _told(advised: Advised, done: list[Word]) -> dict[str, Any]:
    """Return what the ledger keeps of a model's answer."""
    dropped = dict(advised.dropped)
    if len(done) < len(advised.words):
        dropped[MEANWHILE] = len(advised.words) - len(done)
    return {
        "model": advised.model,
        "lines": [
            {
                "operation": word.operation,
                "id": word.successor or word.memory,
                "taken": list(word.taken),
                "sources": list(word.sources),
            }
            for word in done
        ],
        "dropped": dropped,
        "note": advised.note,
    }


def _propose(
    db: Connection,
    dreamer: Dreamer,
    id: str,
    gathered: Gathered,
    proposed: list[Proposal],
    report: dict[str, Any],
) -> None:
    number = scopes.get(db, dreamer.scope.name).number
    promotions.propose(db, number, proposed)
    sweeps.apply(db, number, id, report | {"read": list(gathered.read)}, (0, 0, 0))


def _left(db: Connection, scope: int, gathered: Gathered, *, now: int) -> list[int]:
    """Return the marks that a next sweep finds when nothing happens: those read, and our own promotions."""
    own = sweeps.promotion_marks(db, scope, now=now)
    return [*gathered.read[: -len(own)], *own]


def _proposals(
    dreamer: Dreamer, sweep: str, gathered: Gathered, plan: Plan, *, clock: Clock
) -> list[Proposal]:
    """Return what is to be asked: every change but those that were rejected for the memory as it is."""
    with dreamer.store.reading() as db:
        rejected = promotions.rejected(db, dreamer.scope.number)
    return [
        Proposal(
            id=clock.new_id(),
            sweep=sweep,
            memory=decision.id,
            version=gathered.versions[decision.id],
            verdict=decision.verdict.value,
            reason=decision.reason,
            score=decision.score.p,
            state="open",
            at=clock.now(),
        )
        for decision in plan.decisions
        if decision.verdict in (Verdict.PROMOTE, Verdict.DEMOTE, Verdict.SUPERSEDE)
        and (decision.id, gathered.versions[decision.id], decision.verdict.value) not in rejected
    ]


def _report(gathered: Gathered, plan: Plan, told: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return what the ledger keeps of a sweep: numbers and ids, never a text."""
    return {
        "changes": [_change(decision) for decision in plan.decisions if decision.verdict in _CHANGES],
        "kept": sum(decision.verdict is Verdict.KEEP for decision in plan.decisions),
        "misses": [
            {"id": miss.id, "reason": miss.reason, "score": miss.score.p, "lacks": miss.lacks}
            for miss in plan.misses
        ],
        "rejected": dict(plan.rejected),
        "candidates": len(gathered.candidates),
        "characters": plan.characters,
        "room": gathered.room.characters,
        "model": told,
    }


def _change(decision: Decision) -> dict[str, Any]:
    return {
        "id": decision.id,
        "change": decision.verdict.value,
        "reason": decision.reason,
        "score": decision.score.p,
        "terms": dict(decision.score.terms),
        "successor": decision.successor,
    }
