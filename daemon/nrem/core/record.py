"""The record of an agent's memory as files: which events and state files the next commit needs.

Normally these are the events since the last commit and the state files that they touch. Where the branch is
not what the ledger knows, everything is exported again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nrem.core.scrub import Scrubber
from nrem.core.workspaces import Shard
from nrem.errors import Corrupt, NotFound
from nrem.model import Counts, Published
from nrem.sections import Config
from nrem.store import commits
from nrem.store.commits import Watermark
from nrem.store.driver import Connection
from nrem.workspace import journal, names
from nrem.workspace.commits import WorkspaceCommit
from nrem.workspace.repository import Repository

MOST_LOST = 0.1
"""Part of the memories in git that an export may drop without an event that says so."""
PERSON = "person"
_INSIDE = names.MANAGED + "/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """Where the branch stands."""

    head: str | None
    seq: int
    """The last event that it has."""
    recall: int = 0
    """The last recall that it has."""
    whole: bool
    """Whether its record cannot be built upon."""
    found: tuple[Published, ...] = ()
    """Commits that the ledger does not know, oldest first."""
    is_behind: bool = False
    """Whether the ledger has another commit for the last one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What a commit is to hold of the memory."""

    changes: Mapping[str, bytes]
    removed: tuple[str, ...]
    events: tuple[int, int] | None
    seq: int
    chain: bytes
    root: bytes
    shards: Mapping[str, Shard]
    counts: Counts


# Where the branch stands


def catch_up(db: Connection, repository: Repository, scope: int, settings: Config) -> Base:
    """Compare the branch with the ledger, and read the commits that the ledger lacks."""
    head = repository.head()
    mark = commits.watermark(db, scope)
    if head is None:
        return Base(head=None, seq=0, whole=True)
    if mark is not None and mark.commit == head:
        return Base(head=head, seq=mark.seq, recall=mark.recall, whole=False)
    new = _since(repository, head, mark)
    found = tuple(published(db, repository, scope, commit, settings) for commit in new)
    follows = mark is not None and any(mark.commit in commit.parents for commit in new)
    seq = _fitting(db, repository, scope, new, mark.seq) if mark is not None and follows else None
    if mark is not None and seq is not None:
        return Base(head=head, seq=seq, recall=mark.recall, whole=False, found=found, is_behind=True)
    return Base(head=head, seq=_reached(db, repository, scope, head), whole=True, found=found, is_behind=True)


def _since(repository: Repository, head: str, mark: Watermark | None) -> list[WorkspaceCommit]:
    """Return the commits after the known one, oldest first; all, when git has lost that one."""
    try:
        new = repository.log(head, known=mark.commit if mark else None)
    except NotFound:
        new = repository.log(head)
    return new[::-1]


def _fitting(
    db: Connection, repository: Repository, scope: int, new: Iterable[WorkspaceCommit], seq: int
) -> int | None:
    """Return the last event of the branch, if its new commits left the record as nrem writes it."""
    for commit in new:
        said = journal.parse_message(commit.subject, commit.trailers)
        if said is None:
            if any(path.startswith(_INSIDE) for path in _paths(repository, commit)):
                return None
        elif said.events is not None:
            first, last = said.events
            if first != seq + 1 or commits.chain_at(db, scope, last) != said.chain:
                return None
            seq = last
    return seq


def _reached(db: Connection, repository: Repository, scope: int, head: str) -> int:
    """Return the last event that a commit of ours on the branch has, and the database has too."""
    for commit in repository.log(head):
        said = journal.parse_message(commit.subject, commit.trailers)
        if said is not None and said.events and commits.chain_at(db, scope, said.events[1]) == said.chain:
            return said.events[1]
    return 0


def published(
    db: Connection, repository: Repository, scope: int, commit: WorkspaceCommit, settings: Config
) -> Published:
    """Return what the ledger is to say of a commit, from git and the events alone."""
    said = journal.parse_message(commit.subject, commit.trailers)
    files = count_files(repository, commit)
    changed = commits.changes(db, scope, *said.events) if said is not None and said.events else []
    return Published(
        commit=commit.id,
        parent=commit.parents[0] if commit.parents else None,
        cause=said.cause if said is not None else PERSON,
        at=commit.at,
        subject=Scrubber(settings, refuse=False).text("subject", commit.subject),
        events=said.events if said is not None else None,
        chain=said.chain if said is not None else None,
        state=said.state if said is not None else None,
        counts=commits.counts(changed, files),
    )


def count_files(repository: Repository, commit: WorkspaceCommit) -> int:
    """Return how many files a commit changes that are not nrem's own."""
    return sum(not path.startswith(_INSIDE) for path in _paths(repository, commit))


def _paths(repository: Repository, commit: WorkspaceCommit) -> list[str]:
    before = commit.parents[0] if commit.parents else None
    return [difference.path for difference in repository.diff(before, commit.id)]


# What is to be written


def export(
    db: Connection, repository: Repository, scope: int, base: Base, shards: Mapping[str, Shard]
) -> Record:
    """Return the files that a commit on top of `base` needs; raise Corrupt when memories would be lost."""
    seq, chain = commits.last(db, scope)
    changed = commits.changes(db, scope, base.seq + 1, seq)
    numbers = {change.ordinal // journal.STATES_PER_FILE for change in changed}
    if base.whole:
        numbers = set(range(seq // journal.STATES_PER_FILE + 1))
    states = journal.render_states(
        record
        for number in sorted(numbers)
        for record in commits.records(db, scope, journal.ordinals(number))
    )
    touched = {journal.state_path(journal.ordinals(number).start) for number in numbers}
    old = set(shards) if base.whole else touched & shards.keys()
    _refuse_losses(db, repository, scope, base, shards, old, states)
    files = dict(states)
    if base.whole or seq > base.seq:
        first = 1 if base.whole else journal.first_seq(base.seq)
        files |= journal.render_events(commits.read_events(db, scope, first))
    if base.whole:
        files[journal.FORMAT_PATH] = journal.render_format()
    removed = (touched | old) - states.keys()
    if base.whole and base.head is not None:
        managed = {file.path for file in repository.files(base.head, names.MANAGED)}
        there = {path for path in managed if not path.startswith(f"{journal.RECALLS}/")}
        removed |= there - files.keys()
        same = {path for path in there & files.keys() if repository.read(base.head, path) == files[path]}
        files = {path: content for path, content in files.items() if path not in same}
    after = {path: shard for path, shard in shards.items() if path not in removed}
    after |= {path: Shard.of(content) for path, content in states.items()}
    return Record(
        changes=files,
        removed=tuple(sorted(removed)),
        events=(base.seq + 1, seq) if seq > base.seq else None,
        seq=seq,
        chain=chain,
        root=journal.state_root({path: shard.digest for path, shard in after.items()}),
        shards=after,
        counts=commits.counts(changed, 0),
    )


def _refuse_losses(
    db: Connection,
    repository: Repository,
    scope: int,
    base: Base,
    shards: Mapping[str, Shard],
    old: Iterable[str],
    states: Mapping[str, bytes],
) -> None:
    """Raise Corrupt when the database lacks many memories that git has, and no event says why."""
    kept = {subject for content in states.values() for subject in _subjects(content)}
    lost = [
        subject
        for path in old
        for subject in _subjects(repository.read(base.head or "", path))
        if subject not in kept and not commits.was_forgotten(db, scope, subject)
    ]
    total = sum(shard.records for shard in shards.values())
    if len(lost) > MOST_LOST * total:
        raise Corrupt(
            f"the workspace has {len(lost)} of {total} memories that the database lacks,"
            " and no event says that they were forgotten",
            hint="restore a backup that has them; or take .nrem out of the workspace's git, to begin anew",
            code="export_refused",
            details={"lost": len(lost), "total": total},
        )


def _subjects(content: bytes) -> Iterable[str]:
    """Yield the subjects in a state file; lines that are none of ours count for nothing."""
    for line in content.splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict) and isinstance(found.get("subject"), str):
            yield found["subject"]
