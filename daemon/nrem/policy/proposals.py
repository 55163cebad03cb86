"""What a model may propose for MEMORY.md, and which of its proposals say no more than their sources.

A model chooses among words, never facts: each sentence of a new line must be a sentence of one of the
memories that it cites, shortened or turned only in ways that do not change what it says (policy/wording). So
numbers, names, dates and negations are from the memories, and stand where they stood. What fails a check is
dropped alone, with a reason.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal, TypeGuard, get_args

from nrem.model import iso
from nrem.policy import wording
from nrem.policy.terms import STOP_WORDS
from nrem.policy.wording import Sentence
from nrem.policy.wordlists import GUARDS, NEGATING, TIME_WORDS

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
    return _invented(proposal.text, sources)


def _supersession_problem(proposal: Proposal, sources: Sequence[Source]) -> str | None:
    if proposal.text:
        return "a supersession has no text of its own"
    newer, *older = sources
    if len(older) != 1:
        return "it cites too few or too many memories for what it is"
    if newer.at <= older[0].at:
        return "the older memory cannot replace the newer one"
    if not _same_subject(newer.text, older[0].text):
        return "the two memories do not speak of the same thing"
    return None


def _same_subject(one: str, other: str) -> bool:
    """Tell whether what one of two texts begins with is in the other."""
    keys = [_telling(one), _telling(other)]
    return any(some and some[0] in rest for some, rest in (keys, reversed(keys)))


def _telling(text: str) -> list[str]:
    words = [word for sentence in wording.read(text) for word in sentence.plain]
    return [word.key for word in words if word.text not in _EMPTY and len(word.text) >= _SMALL]


_EMPTY = STOP_WORDS | GUARDS | frozenset("los las una der die das den dem ein les des une".split())
_SMALL = 3
"""Letters of a word that is too short to be what a text is about."""


# What a line says


@dataclass(frozen=True, slots=True)
class _Told:
    """A sentence of a source, and how it may be said."""

    source: int
    place: int
    sentence: Sentence
    ways: tuple[Sentence, ...]


_SAID = re.compile(r" \(said (\d{4}-\d\d-\d\d)\)$")
_SHOWN = 20
"""Characters of an invented number that a reason repeats."""
_TOLD = 0.5
"""Part of a memory's words that its line has more of."""


def _invented(text: str, sources: Sequence[Source]) -> str | None:
    """Return what is wrong with a line: each of its sentences says what one sentence of a source says."""
    told = [one for number, source in enumerate(sources) for one in _sentences(number, source)]
    line = wording.read(_undated(text, sources))
    if not any(said.words for said in line):
        return "its text says nothing"
    used: list[_Told] = []
    for said in line:
        found = next((one for one in told if one not in used and _says(said, one, told, used)), None)
        if found is None:
            return _difference(line, told)
        used.append(found)
    return _lost(line, told, used)


def _sentences(number: int, source: Source) -> Iterator[_Told]:
    day = _day(source)
    read = wording.read(_SAID.sub("", source.text))
    for place, sentence in enumerate(one for one in read if not wording.says_nothing(one)):
        yield _Told(number, place, sentence, tuple(wording.ways(sentence, day)))


def _day(source: Source) -> date:
    """Return the day on which a memory was said, as it says itself or as a model is told it."""
    said = _SAID.search(source.text)
    try:
        return date.fromisoformat(said[1] if said else iso(source.at)[:10])
    except ValueError:  # a person wrote the 31st of June
        return date.fromisoformat(iso(source.at)[:10])


def _undated(text: str, sources: Sequence[Source]) -> str:
    """Return a line without the day on which its one source was said, if it ends with that."""
    said = _SAID.search(text)
    return _SAID.sub("", text) if said and all(one.text.endswith(said[0]) for one in sources) else text


def _says(said: Sentence, one: _Told, told: Sequence[_Told], used: Sequence[_Told]) -> bool:
    if not _follows(said, one, used):
        return False
    if any(wording.tells(said, way) for way in one.ways):
        return True
    others = [other.sentence for other in told if other != one]
    return any(wording.tells_with_aside(said, way, others) for way in one.ways)


def _follows(said: Sentence, one: _Told, used: Sequence[_Told]) -> bool:
    """Tell whether all that stood before a sentence does so still: it may depend on it.

    What "he" and "it" stand for is right before them.
    """
    last = [(other.source, other.place) for other in used[-1:]]
    if said.points:
        return last == ([(one.source, one.place - 1)] if one.place else [])
    before = (one.source, one.place - 1)
    return one.place == 0 or any((other.source, other.place) == before for other in used)


def _lost(line: Sequence[Sentence], told: Sequence[_Told], used: Sequence[_Told]) -> str | None:
    """Return what a line leaves out that it must not."""
    rows = [wording.bare(said) for said in line]
    for one in told:
        kept = one in used or any(wording.holds(row, wording.bare(one.sentence)) for row in rows)
        if one.sentence.guarded and not kept:
            return "it leaves out what its sources deny, limit or demand"
    said = {key for row in rows for key in row}
    for number in {one.source for one in told}:
        own = {key for one in told if one.source == number for key in wording.bare(one.sentence)}
        if len(own & said) <= _TOLD * len(own):
            return "it leaves out half or more of what a memory says"
    return None


def _difference(line: Sequence[Sentence], told: Sequence[_Told]) -> str:
    """Return how a line differs from its sources, as far as single words show it."""
    known = {word.key for one in told for way in one.ways for word in way.words}
    known_negations = {word.text for one in told for word in one.sentence.words if word.text in NEGATING}
    said = [word for sentence in line for word in sentence.words]
    strange = [word for word in said if word.key not in known]
    for word in strange:
        if _LINK.search(word.text):
            return "it has a link or address that its sources do not have"
    for word in strange:
        if any(character.isdigit() for character in word.text):
            return f"it has a number that its sources do not have: {word.text[:_SHOWN]}"
    negations = {word.text for word in said if word.text in NEGATING}
    if bool(negations) != bool(known_negations) or negations - known_negations:
        return "it denies what its sources do not, or the other way round"
    if any(word.text in TIME_WORDS for word in strange):
        return "it has a date that its sources do not have"
    if any(word.capital for word in strange):
        return "it has a name that its sources do not have"
    if strange:
        return "it has words that are not in its sources"
    return "its words do not stand together as in its sources"


_LINK = re.compile(r"[/@\\]|\w\.\w*[^\W\d]")
