"""Commits as records, and as git's objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dulwich.objects import Commit, ObjectID
from dulwich.reflog import format_reflog_line

_CRUD = dict.fromkeys(map(ord, "<>\0"))
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
class WorkspaceCommit:
    """A commit as it was found; one without trailers of nrem's is a person's."""

    id: str
    parents: tuple[str, ...]
    author: str
    committer: str
    at: int
    subject: str
    body: str
    trailers: Mapping[str, str]


def make(tree: ObjectID, message: str, signature: Signature, parent: str | None) -> Commit:
    """Return the object of a new commit."""
    commit = Commit()
    commit.tree = tree
    commit.parents = [ObjectID(parent.encode())] if parent else []
    commit.author, commit.committer = _identity(signature.author), _identity(signature.committer)
    commit.author_time = commit.commit_time = signature.at // 1000
    commit.author_timezone = commit.commit_timezone = 0
    commit.encoding = None
    commit.message = message.replace("\0", "").strip("\n").encode() + b"\n"
    return commit


def record(commit: Commit) -> WorkspaceCommit:
    """Return what an object of git's says, with the trailers of nrem's parsed."""
    subject, _, rest = commit.message.decode(errors="replace").strip("\n").partition("\n")
    body = rest.strip("\n")
    pairs = [line.partition(": ") for line in body.split("\n\n")[-1].splitlines()]
    return WorkspaceCommit(
        id=commit.id.decode(),
        parents=tuple(parent.decode() for parent in commit.parents),
        author=commit.author.decode(errors="replace"),
        committer=commit.committer.decode(errors="replace"),
        at=commit.commit_time * 1000,
        subject=subject,
        body=body,
        trailers={name: value for name, colon, value in pairs if colon and name.startswith("Nrem-")},
    )


def reflog_line(commit: Commit) -> bytes:
    """Return what the reflog is to say about a new commit."""
    before = commit.parents[0] if commit.parents else _ZERO
    subject = commit.message.partition(b"\n")[0]
    time, zone = commit.commit_time, commit.commit_timezone
    return format_reflog_line(before, commit.id, commit.committer, time, zone, b"commit: " + subject) + b"\n"


def _identity(person: Person) -> bytes:
    name, email = (" ".join(text.translate(_CRUD).split()) for text in (person.name, person.email))
    return f"{name or 'unknown'} <{email}>".encode()
