"""The installed command as a process of its own, also at a terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest

from builders import caller_of
from nrem.client import Client
from nrem.runtime.app import App

Serve = Callable[..., list[str]]

NREM = str(Path(sys.executable).with_name("nrem"))

pytestmark = pytest.mark.rows(95)


class Daemon(Protocol):
    def follow(self) -> None: ...


def nrem(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([NREM, *words], input=stdin, capture_output=True)


def at_terminal(
    *words: str, answer: bytes = b"", meanwhile: Callable[[], object] = lambda: None
) -> tuple[int, str]:
    """Run a command at a terminal and answer its question; return its exit code and what was to be seen."""
    ours, theirs = os.openpty()
    process = subprocess.Popen([NREM, *words], stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen = b""
    try:
        while True:
            try:
                chunk = os.read(ours, 4096)
            except OSError:  # Linux says so when the other side is gone
                break
            if not chunk:
                break
            seen += chunk
            if answer and seen.endswith(b"[y/N]: "):
                meanwhile()
                os.write(ours, answer)
    finally:
        os.close(ours)
    return process.wait(), seen.decode()


@pytest.fixture
def serve(home: Path, daemon: Daemon) -> Serve:
    """Make a store in which ana has these memories, and start its daemon; return their ids."""

    def start(*contents: str) -> list[str]:
        with App.open(home, create=True) as app:
            call = caller_of(app)
            call("add_agent", agent="ana")
            stored = call("remember_many", agent="ana", memories=[{"content": text} for text in contents])
        daemon.follow()
        return [one["id"] for one in stored["memories"]]

    return start


@pytest.fixture
def two(serve: Serve) -> None:
    """A daemon in whose store ana has two memories."""
    serve("one", "two")


def count(home: Path) -> int:
    with Client(home / "nrem.sock") as client:
        memories: int = client.call("show_agent", agent="ana")["memories"]
    return memories


@pytest.mark.rows(35)
@pytest.mark.usefixtures("two")
@pytest.mark.parametrize(("answer", "code", "left"), [("n", 1, 2), ("", 1, 2), ("y", 0, 0)])
def test_clear_asks_at_a_terminal(home: Path, answer: str, code: int, left: int) -> None:
    exit, seen = at_terminal("clear", answer=answer.encode() + b"\n")
    assert "Forget 2 memories of ana? [y/N]:" in seen
    assert ("Aborted!" in seen) == (code == 1)
    assert ("Forgot 2 memories of ana." in seen) == (code == 0)
    assert (exit, count(home)) == (code, left)


@pytest.mark.usefixtures("two")
def test_agent_remove_asks_at_a_terminal(home: Path) -> None:
    exit, seen = at_terminal("agent", "remove", "ana", "--erase", answer=b"n\n")
    assert "Erase agent ana with 2 memories and all history for good? [y/N]:" in seen
    assert (exit, count(home)) == (1, 2)


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("words", [["clear"], ["agent", "remove", "ana", "--erase"]], ids=" ".join)
def test_while_a_question_waits_others_can_use_the_store(words: list[str]) -> None:
    def remember() -> None:
        told = nrem("remember", "three", "-a", "ana")
        assert (told.returncode, told.stderr) == (0, b"")

    exit, seen = at_terminal(*words, answer=b"y\n", meanwhile=remember)
    assert exit == 0
    assert "3 memories" not in seen.partition("[y/N]")[0]
    assert "3 memories" in seen.partition("[y/N]")[2]


def test_json_at_a_terminal_has_only_characters_that_cannot_steer_it(serve: Serve) -> None:
    text = "ñ 日本 \x9b31m \u202e \x7f \x1b[31m 🦊"
    serve(text)
    exit, seen = at_terminal("list", "--json")
    assert exit == 0
    assert seen.isascii()
    assert not {c for c in seen if not c.isprintable()} - {"\r", "\n"}
    assert json.loads(seen)["memories"][0]["content"] == text
    assert text in json.loads(nrem("list", "--json").stdout)["memories"][0]["content"]
    assert "日本".encode() in nrem("list", "--json").stdout
    _, seen = at_terminal("get", "日本\x9b", "--json")
    assert seen.isascii()
    assert json.loads(seen)["error"]["message"] == "there is no memory 日本\x9b"


def test_at_a_terminal_ids_stay_whole_and_texts_wrap(serve: Serve) -> None:
    words = [f"word{i}" for i in range(15)]
    [id] = serve(" ".join(words))
    _, seen = at_terminal("list")
    lines = seen.splitlines()
    assert len([line for line in lines if id in line]) == 1
    assert len(lines) > 2
    assert [word for word in seen.split() if word in words] == words


@pytest.mark.usefixtures("two")
def test_force_does_not_ask_at_a_terminal() -> None:
    exit, seen = at_terminal("clear", "--force")
    assert (exit, seen.strip()) == (0, "Forgot 2 memories of ana.")


@pytest.mark.usefixtures("two")
def test_a_question_is_not_part_of_the_answer() -> None:
    """At a terminal whose output goes to a file, the question is still seen."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [NREM, "clear", "--json"], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    os.close(theirs)
    os.write(ours, b"y\n")
    stdout, stderr = process.communicate()
    os.close(ours)
    assert json.loads(stdout) == {"count": 2, "dry_run": False}
    assert b"Forget 2 memories of ana? [y/N]:" in stderr


@pytest.mark.usefixtures("two")
def test_remember_at_a_terminal_does_not_wait_for_a_text() -> None:
    exit, seen = at_terminal("remember")
    assert exit == 2
    assert "Error: text: is missing" in seen
    assert "Hint: " in seen


def test_the_command_is_installed_and_uses_its_home(home: Path, daemon: Daemon) -> None:
    made = nrem("init", "--name", "ana").stdout.decode()
    assert made == f"Ready: {home}\nAgents: ana\nNext: nrem up --detach\n"
    daemon.follow()
    assert nrem("remember", stdin="ñandú\n".encode()).stdout.startswith(b"Remembered ")
    assert "ñandú" in nrem("list").stdout.decode()


def test_an_error_ends_the_process_with_its_code(daemon: Daemon) -> None:
    ended = nrem("get", "x", "--json")
    assert (ended.returncode, ended.stdout) == (6, b"")
    assert json.loads(ended.stderr)["error"]["code"] == "no_store"
    nrem("init", "--name", "ana")
    ended = nrem("get", "x", "--json")
    assert (ended.returncode, ended.stdout) == (6, b"")
    assert json.loads(ended.stderr)["error"]["code"] == "no_daemon"
    daemon.follow()
    assert nrem("get", "x").returncode == 4
    assert nrem("remember", stdin=b"\xff").returncode == 2
    assert nrem("agent", "add", "ana").returncode == 5


def test_a_reader_that_goes_away_is_no_error(home: Path, serve: Serve) -> None:
    """`nrem export -o - | head` must not end in a traceback."""
    serve(*(f"note {i} " + "word " * 2_000 for i in range(30)))
    process = subprocess.Popen([NREM, "export", "-o", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    process.wait()
    assert count(home) == 30
