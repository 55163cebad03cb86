"""A file is replaced only if it is what its replacer saw; what others write meanwhile is never lost."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

import pytest

from nrem.errors import Denied, NotFound
from nrem.workspace.exchange import exchange
from nrem.workspace.files import Files


@pytest.fixture
def files(root: Path) -> Files:
    return Files(root, managed=True)


def test_what_was_expected_is_replaced(files: Files, root: Path) -> None:
    (root / "MEMORY.md").write_bytes(b"old")
    (root / "MEMORY.md").chmod(0o640)
    assert files.replace("MEMORY.md", b"new", expected=b"old")
    assert (root / "MEMORY.md").read_bytes() == b"new"
    assert (root / "MEMORY.md").stat().st_mode & 0o777 == 0o640
    assert os.listdir(root) == ["MEMORY.md"]


def test_anything_else_stays(files: Files, root: Path) -> None:
    (root / "MEMORY.md").write_bytes(b"theirs")
    assert not files.replace("MEMORY.md", b"new", expected=b"old")
    assert (root / "MEMORY.md").read_bytes() == b"theirs"
    assert not files.replace("MEMORY.md", b"new", expected=None)
    assert not files.replace("other.md", b"new", expected=b"old")
    assert os.listdir(root) == ["MEMORY.md"]


def test_a_new_file_is_made_once(files: Files, root: Path) -> None:
    assert files.replace("MEMORY.md", b"new", expected=None)
    assert (root / "MEMORY.md").read_bytes() == b"new"
    assert not files.replace("MEMORY.md", b"newer", expected=None)


def test_a_link_is_refused(files: Files, root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"old")
    (root / "MEMORY.md").symlink_to(tmp_path / "outside")
    with pytest.raises(Denied):
        files.replace("MEMORY.md", b"new", expected=b"old")
    assert (tmp_path / "outside").read_bytes() == b"old"


def test_two_names_are_swapped(root: Path) -> None:
    (root / "a").write_bytes(b"1")
    (root / "b").write_bytes(b"2")
    folder = os.open(root, os.O_RDONLY)
    try:
        if not exchange(folder, "a", "b"):
            pytest.skip("this system cannot exchange two files")
    finally:
        os.close(folder)
    assert ((root / "a").read_bytes(), (root / "b").read_bytes()) == (b"2", b"1")


def test_no_write_of_others_is_lost_in_a_race(files: Files, root: Path) -> None:
    """Somebody adds lines of their own while the file is replaced over and over; one after the other."""
    path = root / "MEMORY.md"
    path.write_bytes(b"0\n")
    written: list[int] = []
    stop, turns = threading.Event(), threading.Semaphore(0)

    def person() -> None:
        own = Files(root)
        while turns.acquire() and not stop.is_set():
            seen = path.read_bytes()
            if own.replace("MEMORY.md", seen + b"mine %d\n" % len(written), expected=seen):
                written.append(len(written))

    replaced = 0
    writer = threading.Thread(target=person)
    writer.start()
    while replaced < 200 or len(written) < 20:
        seen = files.read("MEMORY.md")
        turns.release()
        replaced += files.replace("MEMORY.md", seen + b"ours\n", expected=seen)
    stop.set()
    turns.release()
    writer.join()
    lines = path.read_bytes().splitlines()
    assert {int(line.split()[1]) for line in lines if line.startswith(b"mine")} >= set(written)
    assert lines.count(b"ours") >= replaced


def test_an_editor_that_moves_the_file_away_before_it_saves_loses_nothing(files: Files, root: Path) -> None:
    path, saved = root / "MEMORY.md", root / "saved"
    path.write_bytes(b"theirs 0\n")
    stop = threading.Event()

    def editor() -> None:
        text = path.read_bytes()
        for number in range(1, 300):
            if stop.is_set():
                return
            text += b"theirs %d\n" % number
            saved.write_bytes(text)
            path.rename(root / "MEMORY.md~")
            saved.rename(path)

    person = threading.Thread(target=editor)
    person.start()
    try:
        while person.is_alive():
            with contextlib.suppress(NotFound):
                seen = files.read("MEMORY.md")
                files.replace("MEMORY.md", seen + b"ours\n", expected=seen)
    finally:
        stop.set()
        person.join()
    left = [line for line in path.read_bytes().splitlines() if line.startswith(b"theirs")]
    assert left == [b"theirs %d" % number for number in range(300)]
