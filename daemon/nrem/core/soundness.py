"""Whether a scope's rows are what its events add up to: what doctor and verify both ask."""

from __future__ import annotations

from collections.abc import Iterator

from nrem.errors import Corrupt
from nrem.store import checks, events, memories, promotions, scopes
from nrem.store.driver import Connection
from nrem.workspace.history import History, fold


def check_chain(db: Connection, scope: int) -> tuple[int, str | None]:
    """Return how many events a chain has, and what is wrong at its first broken link."""
    try:
        return events.verify(db, scope), None
    except Corrupt as error:
        return 0, f"event {error.details['seq']} does not fit its chain"


def check_rows(db: Connection, scope: int) -> Iterator[str]:
    """Yield how the rows of a scope differ from its events, in both directions: the first of each kind."""
    try:
        memories.verify_rows(db, scope)
    except Corrupt as error:
        yield error.message
    history = fold(events.read(db, scope))
    yield from _compare_memories(history, checks.memory_seqs(db, scope))
    yield from _compare_versions(history, checks.versions(db, scope))
    if checks.promoted_by_events(db, scope) != set(promotions.active(db, scope)):
        yield "the memories with a line in MEMORY.md are not those that its events say"
    if scopes.configs(db, scope) != checks.configs_by_events(db, scope):
        yield "the versions of its configuration are not what its events say"
    if (kept := scopes.count(db, scope)) != (there := checks.count(db, scope)):
        yield f"it is said to have {kept} memories, and has {there}"


def check_index(db: Connection, scope: int) -> Iterator[str]:
    """Yield what the keyword index lacks of a scope."""
    if lacking := checks.unindexed(db, scope):
        yield f"memory {lacking[0]} is not in it{_more(len(lacking))}"


def _compare_memories(history: History, rows: dict[str, int]) -> Iterator[str]:
    due = {record.subject: record.seq for record in history.records}
    missing = [subject for subject in due if subject not in rows]
    extra = [subject for subject in rows if subject not in due]
    stale = [subject for subject, seq in due.items() if rows.get(subject, seq) != seq]
    for found, problem in (
        (missing, "is missing, and no event says that it was forgotten"),
        (extra, "is there, and by the events it should not be"),
        (stale, "is not at the version of its last event"),
    ):
        if found:
            yield f"memory {found[0]} {problem}{_more(len(found))}"


def _compare_versions(history: History, rows: set[tuple[str, int, int]]) -> Iterator[str]:
    due = {(ended.subject, ended.seq, ended.ended_seq) for ended in history.ended}
    for found, problem in ((due - rows, "is missing"), (rows - due, "is there, and no event ended it")):
        if found:
            subject, seq, _ = min(found, key=lambda version: version[1])
            yield f"the version of memory {subject} that event {seq} made {problem}{_more(len(found))}"


def _more(number: int) -> str:
    return f", and {number - 1} more" if number > 1 else ""
