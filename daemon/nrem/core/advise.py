"""Ask the chat model about the lines that would stand in MEMORY.md, and choose what of its answer is done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nrem.clock import Clock
from nrem.core.consult import consult
from nrem.core.dreamer import Dreamer
from nrem.core.gather import Gathered
from nrem.core.scrub import Scrubber
from nrem.policy import advice
from nrem.policy.advice import Standing, Word
from nrem.policy.projection import Plan
from nrem.policy.proposals import Dropped, Proposal, Source

MOST_LINES = 40
MOST_REASONS = 10
OTHERS = "other reasons"


@dataclass(frozen=True, slots=True, kw_only=True)
class Advised:
    """What the model said, as far as it is done; and what is not, by reason."""

    model: str
    words: tuple[Word, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    note: str | None = None
    """Why there is nothing."""


def advise(dreamer: Dreamer, gathered: Gathered, plan: Plan, *, clock: Clock) -> Advised | None:
    """Ask once; None when there is no model or no line. Whatever the model does, this does not raise."""
    standing = _standing(gathered, plan)
    if dreamer.chat is None or not standing:
        return None
    changed = {candidate.id: candidate.updated_at for candidate in gathered.candidates}
    asked = sorted(standing.values(), key=lambda line: (changed[line.id], line.id), reverse=True)
    sources = [Source(id=line.id, text=line.text, at=line.created_at) for line in asked[:MOST_LINES]]
    said = consult(dreamer.store, dreamer.chat, dreamer.settings, dreamer.scope, sources, clock=clock)
    clean, secret = _without_secrets(dreamer, said.kept)
    left = gathered.room.characters - plan.characters
    words, unfit = advice.weigh(clean, standing, left=left, zone=dreamer.settings.time.zone)
    return Advised(
        model=dreamer.chat.identity,
        words=words,
        dropped=_by_reason([*said.dropped, *secret, *unfit]),
        note=said.note,
    )


def _standing(gathered: Gathered, plan: Plan) -> dict[str, Standing]:
    """Return the lines of a plan by memory, the best one first."""
    known = {candidate.id: candidate for candidate in gathered.candidates}
    found = {}
    for id in plan.chosen:
        said = gathered.said.get(id)
        own = {id: gathered.versions[id]}
        found[id] = Standing(
            id=id,
            text=gathered.texts[id],
            created_at=known[id].created_at,
            pinned=known[id].pinned,
            settled=said is not None,
            own=said is not None and said.model is None,
            sources=own if said is None else said.sources,
        )
    return found


def _without_secrets(dreamer: Dreamer, proposals: Sequence[Proposal]) -> tuple[list[Proposal], list[Dropped]]:
    scrubber = Scrubber(dreamer.settings, refuse=False)
    clean, dropped = [], []
    for proposal in proposals:
        if scrubber.text("line", proposal.text) == proposal.text:
            clean.append(proposal)
        else:
            dropped.append(Dropped(proposal=proposal, reason="it has something like a secret"))
    return clean, dropped


def _by_reason(dropped: Sequence[Dropped]) -> dict[str, int]:
    """Count by reason; a model that makes up many kinds of mistakes does not fill the ledger."""
    counted = Counter(one.reason for one in dropped).most_common()
    shown = dict(counted[:MOST_REASONS])
    rest = sum(number for _, number in counted[MOST_REASONS:])
    return shown | ({OTHERS: rest} if rest else {})
