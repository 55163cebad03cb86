"""What people decide about lines beside the file itself: accept or reject a proposal, undo a sweep.

Everything is an ordinary event forwards; nothing in the history is taken back.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from nrem.clock import Clock
from nrem.core import memory_file
from nrem.core.dreamer import Dreamer, look
from nrem.core.finish_sweep import finish_sweep, publish_lines, write_block
from nrem.core.gather import gather
from nrem.core.memory_file import Found
from nrem.errors import Conflict, Denied, NotFound
from nrem.model import By, Caller, Memory, Trust
from nrem.policy import memory_doc, projection
from nrem.store import memories, model_lines, promotions, scopes, sweeps
from nrem.store.driver import Connection
from nrem.store.promotions import Grounds, Promotion, Proposal
from nrem.wire import ByHand, LeftAlone, ProposalDecided, Undone

ACCEPTED = "a person accepted it"
REJECTED = "a person rejected it"
EDITED = "a person changed its line"
GONE = "its memory is gone"
OTHERWISE = "it has changed since"
NO_ROOM = "MEMORY.md has no room for its line"
UNDO = "undo of sweep {}"


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
    commit, by_hand = None, ByHand()
    if accepted:
        commit, by_hand = _publish(dreamer, change, proposal.sweep, clock=clock)
    return ProposalDecided(proposal=id, id=proposal.memory, accepted=accepted, commit=commit, by_hand=by_hand)


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
    """Take back what a sweep did to lines that are as it left them; name those that are not or do not fit."""
    _refuse_untrusted(caller)
    finish_sweep(dreamer, clock=clock)
    by = By(actor=caller.actor, cause="undo", now=clock.now())
    found = look(dreamer)
    edits = found.edits
    with dreamer.store.reading() as db:
        ids = promotions.by_label(db, dreamer.scope.number)
    touched = {ids.get(label, label) for label in (*edits.removed, *edits.changed)}
    places = _places(dreamer, found, now=by.now)
    room = memory_file.room(found.parts, dreamer.settings.dream.budget)

    def write(db: Connection) -> tuple[list[str], list[str], list[LeftAlone], bool]:
        number = scopes.get(db, dreamer.scope.name).number
        sweeps.refuse_open(db, number, now=by.now)
        if sweeps.get(db, number, id).undone_at is not None:
            raise Conflict(f"sweep {id} was undone already", code="sweep_undone")
        removed, left = _take_away(db, number, id, touched, by)
        reworded = _reword(db, number, id, touched, by)
        ended = [promotion.memory for promotion in promotions.ended_by(db, number, id)]
        back = sorted(set(ended) - set(removed), key=lambda memory: places.get(memory, len(places)))
        restored, more = _put_back(db, dreamer, back, room, Grounds(reason=UNDO.format(id)), by)
        sweeps.note_undone(db, number, id, now=by.now)
        return removed, restored, left + more, reworded

    removed, restored, left, reworded = dreamer.store.write(write)
    commit, by_hand = None, ByHand()
    if removed or restored or reworded:
        note = f"undo +{len(restored)} -{len(removed)} ~0"
        commit, by_hand = _publish(dreamer, note, id, clock=clock)
    return Undone(
        sweep=id,
        removed=tuple(removed),
        restored=tuple(restored),
        left=tuple(left),
        commit=commit,
        by_hand=by_hand,
    )


def _places(dreamer: Dreamer, found: Found, *, now: int) -> dict[str, int]:
    """Return the place of each memory among those that can have a line, the best first."""
    gathered = gather(dreamer, found, now=now)
    scores, _ = gathered.decide()
    worths = projection.worth(gathered.candidates, scores)
    ranked = sorted(zip(gathered.candidates, worths, strict=True), key=lambda at: (not at[0].pinned, -at[1]))
    return {candidate.id: place for place, (candidate, _) in enumerate(ranked)}


def _take_away(
    db: Connection, scope: int, sweep: str, touched: Collection[str], by: By
) -> tuple[list[str], list[LeftAlone]]:
    """Take away the lines that a sweep gave, as far as they are as it left them."""
    removed, left = list[str](), list[LeftAlone]()
    grounds = Grounds(sweep=sweep, reason=UNDO.format(sweep))
    for promotion in promotions.made_by(db, scope, sweep):
        memory = promotion.memory
        known = _find(db, scope, memory)
        if memory in touched:
            left.append(LeftAlone(id=memory, reason=EDITED))
        elif known is None:
            left.append(LeftAlone(id=memory, reason=GONE))
        elif _is_other(known, promotion):
            left.append(LeftAlone(id=memory, reason=OTHERWISE))
        else:
            promotions.demote(db, scope, memory, grounds, by)
            promotions.bar(db, scope, memory, known.version, grounds, by)
            removed.append(memory)
    return removed, left


def _put_back(
    db: Connection, dreamer: Dreamer, back: Sequence[str], room: int, grounds: Grounds, by: By
) -> tuple[list[str], list[LeftAlone]]:
    """Put lines back in this order, as long as there is room for them."""
    restored, left = list[str](), list[LeftAlone]()
    scope, zone = scopes.get(db, dreamer.scope.name).number, dreamer.settings.time.zone
    standing = memory_file.lines(db, scope, zone=zone)
    for memory in back:
        known = _find(db, scope, memory)
        if known is None:
            left.append(LeftAlone(id=memory, reason=GONE))
        elif promotions.find_active(db, scope, memory) is not None:
            left.append(LeftAlone(id=memory, reason=OTHERWISE))
        elif memory_doc.length(more := [*standing, memory_file.line_of(db, scope, known, zone=zone)]) > room:
            left.append(LeftAlone(id=memory, reason=NO_ROOM))
        else:
            promotions.promote(db, scope, memory, grounds, by)
            restored.append(memory)
            standing = more
    return restored, left


def _find(db: Connection, scope: int, id: str) -> Memory | None:
    try:
        return memories.get(db, scope, id)
    except NotFound:
        return None


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
        wanted.append(memory_file.line_of(db, scope, memory, zone=settings.time.zone))
    block = memory_file.render(found, wanted, budget=settings.dream.budget)
    if len(block.decode()) > memory_file.room(found.parts, settings.dream.budget):
        raise Conflict(
            "MEMORY.md has no room for this line",
            hint="accept a proposal that takes a line away first, or raise dream.budget",
            code="budget_full",
        )


def _publish(dreamer: Dreamer, note: str, sweep: str, *, clock: Clock) -> tuple[str | None, ByHand]:
    """Write the block and commit it; return the commit, and what was taken in of people's edits."""
    with dreamer.workspace.lock:
        _, found = write_block(dreamer, clock=clock)
        now = clock.now()
        return publish_lines(dreamer, note, sweep, since=now, now=now), found.by_hand
