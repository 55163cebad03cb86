"""A sweep's report with the texts of the memories that it is about, as far as they are still there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nrem.core.dreamer import Dreamer
from nrem.store import memories, model_lines, signals
from nrem.store.model_lines import ModelLine
from nrem.wire import (
    ByHand,
    LineChange,
    LineLeft,
    LineWorded,
    ModelAnswer,
    NearMiss,
    Outcome,
    PairSeen,
    ThemeSeen,
)

MOST_UNANSWERED = 5


def outcome(dreamer: Dreamer, report: dict[str, Any]) -> Outcome:
    """Return what a sweep decided, for people to read; the ledger itself keeps no text."""
    scope = dreamer.scope.number
    themes, conflicts, repeats = (report.get(name, ()) for name in ("themes", "conflicts", "repeats"))
    ids = [found["id"] for found in (*report.get("changes", ()), *report.get("misses", ()))]
    ids += [theme["medoid"] for theme in themes]
    ids += [pair[side] for pair in (*conflicts, *repeats) for side in ("older", "newer")]
    with dreamer.store.reading() as db:
        texts = memories.contents(db, scope, ids)
        said = model_lines.holding(db, scope)
        named = [model_lines.holds(db, scope, theme["sources"]) for theme in themes]
        unanswered = tuple(miss.query for miss in signals.misses(db, scope)[:MOST_UNANSWERED])
    return Outcome(
        changes=tuple(
            LineChange(**change, text=texts.get(change["id"])) for change in report.get("changes", ())
        ),
        kept=report.get("kept", 0),
        misses=tuple(NearMiss(**miss, text=texts.get(miss["id"])) for miss in report.get("misses", ())),
        rejected=report.get("rejected", {}),
        unanswered=unanswered,
        candidates=report.get("candidates", 0),
        characters=report.get("characters", 0),
        room=report.get("room", 0),
        model=_answer(report.get("model"), said),
        by_hand=by_hand_of(report),
        themes=tuple(_theme(theme, texts, holds=holds) for theme, holds in zip(themes, named, strict=True)),
        conflicts=_pairs(conflicts, texts),
        repeats=_pairs(repeats, texts),
    )


def _theme(found: dict[str, Any], texts: Mapping[str, str], *, holds: bool) -> ThemeSeen:
    return ThemeSeen(
        tags=tuple(found["tags"]),
        name=found["name"] if holds else None,
        memories=found["memories"],
        days=found["days"],
        medoid=found["medoid"],
        text=texts.get(found["medoid"]),
        sources=tuple(sorted(found["sources"])),
    )


def _pairs(found: Sequence[dict[str, str]], texts: Mapping[str, str]) -> tuple[PairSeen, ...]:
    """Return the pairs of which both memories are still there."""
    return tuple(
        PairSeen(**pair, older_text=texts[pair["older"]], newer_text=texts[pair["newer"]])
        for pair in found
        if texts.keys() >= set(pair.values())
    )


def by_hand_of(report: Mapping[str, Any]) -> ByHand:
    """Return what a report says of people's edits."""
    told = report.get("by_hand", {})
    left = tuple(LineLeft(**line) for line in told.get("left", ()))
    return ByHand(**{**told, "left": left})


def _answer(told: dict[str, Any] | None, said: Mapping[str, ModelLine]) -> ModelAnswer | None:
    if told is None:
        return None
    lines = tuple(
        LineWorded(
            operation=line["operation"],
            id=line["id"],
            taken=tuple(line["taken"]),
            sources=tuple(line["sources"]),
            text=said[line["id"]].line if line["operation"] != "supersede" and line["id"] in said else None,
        )
        for line in told["lines"]
    )
    return ModelAnswer(model=told["model"], lines=lines, dropped=told["dropped"], note=told["note"])
