"""The plan of the profile `classic`: what passes its gates gets a line for good, as long as there is room."""

from __future__ import annotations

from collections.abc import Sequence

from nrem.model import Kind
from nrem.policy.classic import Promotion
from nrem.policy.dreaming import Candidate, Score, Scores, obstacle
from nrem.policy.projection import Against, Decision, Miss, Plan, Room, Verdict

MISSES = 3


def solve(
    candidates: Sequence[Candidate],
    passed: Sequence[Promotion],
    scores: Scores,
    *,
    room: Room,
    kinds: frozenset[Kind],
) -> Plan:
    """Return which of those that passed get a line; lines that stand leave only for want of room."""
    by_id = {candidate.id: candidate for candidate in candidates}
    known = {
        promotion.id: Score(id=promotion.id, p=promotion.score, terms=promotion.terms) for promotion in passed
    }
    for place, candidate in enumerate(candidates):
        if candidate.id not in known and (candidate.incumbent or candidate.pinned):
            known[candidate.id] = scores.of(place)
    against = {c.id: why for c in candidates if (why := obstacle(c, kinds=kinds)) is not None}
    first = [c.id for c in candidates if c.pinned] + [c.id for c in candidates if c.incumbent]
    chosen: list[Candidate] = []
    taken = 0
    left: list[str] = []
    for id in dict.fromkeys([*first, *(promotion.id for promotion in passed)]):
        if id in against:
            continue
        length = _length([*chosen, by_id[id]], room)
        if length <= room.characters:
            chosen.append(by_id[id])
            taken = length
        else:
            left.append(id)
    ranks = {candidate.id: rank for rank, candidate in enumerate(chosen, 1)}
    decisions = [
        _decide(candidate, known[candidate.id], ranks.get(candidate.id), against.get(candidate.id))
        for candidate in candidates
        if candidate.incumbent or candidate.id in ranks
    ]
    rejected: dict[str, int] = {}
    for why in against.values():
        rejected[why] = rejected.get(why, 0) + 1
    misses = [
        Miss(id=id, score=known[id], reason="there is no room for its line", lacks=0.0, weakest="frequency")
        for id in left
        if not by_id[id].incumbent
    ]
    return Plan(
        decisions=tuple(decisions),
        chosen=tuple(ranks),
        misses=tuple(misses[:MISSES]),
        characters=taken,
        rejected=rejected,
        against={
            id: Against(why, by_id[id].superseded_by or by_id[id].told_by) for id, why in against.items()
        },
    )


def _decide(candidate: Candidate, score: Score, rank: int | None, why: str | None) -> Decision:
    successor = candidate.superseded_by if rank is None else None
    if successor is not None:
        verdict, reason = Verdict.SUPERSEDE, why or f"it was replaced by {successor}"
    elif rank is None:
        verdict, reason = Verdict.DEMOTE, why or "there is no room for its line"
    elif candidate.incumbent:
        verdict, reason = Verdict.KEEP, "promoted once"
    else:
        verdict, reason = Verdict.PROMOTE, "pinned" if candidate.pinned else "recalled often enough"
    return Decision(
        id=candidate.id, verdict=verdict, reason=reason, score=score, rank=rank, successor=successor
    )


def _length(lines: Sequence[Candidate], room: Room) -> int:
    headings = sum(room.headings.get(section, 0) for section in {line.section for line in lines})
    return room.markers + headings + sum(line.line_length for line in lines)
