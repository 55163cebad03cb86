"""The repository of one workspace, on dulwich's low level: commits by compare-and-swap, and reading the past.

A commit costs what it changes. Blobs and the trees above them are written, nothing else is looked at; the
index is edited for the same paths, so that `git status` stays empty and a person's next commit keeps ours.
Order: objects and the locked new index and ref are durable, then the index gets its name, then the ref.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dulwich.errors import NotGitRepository, NotTreeError
from dulwich.file import FileLocked
from dulwich.object_store import DiskObjectStore, tree_lookup_path
from dulwich.objects import Blob, Commit, ObjectID, ShaFile, Tree
from dulwich.objectspec import AmbiguousShortId, parse_commit
from dulwich.refs import HEADREF, SYMREF, Ref
from dulwich.repo import Repo

from nrem.errors import Conflict, Corrupt, InvalidField, NotFound, Unavailable
from nrem.workspace import commits, fsck, locks, names, objects, settings, trees
from nrem.workspace.commits import Signature, WorkspaceCommit
from nrem.workspace.index import Entry, Index, look_of
from nrem.workspace.status import Known, Status, compare

WAIT = 10.0
"""Seconds that a commit waits for a person's git command to end."""

_COMMIT = re.compile(r"\w[\w.-]*(/[\w.-]+)*")
_UNFINISHED = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What is checked out: a branch, or with none a commit by itself."""

    branch: str | None
    commit: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeFile:
    path: str
    blob: str
    mode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A path whose content or mode differs; None on the side that lacks it."""

    path: str
    before: str | None
    after: str | None


class Repository:
    """One workspace's repository. Its methods may be called from any thread, one at a time takes effect."""

    def __init__(self, root: Path, repo: Repo, *, branch: str, wait: float) -> None:
        self.root = root
        self.branch = branch
        self._git = root / ".git"
        self._repo = repo
        self._wait = wait
        self._mutex = threading.RLock()
        self._packing = threading.Lock()
        self._last_index = (b"", Index.empty())
        self._recent: dict[ObjectID, ShaFile] = {}
        store = repo.object_store
        assert isinstance(store, DiskObjectStore)
        self._store = store

    @classmethod
    def create(cls, root: Path) -> Repository:
        """Make a folder a repository without commits, on the branch `main`."""
        if (root / ".git").exists():
            raise Conflict(f"{root.name} is a repository already", code="repository_exists")
        Repo.init(root, default_branch=settings.BRANCH.encode()).close()
        objects.sync_folder(root)
        return cls.open(root)

    @classmethod
    def open(cls, root: Path, *, wait: float = WAIT) -> Repository:
        """Open a workspace's repository, and see to its settings."""
        if not (root / ".git").is_dir():
            raise NotFound(f"{root.name} has no repository of its own", code="repository_not_found")
        try:
            branch = settings.configure(root)
            repo = Repo(str(root))
        except FileLocked:
            raise Unavailable(
                f"another process changes the settings of {root.name}",
                hint="repeat; if no git command runs there, remove .git/config.lock",
                code="repository_locked",
            ) from None
        except (NotGitRepository, ValueError, OSError) as error:
            raise Corrupt(
                f"the repository of {root.name} cannot be opened: {type(error).__name__}",
                hint="run `git fsck` in the workspace",
                code="repository_damaged",
            ) from error
        return cls(root, repo, branch=branch, wait=wait)

    def close(self) -> None:
        self._repo.close()

    def __enter__(self) -> Repository:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Writing

    @staticmethod
    def clear_locks(root: Path, *, now: int, booted: int | None = None) -> tuple[str, ...]:
        """Remove what killed processes left, and return the names of their locks.

        `booted` is when the machine was started, if that is known. Only for the holder of the daemon's lock,
        before it opens the repository.
        """
        objects.clear_unfinished(root / ".git" / "objects" / "pack")
        return locks.clear_stale(
            root / ".git", now=now / 1000, booted=None if booted is None else booted / 1000
        )

    def commit(
        self,
        changes: Mapping[str, bytes],
        removed: Collection[str] = (),
        *,
        message: str,
        signature: Signature,
        parent: str | None,
    ) -> str | None:
        """Commit files on top of `parent`, which must be the branch's last commit; None when nothing changes.

        The files lie in the workspace already; they are not touched. Raises Conflict when the branch has
        moved on or something else is checked out, Unavailable when a person's git command does not end.
        """
        with self._mutex, _disk_full():
            self.check_place()
            if self.head() != parent:
                raise self._moved()
            base = self._commit(parent).tree if parent else None
            built = trees.build(self._object, base, self.root, changes, removed)
            if built.root == base or (base is None and not changes):
                return None
            commit = commits.make(built.root, message, signature, parent)
            self._publish(commit, built, removed, parent)
            return commit.id.decode()

    def _publish(
        self, commit: Commit, built: trees.Built, removed: Collection[str], parent: str | None
    ) -> None:
        """Make a commit the branch's last: both locks are held, so that nothing can come between."""
        ref_name = f"refs/heads/{self.branch}"
        with (
            locks.locked(self._git, "index", mark="index", wait=self._wait) as index,
            locks.locked(self._git, ref_name, mark="ref", wait=self._wait) as ref,
        ):
            if self.head() != parent:
                raise self._moved()
            self.check_place()
            entries = self._index(parent, built.entries, removed)
            rendered = entries.render()
            _write(index.fd, rendered)
            _write(ref.fd, commit.id + b"\n")
            objects.write_durably(self._store, [*built.new, commit], (index.fd, ref.fd))
            index.publish()
            ref.publish()
            self._last_index = (rendered[-20:], entries)
            self._recent = {obj.id: obj for obj in (*built.new, commit) if not isinstance(obj, Blob)}
            self._log(commit)
        objects.sync_folder((self._git / ref_name).parent)
        objects.sync_folder(self._git)

    def check_place(self) -> None:
        """Raise Conflict when a commit of ours would land in the middle of a person's work."""
        for file, doing in _UNFINISHED.items():
            if (self._git / file).exists():
                raise Conflict(
                    f"a {doing} is under way in the workspace",
                    hint=f"finish it, or run `git {doing} --abort`; nrem publishes after that",
                    code="workspace_busy",
                )
        found = self.checked_out()
        if found.branch == self.branch:
            return
        where = f"branch {found.branch}" if found.branch else f"commit {(found.commit or '')[:10]} by itself"
        raise Conflict(
            f"the workspace has {where} checked out, and nrem commits to {self.branch}",
            hint=f"run `git switch {self.branch}` in the workspace",
            code="other_branch" if found.branch else "detached_head",
            details={"branch": found.branch, "expected": self.branch},
        )

    def pack(self) -> int:
        """Merge small packs and loose objects; return how many files became one. Holds up no commit."""
        with self._packing, Repo(str(self.root)) as repo:
            assert isinstance(repo.object_store, DiskObjectStore)
            return objects.merge_packs(repo.object_store)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep this process's commits away, and the merging of packs."""
        with self._mutex, self._packing:
            yield

    # Reading

    def check(self, head: str | None) -> list[str]:
        """Return what is wrong with the packs and with every object that a commit needs."""
        with self._packing:
            return list(fsck.check(self.root, head))

    def head(self) -> str | None:
        """Return the last commit of nrem's branch."""
        value = self._repo.refs.read_ref(self._ref)
        return value.decode() if value else None

    def checked_out(self) -> Head:
        """Return what a person has checked out: normally nrem's branch."""
        value = self._repo.refs.read_loose_ref(HEADREF) or b""
        if not value.startswith(SYMREF):
            return Head(branch=None, commit=value.decode() or None)
        ref = Ref(value.removeprefix(SYMREF))
        commit = self._repo.refs.read_ref(ref)
        branch = os.fsdecode(ref.removeprefix(b"refs/heads/"))
        return Head(branch=branch, commit=commit.decode() if commit else None)

    def resolve(self, name: str) -> str:
        """Return the whole id of a commit named by an id, the beginning of one, a branch or a tag."""
        with self._mutex:
            try:
                if not _COMMIT.fullmatch(name):
                    raise KeyError(name)
                return parse_commit(self._repo, name).id.decode()
            except AmbiguousShortId:
                raise InvalidField(
                    "commit", "is the beginning of several commits", hint="give more of it"
                ) from None
            except (KeyError, ValueError):
                raise _no_commit(name) from None

    def find(self, name: str) -> str:
        """Return the whole id of a commit of the branch's own history, named as for resolve()."""
        with self._mutex:
            id = self.resolve(name)
            head = (self.head() or "").encode()
            walker = self._repo.get_walker(include=[ObjectID(head)]) if head else ()
            if not any(entry.commit.id == id.encode() for entry in walker):
                raise _no_commit(name)
            return id

    def log(
        self, start: str | None = None, *, limit: int | None = None, known: str | None = None
    ) -> list[WorkspaceCommit]:
        """Return commits newest first, from the branch's last one or from `start` on.

        Given a `known` commit, that one and what came before it is left out.
        """
        with self._mutex:
            first = self._commit(start).id if start else (self.head() or "").encode()
            if not first:
                return []
            exclude = [self._commit(known).id] if known else None
            walker = self._repo.get_walker(include=[ObjectID(first)], exclude=exclude, max_entries=limit)
            return [commits.record(entry.commit) for entry in walker]

    def get(self, commit: str) -> WorkspaceCommit:
        """Return one commit; raise NotFound."""
        with self._mutex:
            return commits.record(self._commit(commit))

    def read(self, commit: str, path: str) -> bytes:
        """Return a file as it was in a commit; raise NotFound."""
        with self._mutex:
            try:
                mode, blob = self._find(commit, path)
                if not stat.S_ISREG(mode):
                    raise KeyError(path)
            except (KeyError, NotTreeError):
                raise NotFound(
                    f"path: {path} is not a file of commit {commit[:10]}", code="path_not_found", field="path"
                ) from None
            return self._store[blob].as_raw_string()

    def files(self, commit: str, folder: str = "") -> list[TreeFile]:
        """Return every file of a commit below a folder, in git's order."""
        with self._mutex:
            prefix = os.fsencode(f"{folder}/") if folder else b""
            try:
                tree = self._find(commit, folder)[1] if folder else self._commit(commit).tree
            except (KeyError, NotTreeError):
                return []
            return [
                TreeFile(path=os.fsdecode(prefix + entry.path), blob=entry.sha.decode(), mode=entry.mode)
                for entry in self._store.iter_tree_contents(tree)
                if entry.path and entry.sha and entry.mode
            ]

    def diff(self, before: str | None, after: str) -> list[Difference]:
        """Return the paths in which two commits differ; None stands for an empty workspace."""
        with self._mutex:
            old = self._commit(before).tree if before else None
            changes = self._store.tree_changes(old, self._commit(after).tree)
            return [
                Difference(
                    path=os.fsdecode(paths[1] or paths[0] or b""),
                    before=blobs[0].decode() if blobs[0] else None,
                    after=blobs[1].decode() if blobs[1] else None,
                )
                for paths, _, blobs in changes
            ]

    def status(self) -> Status:
        """Return what people and agents changed in their own files since nrem's last commit."""
        with self._mutex:
            head = self.head()
            tree = self._object(self._commit(head).tree) if head else Tree()
            assert isinstance(tree, Tree)
            known: dict[str, Known] = {}
            for name, mode, id in tree.iteritems():
                if mode == trees.FOLDER and name != names.MANAGED.encode():
                    inside = self._store.iter_tree_contents(id)
                    known |= {
                        os.fsdecode(name + b"/" + entry.path): Known(blob=entry.sha.decode(), mode=entry.mode)
                        for entry in inside
                        if entry.path and entry.sha and entry.mode
                    }
                elif mode != trees.FOLDER:
                    known[os.fsdecode(name)] = Known(blob=id.decode(), mode=mode)
            try:
                with open(self._git / "index", "rb") as file:
                    index, written = Index.parse(file.read()), os.fstat(file.fileno()).st_mtime_ns
            except FileNotFoundError:
                index, written = Index.empty(), 0
            return compare(self.root, known, index, written)

    def touched(self, folder: str) -> list[str]:
        """Return the files of a folder in the index that look different on the disk, or are gone."""
        with self._mutex:
            inside = self._read_index().looks(os.fsencode(f"{folder}/"))
            root = os.fsencode(self.root) + b"/"
            return [os.fsdecode(name) for name, look in inside if look_of(root + name) != look]

    # Inside

    @property
    def _ref(self) -> Ref:
        return Ref(b"refs/heads/" + os.fsencode(self.branch))

    def _find(self, commit: str, path: str) -> tuple[int, ObjectID]:
        return tree_lookup_path(self._store.__getitem__, self._commit(commit).tree, os.fsencode(path))

    def _object(self, id: ObjectID) -> ShaFile:
        """Return an object; those of the last commit are at hand, for the next is made from them."""
        return self._recent.get(id) or self._store[id]

    def _commit(self, id: str) -> Commit:
        try:
            found = self._object(ObjectID(id.encode()))
        except (KeyError, ValueError, AssertionError):
            raise _no_commit(id) from None
        if not isinstance(found, Commit):
            raise _no_commit(id)
        return found

    def _moved(self) -> Conflict:
        return Conflict(
            f"the branch {self.branch} has a commit that this one was not made for",
            hint="read the new head and repeat",
            code="head_moved",
            details={"head": self.head()},
        )

    def _read_index(self) -> Index:
        """Return the index as it is on the disk; the one of our last commit is not parsed again."""
        checksum, index = self._last_index
        try:
            with open(self._git / "index", "rb") as file:
                file.seek(-20, os.SEEK_END)
                if file.read() == checksum:
                    return index
                file.seek(0)
                return Index.parse(file.read())
        except FileNotFoundError:
            return Index.empty()

    def _index(self, parent: str | None, edits: Mapping[bytes, Entry], removed: Collection[str]) -> Index:
        """Return the index with the edits in it; the one of our last commit is not parsed again."""
        checksum, index = self._last_index
        self._last_index = (b"", Index.empty())
        try:
            with open(self._git / "index", "rb") as file:
                file.seek(-20, os.SEEK_END)
                if file.read() != checksum:
                    file.seek(0)
                    index = Index.parse(file.read())
        except FileNotFoundError:
            index = Index.empty()
            known = self.files(parent) if parent else []
            index.put({os.fsencode(f.path): Entry(blob=bytes.fromhex(f.blob), mode=f.mode) for f in known})
        index.drop(os.fsencode(path) for path in removed)
        index.put(edits)
        return index

    def _log(self, commit: Commit) -> None:
        for name in ("HEAD", f"refs/heads/{self.branch}"):
            log = self._git / "logs" / name
            log.parent.mkdir(parents=True, exist_ok=True)
            with open(log, "ab") as file:
                file.write(commits.reflog_line(commit))


def _write(fd: int, data: bytes) -> None:
    with open(fd, "wb", closefd=False) as file:
        file.write(data)


@contextmanager
def _disk_full() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise Unavailable("the disk is full", hint="make room and repeat", code="disk_full") from error


def _no_commit(name: str) -> NotFound:
    return NotFound(
        f"there is no commit {name[:64]!r} in the workspace", code="commit_not_found", field="commit"
    )
