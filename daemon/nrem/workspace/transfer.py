"""Brings a workspace from elsewhere: a folder, a bare repository, a bundle, or a server that speaks git.

Only objects are taken: no configuration, hook or link of the other repository ever reaches the disk here.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from pathlib import Path

from dulwich.client import (
    GitClient,
    HTTPProxyUnauthorized,
    HTTPUnauthorized,
    InvalidWants,
    LocalGitClient,
    StrangeHostname,
    TransportNotAllowed,
    get_transport_and_path,
)
from dulwich.errors import GitProtocolError, NotGitRepository
from dulwich.objects import ObjectID
from dulwich.refs import HEADREF, Ref
from dulwich.repo import Repo
from urllib3.exceptions import HTTPError

from nrem.errors import InvalidField, NotFound, NremError, Unavailable
from nrem.workspace import fsck, objects, settings, trees
from nrem.workspace.files import Files
from nrem.workspace.index import Entry, Index, stat_of
from nrem.workspace.repository import Repository

_HEADS = b"refs/heads/"
_LINE = 4096
_URL = re.compile(r"(https|ssh)://[^/]+/.+|[\w.-]+@[\w.-]+:[^:]+")
_PROBLEMS = (
    GitProtocolError,
    HTTPError,
    HTTPProxyUnauthorized,
    HTTPUnauthorized,
    NotGitRepository,
    InvalidWants,
    StrangeHostname,
    TransportNotAllowed,
    *fsck.UNREADABLE,
)
_SSH = "ssh -oBatchMode=yes"
"""Asks nobody: there is no terminal behind the daemon."""


def fetch(source: str, root: Path) -> Repository:
    """Make an empty folder a repository with the branch of another one; its files are not there yet.

    Of a workspace that is nrem's own branch, of another repository the one that is checked out.
    """
    path = _local(source)
    try:
        with Repo.init(root, default_branch=settings.BRANCH.encode()) as repo:
            if path is not None and path.is_file():
                branch, head = _choose(_unbundle(path, repo), {}, None)
            else:
                client, place = _beside(path) if path is not None else _far(source)
                fetched = client.fetch(place, repo)
                branch, head = _choose(fetched.refs, fetched.symrefs, _own_branch(path))
            repo.refs[Ref(_HEADS + branch)] = head
            repo.refs.set_symbolic_ref(HEADREF, Ref(_HEADS + branch))
    except _PROBLEMS as error:  # what they say may repeat a password of the URL
        raise Unavailable(
            f"the repository cannot be fetched ({type(error).__name__})",
            hint="check that git clone can read it, without asking for a password",
            code="fetch_failed",
        ) from None
    return Repository.open(root)


def check_out(repository: Repository) -> tuple[str, ...]:
    """Write the files of the branch into its folder, durably; return the paths that are left out."""
    head = repository.head()
    assert head is not None
    files, left_out, entries = Files(repository.root, managed=True), [], {}
    for file in repository.files(head):
        entry = Entry(blob=bytes.fromhex(file.blob), mode=file.mode)
        try:
            if not stat.S_ISREG(file.mode):
                raise InvalidField("path", "is no plain file")
            files.write(file.path, repository.read(head, file.path))
            place = repository.root / file.path
            if file.mode == trees.PROGRAM:
                place.chmod(0o700)
            entry = Entry(blob=entry.blob, mode=file.mode, stat=stat_of(place.lstat()))
        except NremError:
            left_out.append(file.path)
        entries[os.fsencode(file.path)] = entry
    index = Index.empty()
    index.put(entries)
    (repository.root / ".git" / "index").write_bytes(index.render())
    _sync(repository.root / ".git")
    return tuple(left_out)


def _local(source: str) -> Path | None:
    """Return the path that a source is, None when it is a URL; raise for anything else."""
    if source.startswith("/"):
        if not Path(source).exists():
            raise NotFound("source: there is nothing at this path", code="source_not_found", field="source")
        return Path(source)
    if not _URL.fullmatch(source):
        raise InvalidField(
            "source", "is neither a whole path nor an https or ssh URL", hint="https://host/ana.git"
        )
    return None


def _beside(path: Path) -> tuple[GitClient, str]:
    return LocalGitClient(), str(path)


def _far(source: str) -> tuple[GitClient, str]:
    return get_transport_and_path(source, ssh_command=_SSH)


def _unbundle(path: Path, repo: Repo) -> dict[Ref, ObjectID | None]:
    """Store the pack of a bundle, and return its refs. (dulwich's own client fails on a pack with deltas.)"""
    refs: dict[Ref, ObjectID | None] = {}
    with path.open("rb") as bundle:
        if bundle.readline(_LINE) not in (b"# v2 git bundle\n", b"# v3 git bundle\n"):
            raise ValueError("no bundle")
        while (line := bundle.readline(_LINE)) != b"\n":
            if line.startswith(b"-") or not line.endswith(b"\n"):
                raise ValueError("a bundle that is only a part")
            if not line.startswith(b"@"):
                id, _, name = line.rstrip(b"\n").partition(b" ")
                refs[Ref(name)] = ObjectID(id)
        pack, commit, abort = repo.object_store.add_pack()
        try:
            shutil.copyfileobj(bundle, pack)
        except BaseException:
            abort()
            raise
        commit()
    return refs


def _own_branch(path: Path | None) -> bytes | None:
    """Return the branch that is nrem's in a repository on this machine."""
    if path is None:
        return None
    with Repo(str(path)) as repo:
        try:
            return repo.get_config().get((b"nrem",), b"branch")
        except KeyError:
            return None


def _choose(
    refs: dict[Ref, ObjectID | None], symrefs: dict[Ref, Ref], own: bytes | None
) -> tuple[bytes, ObjectID]:
    """Return the branch to take, and its last commit."""
    head = symrefs.get(HEADREF)
    branches = {ref.removeprefix(_HEADS): id for ref, id in refs.items() if ref.startswith(_HEADS) and id}
    wanted = [own, head.removeprefix(_HEADS) if head else None, settings.BRANCH.encode()]
    same = [name for name, id in branches.items() if id == refs.get(HEADREF)]
    for name in (*wanted, *same, *(branches if len(branches) == 1 else ())):
        if name is not None and name in branches:
            return name, branches[name]
    raise NotFound("source: it has no branch to take", code="source_not_found", field="source")


def _sync(git: Path) -> None:
    """Make everything in a new repository durable."""
    for folder, _, names in os.walk(git, topdown=False):
        for name in names:
            with open(Path(folder, name), "rb") as file:
                os.fsync(file.fileno())
        objects.sync_folder(Path(folder))
