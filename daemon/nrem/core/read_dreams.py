"""The sweeps of an agent, and how its dreaming stands."""

from __future__ import annotations

from collections.abc import Sequence

from nrem.core import consult
from nrem.core.dream import NOTHING_NEW, OFF, is_due
from nrem.core.dreamer import Dreamer, look
from nrem.core.gather import gather
from nrem.core.memory_file import Found
from nrem.core.outcome import outcome
from nrem.errors import Conflict
from nrem.model import iso
from nrem.policy import memory_doc
from nrem.policy.dreaming import DAY
from nrem.store import jobs, memories, model_calls, model_lines, promotions, sweeps
from nrem.store.sweeps import Sweep
from nrem.wire import DreamStatus, ModelStatus, NearMiss, ProposalShown, SweepShown, SweepSummary
from nrem.wire import Sweeps as ListedSweeps

MOST_MISSES = 3
DUE = "something happened since the last sweep; nrem dream looks at it"
NEVER = "there was no sweep yet; nrem dream makes one"
BUSY = "the sweep is postponed since {} because the agent is busy; nrem dream makes it now"
ALARM_AFTER = 7
ALARM = f"the last {ALARM_AFTER} sweeps changed no line, although memories were written between them"
JOB = "dream"
"""The kind of the jobs that sweep by themselves."""


def list_sweeps(dreamer: Dreamer, *, limit: int) -> ListedSweeps:
    """Return an agent's sweeps, newest first."""
    with dreamer.store.reading() as db:
        found = sweeps.list_(db, dreamer.scope.number, limit=limit)
    return ListedSweeps(sweeps=tuple(map(_summary, found)))


def show_sweep(dreamer: Dreamer, id: str) -> SweepShown:
    """Return what one sweep decided and why."""
    with dreamer.store.reading() as db:
        found = sweeps.get(db, dreamer.scope.number, id)
    return SweepShown(summary=_summary(found), outcome=outcome(dreamer, found.report))


def dream_status(dreamer: Dreamer, *, now: int) -> DreamStatus:
    """Return how an agent's dreaming stands, with those that almost have a line and what holds them back."""
    settings, scope = dreamer.settings, dreamer.scope.number
    found, trouble = _looked(dreamer)
    gathered = gather(dreamer, found, now=now)
    _, plan = gathered.decide()
    with dreamer.store.reading() as db:
        last = sweeps.list_(db, scope, limit=ALARM_AFTER)
        postponed = jobs.postponed_since(db, scope, JOB)
        failed = sweeps.failure(db, scope)
        promoted_at = promotions.last_promoted_at(db, scope)
        lines = len(promotions.lines(db, scope))
        proposed = promotions.open_proposals(db, scope)
        misses = plan.misses[:MOST_MISSES]
        texts = memories.contents(db, scope, [*(m.id for m in misses), *(p.memory for p in proposed)])
        worded = sum(said.line is not None for said in model_lines.holding(db, scope).values())
    due = settings.dream.mode != "off" and (trouble is not None or is_due(dreamer, now=now))
    if not due:
        note, postponed = OFF if settings.dream.mode == "off" else NOTHING_NEW, None
    elif trouble is not None:
        note = trouble
    elif postponed is not None:
        note = BUSY.format(iso(postponed))
    else:
        note = DUE if last else NEVER
    return DreamStatus(
        mode=settings.dream.mode,
        last=_summary(last[0]) if last else None,
        failure=failed,
        due=due,
        note=note,
        postponed_since=postponed,
        alarm=ALARM if _is_stuck(last) else None,
        lines=lines,
        characters=len((found.parts.block or b"").decode(errors="replace")),
        room=gathered.room.characters,
        days_since_promotion=None if promoted_at is None else max(0, now - promoted_at) // DAY,
        rejected=dict(plan.rejected),
        misses=tuple(
            NearMiss(id=m.id, reason=m.reason, score=m.score.p, lacks=m.lacks, text=texts.get(m.id))
            for m in misses
        ),
        proposals=tuple(
            ProposalShown(
                proposal=p.id, id=p.memory, change=p.verdict, reason=p.reason, score=p.score, at=p.at,
                text=texts.get(p.memory),
            )
            for p in proposed
        ),
        model=_model_status(dreamer, lines=worded, now=now),
    )  # fmt: skip


def _looked(dreamer: Dreamer) -> tuple[Found, str | None]:
    """Return what MEMORY.md has now; where a sweep could not go by it, nothing, and why."""
    try:
        return look(dreamer), None
    except Conflict as error:
        return Found(data=None, parts=memory_doc.split(b""), base=b""), error.message


def _is_stuck(last: Sequence[Sweep]) -> bool:
    """Tell whether so many sweeps in a row changed no line, although memories were written between them."""
    if len(last) < ALARM_AFTER or any(sweep.mode != "auto" or sweep.state == "running" for sweep in last):
        return False
    changed = any(sweep.promoted or sweep.demoted or sweep.superseded for sweep in last)
    newest, oldest = (
        sweep.report["read"][0] for sweep in (last[0], last[-1])
    )  # the last write that each saw
    return not changed and newest > oldest


def _model_status(dreamer: Dreamer, *, lines: int, now: int) -> ModelStatus | None:
    if dreamer.chat is None:
        return None
    with dreamer.store.reading() as db:
        tokens = model_calls.tokens_since(db, consult.midnight(now, dreamer.settings))
        failures, error = model_calls.failures(db, dreamer.scope.number)
    return ModelStatus(
        model=dreamer.chat.identity,
        lines=lines,
        tokens=tokens,
        daily_tokens=dreamer.settings.chat.daily_tokens,
        failures=failures,
        error=error,
    )


def _summary(sweep: Sweep) -> SweepSummary:
    return SweepSummary(
        sweep=sweep.id,
        state=sweep.state,
        mode=sweep.mode,
        actor=sweep.actor,
        started_at=sweep.started_at,
        finished_at=sweep.finished_at,
        promoted=sweep.promoted,
        demoted=sweep.demoted,
        superseded=sweep.superseded,
        commit=sweep.commit,
        undone_at=sweep.undone_at,
    )
