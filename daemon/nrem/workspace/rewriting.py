"""A workspace's history written anew without one memory, and every object of the old history deleted.

Only trees above a changed file, and the commits from the first changed one on, become new objects; authors,
dates and messages stay, but for the hash of the state. Order: new objects are durable, the caller notes what
becomes of the commits, the files are written, index and branch move under git's locks, then everything that
is not reachable is deleted. Each step can be repeated.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dulwich.object_store import DiskObjectStore
from dulwich.objects import Blob, Commit, ObjectID, ShaFile, Tree
from dulwich.refs import HEADREF
from dulwich.repo import Repo

from nrem.errors import Conflict, Corrupt
from nrem.model import NewCommit
from nrem.policy.erasing import Needle
from nrem.workspace import erasing, journal, locks, names, objects, trees
from nrem.workspace.files import Files
from nrem.workspace.index import Entry, Index
from nrem.workspace.repository import WAIT, Repository

TRIES = 3
_STATE = re.compile(rb"^Nrem-State: sha256:[0-9a-f]{64}$", re.MULTILINE)
_LEFT_BY_GIT = ("ORIG_HEAD", "FETCH_HEAD", "AUTO_MERGE")


@dataclass(slots=True)
class Plan:
    """What the history would become, with the objects that it needs."""

    head: str | None
    commits: dict[str, NewCommit] = field(default_factory=dict)
    new: dict[ObjectID, ShaFile] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)
    """People's files that had the text in some commit."""
    messages: list[str] = field(default_factory=list)
    """Commits, by their new ids, whose message has the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    objects: int
    """How many were deleted."""
    files: tuple[str, ...]
    """People's files in the folder that have the text."""
    past_files: tuple[str, ...]
    """Those that have it only in the history."""
    messages: tuple[str, ...]


def check(repository: Repository, needle: Needle) -> None:
    """Raise Conflict when the history cannot be written anew, or somebody else has it."""
    with repository.alone(), Repo(str(repository.root)) as repo:
        repository.check_place()
        _check_refs(repo, repository, _plan(repo, repository.head(), needle))
        _read_index(repository)


def rewrite(
    repository: Repository, needle: Needle, note: Callable[[Mapping[str, NewCommit]], None]
) -> Outcome:
    """Take a memory out of every commit and file; `note` is told what commits become before they do."""
    with repository.alone(), Repo(str(repository.root)) as repo:
        for left in reversed(range(TRIES)):
            plan = _plan(repo, repository.head(), needle)
            _check_refs(repo, repository, plan)
            if plan.commits:
                objects.write_durably(_store(repo), plan.new.values())
                note(plan.commits)
            _write_files(repository.root, needle)
            try:
                _move(repo, repository, plan, needle)
                break
            except Conflict as error:
                if error.code != "head_moved" or left == 0:
                    raise
        _forget_the_old(repository.root / ".git", repository.branch)
        deleted = objects.keep_only(_store(repo), _reachable(repo, repository))
    now = _holders(repository.root, needle)
    return Outcome(
        objects=deleted,
        files=tuple(sorted(now)),
        past_files=tuple(sorted(plan.files - now)),
        messages=tuple(plan.messages),
    )


# The new history


def _plan(repo: Repo, head: str | None, needle: Needle) -> Plan:
    plan = Plan(head)
    if head is None:
        return plan
    writer = _Writer(_store(repo), needle, plan)
    try:
        walker = repo.get_walker(include=[ObjectID(head.encode())], order="topo", reverse=True)
        for entry in walker:
            writer.commit(entry.commit)
    except KeyError as error:
        raise _incomplete() from error
    return plan


class _Writer:
    """Makes the new objects; each old tree and file is looked at once."""

    def __init__(self, store: DiskObjectStore, needle: Needle, plan: Plan) -> None:
        self._store = store
        self._needle = needle
        self._plan = plan
        self._known: dict[tuple[str, ObjectID], ObjectID | None] = {}
        self._roots: dict[ObjectID | None, bytes] = {}
        self._digests: dict[ObjectID, bytes] = {}

    def commit(self, old: Commit) -> None:
        tree = self._tree("", old.tree) or self._put(Tree())
        parents = [self._new_id(parent) for parent in old.parents]
        told = self._needle.is_in(old.message.decode(errors="replace"))
        if tree == old.tree and parents == old.parents:
            if told:
                self._plan.messages.append(old.id.decode())
            return
        new = Commit.from_string(old.as_raw_string())
        assert isinstance(new, Commit)
        new.tree, new.parents, new.gpgsig, state = tree, parents, None, None
        before, after = self._state_of(old.tree), self._state_of(tree)
        if before != after and _STATE.search(old.message):
            state = self._root(after)
            new.message = _STATE.sub(b"Nrem-State: sha256:" + state.hex().encode(), old.message)
        self._put(new)
        self._plan.commits[old.id.decode()] = NewCommit(new.id.decode(), state)
        if told:
            self._plan.messages.append(new.id.decode())

    def _new_id(self, parent: ObjectID) -> ObjectID:
        new = self._plan.commits.get(parent.decode())
        return ObjectID(new.id.encode()) if new else parent

    def _tree(self, folder: str, id: ObjectID) -> ObjectID | None:
        """Return what a tree becomes, None when nothing is left of it."""
        if (folder, id) in self._known:
            return self._known[folder, id]
        old = self._read(id)
        assert isinstance(old, Tree)
        new = Tree()
        for name, mode, entry in old.iteritems():
            path = f"{folder}{os.fsdecode(name)}"
            if mode == trees.FOLDER:
                found = self._tree(f"{path}/", entry)
            else:
                found = self._file(path, entry) if stat.S_ISREG(mode) else entry
            if found is not None:
                new.add(name, mode, found)
        result = None if len(old) and not len(new) else self._put(new) if new.id != id else id
        self._known[folder, id] = result
        return result

    def _file(self, path: str, id: ObjectID) -> ObjectID | None:
        if (path, id) in self._known:
            return self._known[path, id]
        data = self._read(id).as_raw_string()
        left = erasing.erase(path, data, self._needle)
        if path not in self._plan.files and _has_peoples(path, left, self._needle):
            self._plan.files.add(path)
        if left == data:
            result: ObjectID | None = id
        else:
            result = self._put(Blob.from_string(left)) if left else None
        self._known[path, id] = result
        return result

    def _state_of(self, tree: ObjectID) -> ObjectID | None:
        id: ObjectID | None = tree
        for name in journal.STATE.encode().split(b"/"):
            found = self._read(id) if id else None
            id = found[name][1] if isinstance(found, Tree) and name in found else None
        return id

    def _root(self, state: ObjectID | None) -> bytes:
        if state not in self._roots:
            digests = dict(self._state_files(journal.STATE, state)) if state else {}
            self._roots[state] = journal.state_root(digests)
        return self._roots[state]

    def _state_files(self, folder: str, id: ObjectID) -> Iterator[tuple[str, bytes]]:
        tree = self._read(id)
        assert isinstance(tree, Tree)
        for name, mode, entry in tree.iteritems():
            path = f"{folder}/{os.fsdecode(name)}"
            if mode == trees.FOLDER:
                yield from self._state_files(path, entry)
            elif stat.S_ISREG(mode):
                if entry not in self._digests:
                    self._digests[entry] = hashlib.sha256(self._read(entry).as_raw_string()).digest()
                yield path, self._digests[entry]

    def _read(self, id: ObjectID) -> ShaFile:
        return self._plan.new.get(id) or self._store[id]

    def _put(self, obj: ShaFile) -> ObjectID:
        self._plan.new[obj.id] = obj
        return obj.id


def _has_peoples(path: str, data: bytes, needle: Needle) -> bool:
    """Tell whether a file has the text in a part that is not nrem's."""
    if path.startswith(names.MANAGED + "/"):
        return False
    return needle.is_in(data.decode(errors="replace"))


# Who else has it


def _check_refs(repo: Repo, repository: Repository, plan: Plan) -> None:
    own = f"refs/heads/{repository.branch}".encode()
    others = sorted(ref for ref in repo.refs.allkeys() if ref not in (HEADREF, own))
    remote = [os.fsdecode(ref) for ref in others if ref.startswith(b"refs/remotes/")]
    if remote:
        raise Conflict(
            f"a remote has the history of this workspace ({', '.join(remote)}), and nrem cannot erase there",
            hint="delete the branch on the remote, then `git remote remove` it here, and repeat",
            code="erase_pushed",
            details={"refs": remote},
        )
    held = [os.fsdecode(ref) for ref in others if ref == b"refs/stash" or _reaches(repo, ref, plan)]
    held += [f"worktrees/{folder.name}" for folder in (repository.root / ".git" / "worktrees").glob("*")]
    if held:
        raise Conflict(
            f"other names in the workspace's git hold the old history: {', '.join(held)}",
            hint="delete these branches, tags, stashes or worktrees, then repeat",
            code="erase_held",
            details={"refs": held},
        )


def _reaches(repo: Repo, ref: bytes, plan: Plan) -> bool:
    try:
        found = repo.get_peeled(ref)  # type: ignore[arg-type]
        if not isinstance(repo.object_store[found], Commit):
            return False
        return any(entry.commit.id.decode() in plan.commits for entry in repo.get_walker(include=[found]))
    except KeyError as error:
        raise _incomplete() from error


# Files, index and branch


def _write_files(root: Path, needle: Needle) -> None:
    """Bring nrem's files in the folder to what the new history has of them."""
    files = Files(root, managed=True)
    for path in _walk(root):
        if not erasing.is_own(path):
            continue
        data = files.read(path)
        left = erasing.erase(path, data, needle)
        if left != data:
            if left:
                files.write(path, left)
            else:
                files.remove(path)


def _walk(root: Path) -> Iterator[str]:
    """Yield the plain files of a workspace."""
    for folder, folders, found in os.walk(root):
        if folder == str(root):
            folders.remove(".git")
        for name in found:
            file = Path(folder, name)
            with contextlib.suppress(FileNotFoundError):  # it went just now
                if stat.S_ISREG(file.lstat().st_mode):
                    yield file.relative_to(root).as_posix()


def _holders(root: Path, needle: Needle) -> set[str]:
    found = set()
    for path in _walk(root):
        with contextlib.suppress(FileNotFoundError):
            if _has_peoples(path, (root / path).read_bytes(), needle):
                found.add(path)
    return found


def _move(repo: Repo, repository: Repository, plan: Plan, needle: Needle) -> None:
    """Give the index and the branch their new content, while both of git's locks are held."""
    git, ref_name = repository.root / ".git", f"refs/heads/{repository.branch}"
    with (
        locks.locked(git, "index", mark="index", wait=WAIT) as index,
        locks.locked(git, ref_name, mark="ref", wait=WAIT) as ref,
    ):
        repository.check_place()
        if repository.head() != plan.head:
            raise Conflict("the branch has moved on", hint="repeat", code="head_moved")
        entries, blobs = _edit_index(repo, repository, needle)
        os.write(index.fd, entries.render())
        if blobs:
            objects.write_durably(_store(repo), blobs)
        os.fsync(index.fd)
        moved = plan.commits.get(plan.head or "")
        if moved:
            os.write(ref.fd, moved.id.encode() + b"\n")
            os.fsync(ref.fd)
        index.publish()
        if moved:
            ref.publish()
    objects.sync_folder((git / ref_name).parent)
    objects.sync_folder(git)


def _edit_index(repo: Repo, repository: Repository, needle: Needle) -> tuple[Index, list[Blob]]:
    index = _read_index(repository)
    index.forget_resolved()
    edits: dict[bytes, Entry] = {}
    gone: list[bytes] = []
    blobs: list[Blob] = []
    for name in list(index.names()):
        path, entry = os.fsdecode(name), index.find(name)
        if entry is None or not erasing.is_own(path) or not stat.S_ISREG(entry.mode):
            continue
        data = _store(repo)[ObjectID(entry.blob.hex().encode())].as_raw_string()
        left = erasing.erase(path, data, needle)
        if left and left != data:
            blobs.append(Blob.from_string(left))
            edits[name] = trees.entry_of(repository.root / path, blobs[-1])
        elif left != data:
            gone.append(name)
    index.drop(gone)
    index.put(edits)
    return index, blobs


def _read_index(repository: Repository) -> Index:
    file = repository.root / ".git" / "index"
    index = Index.parse(file.read_bytes()) if file.exists() else Index.empty()
    if any(index.find(name) is None for name in index.names()):
        raise Conflict(
            "a merge conflict is unresolved in the workspace",
            hint="resolve it, `git add` the files, then repeat",
            code="workspace_busy",
        )
    return index


# The old history


def _forget_the_old(git: Path, branch: str) -> None:
    """Remove every other place that names commits: reflogs, and what git keeps from its last commands."""
    shutil.rmtree(git / "logs", ignore_errors=True)
    for name in _LEFT_BY_GIT:
        (git / name).unlink(missing_ok=True)
    packed = git / "packed-refs"
    stale = f" refs/heads/{branch}\n".encode()
    if (git / "refs" / "heads" / branch).is_file() and packed.exists() and stale in packed.read_bytes():
        with locks.locked(git, "packed-refs", mark="packed-refs", wait=WAIT) as lock:
            lines = packed.read_bytes().splitlines(keepends=True)
            os.write(lock.fd, b"".join(line for line in lines if not line.endswith(stale)))
            os.fsync(lock.fd)
            lock.publish()
    objects.sync_folder(git)


def _reachable(repo: Repo, repository: Repository) -> list[ObjectID]:
    """Return every object that a ref or the index leads to."""
    index = _read_index(repository)
    entries = [entry for name in index.names() if (entry := index.find(name))]
    roots = [ObjectID(e.blob.hex().encode()) for e in entries if not trees.is_link(e.mode)]
    roots += [id for id in repo.refs.as_dict().values() if id]
    try:
        return objects.reachable(_store(repo), roots)
    except KeyError as error:
        raise _incomplete() from error


def _store(repo: Repo) -> DiskObjectStore:
    assert isinstance(repo.object_store, DiskObjectStore)
    return repo.object_store


def _incomplete() -> Corrupt:
    return Corrupt(
        "the workspace's repository lacks an object, so its history cannot be written anew",
        hint="run `git fsck` in the workspace",
        code="repository_damaged",
    )
