"""Nothing outside a workspace is read or written, whatever the path and whoever changes it meanwhile."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import socket
import stat
import threading
import unicodedata
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nrem.errors import Conflict, Denied, InputError, NotFound, NremError
from nrem.workspace import beneath, names
from nrem.workspace.files import LIMIT, Files

SECRET = b"outside"
OPENERS = [beneath.by_walking]
if beneath.open_beneath is beneath.by_kernel:
    OPENERS.append(beneath.by_kernel)


@pytest.fixture(params=OPENERS, ids=lambda opener: opener.__name__)
def files(root: Path, request: pytest.FixtureRequest) -> Files:
    """A workspace beside a folder with something to steal."""
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(SECRET)
    return Files(root, opener=request.param)


def refused(files: Files, path: str, *, reading: bool = True) -> list[str]:
    """Both ways fail with an error of nrem's that names the field; return the codes."""
    codes = []
    calls: list[Callable[[], object]] = [partial(files.write, path, b"x"), partial(files.remove, path)]
    if reading:
        calls.append(partial(files.read, path))
    for call in calls:
        with pytest.raises(NremError) as caught:
            call()
        assert isinstance(caught.value, InputError | Denied)
        assert caught.value.field == "path"
        codes.append(caught.value.code)
    return codes


def untouched(root: Path) -> None:
    assert [path.name for path in (root.parent / "outside").iterdir()] == ["secret"]
    assert (root.parent / "outside" / "secret").read_bytes() == SECRET


def test_what_is_written_is_read_and_listed(files: Files, root: Path) -> None:
    files.write("notes/2026/a.md", b"one")
    files.write("notes/2026/a.md", b"two")
    files.write("notes/ü.md", b"")
    assert files.read("notes/2026/a.md") == b"two"
    assert [(entry.path, entry.folder, entry.size) for entry in files.list_("notes")] == [
        ("notes/2026", True, 0),
        ("notes/ü.md", False, 0),
    ]
    assert [entry.path for entry in files.list_()] == ["notes"]
    files.remove("notes/2026/a.md")
    files.remove("notes/2026/a.md")
    files.remove("none/at/all")
    with pytest.raises(NotFound) as caught:
        files.read("notes/2026/a.md")
    assert caught.value.field == "path"
    assert list((root / "notes" / "2026").iterdir()) == []


def test_the_mode_of_a_file_stays(files: Files, root: Path) -> None:
    files.write("run", b"1")
    (root / "run").chmod(0o750)
    files.write("run", b"2")
    assert (root / "run").stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        "..",
        "../outside/secret",
        "notes/../../outside/secret",
        "notes/./a",
        "notes//a",
        "notes/",
        "a\0b",
        "a\nb",
        "..\\outside\\secret",
        "x" * 256,
        "é" * 200,
        "/".join("x" * 100 for _ in range(20)),
        "/".join("x" for _ in range(40)),
        "\ud800",
        ".nrem-tmp-0",
    ],
)
def test_a_malformed_path_is_refused(files: Files, root: Path, path: str) -> None:
    refused(files, path)
    untouched(root)


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        ".git",
        ".GIT/hooks/post-commit",
        ".Git",
        "notes/.git/config",
        "git~1/config",
        "GIT~1",
        ".git./config",
        ".git /config",
        ".git . ./config",
        ".git::$INDEX_ALLOCATION/config",
        ".g\u200cit/config",
        "\ufeff.git",
        ".gi\u206at/x",
        ".\uff47\uff49\uff54/config",
        ".gıt".replace("ı", "i"),
    ],
)
def test_git_is_neither_read_nor_written(files: Files, root: Path, path: str) -> None:
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("[core]\n")
    assert set(refused(files, path)) == {"path_reserved"}
    assert files.list_() == []
    assert (root / ".git" / "config").read_text() == "[core]\n"


@pytest.mark.parametrize(
    "path",
    [
        ".nrem/format.json",
        ".NREM/x",
        ".nrem.",
        "nrem~1/x",
        ".gitattributes",
        ".GitAttributes",
        "notes/.gitattributes",
        "gitatt~1",
        "GI7D29~1",
        ".gitmodules",
        "gitmod~2",
        ".gitmodules ",
        ".gitattributes::$DATA",
    ],
)
def test_what_is_nrems_or_steers_git_is_not_written(files: Files, path: str) -> None:
    assert set(refused(files, path, reading=False)) == {"path_reserved"}


def test_nrem_itself_writes_its_folder_and_still_not_git(root: Path) -> None:
    own = Files(root, managed=True)
    own.write(".nrem/state/000/00000.jsonl", b"x" * (LIMIT + 1))
    assert len(own.read(".nrem/state/000/00000.jsonl")) == LIMIT + 1
    for path in (".git/config", ".nrem/../.git/config", ".NREM/x", ".gitattributes"):
        refused(own, path, reading=False)


def test_the_largest_file_and_one_byte_more(files: Files, root: Path) -> None:
    files.write("a", b"x" * LIMIT)
    assert len(files.read("a")) == LIMIT
    with pytest.raises(InputError) as caught:
        files.write("a", b"x" * (LIMIT + 1))
    assert (caught.value.code, caught.value.field) == ("file_too_large", "path")
    (root / "b").write_bytes(b"x" * (LIMIT + 1))
    with pytest.raises(InputError) as caught:
        files.read("b")
    assert caught.value.code == "file_too_large"


def test_a_link_is_never_followed(files: Files, root: Path) -> None:
    outside = root.parent / "outside"
    (root / "file").symlink_to(outside / "secret")
    (root / "folder").symlink_to(outside)
    (root / "inside.md").write_text("x")
    (root / "within").symlink_to("inside.md")
    (root / "proc").symlink_to("/proc/self/root")
    for path in ("file", "within", "folder/secret", "folder/new", "proc/etc/passwd"):
        assert set(refused(files, path)) <= {"path_escapes", "path_not_folder"}
    assert [entry.path for entry in files.list_()] == ["inside.md"]
    with pytest.raises(NremError):
        files.list_("folder")
    untouched(root)


def test_a_file_with_a_second_name_is_refused(files: Files, root: Path) -> None:
    os.link(root.parent / "outside" / "secret", root / "twin")
    assert set(refused(files, "twin")) == {"path_hardlink"}
    assert files.list_() == []
    untouched(root)


def test_what_is_no_file_is_refused_without_waiting(files: Files, root: Path) -> None:
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.open(".", os.O_RDONLY)
        os.chdir(root)  # the name of a socket is short
        try:
            listener.bind("socket")
        finally:
            os.fchdir(here)
            os.close(here)
        (root / "folder").mkdir()
        for path in ("fifo", "socket", "folder"):
            assert set(refused(files, path)) <= {"path_not_regular", "path_is_folder", "path_denied"}
    refused(files, "fifo/x")


def test_a_device_is_refused(files: Files, root: Path) -> None:
    try:
        os.mknod(root / "null", 0o020666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes devices")
    refused(files, "null")


def test_unicode_twins(files: Files, root: Path) -> None:
    composed, decomposed = (unicodedata.normalize(form, "café.md") for form in ("NFC", "NFD"))
    assert set(refused(files, decomposed, reading=False)) == {"path_not_nfc"}
    (root / decomposed).write_text("a person's")
    assert files.read(decomposed) == b"a person's"
    with pytest.raises(Conflict) as caught:
        files.write(composed, b"x")
    assert (caught.value.code, caught.value.field) == ("path_twin", "path")
    assert os.listdir(root) == [decomposed]


def test_a_race_of_links_is_never_won(files: Files, root: Path) -> None:
    """A thread makes `notes` a folder and a link to outside in turns; so it does with a file in it."""
    outside = root.parent / "outside"
    real, link = root / "real", root / "link"
    real.mkdir()
    (real / "secret").write_bytes(b"inside")
    link.symlink_to(outside)
    place = root / "notes"
    stop = threading.Event()

    def put(what: Path) -> None:
        """Move something into the place; where there is none, the writer may have made a folder meanwhile."""
        while True:
            try:
                what.rename(place)
                return
            except OSError:
                shutil.rmtree(place, ignore_errors=True)

    def flip() -> None:
        while not stop.is_set():
            put(real)
            (place / "secret").unlink()
            (place / "secret").symlink_to(outside / "secret")
            (place / "secret").unlink()
            (place / "secret").write_bytes(b"inside")
            place.rename(real)
            put(link)
            place.rename(link)

    flipping = threading.Thread(target=flip)
    flipping.start()
    read = 0
    try:
        for number in range(1500):
            try:
                found = files.read("notes/secret")
                assert found != SECRET
                read += 1
                files.write(f"notes/w{number % 3}", b"mine")
            except (NremError, FileNotFoundError):
                continue
    finally:
        stop.set()
        flipping.join()
    untouched(root)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.sampled_from(["..", ".", "", "a", ".git", "link", "x\0", "\\", "~", "…", " "]), max_size=6)
)
def test_no_path_made_of_such_names_leads_out(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str]
) -> None:
    top = tmp_path_factory.mktemp("top")
    root = top / "ana"
    root.mkdir()
    (root / "link").symlink_to(top)
    for opener in OPENERS:
        files = Files(root, opener=opener)
        with contextlib.suppress(InputError, Denied, Conflict):
            files.write("/".join(parts), b"x")
    assert os.listdir(top) == ["ana"]
    assert not (root / ".git").exists()


def test_a_failed_write_leaves_nothing(files: Files, root: Path) -> None:
    files.write("a/b", b"1")
    with pytest.raises(InputError):
        files.write("a", b"x")
    with pytest.raises(InputError):
        files.write("a/b/c", b"x")
    assert os.listdir(root / "a") == ["b"]


def test_leftovers_of_a_kill_are_cleared_and_never_seen(files: Files, root: Path) -> None:
    files.write("notes/a.md", b"1")
    (root / "notes" / f"{names.TEMPORARY}0").write_bytes(b"half")
    assert [entry.path for entry in files.list_("notes")] == ["notes/a.md"]
    files.clear_temporary()
    assert os.listdir(root / "notes") == ["a.md"]


def test_a_write_is_synced_before_it_has_its_name(
    files: Files, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, rename = os.fsync, os.rename

    def sync(fd: int) -> None:
        done.append("sync folder" if stat.S_ISDIR(os.fstat(fd).st_mode) else "sync file")
        fsync(fd)

    def move(source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        done.append("rename")
        rename(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "rename", move)
    files.write("a.md", b"1")
    assert done == ["sync file", "rename", "sync folder"]


def test_this_kernels_way_is_chosen(root: Path) -> None:
    at = os.open(root, os.O_RDONLY)
    try:
        os.close(beneath.by_kernel(at, (), os.O_RDONLY))
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EPERM):
            raise
        pytest.skip("this kernel has no openat2")
    finally:
        os.close(at)
    assert beneath.open_beneath is beneath.by_kernel
