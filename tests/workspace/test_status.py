"""What people changed since the last commit, while they go on changing it."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from nrem.workspace import names
from nrem.workspace.index import Index
from nrem.workspace.repository import Repository
from nrem.workspace.status import Known, Status, compare
from workspace.workshop import publish


class Listed(dict[str, Known]):
    """What the last commit has; somebody acts when a path was found in its folder."""

    def __init__(
        self, path: str, act: Callable[[], object], known: Mapping[str, Known] | None = None
    ) -> None:
        super().__init__(known or {})
        self._path = path
        self._act = act

    def __contains__(self, path: object) -> bool:
        self._asked(path)
        return super().__contains__(path)

    def _asked(self, path: object) -> None:
        if path == self._path:
            self._act()


class Seen(Listed):
    """Somebody acts when the stat of a path is known, before it is read."""

    def __contains__(self, path: object) -> bool:
        return dict.__contains__(self, path)

    def get(self, path: str, default: Known | None = None) -> Known | None:  # type: ignore[override]
        self._asked(path)
        return super().get(path, default)


def look(root: Path, known: Listed) -> Status:
    return compare(root, known, Index.empty(), 0)


def test_a_new_file_that_goes_while_it_is_looked_at_was_not_there(root: Path) -> None:
    swap = root / ".note.md.swp"
    swap.write_bytes(b"x")
    assert look(root, Listed(".note.md.swp", swap.unlink)) == Status()


def test_a_folder_that_goes_while_it_is_looked_at_was_not_there(root: Path) -> None:
    (root / "notes" / "deep").mkdir(parents=True)
    (root / "notes" / "deep" / "a.md").write_bytes(b"x")
    (root / "b.md").write_bytes(b"x")
    known = Listed("notes/deep/a.md", lambda: shutil.rmtree(root / "notes"))
    assert look(root, known) == Status(untracked=("b.md",))


def test_a_folder_that_becomes_a_file_is_neither_this_time(root: Path) -> None:
    (root / "notes").mkdir()
    (root / "notes" / "a.md").write_bytes(b"x")

    def act() -> None:
        shutil.rmtree(root / "notes")
        (root / "notes").write_bytes(b"a file now")

    assert look(root, Listed("notes/a.md", act)) == Status()


def of(repository: Repository) -> dict[str, Known]:
    head = repository.head()
    assert head is not None
    return {file.path: Known(blob=file.blob, mode=file.mode) for file in repository.files(head)}


def test_a_committed_file_that_goes_is_gone(repository: Repository, root: Path) -> None:
    publish(repository, {"SOUL.md": b"kind"})

    known = Seen("SOUL.md", (root / "SOUL.md").unlink, of(repository))
    assert look(root, known) == Status(deleted=("SOUL.md",))


@pytest.mark.parametrize("becomes", ["folder", "link", "pipe"])
def test_a_committed_file_that_becomes_another_thing_is_changed(
    repository: Repository, root: Path, becomes: str
) -> None:
    publish(repository, {"SOUL.md": b"kind"})
    soul = root / "SOUL.md"

    def act() -> None:
        soul.unlink()
        match becomes:
            case "folder":
                soul.mkdir()
            case "link":
                soul.symlink_to(root / "elsewhere")
            case _:
                os.mkfifo(soul)

    assert look(root, Seen("SOUL.md", act, of(repository))) == Status(modified=("SOUL.md",))


def test_a_workspace_that_is_gone_has_not_lost_its_files(root: Path) -> None:
    """Else a commit would delete all of them."""
    with pytest.raises(FileNotFoundError):
        look(root / "elsewhere", Listed("", lambda: None))


def test_files_that_come_and_go_all_the_time_disturb_nothing(repository: Repository, root: Path) -> None:
    publish(repository, {"SOUL.md": b"kind", "notes/a.md": b"x"})
    stop = threading.Event()

    def editor() -> None:
        while not stop.is_set():
            swap = root / "notes" / ".a.md.swp"
            swap.write_bytes(b"x")
            saved = root / "notes" / "a.md.new"
            saved.write_bytes(b"x")
            saved.replace(root / "notes" / "a.md")
            swap.unlink()
            (root / "folder").mkdir()
            (root / "folder").rmdir()

    thread = threading.Thread(target=editor)
    thread.start()
    try:
        for _ in range(300):
            status = repository.status()
            assert (status.deleted, status.modified, status.irregular) == ((), (), ())
            assert set(status.untracked) <= {"notes/.a.md.swp", "notes/a.md.new"}
    finally:
        stop.set()
        thread.join()


def test_what_nrem_is_writing_is_nobodys(root: Path) -> None:
    (root / f"{names.TEMPORARY}0").write_bytes(b"half")
    assert look(root, Listed("", lambda: None)) == Status()
