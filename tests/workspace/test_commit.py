"""Commits: what git makes of them, what they leave alone, and what they refuse."""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nrem.errors import Conflict, Corrupt, Denied, NotFound, Unavailable
from nrem.workspace.index import Index
from nrem.workspace.repository import Head, Repository
from workspace.workshop import SIGNATURE, check_clean, git, publish


def test_a_commit_is_what_git_says_it_is(repository: Repository, root: Path) -> None:
    made = publish(repository, {"MEMORY.md": b"# Memory\n", ".nrem/state/000/00000.jsonl": b"{}\n"})
    assert git(root, "rev-parse", "HEAD").strip() == made == repository.head()
    assert git(root, "show", "HEAD:.nrem/state/000/00000.jsonl") == "{}\n"
    assert git(root, "log", "-1", "--format=%an <%ae> %cn %at %s").strip() == (
        "ana <ana@example.org> nrem 1780315200 x"
    )
    assert git(root, "reflog", "--format=%gs").strip() == "commit: x"
    check_clean(root)


def test_nothing_changed_is_no_commit(repository: Repository) -> None:
    first = publish(repository, {"a.md": b"one"})
    assert publish(repository, {"a.md": b"one"}) is None
    assert publish(repository, {}, ("b.md",)) is None
    assert repository.head() == first


def test_files_come_and_go(repository: Repository, root: Path) -> None:
    publish(repository, {"notes/a/b.md": b"1", "notes/c.md": b"2", "d.md": b"3"})
    publish(repository, {"notes/c.md": b"two"}, ("notes/a/b.md", "d.md"))
    assert git(root, "ls-tree", "-r", "--name-only", "HEAD").split() == ["notes/c.md"]
    check_clean(root)
    publish(repository, {}, ("notes/c.md",))
    assert git(root, "ls-tree", "-r", "--name-only", "HEAD") == ""
    check_clean(root)


def test_a_file_becomes_a_folder_and_the_other_way_round(repository: Repository, root: Path) -> None:
    publish(repository, {"x": b"file"})
    (root / "x").unlink()
    publish(repository, {"x/inside": b"folder"}, ("x",))
    check_clean(root)
    (root / "x" / "inside").unlink()
    (root / "x").rmdir()
    publish(repository, {"x": b"file again"}, ("x/inside",))
    assert git(root, "ls-files").split() == ["x"]
    check_clean(root)


def test_a_program_stays_one(repository: Repository, root: Path) -> None:
    publish(repository, {"run": b"#!/bin/sh\n"})
    (root / "run").chmod(0o755)
    publish(repository, {"run": b"#!/bin/sh\n"})
    assert git(root, "ls-tree", "HEAD").startswith("100755")
    check_clean(root)


@pytest.mark.parametrize("name", [".git/hooks/x", ".GIT/config", "a/.git", "git~1/x", ".g\u200cit/x", "a\\b"])
def test_a_name_that_git_refuses_is_refused(repository: Repository, name: str) -> None:
    with pytest.raises(Denied):
        repository.commit({name: b""}, message="x", signature=SIGNATURE, parent=None)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_git_agrees_after_any_run_of_changes(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    root = tmp_path_factory.mktemp("workspace")
    segment = st.sampled_from(["a", "b", "a.b", "a-b", "é", "z z"])
    name = st.lists(segment, min_size=1, max_size=3).map(
        lambda parts: "/".join([*parts[:-1], f"{parts[-1]}.md"])
    )
    expected: dict[str, bytes] = {}
    with Repository.create(root) as repository:
        for _ in range(data.draw(st.integers(1, 4))):
            changes = data.draw(st.dictionaries(name, st.binary(max_size=20), max_size=6))
            gone = tuple(
                data.draw(st.sets(st.sampled_from(sorted(expected) or ["none"]), max_size=3)) - changes.keys()
            )
            before = dict(expected)
            expected |= changes
            for path in gone:
                expected.pop(path, None)
            made = publish(repository, changes, gone)
            assert (made is None) == (before == expected)
            if head := repository.head():
                found = {file.path: repository.read(head, file.path) for file in repository.files(head)}
                assert found == expected
        check_clean(root)


# A person at work


def test_a_persons_commit_in_between_loses_nothing(repository: Repository, root: Path) -> None:
    publish(repository, {"MEMORY.md": b"one\n"})
    (root / "notes").mkdir()
    (root / "notes" / "mine.md").write_text("by hand\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "by hand")
    theirs = git(root, "rev-parse", "HEAD").strip()
    publish(repository, {"MEMORY.md": b"two\n"})
    assert [commit.subject for commit in repository.log()] == ["x", "by hand", "x"]
    assert repository.log()[0].parents == (theirs,)
    assert (root / "notes" / "mine.md").read_text() == "by hand\n"
    check_clean(root)
    (root / "notes" / "mine.md").write_text("more\n")
    git(root, "commit", "-qam", "again by hand")
    assert git(root, "show", "HEAD:MEMORY.md") == "two\n"
    check_clean(root)


def test_a_commit_for_another_parent_is_refused(repository: Repository, root: Path) -> None:
    first = publish(repository, {"a.md": b"1"})
    (root / "b.md").write_text("2")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "by hand")
    (root / "a.md").write_text("3")
    with pytest.raises(Conflict) as caught:
        repository.commit({"a.md": b"3"}, message="x", signature=SIGNATURE, parent=first)
    assert caught.value.code == "head_moved"
    assert repository.log()[0].subject == "by hand"


def test_what_a_person_has_staged_stays_staged(repository: Repository, root: Path) -> None:
    publish(repository, {"a.md": b"1", "b.md": b"1"})
    (root / "b.md").write_text("2")
    git(root, "add", "b.md")
    publish(repository, {"a.md": b"2"})
    assert git(root, "status", "--porcelain") == "M  b.md\n"
    assert git(root, "show", "HEAD:b.md") == "1"


def test_an_edit_made_after_the_content_was_taken_does_not_hide(repository: Repository, root: Path) -> None:
    publish(repository, {"a.md": b"1"})
    (root / "a.md").write_text("a person's")
    repository.commit({"a.md": b"nrem's"}, message="x", signature=SIGNATURE, parent=repository.head())
    assert git(root, "status", "--porcelain") == " M a.md\n"


def test_a_held_index_is_waited_for(repository: Repository, root: Path) -> None:
    publish(repository, {"a.md": b"1"})
    lock = root / ".git" / "index.lock"
    lock.touch()
    timer = threading.Timer(0.3, lock.unlink)
    timer.start()
    start = time.monotonic()
    assert publish(repository, {"a.md": b"2"})
    assert time.monotonic() - start >= 0.2
    timer.join()
    check_clean(root)


def test_an_index_that_stays_held_is_named(root: Path, repository: Repository) -> None:
    publish(repository, {"a.md": b"1"})
    lock = root / ".git" / "index.lock"
    lock.touch()
    with Repository.open(root, wait=0.1) as impatient:
        with pytest.raises(Unavailable) as caught:
            publish(impatient, {"a.md": b"2"})
        assert caught.value.details == {"lock": "index.lock"}
        assert lock.exists()
        lock.unlink()
        assert publish(impatient, {"a.md": b"2"})
    check_clean(root)


def test_a_held_ref_is_named_and_the_index_let_go(root: Path, repository: Repository) -> None:
    publish(repository, {"a.md": b"1"})
    lock = root / ".git" / "refs" / "heads" / "main.lock"
    lock.touch()
    with Repository.open(root, wait=0.1) as impatient, pytest.raises(Unavailable):
        publish(impatient, {"a.md": b"2"})
    assert not (root / ".git" / "index.lock").exists()
    assert lock.exists()


def test_another_branch_is_named(repository: Repository, root: Path) -> None:
    publish(repository, {"a.md": b"1"})
    git(root, "switch", "-qc", "experiment")
    with pytest.raises(Conflict) as caught:
        publish(repository, {"a.md": b"2"})
    assert caught.value.code == "other_branch"
    assert "experiment" in caught.value.message
    assert "main" in caught.value.message
    assert repository.checked_out() == Head(branch="experiment", commit=repository.head())
    git(root, "checkout", "-q", "--", ".")
    git(root, "switch", "-q", "main")
    assert publish(repository, {"a.md": b"2"})


def test_a_detached_head_is_named(repository: Repository, root: Path) -> None:
    publish(repository, {"a.md": b"1"})
    publish(repository, {"a.md": b"2"})
    git(root, "checkout", "-q", "HEAD~1")
    with pytest.raises(Conflict) as caught:
        publish(repository, {"b.md": b"3"})
    assert caught.value.code == "detached_head"
    assert repository.checked_out().branch is None


def test_an_unfinished_merge_is_left_alone(repository: Repository, root: Path) -> None:
    publish(repository, {"a.md": b"1\n"})
    git(root, "switch", "-qc", "side")
    (root / "a.md").write_text("side\n")
    git(root, "commit", "-qam", "side")
    git(root, "switch", "-q", "main")
    (root / "a.md").write_text("main\n")
    git(root, "commit", "-qam", "main")
    git(root, "merge", "side", fails=True)
    with pytest.raises(Conflict) as caught:
        publish(repository, {"b.md": b"2"})
    assert caught.value.code == "workspace_busy"
    git(root, "merge", "--abort")
    assert publish(repository, {"b.md": b"2"})
    check_clean(root)


def test_the_branch_is_the_one_that_was_found(tmp_path: Path) -> None:
    root = tmp_path / "cloned"
    root.mkdir()
    git(root, "init", "-q", "-b", "trunk")
    with Repository.open(root) as repository:
        assert repository.branch == "trunk"
        publish(repository, {"a.md": b"1"})
        git(root, "switch", "-qc", "other")
    with Repository.open(root) as repository:
        assert repository.branch == "trunk"


def test_packed_refs_are_followed(repository: Repository, root: Path) -> None:
    publish(repository, {"a.md": b"1"})
    git(root, "gc", "-q")
    assert not (root / ".git" / "refs" / "heads" / "main").exists()
    assert publish(repository, {"a.md": b"2"})
    check_clean(root)


# Settings


def test_hooks_do_not_run(repository: Repository, root: Path) -> None:
    publish(repository, {"a.md": b"1"})
    hook = root / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch hooked\nexit 1\n")
    hook.chmod(0o755)
    publish(repository, {"a.md": b"2"})
    (root / "a.md").write_text("3")
    git(root, "commit", "-qam", "by hand")
    assert not (root / "hooked").exists()


def test_settings_are_in_place_and_survive(repository: Repository, root: Path) -> None:
    for name, value in {"core.fsync": "all", "core.hooksPath": "/dev/null", "gc.auto": "0"}.items():
        assert git(root, "config", "--local", name).strip() == value
    git(root, "config", "gc.auto", "5")
    git(root, "config", "user.name", "Luis")
    Repository.open(root).close()
    assert git(root, "config", "--local", "gc.auto").strip() == "0"
    assert git(root, "config", "--local", "user.name").strip() == "Luis"


def test_attributes_and_line_ends_change_nothing(repository: Repository, root: Path) -> None:
    (root / ".gitattributes").write_text("* text eol=lf\n*.md ident\n")
    git(root, "add", ".gitattributes")
    git(root, "commit", "-qm", "attributes")
    publish(repository, {"a.md": b"one\r\ntwo\r\n$Id$\n"})
    check_clean(root)


def test_a_foreign_or_broken_repository_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        Repository.open(tmp_path)
    git(tmp_path, "init", "-q", "--object-format=sha256", "other")
    with pytest.raises(Corrupt):
        Repository.open(tmp_path / "other")
    (tmp_path / "broken" / ".git").mkdir(parents=True)
    with pytest.raises(Corrupt):
        Repository.open(tmp_path / "broken")


# The index


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_every_version_of_the_index_is_edited(repository: Repository, root: Path, version: str) -> None:
    publish(repository, {f"notes/{n:03}-{'x' * (n % 9)}.md": b"%d" % n for n in range(40)})
    git(root, "update-index", "--index-version", version)
    if version == "3":
        (root / "later.md").write_text("later")
        git(root, "add", "-N", "later.md")
    publish(repository, {"notes/005-xxxxx.md": b"new", "notes/zz.md": b"new"}, ("notes/007-xxxxxxx.md",))
    assert git(root, "status", "--porcelain") == (" A later.md\n" if version == "3" else "")


def test_names_longer_than_the_index_counts(repository: Repository, root: Path) -> None:
    long = "/".join("x" * 200 for _ in range(4)) + "/end.md"
    publish(repository, {long: b"1"})
    publish(repository, {long: b"2"})
    check_clean(root)


def test_a_split_index_is_named(repository: Repository, root: Path) -> None:
    publish(repository, {"a.md": b"1"})
    git(root, "-c", "core.splitIndex=true", "update-index", "--split-index")
    with pytest.raises(Conflict) as caught:
        publish(repository, {"a.md": b"2"})
    assert caught.value.code == "index_unsupported"
    git(root, "update-index", "--no-split-index")
    assert publish(repository, {"a.md": b"2"})
    check_clean(root)


def test_a_damaged_index_is_named_and_a_missing_one_made(repository: Repository, root: Path) -> None:
    publish(repository, {"a.md": b"1", "b.md": b"1"})
    index = root / ".git" / "index"
    data = bytearray(index.read_bytes())
    data[40] ^= 1
    index.write_bytes(data)
    with Repository.open(root) as another, pytest.raises(Corrupt) as caught:
        publish(another, {"a.md": b"2"})
    assert caught.value.code == "index_damaged"
    index.unlink()
    assert publish(repository, {"a.md": b"2"})
    check_clean(root)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_an_index_or_damage(data: bytes) -> None:
    with pytest.raises(Corrupt):
        Index.parse(data)


# Threads and packs


def test_two_threads_lose_no_commit(repository: Repository, root: Path) -> None:
    publish(repository, {"a.md": b"0"})
    made: list[str] = []

    def work(name: str) -> None:
        for number in range(15):
            while True:
                try:
                    found = repository.commit(
                        {f"{name}.md": b"%d" % number},
                        message=name,
                        signature=SIGNATURE,
                        parent=repository.head(),
                    )
                except Conflict:
                    continue
                assert found
                made.append(found)
                break

    threads = [threading.Thread(target=work, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {commit.id for commit in repository.log()} >= set(made)
    assert len(repository.log()) == 31
    git(root, "fsck", "--full", "--strict")


def test_packing_keeps_everything_and_little_else(repository: Repository, root: Path) -> None:
    choice = random.Random(1)
    lines = [os.urandom(150).hex().encode() + b"\n" for _ in range(128)]
    contents = {}
    for _ in range(30):
        lines[choice.randrange(1, 128)] = os.urandom(150).hex().encode() + b"\n"
        made = publish(repository, {".nrem/state/000/00000.jsonl": b"".join(lines)})
        assert made
        contents[made] = b"".join(lines)
    (root / "notes.md").write_text("loose")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "by hand")
    packs = root / ".git" / "objects" / "pack"
    before = sum(file.stat().st_size for file in packs.iterdir())
    assert repository.pack() > 30
    assert len(list(packs.glob("*.pack"))) == 1
    assert list((root / ".git" / "objects").glob("??/*")) == []
    assert sum(file.stat().st_size for file in packs.iterdir()) < before / 5
    assert repository.pack() == 0
    check_clean(root)
    for commit, content in contents.items():
        assert repository.read(commit, ".nrem/state/000/00000.jsonl") == content
    assert publish(repository, {".nrem/state/000/00000.jsonl": b"next\n"})
    check_clean(root)


def test_packs_stay_few(repository: Repository, root: Path) -> None:
    for number in range(40):
        publish(repository, {"a.md": b"%d" % number})
        if number % 5 == 4:
            repository.pack()
    assert len(list((root / ".git" / "objects" / "pack").glob("*.pack"))) <= 5
    assert len(repository.log()) == 40
    check_clean(root)


def test_a_pack_that_a_person_keeps_is_kept(repository: Repository, root: Path) -> None:
    publish(repository, {"a.md": b"1"})
    [kept] = (root / ".git" / "objects" / "pack").glob("*.pack")
    kept.with_suffix(".keep").touch()
    for number in range(4):
        publish(repository, {"a.md": b"%d" % (number + 2)})
    repository.pack()
    assert kept.exists()
    check_clean(root)


def test_commits_go_on_while_packing(repository: Repository, root: Path) -> None:
    for number in range(60):
        publish(repository, {"a.md": os.urandom(20_000), "n.md": b"%d" % number})
    packing = threading.Thread(target=repository.pack)
    packing.start()
    while packing.is_alive():
        publish(repository, {"a.md": os.urandom(200)})
    packing.join()
    assert all(repository.read(commit.id, "a.md") for commit in repository.log())
    check_clean(root)
