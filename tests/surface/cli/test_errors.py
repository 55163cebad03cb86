"""What all commands share: how errors end, whose memory is meant, and what a terminal may be shown."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import click
import pytest
from click.testing import CliRunner, Result

from builders import caller_of
from nrem import errors
from nrem.runtime.app import App
from nrem.surface.cli import setup
from nrem.surface.cli.shared import Command, json_option

Nrem = Callable[..., Result]
Answer = Callable[..., Any]
Refusal = Callable[..., dict[str, str]]
Remember = Callable[..., str]


class Daemon(Protocol):
    def stay_down(self) -> None: ...


pytestmark = pytest.mark.rows(95)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.InputError("wrong"), 2),
        (errors.InvalidField("name", "is wrong"), 2),
        (errors.ConfigError("wrong"), 2),
        (errors.Denied("no"), 3),
        (errors.NotFound("nowhere"), 4),
        (errors.Conflict("late"), 5),
        (errors.Unavailable("busy"), 6),
        (errors.Corrupt("broken"), 7),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_family_has_its_exit_code(error: errors.NremError, code: int) -> None:
    @click.command(cls=Command)
    @json_option
    def fail(as_json: bool) -> None:
        raise error

    ended = CliRunner().invoke(fail, catch_exceptions=False)
    assert (ended.exit_code, ended.stdout, ended.stderr) == (code, "", f"Error: {error.message}\n")
    ended = CliRunner().invoke(fail, ["--json"], catch_exceptions=False)
    assert (ended.exit_code, ended.stdout) == (code, "")
    assert json.loads(ended.stderr)["error"]["code"] == error.code


def test_an_error_comes_with_a_hint_on_the_error_stream(nrem: Nrem, refusal: Refusal, ana: str) -> None:
    assert nrem("list", "-a", "zed", exits=4).stderr == (
        "Error: there is no agent called zed\nHint: nrem agent add zed\n"
    )
    assert refusal(4, "list", "-a", "zed") == {
        "code": "agent_not_found",
        "message": "there is no agent called zed",
        "hint": "nrem agent add zed",
    }


NEEDS_STORE = [
    ["get", "x"],
    ["remember", "x"],
    ["edit", "x", "y"],
    ["pin", "x"],
    ["unpin", "x"],
    ["forget", "x"],
    ["versions", "x"],
    ["agent", "add", "x"],
    ["agent", "list"],
    ["agent", "show"],
    ["agent", "config"],
    ["agent", "remove", "x", "--erase", "--force"],
    ["config", "show", "-a", "x"],
    ["recall", "x"],
    ["embed", "x"],
    ["reembed"],
    ["backup", "create"],
    ["token", "list"],
    ["verify"],
]
NOTHING_WITHOUT_STORE = [["list"], ["clear"], ["clear", "--force"], ["export"]]


@pytest.mark.parametrize("words", NOTHING_WITHOUT_STORE, ids=" ".join)
def test_without_a_store_there_is_nothing_to_show(
    nrem: Nrem, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = nrem(*words)
    assert (told.stdout, told.stderr) == ("No memory store found.\n", "Next: nrem up --detach\n")
    told = nrem(*words, "--json")
    assert (json.loads(told.stdout), told.stderr) == ({"notice": "No memory store found."}, "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", NEEDS_STORE, ids=" ".join)
def test_without_a_store_the_others_say_how_to_make_one(
    nrem: Nrem, refusal: Refusal, home: Path, words: list[str]
) -> None:
    assert nrem(*words, exits=6).stderr == "Error: No memory store found.\nHint: nrem up --detach\n"
    assert refusal(6, *words)["code"] == "no_store"
    assert not home.exists()


@pytest.mark.parametrize("words", [*NEEDS_STORE, *NOTHING_WITHOUT_STORE], ids=" ".join)
def test_with_a_store_and_no_daemon_each_says_how_to_start_it(
    nrem: Nrem, refusal: Refusal, daemon: Daemon, home: Path, words: list[str]
) -> None:
    with App.open(home, create=True) as app:
        caller_of(app)("add_agent", agent="x")
    daemon.stay_down()
    assert nrem(*words, exits=6).stderr == "Error: nrem is not up\nHint: nrem up --detach\n"
    assert refusal(6, *words)["code"] == "no_daemon"
    with App.open(home) as app:
        assert [agent["agent"] for agent in caller_of(app)("list_agents")["agents"]] == ["x"]


def test_a_socket_that_a_killed_daemon_left_is_no_daemon(
    refusal: Refusal, daemon: Daemon, home: Path
) -> None:
    daemon.stay_down()
    home.mkdir()
    (home / "nrem.db").touch()
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(home / "nrem.sock"))
    assert refusal(6, "list")["code"] == "no_daemon"


def test_init_does_not_touch_a_store_in_use(
    refusal: Refusal, daemon: Daemon, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup, "LOCK_SECONDS", 0.01)
    daemon.stay_down()
    with App.open(home, create=True):
        error = refusal(6, "init", "--name", "ana")
    assert error["code"] == "store_locked"
    assert "is in use by process" in error["message"]
    assert error["hint"].startswith("wait until it has finished")


def test_init_leaves_a_damaged_store_to_an_operator(refusal: Refusal, home: Path) -> None:
    home.mkdir()
    garbage = b"this is no database" * 1000
    (home / "nrem.db").write_bytes(garbage)
    assert refusal(7, "init")["code"] == "corrupt"
    assert (home / "nrem.db").read_bytes() == garbage


# Whose memory


def test_the_only_agent_needs_no_name(nrem: Nrem, ana: str) -> None:
    nrem("remember", "a text")
    assert "a text" in nrem("list").stdout


def test_several_agents_are_listed_to_choose_from(nrem: Nrem, refusal: Refusal, ana: str) -> None:
    nrem("agent", "add", "ben")
    error = refusal(2, "list")
    assert error["message"] == "there are several agents: ana, ben"
    assert error["hint"] == "choose one with -a NAME (in Python agent=NAME), or set NREM_AGENT"
    assert error["field"] == "agent"


def test_the_option_wins_over_the_variable(
    nrem: Nrem, remember: Remember, ana: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nrem("agent", "add", "ben")
    remember("of ana", "-a", "ana")
    remember("of ben", "--agent", "ben")
    monkeypatch.setenv("NREM_AGENT", "ben")
    assert "of ben" in nrem("list").stdout
    assert "of ana" in nrem("list", "-a", "ana").stdout
    monkeypatch.setenv("NREM_AGENT", "")
    nrem("list", exits=2)
    monkeypatch.setenv("NREM_AGENT", "zed")
    nrem("list", exits=4)


def test_a_store_without_agents_says_how_to_add_one(nrem: Nrem, refusal: Refusal) -> None:
    nrem("init")
    for words in (["list"], ["remember", "x"], ["agent", "show"], ["export"]):
        assert refusal(4, *words) == {
            "code": "no_agent",
            "message": "there is no agent yet",
            "hint": "nrem agent add NAME",
        }


# What a terminal is shown

STEERING = {
    "escape": "\x1b[31m",
    "title": "\x1b]0;owned\x07",
    "bell": "\x07",
    "backspace": "\x08",
    "carriage return": "\r",
    "delete": "\x7f",
    "eight-bit CSI": "\x9b31m",
    "eight-bit OSC": "\x9d0;owned\x9c",
    "right-to-left override": "\u202e",
    "isolate": "\u2066",
    "line separator": "\u2028",
    "zero width": "\u200b",
    "byte order mark": "\ufeff",
    "tag": "\U000e0041",
}


@pytest.mark.parametrize("steering", STEERING.values(), ids=STEERING)
def test_stored_text_cannot_steer_the_terminal(
    nrem: Nrem, remember: Remember, ana: str, steering: str
) -> None:
    bad = f"before{steering}after"
    id = remember(
        *(
            bad,
            "--tag",
            bad,
            "--source",
            bad,
            "--context",
            bad,
            "--session",
            bad,
            "--data",
            json.dumps({bad: bad}),
        ),
        *("--metadata", json.dumps({"k": bad})),
    )
    nrem("agent", "config", "--set", "secrets.enabled=false", "-m", bad)
    for words in (["list"], ["get", id], ["versions", id], ["agent", "config"], ["recall", "before"]):
        shown = nrem(*words).output
        assert "before" in shown
        assert "after" in shown
        assert not {c for c in steering if not c.isprintable()} & set(shown)


def test_an_error_cannot_steer_the_terminal(nrem: Nrem, ana: str) -> None:
    shown = nrem("get", "x\x1b[31m\u202e", exits=4).stderr
    assert shown.startswith("Error: there is no memory x\\u001b[31m\\u202e\n")


def test_ordinary_text_is_shown_as_it_is(nrem: Nrem, remember: Remember, ana: str) -> None:
    text = "Ñandú 日本語 العربية עברית 👍 [bold]not markup[/bold] :smile: \\u001b"
    id = remember(text)
    for command in (["list"], ["get", id], ["versions", id]):
        assert text in nrem(*command).stdout
