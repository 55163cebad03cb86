"""Ask the chat model about the lines that would stand in MEMORY.md and about themes; choose what is done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nrem.clock import Clock
from nrem.core import reflect
from nrem.core.consult import Question, consult
from nrem.core.dreamer import Dreamer
from nrem.core.gather import Gathered
from nrem.core.scrub import Scrubber
from nrem.policy import advice
from nrem.policy.advice import Standing, Word
from nrem.policy.naming import Name, Tags
from nrem.policy.projection import Plan
from nrem.policy.proposals import Proposal, Source
from nrem.policy.reflection import Reflection

MOST_LINES = 40
MOST_REASONS = 10
OTHERS = "other reasons"
SECRET = "it has something like a secret"


@dataclass(frozen=True, slots=True, kw_only=True)
class Advised:
    """What the model said, as far as it is done; and what is not, by reason."""

    model: str
    words: tuple[Word, ...] = ()
    names: Mapping[Tags, str] = field(default_factory=dict)
    """What it calls themes, by their tags."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    note: str | None = None
    """Why there is nothing."""


def advise(
    dreamer: Dreamer, gathered: Gathered, plan: Plan, seen: Reflection, *, clock: Clock
) -> Advised | None:
    """Ask once; None when there is no model or no line. Whatever the model does, this does not raise."""
    standing = _standing(gathered, plan)
    if dreamer.chat is None or not standing:
        return None
    changed = {candidate.id: candidate.updated_at for candidate in gathered.candidates}
    asked = sorted(standing.values(), key=lambda line: (changed[line.id], line.id), reverse=True)
    question = Question(
        lines=[Source(id=line.id, text=line.text, at=line.created_at) for line in asked[:MOST_LINES]],
        themes=[reflect.group(theme) for theme in seen.themes],
    )
    said = consult(dreamer.store, dreamer.chat, dreamer.settings, dreamer.scope, question, clock=clock)
    clean = [proposal for proposal in said.kept if not _has_secret(dreamer, proposal)]
    names = {tags: name.text for tags, name in said.names.items() if not _has_secret(dreamer, name)}
    secret = len(said.kept) + len(said.names) - len(clean) - len(names)
    left = gathered.room.characters - plan.characters
    words, unfit = advice.weigh(clean, standing, left=left, zone=dreamer.settings.time.zone)
    return Advised(
        model=dreamer.chat.identity,
        words=words,
        names=names,
        dropped=_by_reason([*said.dropped, *[SECRET] * secret, *unfit]),
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
            label=gathered.labels[id],
            created_at=known[id].created_at,
            pinned=known[id].pinned,
            settled=said is not None,
            own=said is not None and said.model is None,
            sources=own if said is None else said.sources,
        )
    return found


def _has_secret(dreamer: Dreamer, said: Proposal | Name) -> bool:
    return Scrubber(dreamer.settings, refuse=False).text("line", said.text) != said.text


def _by_reason(reasons: Sequence[str]) -> dict[str, int]:
    """Count by reason; a model that makes up many kinds of mistakes does not fill the ledger."""
    counted = Counter(reasons).most_common()
    shown = dict(counted[:MOST_REASONS])
    rest = sum(number for _, number in counted[MOST_REASONS:])
    return shown | ({OTHERS: rest} if rest else {})
