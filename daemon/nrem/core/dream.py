"""One sweep of an agent's memory: what proved useful gets a line in MEMORY.md, what did not gives its up.

gather -> decide -> reflect -> ask the chat model, if there is one -> apply in one transaction -> publish
(MEMORY.md, diary, commit) -> ledger. Killed before it is applied, a sweep never was; killed after,
finish_sweep repeats the rest, with the same bytes and no second commit.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nrem.clock import Clock
from nrem.core import memory_file
from nrem.core.advise import Advised, advise
from nrem.core.dreamer import Dreamer, look
from nrem.core.finish_sweep import CAUSE, finish_sweep
from nrem.core.gather import Gathered, digest, gather, marks
from nrem.core.memory_file import Found
from nrem.core.outcome import outcome
from nrem.core.reflect import noted, reflect, sources
from nrem.core.take_edits import take_edits
from nrem.errors import NremError
from nrem.model import By, Caller
from nrem.policy import advice
from nrem.policy.advice import Word
from nrem.policy.block import Line
from nrem.policy.naming import Tags
from nrem.policy.projection import Decision, Plan, Verdict
from nrem.policy.reflection import Reflection
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
        report = _decide(dreamer, found, now=clock.now()).report()
        return Dreamed(sweep=None, mode=mode, dry_run=True, outcome=outcome(dreamer, report))
    try:
        finish_sweep(dreamer, clock=clock)
        if is_due(dreamer, now=clock.now()):
            dreamed = _sweep(dreamer, mode, caller=caller, clock=clock)
        else:
            dreamed = Dreamed(sweep=None, mode=mode, note=NOTHING_NEW)
    except NremError as error:
        if error.code != "sweep_running":
            _note_failure(dreamer, error, now=clock.now())
        raise
    _forget_failure(dreamer)
    return dreamed


def _note_failure(dreamer: Dreamer, error: NremError, *, now: int) -> None:
    """Note why there was no sweep: nobody reads the answer of the one at night."""

    def write(db: Connection) -> None:
        sweeps.note_failure(db, scopes.get(db, dreamer.scope.name).number, error.message, error.hint, now=now)

    with contextlib.suppress(NremError):  # what is told is the first error, also when the store takes nothing
        dreamer.store.write(write)


def _forget_failure(dreamer: Dreamer) -> None:
    with dreamer.store.reading() as db:
        failed = sweeps.failure(db, dreamer.scope.number)
    if failed is not None:
        dreamer.store.write(lambda db: sweeps.forget_failure(db, dreamer.scope.number))


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
        with dreamer.workspace.lock:  # a publish would bring lines up to date that are being compared
            found = take_edits(dreamer, clock=clock)
        decided = _decide(dreamer, found, now=now)
        if mode == "auto":
            advised = _advised(dreamer, decided, clock=clock)
            report = dreamer.store.write(lambda db: _apply(db, dreamer, id, decided, advised, by))
        else:
            report = decided.report()
            proposed = _proposals(dreamer, id, decided, clock=clock)
            dreamer.store.write(lambda db: _propose(db, dreamer, id, decided.gathered, proposed, report))
    except BaseException:
        dreamer.store.write(lambda db: sweeps.give_up(db, scope.number, id))
        raise
    done = finish_sweep(dreamer, clock=clock)
    report = done.report if done is not None else report
    with dreamer.store.reading() as db:
        waiting = tuple(proposal.id for proposal in promotions.open_proposals(db, scope.number))
    return Dreamed(
        sweep=id,
        mode=mode,
        outcome=outcome(dreamer, report),
        proposals=waiting if mode == "propose" else (),
        commit=done.commit if done is not None else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decided:
    """What is to become of the lines, by what, and what was noticed beside them."""

    gathered: Gathered
    plan: Plan
    seen: Reflection
    characters: int
    """What the block will take."""
    names: Mapping[Tags, str] = field(default_factory=dict)
    """What a model calls themes."""

    def report(self, told: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return what the ledger keeps of a sweep: numbers and ids; of texts, only what themes are called."""
        plan = self.plan
        return {
            "changes": [_change(decision) for decision in _ranked(plan) if decision.verdict in _CHANGES],
            "kept": sum(decision.verdict is Verdict.KEEP for decision in plan.decisions),
            "misses": [
                {"id": miss.id, "reason": miss.reason, "score": miss.score.p, "lacks": miss.lacks}
                for miss in plan.misses
            ],
            "rejected": dict(plan.rejected),
            "candidates": len(self.gathered.candidates),
            "characters": self.characters,
            "room": self.gathered.room.characters,
            "model": told,
            "by_hand": dataclasses.asdict(self.gathered.found.by_hand),
            **noted(self.seen, self.names),
        }


def _decide(dreamer: Dreamer, found: Found, *, now: int) -> _Decided:
    gathered = gather(dreamer, found, now=now)
    _, plan = gathered.decide()
    characters = _size(dreamer, gathered, gathered.lines(plan.chosen))
    return _Decided(gathered=gathered, plan=plan, seen=reflect(dreamer, now=now), characters=characters)


def _size(dreamer: Dreamer, gathered: Gathered, lines: list[Line]) -> int:
    """Return how many characters a block of these lines will take; the plan has an upper bound of it."""
    return len(memory_file.render(gathered.found, lines, budget=dreamer.settings.dream.budget).decode())


def _advised(dreamer: Dreamer, decided: _Decided, *, clock: Clock) -> Advised | None:
    """Ask the model, if a line changes."""
    gathered, plan = decided.gathered, decided.plan
    if not gathered.gone and all(decision.verdict not in _CHANGES for decision in plan.decisions):
        return None
    return advise(dreamer, gathered, plan, decided.seen, clock=clock)


def _apply(
    db: Connection, dreamer: Dreamer, id: str, decided: _Decided, advised: Advised | None, by: By
) -> dict[str, Any]:
    """Write what was decided: the sweep, the promotions that begin and end, and an event for each."""
    number = scopes.get(db, dreamer.scope.name).number
    told = None
    if advised is not None:
        words = [word for word in advised.words if model_lines.holds(db, number, word.sources)]
        names = {
            theme.tags: advised.names[theme.tags]
            for theme in decided.seen.themes
            if theme.tags in advised.names and model_lines.holds(db, number, sources(theme))
        }
        plan = advice.carry_out(decided.plan, words, advised.model)
        decided = dataclasses.replace(decided, plan=plan, names=names)
        for word in words:
            model_lines.put(db, number, _said(word, advised.model, id), by)
        told = _told(advised, words, names)
    gathered, plan = decided.gathered, decided.plan
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
    lines = memory_file.lines(db, number, zone=dreamer.settings.time.zone)
    report = dataclasses.replace(decided, characters=_size(dreamer, gathered, lines)).report(told)
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


def _told(advised: Advised, done: list[Word], names: Mapping[Tags, str]) -> dict[str, Any]:
    """Return what the ledger keeps of a model's answer."""
    dropped = dict(advised.dropped)
    late = len(advised.words) + len(advised.names) - len(done) - len(names)
    if late:
        dropped[MEANWHILE] = late
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


def _proposals(dreamer: Dreamer, sweep: str, decided: _Decided, *, clock: Clock) -> list[Proposal]:
    """Return what is to be asked: every change but those that were rejected for the memory as it is."""
    with dreamer.store.reading() as db:
        rejected = promotions.rejected(db, dreamer.scope.number)
    versions = decided.gathered.versions
    return [
        Proposal(
            id=clock.new_id(),
            sweep=sweep,
            memory=decision.id,
            version=versions[decision.id],
            verdict=decision.verdict.value,
            reason=decision.reason,
            score=decision.score.p,
            state="open",
            at=clock.now(),
        )
        for decision in _ranked(decided.plan)
        if decision.verdict in (Verdict.PROMOTE, Verdict.DEMOTE, Verdict.SUPERSEDE)
        and (decision.id, versions[decision.id], decision.verdict.value) not in rejected
    ]


def _ranked(plan: Plan) -> list[Decision]:
    """Return the decisions, the lines that have a place first and in their order."""
    return sorted(plan.decisions, key=lambda decision: decision.rank or len(plan.decisions) + 1)


def _change(decision: Decision) -> dict[str, Any]:
    return {
        "id": decision.id,
        "change": decision.verdict.value,
        "reason": decision.reason,
        "score": decision.score.p,
        "terms": dict(decision.score.terms),
        "successor": decision.successor,
    }
