"""A sweep's report with the texts of the memories that it is about, as far as they are still there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nrem.core.dreamer import Dreamer
from nrem.store import memories, model_lines, signals
from nrem.store.model_lines import ModelLine
from nrem.wire import LineChange, LineWorded, ModelAnswer, NearMiss, Outcome

MOST_UNANSWERED = 5


def outcome(dreamer: Dreamer, report: dict[str, Any]) -> Outcome:
    """Return what a sweep decided, for people to read; the ledger itself keeps no text."""
    scope = dreamer.scope.number
    ids = [found["id"] for found in (*report.get("changes", ()), *report.get("misses", ()))]
    with dreamer.store.reading() as db:
        texts = memories.contents(db, scope, ids)
        said = model_lines.holding(db, scope)
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
    )


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
