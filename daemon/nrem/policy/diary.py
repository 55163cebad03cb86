"""The diary: for each day one page, for each sweep one section, in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from nrem.policy import memory_doc
from nrem.policy.excerpt import excerpt

LONGEST = 120
"""Characters of a memory that a line of the diary shows."""
MOST_MISSES = 3
_WORDS = {
    "promote": "Promoted",
    "demote": "Demoted",
    "supersede": "Replaced by newer ones",
    "hold": "Held for now, because too many lines would go at once",
}


def path(started_at: int, *, zone: str) -> str:
    """Return the page that a sweep stands on."""
    return _local(started_at, zone).strftime("dreams/%Y/%m/%Y-%m-%d.md")


def add(page: str, *, sweep: str, started_at: int, zone: str, report: Mapping[str, Any]) -> str:
    """Return the page with a sweep's section at its end; with the same one already on it, as it is."""
    moment = _local(started_at, zone)
    title = f"## {moment:%H:%M} sweep {sweep}"
    if title in page.splitlines():
        return page
    head = page or f"# Dreams of {moment:%Y-%m-%d}\n"
    return head.rstrip("\n") + "\n\n" + "\n".join([title, "", *_section(report)]) + "\n"


def _section(report: Mapping[str, Any]) -> list[str]:
    kept = report["kept"]
    lines = [
        f"{kept} {'line' if kept == 1 else 'lines'} stayed; the block has {report['characters']} of"
        f" {report['room']} characters, from {report['candidates']} candidates."
    ]
    lines += [line for told in by_hand(report["by_hand"]) for line in ("", told)]
    for change, words in _WORDS.items():
        items = [_item(found) for found in report["changes"] if found["change"] == change]
        if items:
            lines += ["", f"{words}:", "", *items]
    if report["model"] is not None:
        lines += _words(report["model"])
    misses = report["misses"][:MOST_MISSES]
    if misses:
        lines += ["", "Nearest of those without a line:", ""]
        lines += [_item(miss) for miss in misses]
    if report["rejected"]:
        lines += ["", "Left out:", ""]
        lines += [f"- {count}: {reason}" for reason, count in sorted(report["rejected"].items())]
    for title, items in (
        ("Themes", list(map(_theme, report["themes"]))),
        ("Not both hold as they are", [_pair(found, "against the newer") for found in report["conflicts"]]),
        ("Said twice", [_pair(found, "and") for found in report["repeats"]]),
    ):
        if items:
            lines += ["", f"{title}:", "", *items]
    if report["unanswered"]:
        lines += ["", "Asked and not answered:", ""]
        lines += [f"- {_cut(query)}" for query in report["unanswered"]]
    return lines


def by_hand(taken: Mapping[str, Any]) -> list[str]:
    """Tell what was taken in of people's edits, and what was not."""
    numbers = [f"{taken[what]} {what}" for what in ("edited", "removed", "added") if taken[what]]
    lines = [f"Lines that people changed: {', '.join(numbers)}."] if numbers else []
    return lines + [
        f"Line {left['line']} of {memory_doc.PATH} {left['reason']}; it is below the block now, unchanged."
        for left in taken["left"]
    ]


def _theme(found: Mapping[str, Any]) -> str:
    """Return a theme, and below it the memories that its words come from: an erasure must find them."""
    tags, days = " and ".join(found["tags"]), found["days"]
    told = f"{found['name']} ({tags})" if found["name"] else tags
    told += f": {found['memories']} memories on {days} {'day' if days == 1 else 'days'}"
    if found["text"]:
        told += f', best said by "{excerpt(found["text"])}"'
    return f"- {_cut(told)}\n  ({_named(found['sources'] if found['name'] else (found['medoid'],))})"


def _pair(found: Mapping[str, Any], between: str) -> str:
    told = f'"{excerpt(found["older_text"])}" {between} "{excerpt(found["newer_text"])}"'
    return f"- {_cut(told)}\n  ({_named((found['older'], found['newer']))})"


def _named(ids: Sequence[str]) -> str:
    return ", ".join(f"m:{id}" for id in ids)


def _words(answer: Mapping[str, Any]) -> list[str]:
    """Tell what the model was good for; each line names every memory that it was made from."""
    lines = []
    if answer["note"]:
        lines += ["", f"No advice of a model: {_cut(answer['note'])}."]
    if answer["lines"]:
        lines += ["", f"Put in words by {answer['model']}:", ""]
        lines += [_worded(line) for line in answer["lines"]]
    if answer["dropped"]:
        lines += ["", f"Not taken of what {answer['model']} proposed:", ""]
        lines += [f"- {count}: {_cut(reason)}" for reason, count in sorted(answer["dropped"].items())]
    return lines


def _worded(line: Mapping[str, Any]) -> str:
    text = f"{_cut(line['text'])}: " if line["text"] else ""
    return f"- {text}{line['operation']} ({_named(line['sources'])})"


def _item(found: Mapping[str, Any]) -> str:
    """Return a memory, and on a second line what was decided about it and why."""
    terms = "".join(f", {name} {value:+.2f}" for name, value in sorted(found.get("terms", {}).items()))
    return f"- {_text(found)}\n  ({found['reason']}; score {found['score']:.3f}{terms}; m:{found['id']})"


def _text(found: Mapping[str, Any]) -> str:
    return _cut(excerpt(found["text"])) if found["text"] else "a memory that is gone"


def _cut(text: str) -> str:
    """Return the beginning of a text on one line, cut between words where there are any."""
    line = memory_doc.one_line(text)
    if len(line) <= LONGEST:
        return line
    return (line[:LONGEST].rpartition(" ")[0] or line[: LONGEST - 1]) + "\u2026"


def _local(at: int, zone: str) -> datetime:
    return datetime.fromtimestamp(at / 1000, UTC).astimezone(ZoneInfo(zone))
