"""What a model may propose for MEMORY.md, and which of its proposals say no more than their sources.

A model chooses words, never facts: every number, name, date and negation of a new line must stand in one of
the memories that it cites. What fails a check is dropped alone, with a reason.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeGuard, get_args

Operation = Literal["rewrite", "merge", "supersede"]
LINE = 300
"""Characters of a line that a model may write."""
MOST_LOST = 0.25
"""Part of the given lines that merges and supersessions together may take away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One thing that a model wants done to lines of MEMORY.md."""

    operation: Operation
    sources: tuple[str, ...]
    """Ids of the memories that it speaks of; for a supersession the newer one first."""
    text: str
    """The new line; for a supersession empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A memory that a model was given."""

    id: str
    text: str
    at: int


def is_operation(word: object) -> TypeGuard[Operation]:
    return word in get_args(Operation)


def check(
    proposals: Sequence[Proposal], given: Sequence[Source]
) -> tuple[tuple[Proposal, ...], tuple[str, ...]]:
    """Return the proposals that may be carried out, and what is wrong with each of the others."""
    known = {source.id: source for source in given}
    kept: list[Proposal] = []
    dropped: list[str] = []
    touched: set[str] = set()
    lost = 0
    for proposal in proposals:
        reason = _problem(proposal, known, touched)
        if reason is None and lost + len(proposal.sources) - 1 > MOST_LOST * len(given):
            reason = "with it, more lines would go than may go at once"
        if reason is not None:
            dropped.append(reason)
            continue
        kept.append(proposal)
        touched |= set(proposal.sources)
        lost += len(proposal.sources) - 1
    return tuple(kept), tuple(dropped)


def _problem(proposal: Proposal, known: Mapping[str, Source], touched: Collection[str]) -> str | None:
    ids = proposal.sources
    if not ids or any(id not in known for id in ids):
        return "it cites a memory that it was not given"
    if len(set(ids)) != len(ids) or any(id in touched for id in ids):
        return "it cites a memory twice"
    if (len(ids) == 1) != (proposal.operation == "rewrite"):
        return "it cites too few or too many memories for what it is"
    sources = [known[id] for id in ids]
    if proposal.operation == "supersede":
        return _supersession_problem(proposal, sources)
    if not proposal.text.strip() or "\n" in proposal.text:
        return "its text is not one line"
    if len(proposal.text) > LINE:
        return "its text is too long"
    return _invented(proposal.text, [source.text for source in sources])


def _supersession_problem(proposal: Proposal, sources: Sequence[Source]) -> str | None:
    if proposal.text:
        return "a supersession has no text of its own"
    newer, *older = sources
    if len(older) != 1:
        return "it cites too few or too many memories for what it is"
    if newer.at <= older[0].at:
        return "the older memory cannot replace the newer one"
    if not _names(newer.text) & _names(older[0].text) and not _shared_words(newer.text, older[0].text):
        return "the two memories do not speak of the same thing"
    return None


# What a text claims

_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_LINK = re.compile(r"(?i)\b(?:https?://|www\.)\S+|\S+@\S+")
_NEGATIONS = frozenset(
    "no not never none nobody nothing neither nor without cannot stopped don't doesn't didn't won't isn't"
    " aren't wasn't weren't can't couldn't shouldn't wouldn't hasn't haven't hadn't nunca nadie nada sin ni"
    " kein keine nicht nie ohne pas jamais sans rien".split()
)
_SHOWN = 20
"""Characters of an invented number that a reason repeats."""
_SMALL = 4
"""Letters of a word that is too short to be what two texts are about."""


def _invented(text: str, sources: Sequence[str]) -> str | None:
    """Return what a line says that its sources do not."""
    known = set(words(" ".join(sources)))
    if _names(text) - known:
        return "it has a name that its sources do not have"
    if bool(negations(text)) != any(negations(source) for source in sources):
        return "it denies what its sources do not, or the other way round"
    return strange(text, sources)


def strange(text: str, sources: Sequence[str]) -> str | None:
    """Return which links, numbers or words a text has that its sources do not."""
    known = " ".join(sources)
    if set(_LINK.findall(text)) - set(_LINK.findall(known)):
        return "it has a link or address that its sources do not have"
    numbers = set(_NUMBER.findall(text)) - set(_NUMBER.findall(known))
    if numbers:
        return f"it has a number that its sources do not have: {min(numbers)[:_SHOWN]}"
    used = set(words(text))
    used = {word for word in used if len(word) >= _SMALL} or used
    if len(used & set(words(known))) < len(used) / 2:
        return "most of its words are not in its sources"
    return None


def _names(text: str) -> set[str]:
    """Return the words that are written as names: capitals, not at the start of a sentence."""
    found = set()
    start = True
    for match in re.finditer(rf"{_WORD.pattern}|[.!?:]", text):
        word = match.group()
        if word in ".!?:":
            start = True
            continue
        if word[0].isupper() and (not start or not word[1:].islower()) and word != "I":
            found.add(word.casefold())
        start = False
    return found


def as_written(text: str) -> list[str]:
    return _WORD.findall(text)


def words(text: str) -> list[str]:
    return [word.casefold() for word in as_written(text)]


def negations(text: str) -> set[str]:
    return {word.replace("\u2019", "'") for word in words(text)} & _NEGATIONS


def _shared_words(one: str, other: str) -> bool:
    return bool({w for w in words(one) if len(w) >= _SMALL} & set(words(other)))
