"""The recalls of an agent as files, beside the record of its memory.

A line that is in git stays as it is: it may be of a time with another policy, and the database may have
pruned what it was made from. New ones are added behind it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nrem.core.record import Base
from nrem.errors import NotFound
from nrem.model import RecallLine
from nrem.sections import Workspace as Settings
from nrem.store import recall_lines
from nrem.store.driver import Connection
from nrem.workspace import journal
from nrem.workspace.repository import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallFiles:
    """What a commit is to hold of the recalls, and the number of the last one that it accounts for."""

    changes: Mapping[str, bytes]
    removed: tuple[str, ...]
    last: int


def export_recalls(
    db: Connection, repository: Repository, scope: int, base: Base, settings: Settings
) -> RecallFiles:
    """Return the recall files that a commit on top of `base` needs."""
    last = recall_lines.last_number(db, scope)
    first = 1 if base.whole else base.recall + 1
    hashed = settings.recalls == "hashed"
    new = [] if settings.recalls == "off" else recall_lines.lines(db, scope, first, hashed=hashed)
    known = _known(repository, base, {journal.recall_path(line.number) for line in new})
    kept = (line for line in journal.salvage_recalls(known) if line.number <= last)
    files = journal.render_recalls(_merged(kept, new))
    return RecallFiles(
        changes={path: content for path, content in files.items() if known.get(path) != content},
        removed=tuple(sorted(known.keys() - files.keys())),
        last=last,
    )


def _known(repository: Repository, base: Base, touched: Iterable[str]) -> dict[str, bytes]:
    """Return the recall files in git that new lines belong into; all, when all is exported again."""
    if base.head is None:
        return {}
    if base.whole:
        touched = [file.path for file in repository.files(base.head, journal.RECALLS)]
    found = {}
    for path in touched:
        with contextlib.suppress(NotFound):
            found[path] = repository.read(base.head, path)
    return found


def _merged(kept: Iterable[RecallLine], new: Iterable[RecallLine]) -> list[RecallLine]:
    lines = {line.number: line for line in kept}
    for line in new:
        there = lines.get(line.number)
        if there is None or there.id != line.id:  # another one: of a database that was lost since
            lines[line.number] = line
    return [lines[number] for number in sorted(lines)]
