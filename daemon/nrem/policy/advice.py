"""What becomes of a plan when a model's proposals are carried out: pure, and never more than the room."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nrem.policy import memory_doc
from nrem.policy.projection import Decision, Plan, Verdict
from nrem.policy.proposals import Operation, Proposal


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A line that would stand in MEMORY.md."""

    id: str
    text: str
    label: str
    """What it is called in its line."""
    created_at: int
    pinned: bool
    settled: bool
    """A model has chosen its words already."""
    own: bool
    """A person wanted it as it is, in place of what a model had made of it."""
    sources: Mapping[str, int]
    """The memories that it tells, each with its version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A proposal that is carried out."""

    operation: Operation
    memory: str
    """Whose line is changed; of a supersession, whose line goes."""
    line: str | None
    successor: str | None
    taken: tuple[str, ...]
    """The memories whose lines go."""
    sources: Mapping[str, int]
    grows: int
    """Characters by which the block gets longer; below 0: shorter."""


def weigh(
    proposals: Sequence[Proposal], standing: Mapping[str, Standing], *, left: int, zone: str
) -> tuple[tuple[Word, ...], tuple[str, ...]]:
    """Return what can be carried out within the room that is left, and what is wrong with each of the rest.

    `standing` has the best line first: of lines that are merged, that one stays.
    """
    ranks = {id: rank for rank, id in enumerate(standing)}
    words: list[Word] = []
    dropped: list[str] = []
    for proposal in proposals:
        lines = [standing[id] for id in proposal.sources]
        if proposal.operation != "supersede":
            lines.sort(key=lambda line: ranks[line.id])
        word = _word(proposal, lines, zone=zone)
        reason = _problem(proposal, lines, word, left)
        if reason is not None:
            dropped.append(reason)
            continue
        words.append(word)
        left -= word.grows
    return tuple(words), tuple(dropped)


def _word(proposal: Proposal, lines: Sequence[Standing], *, zone: str) -> Word:
    first, *others = lines
    sources = {id: version for line in lines for id, version in line.sources.items()}
    freed = sum(memory_doc.line_length(line.text, line.label) for line in others)
    taken = tuple(line.id for line in others)
    if proposal.operation == "supersede":
        [older] = others
        return Word(
            operation="supersede", memory=older.id, line=None, successor=first.id, taken=taken,
            sources=sources, grows=-freed,
        )  # fmt: skip
    text = memory_doc.one_line(proposal.text)
    text = memory_doc.dated(text, created_at=first.created_at, zone=zone)
    return Word(
        operation=proposal.operation,
        memory=first.id,
        line=text,
        successor=None,
        taken=taken,
        sources=sources,
        grows=len(text) - len(first.text) - freed,
    )


def _problem(proposal: Proposal, lines: Sequence[Standing], word: Word, left: int) -> str | None:
    if any(line.pinned for line in lines[1:]):
        return "it would take away a line that is pinned"
    if any(line.own for line in lines):
        return "a person wanted a line as it is"
    if proposal.operation == "rewrite" and lines[0].settled:
        return "the words of this line were chosen before"
    if proposal.operation == "merge" and memory_doc.needs_day(proposal.text):
        return "it has a relative date, and memories of several days"
    if word.grows > left:
        return "there is no room for its text"
    return None


def carry_out(plan: Plan, words: Sequence[Word], model: str) -> Plan:
    """Return the plan with the lines that go; a line that only would have come does not come."""
    gone = {id: word for word in words for id in word.taken}
    decisions = []
    for decision in plan.decisions:
        word = gone.get(decision.id)
        if word is None:
            decisions.append(decision)
        elif decision.verdict is not Verdict.PROMOTE:
            decisions.append(_taken(decision, word, model))
    return dataclasses.replace(
        plan,
        decisions=tuple(decisions),
        chosen=tuple(id for id in plan.chosen if id not in gone),
        characters=plan.characters + sum(word.grows for word in words),
    )


def _taken(decision: Decision, word: Word, model: str) -> Decision:
    verdict, reason, successor = Verdict.DEMOTE, f"said together with {word.memory}", word.memory
    if word.successor is not None:
        verdict, successor = Verdict.SUPERSEDE, word.successor
        reason = f"{successor} says what is true now, by {model}"
    return dataclasses.replace(decision, verdict=verdict, reason=reason, rank=None, successor=successor)
