"""What people decide about lines beside the file itself: accept or reject a proposal, undo a sweep.

Everything is an ordinary event forwards; nothing in the history is taken back.
"""

from __future__ import annotations

from collections.abc import Collection

from nrem.clock import Clock
from nrem.core import memory_file
from nrem.core.dreamer import Dreamer, look
from nrem.core.finish_sweep import finish_sweep, publish_lines, write_block
from nrem.errors import Conflict, Denied
from nrem.model import By, Caller, Memory, Trust
from nrem.policy import memory_doc
from nrem.store import memories, model_lines, promotions, scopes, sweeps
from nrem.store.driver import Connection
from nrem.store.promotions import Grounds, Promotion, Proposal
from nrem.wire import LeftAlone, ProposalDecided, Undone

ACCEPTED = "a person accepted it"
REJECTED = "a person rejected it"
EDITED = "a person changed its line"
GONE = "its memory is gone"
OTHERWISE = "it has changed since"


def decide_proposal(
    dreamer: Dreamer, id: str, *, accepted: bool, caller: Caller, clock: Clock
) -> ProposalDecided:
    """Do what a proposal says, or see to it that it is not made again; Conflict when it no longer fits.

    One that was settled meanwhile can be rejected, not accepted.
    """
    _refuse_untrusted(caller)
    finish_sweep(dreamer, clock=clock)
    by = By(actor=caller.actor, cause=caller.ingress, now=clock.now())
    if accepted:
        _refuse_too_much(dreamer, id)

    def write(db: Connection) -> Proposal:
        number = scopes.get(db, dreamer.scope.name).number
        sweeps.refuse_open(db, number, now=by.now)
        proposal = promotions.get_proposal(db, number, id)
        if proposal.state != "open":
            raise Conflict(f"this proposal was {proposal.state} already", code="proposal_decided")
        if accepted:
            _carry_out(db, number, proposal, by)
        elif proposal.verdict == "promote":
            _keep_out(db, number, proposal, by)
        promotions.decide(db, number, id, "accepted" if accepted else "rejected", now=by.now)
        return proposal

    proposal = dreamer.store.write(write)
    change = "+1 -0 ~0" if proposal.verdict == "promote" else "+0 -1 ~0"
    commit = _publish(dreamer, change, proposal.sweep, clock=clock) if accepted else None
    return ProposalDecided(proposal=id, id=proposal.memory, accepted=accepted, commit=commit)


def _carry_out(db: Connection, scope: int, proposal: Proposal, by: By) -> None:
    """Give or take a line as proposed; raise Conflict when there is nothing to change, or something else."""
    _refuse_settled(db, scope, proposal)
    memory = memories.get(db, scope, proposal.memory)
    if memory.version != proposal.version:
        raise Conflict(
            f"memory {memory.id} was changed since this was proposed",
            hint="nrem dream makes a proposal of what it says now",
            code="proposal_stale",
        )
    if proposal.verdict == "promote":
        grounds = Grounds(sweep=proposal.sweep, reason=ACCEPTED, score=proposal.score)
        promotions.promote(db, scope, memory.id, grounds, by)
    else:
        promotions.demote(db, scope, memory.id, Grounds(sweep=proposal.sweep, reason=ACCEPTED), by)


def _keep_out(db: Connection, scope: int, proposal: Proposal, by: By) -> None:
    """See to it that a memory gets no line, unless it is gone, or has one that came by another way."""
    memory = memories.find(db, scope, proposal.memory)
    if memory is not None and promotions.find_active(db, scope, memory.id) is None:
        grounds = Grounds(sweep=proposal.sweep, reason=REJECTED)
        promotions.bar(db, scope, memory.id, memory.version, grounds, by)


def _refuse_settled(db: Connection, scope: int, proposal: Proposal) -> None:
    if proposal.state == "open" and proposal not in promotions.open_proposals(db, scope):
        raise Conflict(
            f"this proposal is settled: a later sweep or an undo decided about memory {proposal.memory},"
            " or it is gone",
            hint="nrem dream status shows what is open; nrem dream proposes anew",
            code="proposal_settled",
        )


def undo_dream(dreamer: Dreamer, id: str, *, caller: Caller, clock: Clock) -> Undone:
    """Take back what a sweep did to lines that are as it left them; say which ones are not."""
    _refuse_untrusted(caller)
    finish_sweep(dreamer, clock=clock)
    by = By(actor=caller.actor, cause="undo", now=clock.now())
    found = look(dreamer)
    edits = found.edits
    with dreamer.store.reading() as db:
        ids = promotions.by_label(db, dreamer.scope.number)
    touched = {ids.get(label, label) for label in (*edits.removed, *edits.changed)}
    grounds = Grounds(sweep=id, reason=f"undo of sweep {id}")

    def write(db: Connection) -> tuple[list[str], list[str], list[LeftAlone], bool]:
        number = scopes.get(db, dreamer.scope.name).number
        sweeps.refuse_open(db, number, now=by.now)
        if sweeps.get(db, number, id).undone_at is not None:
            raise Conflict(f"sweep {id} was undone already", code="sweep_undone")
        removed, restored, left = [], [], []
        live = memories.contents(db, number, _concerned(db, number, id))
        for promotion in promotions.made_by(db, number, id):
            memory = promotion.memory
            if memory in touched:
                left.append(LeftAlone(id=memory, reason=EDITED))
            elif memory not in live:
                left.append(LeftAlone(id=memory, reason=GONE))
            elif _is_other(known := memories.get(db, number, memory), promotion):
                left.append(LeftAlone(id=memory, reason=OTHERWISE))
            else:
                promotions.demote(db, number, memory, grounds, by)
                promotions.bar(db, number, memory, known.version, grounds, by)
                removed.append(memory)
        for promotion in promotions.ended_by(db, number, id):
            memory = promotion.memory
            if memory in removed:
                continue
            if memory not in live or promotions.find_active(db, number, memory) is not None:
                left.append(LeftAlone(id=memory, reason=OTHERWISE if memory in live else GONE))
            else:
                promotions.promote(db, number, memory, Grounds(reason=grounds.reason), by)
                restored.append(memory)
        reworded = _reword(db, number, id, touched, by)
        sweeps.note_undone(db, number, id, now=by.now)
        return removed, restored, left, reworded

    removed, restored, left, reworded = dreamer.store.write(write)
    commit = None
    if removed or restored or reworded:
        commit = _publish(dreamer, f"undo +{len(restored)} -{len(removed)} ~0", id, clock=clock)
    return Undone(sweep=id, removed=tuple(removed), restored=tuple(restored), left=tuple(left), commit=commit)


def _reword(db: Connection, scope: int, sweep: str, touched: Collection[str], by: By) -> bool:
    """Take back what the model said in a sweep; tell whether it had said anything."""
    said = [line for line in model_lines.made_by(db, scope, sweep) if line.memory not in touched]
    for line in said:
        model_lines.take_back(db, scope, line, by)
    return bool(said)


def _refuse_untrusted(caller: Caller) -> None:
    if caller.trust is not Trust.TRUSTED:
        raise Denied(
            "only a trusted caller decides about lines of MEMORY.md",
            hint="ask the owner",
            code="untrusted",
        )


def _is_other(memory: Memory, promotion: Promotion) -> bool:
    """Tell whether a line went since it was given, or its memory was edited or pinned."""
    return promotion.demoted_at is not None or memory.updated_at > promotion.promoted_at


def _concerned(db: Connection, scope: int, sweep: str) -> list[str]:
    both = (*promotions.made_by(db, scope, sweep), *promotions.ended_by(db, scope, sweep))
    return [promotion.memory for promotion in both]


def _refuse_too_much(dreamer: Dreamer, id: str) -> None:
    """Raise Conflict when a line that is to come has no room."""
    settings, scope = dreamer.settings, dreamer.scope.number
    found = look(dreamer)
    with dreamer.store.reading() as db:
        proposal = promotions.get_proposal(db, scope, id)
        _refuse_settled(db, scope, proposal)
        if proposal.state != "open" or proposal.verdict != "promote":
            return
        memory = memories.get(db, scope, proposal.memory)
        wanted = memory_file.lines(db, scope, zone=settings.time.zone)
        said = model_lines.holding(db, scope).get(memory.id)
        labels = memory_doc.labels([*promotions.ever(db, scope), memory.id])
    text = memory_file.text_of(memory, said, zone=settings.time.zone)
    section = memory_doc.section_of(memory.category)
    wanted.append(memory_doc.Line(label=labels[memory.id], text=text, section=section))
    block = memory_file.render(found, wanted, budget=settings.dream.budget)
    if len(block.decode()) > memory_file.room(found.parts, settings.dream.budget):
        raise Conflict(
            "MEMORY.md has no room for this line",
            hint="accept a proposal that takes a line away first, or raise dream.budget",
            code="budget_full",
        )


def _publish(dreamer: Dreamer, note: str, sweep: str, *, clock: Clock) -> str | None:
    with dreamer.workspace.lock:
        write_block(dreamer, clock=clock)
        now = clock.now()
        return publish_lines(dreamer, note, sweep, since=now, now=now)
