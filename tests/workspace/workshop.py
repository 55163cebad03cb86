"""What the tests of workspaces share: real git, and a repository with a shorthand for commits."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from builders import NOON
from nrem.workspace.commits import Person, Signature
from nrem.workspace.files import Files
from nrem.workspace.repository import Repository

SIGNATURE = Signature(
    author=Person(name="ana", email="ana@example.org"),
    committer=Person(name="nrem", email="nrem@example.org"),
    at=NOON,
)
PERSON = ("-c", "user.name=Luis", "-c", "user.email=luis@example.org")


def git(root: Path, *words: str, fails: bool = False) -> str:
    """Run git as a person would, and return what it says."""
    done = subprocess.run(["git", *PERSON, *words], cwd=root, capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == fails, done.stderr
    return done.stdout + done.stderr if fails else done.stdout


def check_clean(root: Path) -> None:
    """git finds nothing wrong with the objects, and nothing to commit."""
    assert git(root, "status", "--porcelain") == ""
    done = subprocess.run(
        ["git", "fsck", "--full", "--strict", "--no-dangling"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


def publish(
    repository: Repository, changes: Mapping[str, bytes], removed: tuple[str, ...] = (), message: str = "x"
) -> str | None:
    """Write files and commit them on top of what is there."""
    files = Files(repository.root, managed=True)
    for path in removed:
        if (repository.root / path).is_file():
            files.remove(path)
    for path, content in changes.items():
        files.write(path, content)
    return repository.commit(changes, removed, message=message, signature=SIGNATURE, parent=repository.head())
