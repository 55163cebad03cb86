"""Reading the past, and what people have changed since."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

import pytest
from dulwich.objects import Commit, ObjectID
from dulwich.repo import Repo

from nrem.errors import InputError, NotFound
from nrem.workspace import commits
from nrem.workspace.repository import Difference, Repository
from nrem.workspace.status import Status
from workspace.workshop import SIGNATURE, git, publish


def test_the_log_is_newest_first_with_trailers(repository: Repository, root: Path) -> None:
    first = publish(repository, {"a.md": b"1"}, message="dream: +1\n\nNrem-Cause: dream\nNrem-Events: 1-4\n")
    (root / "a.md").write_text("2")
    git(root, "commit", "-qam", "by hand\n\nWhy: because\n\nNot a trailer: of ours")
    publish(repository, {"a.md": b"3"}, message="checkpoint: x")
    log = repository.log()
    assert [commit.subject for commit in log] == ["checkpoint: x", "by hand", "dream: +1"]
    assert [dict(commit.trailers) for commit in log] == [
        {},
        {},
        {"Nrem-Cause": "dream", "Nrem-Events": "1-4"},
    ]
    assert log[2].id == first
    assert log[1].author == "Luis <luis@example.org>"
    assert [commit.subject for commit in repository.log(limit=1)] == ["checkpoint: x"]
    assert [commit.subject for commit in repository.log(log[1].id)] == ["by hand", "dream: +1"]
    assert repository.get(log[1].id) == log[1]


def test_a_repository_without_commits_has_no_log(repository: Repository) -> None:
    assert repository.log() == []
    assert repository.head() is None
    assert repository.status() == Status()


def test_files_are_read_as_they_were(repository: Repository) -> None:
    first = publish(repository, {"a.md": b"1", "notes/b.md": b"1"}) or ""
    second = publish(repository, {"a.md": b"2"}, ("notes/b.md",)) or ""
    assert [repository.read(commit, "a.md") for commit in (first, second)] == [b"1", b"2"]
    assert [file.path for file in repository.files(first)] == ["a.md", "notes/b.md"]
    assert [file.path for file in repository.files(first, "notes")] == ["notes/b.md"]
    assert repository.files(second, "notes") == []
    for path in ("notes/b.md", "notes", "a.md/x", "none"):
        with pytest.raises(NotFound) as caught:
            repository.read(second, path)
        assert caught.value.field == "path"


def test_a_difference_names_the_paths(repository: Repository) -> None:
    first = publish(repository, {"a.md": b"1", "b.md": b"1", "notes/c.md": b"1"}) or ""
    second = publish(repository, {"a.md": b"2", "d.md": b"1"}, ("b.md",)) or ""
    found = {
        change.path: (bool(change.before), bool(change.after)) for change in repository.diff(first, second)
    }
    assert found == {"a.md": (True, True), "b.md": (True, False), "d.md": (False, True)}
    assert {change.path for change in repository.diff(None, first)} == {"a.md", "b.md", "notes/c.md"}
    assert repository.diff(first, first) == []
    assert isinstance(repository.diff(first, second)[0], Difference)


def test_a_commit_has_many_names(repository: Repository, root: Path) -> None:
    made = publish(repository, {"a.md": b"1"}) or ""
    git(root, "tag", "good")
    assert {repository.resolve(name) for name in (made, made[:10], "main", "good", "HEAD")} == {made}
    for name in ("f" * 40, "none", "", "../x", repository.files(made)[0].blob):
        with pytest.raises(NotFound):
            repository.resolve(name)
        with pytest.raises(NotFound):
            repository.get(name)


def test_the_beginning_of_two_commits_is_refused(repository: Repository, root: Path) -> None:
    tree = git(root, "hash-object", "-t", "tree", "-w", os.devnull).strip()
    seen: dict[bytes, Commit] = {}
    for number in count():
        made = commits.make(ObjectID(tree.encode()), f"{number}", SIGNATURE, None)
        other = seen.setdefault(made.id[:4], made)
        if other is not made:
            break
    with Repo(str(root)) as repo:
        repo.object_store.add_objects([(made, None), (other, None)])
    with pytest.raises(InputError) as caught:
        repository.resolve(made.id[:4].decode())
    assert caught.value.field == "commit"


def test_only_commits_of_the_branch_are_found(repository: Repository, root: Path) -> None:
    first = publish(repository, {"a.md": b"1"}) or ""
    second = publish(repository, {"a.md": b"2"}) or ""
    assert [repository.find(name) for name in (first, first[:8], "main", second)] == [
        first,
        first,
        second,
        second,
    ]
    git(root, "commit", "--allow-empty", "-qm", "aside")
    aside = git(root, "rev-parse", "HEAD").strip()
    assert repository.find(aside) == aside
    git(root, "reset", "-q", "--hard", second)
    for name in (aside, aside[:8], "f" * 40):
        with pytest.raises(NotFound):
            repository.find(name)


def test_the_status_is_what_git_says(repository: Repository, root: Path) -> None:
    publish(
        repository, {"a.md": b"1", "b.md": b"1", "run": b"1", "notes/c.md": b"1", ".nrem/format.json": b"{}"}
    )
    assert repository.status() == Status()
    (root / ".gitignore").write_text("*.log\nbuild/\n!keep.log\n")
    (root / "x.log").write_text("ignored")
    (root / "keep.log").write_text("not ignored")
    (root / "build").mkdir()
    (root / "build" / "out").write_text("ignored")
    (root / "a.md").write_text("2")
    (root / "b.md").unlink()
    (root / "run").chmod(0o755)
    (root / "notes" / "new.md").write_text("new")
    (root / ".nrem" / "format.json").write_text("changed, and not people's")
    assert repository.status() == Status(
        untracked=(".gitignore", "keep.log", "notes/new.md"), modified=("a.md", "run"), deleted=("b.md",)
    )
    said = git(root, "status", "--porcelain", "-uall").splitlines()
    assert sorted(line[3:] for line in said) == sorted(
        [".gitignore", "keep.log", "notes/new.md", "a.md", "run", "b.md", ".nrem/format.json"]
    )


def test_a_file_of_the_same_size_and_moment_is_looked_into(repository: Repository, root: Path) -> None:
    publish(repository, {"a.md": b"1"})
    known = (root / "a.md").stat()
    with open(root / "a.md", "r+b") as file:
        file.write(b"2")
    os.utime(root / "a.md", ns=(known.st_atime_ns, known.st_mtime_ns))
    assert repository.status().modified == ("a.md",)


def test_what_cannot_be_committed_is_named(repository: Repository, root: Path) -> None:
    publish(repository, {"a.md": b"1"})
    (root / "link").symlink_to("a.md")
    (root / "back\\slash").write_text("x")
    (root / "notes" / ".GIT").mkdir(parents=True)
    (root / "notes" / ".GIT" / "config").write_text("x")
    assert repository.status().irregular == ("back\\slash", "link", "notes/.GIT/config")
    assert repository.status().untracked == ()


def test_a_link_that_a_person_committed_is_no_change(repository: Repository, root: Path) -> None:
    publish(repository, {"a.md": b"1"})
    (root / "link").symlink_to("a.md")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "by hand")
    assert repository.status() == Status()
    (root / "link").unlink()
    (root / "link").symlink_to("/etc")
    assert repository.status().irregular == ("link",)


def test_an_ignored_file_that_is_in_git_counts(repository: Repository, root: Path) -> None:
    publish(repository, {"build/a.log": b"1", ".gitignore": b"build/\n"})
    (root / "build" / "a.log").write_text("22")
    (root / "build" / "b.log").write_text("new")
    assert repository.status() == Status(modified=("build/a.log",))
