"""Why a memory has a line in MEMORY.md or has none, and what would change that."""

from __future__ import annotations

import dataclasses
from typing import Any

from nrem.core.dreamer import Dreamer, look
from nrem.core.gather import Gathered, gather
from nrem.errors import Conflict
from nrem.policy import dreaming, projection
from nrem.policy.dreaming import Candidate
from nrem.policy.noise import noise
from nrem.policy.projection import Against, Plan
from nrem.store import memories
from nrem.store.model_lines import ModelLine
from nrem.wire import DreamExplained

USES = (1, 2, 4, 8, 16, 32)
"""How many more uses are tried out."""


def explain_dream(dreamer: Dreamer, id: str, *, now: int) -> DreamExplained:
    """Return what a sweep would decide about one memory now, term by term; NotFound for a foreign id."""
    with dreamer.store.reading() as db:
        memory = memories.get(db, dreamer.scope.number, id)
    found = look(dreamer)
    gathered = gather(dreamer, found, now=now)
    place = next((i for i, candidate in enumerate(gathered.candidates) if candidate.id == id), None)
    if place is None:
        raise Conflict(
            f"memories of kind {memory.kind} get no line, so this one has no score",
            hint="pin it; or add its kind to dream.kinds",
            code="not_a_candidate",
        )
    candidate = gathered.candidates[place]
    scores, plan = gathered.decide()
    decision = next((decision for decision in plan.decisions if decision.id == id), None)
    against = plan.against.get(id) or _noise(candidate)
    score = scores.of(place)
    said = gathered.said.get(id)
    return DreamExplained(
        id=id,
        has_line=candidate.incumbent,
        decision=decision.verdict.value if decision else "nothing",
        reason=decision.reason if decision else against.reason if against else _behind(plan, id),
        score=score.p,
        terms=score.terms,
        rank=decision.rank if decision else None,
        candidates=len(gathered.candidates),
        would_change=tuple(_would_change(gathered, plan, candidate, against)),
        line=said.line if said is not None else None,
        model=said.model if said is not None and said.line is not None else None,
    )


def _noise(candidate: Candidate) -> Against | None:
    """Say what stands against a text that the sweep did not come to."""
    what = None if candidate.pinned else noise(candidate.text)
    return Against(f"it is {what}") if what else None


def _behind(plan: Plan, id: str) -> str:
    miss = next((miss for miss in plan.misses if miss.id == id), None)
    return miss.reason if miss else "others are worth more for the room they take"


def _would_change(gathered: Gathered, plan: Plan, candidate: Candidate, against: Against | None) -> list[str]:
    if against is not None:
        return [_remedy(candidate, against, gathered.said.get(candidate.id))]
    if candidate.id in plan.chosen:
        if candidate.pinned:
            return ["unpinning it, or removing its line from MEMORY.md"]
        return ["removing its line from MEMORY.md, forgetting it, or others that are worth more"]
    trial = _Trial(gathered, plan, candidate)
    more = next((n for n in USES if trial.succeeds(uses=candidate.uses + n)), None)
    found = [] if more is None else [f"{more} more use{'s' if more > 1 else ''} (nrem used)"]
    if trial.succeeds(pinned=True):
        found.append("pinning it (nrem pin)")
    return found or ["more room: dream.budget, or less text of people's in MEMORY.md"]


class _Trial:
    """One memory among those that have or get a line: the others do not get one by its changing."""

    def __init__(self, gathered: Gathered, plan: Plan, candidate: Candidate) -> None:
        chosen = set(plan.chosen)
        self._gathered = gathered
        self._candidate = candidate
        self._others = [c for c in gathered.candidates if c.incumbent or c.id in chosen]
        self._background = dreaming.compare(gathered.candidates)

    def succeeds(self, **changes: Any) -> bool:
        """Tell whether the memory would have a line if it were so."""
        tried = dataclasses.replace(self._candidate, **changes)
        candidates = [tried, *(other for other in self._others if other.id != tried.id)]
        newest = self._gathered.newest
        scores = dreaming.score(candidates, newest=newest, background=self._background)
        plan = projection.solve(candidates, scores, room=self._gathered.room, kinds=self._gathered.kinds)
        return tried.id in plan.chosen


def _remedy(candidate: Candidate, against: Against, said: ModelLine | None) -> str:
    if not candidate.trusted:
        return "a trusted caller who writes the same, or its line written into MEMORY.md by hand"
    if candidate.barred:
        return "pinning it anew, or its line written into MEMORY.md by hand"
    if candidate.superseded_by is not None:
        if said is None or said.successor is None:
            return "bringing it back as it was before (nrem restore --only ID --to TIME)"
        return f"forgetting {candidate.superseded_by}, or pinning this one"
    if candidate.told_by is not None:
        return f"editing {candidate.told_by} or this one, or pinning this one"
    if candidate.expired:
        return "a later expires_at"
    if against.successor is not None:
        return f"editing or forgetting {against.successor}, or pinning this one"
    return f"that this no longer holds: {against.reason}; or pinning it"
