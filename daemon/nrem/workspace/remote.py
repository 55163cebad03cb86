"""Send a workspace's commits to a repository elsewhere, never over what is there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Set
from pathlib import Path
from urllib.parse import urlsplit

from dulwich.client import (
    GitClient,
    HTTPUnauthorized,
    LocalGitClient,
    SSHGitClient,
    StrangeHostname,
    Urllib3HttpGitClient,
    parse_rsync_url,
)
from dulwich.errors import GitProtocolError, NotGitRepository
from dulwich.graph import can_fast_forward
from dulwich.objects import ObjectID
from dulwich.pack import UnpackedObject
from dulwich.refs import Ref
from dulwich.repo import Repo
from urllib3.exceptions import HTTPError

from nrem.errors import Conflict, Unavailable
from nrem.policy import secrets

SECONDS = 60.0
"""How long an answer of the remote is waited for."""
_LONGEST = 200
# Nobody is there to be asked for a password, and a dead connection must end.
_SSH = "ssh -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15 -o ServerAliveCountMax=4"


class RemoteDiverged(Conflict):
    code = "remote_diverged"

    def __init__(self) -> None:
        super().__init__(
            "the remote has commits that are not here",
            hint="fetch and merge them in the workspace, or choose an empty repository",
        )


def push(root: Path, branch: str, commit: str, url: str, credentials: str | None) -> None:
    """Make a commit, or one after it, the last of a remote's branch.

    Only that branch is sent, and only forward. Raises RemoteDiverged when it cannot, Unavailable when the
    remote does not answer or refuses.
    """
    ref, wanted = Ref(b"refs/heads/" + branch.encode()), ObjectID(commit.encode())
    with Repo(str(root)) as repo:

        def update(known: dict[Ref, ObjectID]) -> dict[Ref, ObjectID]:
            there = known.get(ref)
            if there is None:
                return {ref: wanted}
            if there in repo.object_store:
                if can_fast_forward(repo, wanted, there):
                    return {ref: there}  # it has the commit already, and perhaps more of ours
                if can_fast_forward(repo, there, wanted):
                    return {ref: wanted}
            raise RemoteDiverged

        try:
            client, path = _client(url, credentials)
            result = client.send_pack(os.fsencode(path), update, _Packing(repo))
        except HTTPUnauthorized:
            raise _failed("it refuses the token, or wants one") from None
        except NotGitRepository:
            raise _failed("there is no repository") from None
        except (GitProtocolError, HTTPError, StrangeHostname, OSError, ValueError) as error:
            raise _failed(f"{type(error).__name__}: {error}") from error
    for problem in (result.ref_status or {}).values():
        if problem is not None:
            raise _failed(str(problem))


class _Packing:
    """What dulwich's clients ask for, in the words that its repository takes."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo

    def __call__(
        self,
        have: Set[ObjectID],
        want: Set[ObjectID],
        *,
        ofs_delta: bool = False,
        progress: Callable[[bytes], None] | None = None,
    ) -> tuple[int, Iterator[UnpackedObject]]:
        return self._repo.generate_pack_data(set(have), set(want), ofs_delta=ofs_delta)


def _client(url: str, credentials: str | None) -> tuple[GitClient, str]:
    parsed = urlsplit(url)
    if parsed.scheme in ("http", "https"):
        user, _, token = credentials.rpartition(":") if credentials else ("", "", "")
        return (
            Urllib3HttpGitClient(
                f"{parsed.scheme}://{parsed.netloc}",
                username=(user or "git") if token else None,
                password=token or None,
                timeout=SECONDS,
            ),
            parsed.path,
        )
    if parsed.scheme == "ssh":
        host, path = parsed.hostname or "", parsed.path
        return SSHGitClient(host, parsed.port, parsed.username, ssh_command=_SSH), path
    if parsed.scheme == "file" or url.startswith("/"):
        with Repo(parsed.path) as target:
            if not target.bare:
                raise _failed("it is not a bare repository")
        return LocalGitClient(), parsed.path
    name, host, path = parse_rsync_url(url)
    return SSHGitClient(host, username=name, ssh_command=_SSH), path


def _failed(problem: str) -> Unavailable:
    line = " ".join(problem.split())[:_LONGEST]
    return Unavailable(
        f"the remote cannot be pushed to: {secrets.redact(line, secrets.scan(line))}",
        hint="look at workspace.remote and at the rights there; it is tried again",
        code="push_failed",
    )
