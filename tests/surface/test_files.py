"""The files API over HTTP: nothing outside a workspace is read or written (T38)."""

from __future__ import annotations

import os
import shutil
import threading
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import served
from builders import Call
from nrem.runtime.app import App
from nrem.surface import http

FILE = "/v1/agents/ana/workspace/file"
FILES = "/v1/agents/ana/workspace/files"


@pytest.fixture
def web(app: App) -> Iterator[TestClient]:
    web = http.Web(app)
    with TestClient(served.on_socket(web)) as client:
        yield client
    web.close()


@pytest.fixture
def root(app: App, call: Call) -> Path:
    """A workspace with a commit, beside which lies something to steal."""
    call("checkpoint", agent="ana")
    outside = app.home / "outside"
    outside.mkdir()
    (outside / "secret").write_text("outside")
    return app.home / "workspaces" / "ana"


def tree(folder: Path) -> dict[str, Any]:
    """Every name below a folder with its content, links as links."""
    return {
        str(path.relative_to(folder)): os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def put(web: TestClient, path: str, content: str = "x") -> tuple[int, str | None]:
    answer = web.put(FILE, json={"path": path, "content": content})
    return answer.status_code, answer.json().get("error", {}).get("code")


def test_a_file_goes_in_and_comes_out(web: TestClient, root: Path) -> None:
    answer = web.put(FILE, json={"path": "notes/a b.md", "content": "one\n"})
    assert (answer.status_code, answer.json()) == (200, {"path": "notes/a b.md", "size": 4})
    assert web.get(FILE, params={"path": "notes/a b.md"}).json()["content"] == "one\n"
    assert "notes/a b.md" in [f["path"] for f in web.get(FILES, params={"path": "notes"}).json()["files"]]
    assert put(web, "large", "\u0001" * (1 << 20)) == (200, None)  # as JSON it is six times as large
    assert put(web, "large", "x" * ((1 << 20) + 1)) == (400, "file_too_large")


BAD = [
    "../outside/secret",
    "../ben/MEMORY.md",
    "notes/../../../outside/secret",
    "/etc/passwd",
    "//etc/passwd",
    "notes/./a",
    "notes//a",
    "a\0b",
    "..\\outside",
    "x" * 256,
    "é" * 200,
    "/".join("x" for _ in range(40)),
    ".nrem-tmp-1",
]
RESERVED = [
    ".git/config",
    ".git/hooks/post-commit",
    ".GIT/hooks/post-commit",
    ".Git",
    "notes/.git/config",
    "git~1/config",
    ".git./config",
    ".git::$INDEX_ALLOCATION/config",
    ".g\u200cit/config",
    ".\uff47\uff49\uff54/config",
]
STEERING = [
    ".nrem/format.json",
    ".NREM/format.json",
    "nrem~1/x",
    ".\uff4erem/x",
    ".gitattributes",
    ".GitAttributes",
    "notes/.gitattributes",
    ".gitmodules",
    ".GITMODULES",
]


@pytest.mark.parametrize("path", [*BAD, *RESERVED, *STEERING])
def test_no_such_path_is_written(web: TestClient, root: Path, app: App, path: str) -> None:
    before = tree(app.home / "workspaces") | tree(app.home / "outside")
    status, code = put(web, path)
    assert status in (400, 403)
    assert code is not None
    if path in RESERVED or path in STEERING:
        assert (status, code) == (403, "path_reserved")
    assert tree(app.home / "workspaces") | tree(app.home / "outside") == before


@pytest.mark.parametrize("path", [*BAD, *RESERVED])
def test_no_such_path_is_read_or_listed(web: TestClient, root: Path, path: str) -> None:
    for route in (FILE, FILES):
        answer = web.get(route, params={"path": path})
        assert answer.status_code in (400, 403), (route, answer.json())
        assert answer.json()["error"]["field"] == "path"


def test_nothing_but_plain_files_is_reached(web: TestClient, root: Path, app: App) -> None:
    outside = app.home / "outside"
    (root / "link").symlink_to(outside / "secret")
    (root / "folder").symlink_to(outside)
    (root / "proc").symlink_to("/proc/self/root")
    (root / "hard").hardlink_to(outside / "secret")
    os.mkfifo(root / "fifo")
    names = ["link", "folder/secret", "folder/new", "proc/etc/passwd", "hard", "fifo"]
    if os.geteuid() == 0:  # only root makes devices
        os.mknod(root / "null", 0o020666, os.makedev(1, 3))
        names.append("null")
    for path in names:
        status, code = put(web, path)
        assert (status, code) in {
            (403, "path_escapes"),
            (403, "path_hardlink"),
            (403, "path_not_regular"),
            (400, "path_not_folder"),
        }, path
        assert web.get(FILE, params={"path": path}).status_code in (400, 403, 404)
    listed = {file["path"] for file in web.get(FILES).json()["files"]}
    assert not listed & {"link", "folder", "proc", "hard", "fifo", "null"}
    assert tree(outside) == {"secret": b"outside"}


def test_names_that_differ_only_in_their_unicode_form(web: TestClient, root: Path) -> None:
    composed, decomposed = (unicodedata.normalize(form, "café.md") for form in ("NFC", "NFD"))
    assert put(web, decomposed) == (400, "path_not_nfc")
    (root / decomposed).write_text("a person's")
    assert put(web, composed) == (409, "path_twin")
    assert (root / decomposed).read_text() == "a person's"


def test_a_race_of_links_is_never_won(web: TestClient, root: Path, app: App) -> None:
    """A thread makes `place` a folder and a link to outside in turns."""
    outside = app.home / "outside"
    real, link, place = root / "real", root / "link", root / "place"
    real.mkdir()
    (real / "secret").write_text("inside")
    link.symlink_to(outside)
    stop = threading.Event()

    def move(what: Path) -> None:
        while not stop.is_set():
            try:
                what.rename(place)
                place.rename(what)
                return
            except OSError:  # the writer made a folder there meanwhile
                shutil.rmtree(place, ignore_errors=True)

    def flip() -> None:
        while not stop.is_set():
            move(real)
            move(link)

    flipping = threading.Thread(target=flip)
    flipping.start()
    answers = set()
    try:
        for number in range(300):
            answers.add(put(web, f"place/w{number % 3}", "mine")[0])
            found = web.get(FILE, params={"path": "place/secret"}).json()
            assert found.get("content", "inside") == "inside"
    finally:
        stop.set()
        flipping.join()
    assert answers <= {200, 400, 403, 404}
    assert tree(outside) == {"secret": b"outside"}
