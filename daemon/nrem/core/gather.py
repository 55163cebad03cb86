"""Everything that decides a sweep, read in one snapshot; and one short text that is the same while it is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from nrem.core import memory_file
from nrem.core.dreamer import Dreamer
from nrem.core.memory_file import Found
from nrem.model import Kind
from nrem.policy import classic, dreaming, memory_doc, once_ever, projection, salience
from nrem.policy.block import Line
from nrem.policy.classic import Recalled
from nrem.policy.dreaming import Candidate, Scores
from nrem.policy.memory_doc import Parts
from nrem.policy.projection import Plan, Room
from nrem.sections import Config
from nrem.store import model_lines, promotions, signals, sweeps
from nrem.store.driver import Connection
from nrem.store.model_lines import ModelLine
from nrem.store.promotions import Promotion
from nrem.store.signals import Signal
from nrem.store.sweeps import Material

_SILENT = Signal(memory="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What a sweep goes by."""

    found: Found
    candidates: tuple[Candidate, ...]
    versions: dict[str, int]
    newest: int
    """When something last happened that was not a sweep's own doing."""
    room: Room
    kinds: frozenset[Kind]
    read: tuple[int, ...]
    """The marks of the snapshot."""
    gone: tuple[str, ...]
    """Memories that are promoted and no longer there."""
    said: dict[str, ModelLine]
    """What a model said of lines, by memory."""
    texts: dict[str, str]
    """What the line of each candidate says."""
    labels: Mapping[str, str]
    """What each candidate is called in its line."""
    recalled: tuple[Recalled, ...] | None
    """What the profile classic goes by; None for the default one."""

    def lines(self, ids: Collection[str]) -> list[Line]:
        """Return the lines of these candidates."""
        return [
            Line(label=self.labels[c.id], text=self.texts[c.id], section=c.section)
            for c in self.candidates
            if c.id in ids
        ]

    def decide(self) -> tuple[Scores, Plan]:
        """Return the scores and what is to become of each line."""
        scores = dreaming.score(self.candidates, newest=self.newest)
        if self.recalled is None:
            return scores, projection.solve(self.candidates, scores, room=self.room, kinds=self.kinds)
        passed = classic.promote(self.recalled, newest=self.newest)
        return scores, once_ever.solve(self.candidates, passed, scores, room=self.room, kinds=self.kinds)


def gather(dreamer: Dreamer, found: Found, *, now: int) -> Gathered:
    """Return what the store says of every memory that can have a line."""
    settings, scope = dreamer.settings, dreamer.scope.number
    kinds = frozenset(map(Kind, settings.dream.kinds))
    with dreamer.store.reading() as db:
        material = sweeps.material(db, scope, kinds)
        known = signals.read(db, scope)
        active = promotions.active(db, scope)
        bars = promotions.bars(db, scope)
        said = model_lines.holding(db, scope)
        labels = memory_doc.labels([*promotions.ever(db, scope), *(m.id for m in material)])
        newest = max(sweeps.newest_write(db, scope)[1], *sweeps.newest_organic(db, scope)[2:])
        read = tuple(marks(db, scope, now=now))
        recalled = _recalled(db, scope, material) if settings.dream.profile == "classic" else None
    texts = {m.id: memory_file.text_of(m, said.get(m.id), zone=settings.time.zone) for m in material}
    told_by = _told_by(said, material, now=now)
    lines = _Lines(active=active, bars=bars, said=said, told_by=told_by, labels=labels)
    there = {m.id for m in material}
    return Gathered(
        found=found,
        candidates=tuple(
            _candidate(m, known.get(m.id, _SILENT), texts[m.id], lines, now=now)
            for m in material
            if texts[m.id]
        ),
        versions={m.id: m.version for m in material},
        newest=newest,
        room=Room(
            characters=memory_file.room(found.parts, settings.dream.budget),
            markers=memory_doc.MARKERS_LENGTH,
            headings=memory_doc.heading_lengths(),
        ),
        kinds=kinds,
        read=read,
        said=said,
        texts=texts,
        labels=labels,
        recalled=recalled,
        gone=tuple(sorted(active.keys() - there)),
    )


def marks(db: Connection, scope: int, *, now: int) -> list[int]:
    """Return numbers that change with everything in the store that decides a sweep."""
    return [
        *sweeps.newest_write(db, scope),
        *sweeps.newest_organic(db, scope),
        *sweeps.promotion_marks(db, scope, now=now),
    ]


def digest(read: Sequence[int], settings: Config, parts: Parts) -> str:
    """Return what is the same for two sweeps that would decide the same."""
    known = (
        list(read),
        settings.dream.model_dump_json(),
        settings.time.zone,
        dreaming.VERSION,
        hashlib.sha256(parts.block or b"").hexdigest(),
        parts.human,
    )
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()


def _recalled(db: Connection, scope: int, material: Sequence[Material]) -> tuple[Recalled, ...]:
    hits, ever = sweeps.hits(db, scope), frozenset(promotions.ever(db, scope))
    return tuple(
        Recalled(
            id=m.id,
            category=m.category,
            recalls=known.recalls,
            ranks=known.ranks,
            queries=known.queries,
            days=known.days,
            last_at=known.last_at,
            promoted=m.id in ever,
        )
        for m in material
        if (known := hits.get(m.id)) is not None
    )


def _is_barred(material: Material, bars: Mapping[str, int]) -> bool:
    """Tell whether people do not want its line; a pin that came later says that they do."""
    barred_at = bars.get(material.id)
    return barred_at is not None and not (material.pinned and material.version > barred_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lines:
    """What is known of the lines of MEMORY.md, by memory."""

    active: Mapping[str, Promotion]
    bars: Mapping[str, int]
    said: Mapping[str, ModelLine]
    told_by: Mapping[str, str]
    labels: Mapping[str, str]


def _told_by(said: Mapping[str, ModelLine], material: Sequence[Material], *, now: int) -> dict[str, str]:
    """Return which memories another one's line tells too; a line that expires tells nothing more."""
    expired = {m.id for m in material if _is_expired(m, now=now)}
    return {
        id: line.memory
        for line in said.values()
        if line.line is not None and line.memory not in expired
        for id in line.sources
        if id != line.memory
    }


def _is_expired(material: Material, *, now: int) -> bool:
    return material.expires_at is not None and material.expires_at <= now


def _candidate(material: Material, signal: Signal, text: str, lines: _Lines, *, now: int) -> Candidate:
    """Return a memory as the policy sees it."""
    said = lines.said.get(material.id)
    guessed = salience.importance(material.content, material.role)
    return Candidate(
        id=material.id,
        text=material.content,
        kind=material.kind,
        category=material.category,
        trusted=material.trusted,
        created_at=material.created_at,
        updated_at=material.updated_at,
        said_at=material.said_at,
        line_length=memory_doc.line_length(text, lines.labels[material.id]),
        section=memory_doc.section_of(material.category),
        role=material.role,
        speaker=material.user or "",
        pinned=material.pinned,
        importance=material.importance,
        importance_given=material.importance != guessed,
        expired=_is_expired(material, now=now),
        exposure=signal.weight,
        uses=signal.uses,
        wrongs=signal.wrongs,
        last_organic_at=signal.last_at or None,
        incumbent=material.id in lines.active,
        barred=_is_barred(material, lines.bars),
        superseded_by=material.superseded_by or (said.successor if said is not None else None),
        told_by=lines.told_by.get(material.id),
    )
