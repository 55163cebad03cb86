"""The repository of one workspace, on dulwich's low level: commits by compare-and-swap, and reading the past.

A commit costs what it changes. Blobs and the trees above them are written, nothing else is looked at; the index is
edited for the same paths, so that `git status` stays empty and a person's next commit keeps ours.
Order: objects and the locked new index and ref are durable, then the index gets its name, then the ref.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dulwich.errors import NotGitRepository, NotTreeError
from dulwich.object_store import DiskObjectStore
from dulwich.objects import Blob, Commit, ObjectID, ShaFile, Tree
from dulwich.objectspec import parse_commit
from dulwich.reflog import format_reflog_line
from dulwich.refs import HEADREF, SYMREF, Ref
from dulwich.repo import Repo

from nrem.errors import Conflict, Corrupt, InputError, NotFound
from nrem.workspace import locks, names, objects
from nrem.workspace.index import Entry, Index, stat_of

BRANCH = "main"
WAIT = 10.0
"""Seconds that a commit waits for a person's git command to end."""

# What a person's own configuration must not change here. Hooks are off because agents write into the workspace.
_SETTINGS = (
    ("core", "autocrlf", "false"),
    ("core", "fsmonitor", "false"),
    ("core", "fsync", "all"),
    ("core", "hooksPath", "/dev/null"),
    ("core", "looseCompression", "1"),
    ("core", "safecrlf", "false"),
    ("core", "splitIndex", "false"),
    ("core", "untrackedCache", "false"),
    ("gc", "auto", "0"),
    ("index", "sparse", "false"),
    ("index", "version", "2"),
    ("maintenance", "auto", "false"),
)
# Above every .gitattributes: what is in git is what is in the file, byte for byte.
_ATTRIBUTES = "* -text -filter -ident -working-tree-encoding\n"
_UNFINISHED = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}
_FOLDER, _FILE, _PROGRAM = 0o040000, 0o100644, 0o100755
_ZERO = b"0" * 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    name: str
    email: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """Who a commit is by, who made it, and when."""

    author: Person
    committer: Person
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What is checked out: a branch, or with none a commit by itself."""

    branch: str | None
    commit: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceCommit:
    id: str
    parents: tuple[str, ...]
    author: str
    committer: str
    at: int
    subject: str
    body: str
    trailers: Mapping[str, str]


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
        Repo.init(root, default_branch=BRANCH.encode()).close()
        objects.sync_folder(root)
        return cls.open(root)

    @classmethod
    def open(cls, root: Path, *, wait: float = WAIT) -> Repository:
        """Open a workspace's repository and see to its settings; nrem commits to the branch found at the first time."""
        if not (root / ".git").is_dir():
            raise NotFound(f"{root.name} has no repository of its own", code="repository_not_found")
        try:
            branch = _configure(root)
            repo = Repo(str(root))
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

    def clear_locks(self, *, now: int) -> tuple[str, ...]:
        """Remove the locks of killed processes and return their names; only for the holder of the daemon's lock."""
        with self._mutex:
            objects.clear_unfinished(self._store)
            return locks.clear_stale(self._git, now=now / 1000)

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

        The files are expected to lie in the workspace already. Raises Conflict when the branch has moved on or
        a person has something else checked out, Unavailable when a person's git command does not end.
        """
        with self._mutex:
            self._check_place()
            if self.head() != parent:
                raise self._moved()
            tree, edits, new = self._build(changes, removed, parent)
            if parent is not None and tree == self._commit(parent).tree:
                return None
            commit = _commit_object(tree, message, signature, parent)
            with self._locked("index", "index") as index, self._locked(f"refs/heads/{self.branch}", "ref") as ref:
                if self.head() != parent:
                    raise self._moved()
                self._check_place()
                os.write(ref.fd, commit.id + b"\n")
                entries = self._index(parent, edits, removed)
                rendered = entries.render()
                _write(index.fd, rendered)
                objects.write_durably(self._store, [*new, commit], (index.fd, ref.fd))
                index.publish()
                self._last_index = (rendered[-20:], entries)
                self._recent = {obj.id: obj for obj in (*new, commit) if not isinstance(obj, Blob)}
                ref.publish()
                self._log(parent, commit, message)
            objects.sync_folder((self._git / "refs/heads" / self.branch).parent)
            objects.sync_folder(self._git)
            return commit.id.decode()

    def pack(self) -> int:
        """Merge small packs and loose objects; return how many files became one. Holds up no commit."""
        with self._packing, Repo(str(self.root)) as repo:
            assert isinstance(repo.object_store, DiskObjectStore)
            return objects.merge_packs(repo.object_store)

    # Reading

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
                return parse_commit(self._repo, name).id.decode()
            except (KeyError, ValueError):
                raise _no_commit(name) from None

    def log(self, start: str | None = None, *, limit: int | None = None) -> list[WorkspaceCommit]:
        """Return commits newest first, from the branch's last one or from `start` on."""
        with self._mutex:
            first = self._commit(start).id if start else (self.head() or "").encode()
            if not first:
                return []
            walker = self._repo.get_walker(include=[ObjectID(first)], max_entries=limit)
            return [_record(entry.commit) for entry in walker]

    def get(self, commit: str) -> WorkspaceCommit:
        """Return one commit; raise NotFound."""
        with self._mutex:
            return _record(self._commit(commit))

    def read(self, commit: str, path: str) -> bytes:
        """Return a file as it was in a commit; raise NotFound."""
        with self._mutex:
            try:
                mode, blob = self._repo[self._commit(commit).tree].lookup_path(self._store.__getitem__, _encode(path))
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
            tree = self._commit(commit).tree
            try:
                if folder:
                    _, tree = self._repo[tree].lookup_path(self._store.__getitem__, _encode(folder))
                    prefix = _encode(folder) + b"/"
                else:
                    prefix = b""
            except (KeyError, NotTreeError):
                return []
            return [
                TreeFile(path=_decode(prefix + entry.path), blob=entry.sha.decode(), mode=entry.mode)
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
                    path=_decode(paths[1] or paths[0] or b""),
                    before=blobs[0].decode() if blobs[0] else None,
                    after=blobs[1].decode() if blobs[1] else None,
                )
                for paths, _, blobs in changes
            ]

    # Inside

    @property
    def _ref(self) -> Ref:
        return Ref(b"refs/heads/" + os.fsencode(self.branch))

    @contextmanager
    def _locked(self, name: str, mark: str) -> Iterator[locks.Lock]:
        with locks.locked(self._git, name, mark=mark, wait=self._wait) as lock:
            yield lock

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

    def _check_place(self) -> None:
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

    def _moved(self) -> Conflict:
        return Conflict(
            f"the branch {self.branch} has a commit that this one was not made for",
            hint="read the new head and repeat",
            code="head_moved",
            details={"head": self.head()},
        )

    def _build(
        self, changes: Mapping[str, bytes], removed: Collection[str], parent: str | None
    ) -> tuple[ObjectID, dict[bytes, Entry], list[ShaFile]]:
        """Return the new root tree, what the index is to know of the files, and the objects to write."""
        wanted: dict[bytes, Any] = {}
        edits: dict[bytes, Entry] = {}
        new: list[ShaFile] = []
        for path, content in changes.items():
            if not names.fits_git(path):
                raise InputError("path: git does not take it", code="path_reserved", field="path")
            blob = Blob.from_string(content)
            edits[_encode(path)] = entry = _entry(self.root / path, blob)
            _place(wanted, path, (entry.mode, blob))
        for path in removed:
            _place(wanted, path, None)
        tree = self._graft(self._commit(parent).tree if parent else None, wanted, new)
        if tree is None:
            new.append(Tree())
            tree = new[-1].id
        return tree, edits, new

    def _graft(self, id: ObjectID | None, wanted: dict[bytes, Any], new: list[ShaFile]) -> ObjectID | None:
        """Return the tree with the changes in it, None for an empty one; note the objects that are new."""
        tree = Tree.from_string(self._object(id).as_raw_string()) if id else Tree()
        for name, change in wanted.items():
            mode, old = tree[name] if name in tree else (0, None)
            if isinstance(change, dict):
                folder = self._graft(old if mode == _FOLDER else None, change, new)
                change = (_FOLDER, folder) if folder else None
            elif change is not None:
                mode_wanted, blob = change
                if blob.id != old:
                    new.append(blob)
                change = (mode_wanted, blob.id)
            if change is not None:
                tree[name] = change
            elif old is not None:
                del tree[name]
        if not len(tree):
            return None
        if tree.id != id:
            new.append(tree)
        return tree.id

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
            index.put({_encode(f.path): Entry(blob=bytes.fromhex(f.blob), mode=f.mode) for f in known})
        index.drop(_encode(path) for path in removed)
        index.put(edits)
        return index

    def _log(self, parent: str | None, commit: Commit, message: str) -> None:
        line = format_reflog_line(
            parent.encode() if parent else _ZERO,
            commit.id,
            commit.committer,
            commit.commit_time,
            commit.commit_timezone,
            b"commit: " + message.splitlines()[0].encode(),
        )
        for name in ("HEAD", f"refs/heads/{self.branch}"):
            log = self._git / "logs" / name
            log.parent.mkdir(parents=True, exist_ok=True)
            with open(log, "ab") as file:
                file.write(line + b"\n")


def _configure(root: Path) -> str:
    """Write the settings that a repository lacks, and return the branch that is nrem's."""
    with Repo(str(root)) as repo:
        config = repo.get_config()
        if repo.object_format.name != "sha1" or config.get_boolean((b"core",), b"bare", False):
            raise ValueError("only a repository with files and SHA-1 ids can be a workspace")
        before = [(section, list(config.items(section))) for section in config.sections()]
        for section, name, value in _SETTINGS:
            config.set((section.encode(),), name.encode(), value.encode())
        try:
            branch = config.get((b"nrem",), b"branch")
        except KeyError:
            value = repo.refs.read_loose_ref(HEADREF) or b""
            branch = value.removeprefix(SYMREF + b"refs/heads/") if value.startswith(SYMREF) else BRANCH.encode()
            config.set((b"nrem",), b"branch", branch)
        if before != [(section, list(config.items(section))) for section in config.sections()]:
            config.write_to_path()
    info = root / ".git" / "info"
    info.mkdir(exist_ok=True)
    if not (info / "attributes").exists():
        (info / "attributes").write_text(_ATTRIBUTES)
    exclude = info / "exclude"
    known = exclude.read_text() if exclude.exists() else ""
    if names.TEMPORARY not in known:
        exclude.write_text(f"{known}{names.TEMPORARY}*\n")
    return os.fsdecode(branch)


def _entry(file: Path, blob: Blob) -> Entry:
    """Return what the index is to know: the file's stat only if the file has this content, so that no edit hides."""
    id = bytes.fromhex(blob.id.decode())
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return Entry(blob=id, mode=_FILE)
    with open(fd, "rb") as opened:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or opened.read() != blob.data:
            return Entry(blob=id, mode=_FILE)
    return Entry(blob=id, mode=_PROGRAM if found.st_mode & stat.S_IXUSR else _FILE, stat=stat_of(found))


def _place(wanted: dict[bytes, Any], path: str, change: tuple[int, Blob] | None) -> None:
    *folders, name = _encode(path).split(b"/")
    for folder in folders:
        below = wanted.setdefault(folder, {})
        if not isinstance(below, dict):
            below = wanted[folder] = {}
        wanted = below
    if change is not None or not isinstance(wanted.get(name), dict):
        wanted[name] = change


def _commit_object(tree: ObjectID, message: str, signature: Signature, parent: str | None) -> Commit:
    commit = Commit()
    commit.tree = tree
    commit.parents = [ObjectID(parent.encode())] if parent else []
    commit.author, commit.committer = _identity(signature.author), _identity(signature.committer)
    commit.author_time = commit.commit_time = signature.at // 1000
    commit.author_timezone = commit.commit_timezone = 0
    commit.encoding = None
    commit.message = message.replace("\0", "").rstrip("\n").encode() + b"\n"
    return commit


def _identity(person: Person) -> bytes:
    name, email = (" ".join(text.translate(_CRUD).split()) for text in (person.name, person.email))
    return f"{name or 'unknown'} <{email}>".encode()


_CRUD = dict.fromkeys(map(ord, "<>\0"))


def _record(commit: Commit) -> WorkspaceCommit:
    subject, _, body = commit.message.decode(errors="replace").strip("\n").partition("\n")
    *_, last = body.strip("\n").split("\n\n")
    pairs = [line.partition(": ") for line in last.splitlines()]
    trailers = {name: value for name, colon, value in pairs if colon and name.startswith("Nrem-")}
    return WorkspaceCommit(
        id=commit.id.decode(),
        parents=tuple(parent.decode() for parent in commit.parents),
        author=commit.author.decode(errors="replace"),
        committer=commit.committer.decode(errors="replace"),
        at=commit.commit_time * 1000,
        subject=subject,
        body=body.strip("\n"),
        trailers=trailers,
    )


def _write(fd: int, data: bytes) -> None:
    with open(fd, "wb", closefd=False) as file:
        file.write(data)


def _encode(path: str) -> bytes:
    return os.fsencode(path)


def _decode(path: bytes) -> str:
    return os.fsdecode(path)


def _no_commit(name: str) -> NotFound:
    return NotFound(f"there is no commit {name[:64]!r} in the workspace", code="commit_not_found", field="commit")
