"""Tell what is different between two points of an agent's past: its memories, and people's own files."""

from __future__ import annotations

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from nrem.core.changes import Most, changes
from nrem.core.follow import follow
from nrem.core.point import Point, resolve
from nrem.core.publish import GIT_IS_OFF
from nrem.core.workspaces import Workspace
from nrem.errors import NotFound
from nrem.model import Scope
from nrem.sections import Config
from nrem.store import commits
from nrem.store.database import Database
from nrem.store.differences import lines_between
from nrem.store.driver import Connection
from nrem.wire import Diff, Differences, DiffPoint
from nrem.workspace import patches

MOST = Most(memories=500, text=2000)
NOW = "now"


@dataclass(frozen=True, slots=True)
class _Files:
    """What is different in people's own files."""

    paths: tuple[str, ...] = ()
    text: str | None = None
    cut: bool = False
    note: str | None = None


def diff(
    store: Database, workspace: Workspace, settings: Config, scope: Scope, request: Diff, *, now: int
) -> Differences:
    """Compare two points, from the events and the commits; raise InvalidField when a word means no point."""
    missing = follow(store, workspace, settings, scope, now=now)
    zone = ZoneInfo(settings.time.zone)
    with store.reading() as db:
        a = resolve(db, scope.number, request.a, now=now, zone=zone, field="a")
        b = resolve(db, scope.number, request.b or NOW, now=now, zone=zone, field="b")
        found = changes(db, scope.number, a.seq, b.seq, MOST)
        came, went = lines_between(db, scope.number, min(a.seq, b.seq), max(a.seq, b.seq))
        told_a, told_b = _told(db, scope.number, a), _told(db, scope.number, b)
        mark = commits.watermark(db, scope.number)
    files = _files(workspace, told_a.commit, told_b.commit, request.text, now)
    notes = [missing, files.note]
    if not settings.workspace.git:
        notes.append(GIT_IS_OFF)
    elif mark is not None and max(a.seq, b.seq) > mark.seq:
        notes.append("the newest events are not in git yet: files are compared as the last commit has them")
    return Differences(
        a=told_a,
        b=told_b,
        added=found.counts.added,
        changed=found.counts.changed,
        forgotten=found.counts.forgotten,
        memories=found.memories,
        more=found.more,
        promoted=tuple(came if a.seq <= b.seq else went),
        demoted=tuple(went if a.seq <= b.seq else came),
        files=files.paths,
        text=files.text,
        text_cut=files.cut,
        notes=tuple(note for note in notes if note is not None),
    )


def _told(db: Connection, scope: int, point: Point) -> DiffPoint:
    commit = point.commit
    if commit is None:
        last = commits.last_at(db, scope, point.at)
        commit = last.commit if last is not None else None
    return DiffPoint(word=point.word, at=point.at, event=point.seq, commit=commit)


def _files(workspace: Workspace, a: str | None, b: str | None, text: bool, now: int) -> _Files:
    with workspace.lock:
        repository = workspace.existing(now=now)
        if repository is None:
            return _Files()
        try:
            paths = tuple(patches.changed(repository, a, b))
            shown, cut = patches.render(repository, a, b) if text else (None, False)
        except NotFound:  # history was rewritten; the events are still there
            return _Files(note="files are not compared: git no longer has the commit of one of the points")
    return _Files(paths, shown, cut)
