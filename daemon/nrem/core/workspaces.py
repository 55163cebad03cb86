"""The folders of a home's agents: made from the template, opened when first published, and removed.

A folder gets its name when it is whole, and loses it before it is taken apart: what a crash leaves has a name
that no agent can have.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nrem import clock
from nrem.errors import Conflict, NotFound
from nrem.model import Scope, iso
from nrem.workspace import journal, objects, template
from nrem.workspace.files import Files
from nrem.workspace.repository import Repository

ARRIVING = ".arriving-"
"""How the name of a folder begins in which a workspace from elsewhere is laid out."""
MOST_OPEN = 32
"""Repositories that are kept open; each has files of its own open."""
MOST_PACKS = 50
"""Packs of a repository, one for each commit, beyond which they are merged."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A state file, by the sha256 of its content and the number of its records."""

    digest: bytes
    records: int

    @classmethod
    def of(cls, content: bytes) -> Shard:
        return cls(hashlib.sha256(content).digest(), content.count(b"\n"))


class Workspace:
    """One agent's folder. Whoever changes it holds its lock."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.lock = threading.RLock()
        self._repository: Repository | None = None
        self._shards: tuple[str | None, Mapping[str, Shard]] = (None, {})

    @property
    def is_open(self) -> bool:
        return self._repository is not None

    @property
    def has_git(self) -> bool:
        return (self.root / ".git").is_dir()

    def repository(self, *, now: int) -> Repository:
        """Return the repository; it is made where there is none, and freed of what a crash left."""
        there = (self.root / ".git").is_dir()
        if not there:
            self.close()
        self.check_there()
        if self._repository is None:
            if there:
                Files(self.root, managed=True).clear_temporary()
                Repository.clear_locks(self.root, now=now, booted=clock.booted_at())
                self._repository = Repository.open(self.root)
            else:
                self._repository = Repository.create(self.root)
        return self._repository

    def existing(self, *, now: int) -> Repository | None:
        """Return the repository if there is one; reading makes none."""
        return self.repository(now=now) if (self.root / ".git").is_dir() else None

    def check_there(self) -> None:
        """Raise NotFound when the folder is gone."""
        if not self.root.is_dir():
            raise NotFound(
                f"the folder {self.root} is gone",
                hint="put it back; or start nrem anew, which makes a new one",
                code="workspace_not_found",
            )

    def shards(self, repository: Repository, commit: str | None) -> Mapping[str, Shard]:
        """Return the state files of a commit; those of the last one asked for are at hand."""
        if commit != self._shards[0]:
            found = repository.files(commit, journal.STATE) if commit else []
            contents = {file.path: repository.read(commit or "", file.path) for file in found}
            self.know(commit, {path: Shard.of(content) for path, content in contents.items()})
        return self._shards[1]

    def know(self, commit: str | None, shards: Mapping[str, Shard]) -> None:
        """Note the state files of a commit that was just made."""
        self._shards = (commit, shards)

    def tidy(self) -> None:
        """Merge the packs of many commits; commits go on meanwhile."""
        repository = self._repository
        if repository is not None and len(list(self.root.glob(".git/objects/pack/*.pack"))) > MOST_PACKS:
            repository.pack()

    def close(self) -> None:
        if self._repository is not None:
            self._repository.close()
        self._repository = None


class Workspaces:
    """All workspaces of a home. Hold `changing` while an agent is added or removed."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "workspaces"
        self._known: dict[int, Workspace] = {}
        self._mutex = threading.Lock()
        self.changing = threading.Lock()

    def of(self, scope: Scope) -> Workspace:
        with self._mutex:
            known = self._known.pop(scope.number, None) or Workspace(self._folder / scope.name)
            self._known[scope.number] = known  # the last one used is the last one closed
            return known

    def refuse_taken(self, name: str) -> None:
        """Raise Conflict when the folder of a new agent is there already and has something in it."""
        folder = self._folder / name
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise Conflict(
                f"the folder {folder} is there already", hint="move it away", code="workspace_exists"
            )

    def make(self, scope: Scope) -> bool:
        """Lay out an agent's folder, unless it is there; return whether it is new."""
        root = self._folder / scope.name
        if root.exists():
            return False
        self._folder.mkdir(mode=0o700, exist_ok=True)
        unfinished = self._folder / f".new-{scope.number}"
        _delete(unfinished)
        unfinished.mkdir(mode=0o700)
        template.create_workspace(unfinished, scope.name)
        unfinished.rename(root)
        objects.sync_folder(self._folder)
        return True

    @contextmanager
    def arriving(self) -> Iterator[Path]:
        """Lend a new folder, in which a workspace from elsewhere is laid out; what is left in it goes."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=ARRIVING, dir=self._folder))
        try:
            yield folder
        finally:
            _delete(folder)

    def settle(self, folder: Path, name: str) -> None:
        """Give a folder that arrived an agent's name."""
        root = self._folder / name
        if root.exists():
            root.rmdir()  # it is empty: refuse_taken was asked
        folder.rename(root)
        objects.sync_folder(self._folder)

    def set_aside(self, scope: Scope, *, now: int) -> Path:
        """Move an agent's folder out of the workspaces, and return where it is now. Hold its lock."""
        self.of(scope).close()
        removed = self._folder.with_name("removed")
        removed.mkdir(mode=0o700, exist_ok=True)
        stamp = iso(now // 1000 * 1000)[:19].replace(":", "").replace("-", "")
        place, number = removed / f"{scope.name}-{stamp}Z", 1
        while place.exists():
            number += 1
            place = removed / f"{scope.name}-{stamp}Z-{number}"
        (self._folder / scope.name).rename(place)
        objects.sync_folder(removed)
        objects.sync_folder(self._folder)
        return place

    def bring_back(self, place: Path, scope: Scope) -> None:
        """Undo set_aside."""
        place.rename(self._folder / scope.name)
        objects.sync_folder(self._folder)

    def clear_arriving(self) -> None:
        """Delete what arrived and was never settled, because the process was killed."""
        for folder in self._folder.glob(f"{ARRIVING}*"):
            _delete(folder)

    def remove(self, number: int, name: str | None) -> None:
        """Delete an agent's folder for good; without a name, what a removal that was cut short left."""
        aside = self._folder / f".removed-{number}"
        with self._mutex:
            known = self._known.pop(number, None)
        if known is not None:
            with known.lock:
                known.close()
        if name is not None and (root := self._folder / name).exists():
            root.rename(aside)
            objects.sync_folder(self._folder)
        _delete(aside)

    def tidy(self) -> None:
        """Merge packs where there are many, and close what was not used for long."""
        with self._mutex:
            opened = [workspace for workspace in self._known.values() if workspace.is_open]
        for workspace in opened:
            workspace.tidy()
        for workspace in opened[:-MOST_OPEN]:
            if workspace.lock.acquire(blocking=False):
                workspace.close()
                workspace.lock.release()

    def close(self) -> None:
        for workspace in self._known.values():
            with workspace.lock:
                workspace.close()


def _delete(folder: Path) -> None:
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)
