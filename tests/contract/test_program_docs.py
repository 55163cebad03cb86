"""The examples of docs/client.md and docs/http.md do against a real daemon what the pages say."""

from __future__ import annotations

import contextlib
import io
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import served
from builders import caller_of
from nrem import config
from nrem.runtime.app import App
from nrem.surface.http import Web

DOCS = Path(__file__).parents[2] / "docs"
CLIENT = re.findall(r"^```python\n(.*?)^```", (DOCS / "client.md").read_text(), re.MULTILINE | re.DOTALL)
HTTP = [
    line
    for block in re.findall(
        r"^```console\n(.*?)^```", (DOCS / "http.md").read_text(), re.MULTILINE | re.DOTALL
    )
    for line in block.splitlines()
]
ADDRESS = "127.0.0.1:6736"
VOLATILE = re.compile(r"\.\.\.|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where a daemon with the agent ana listens, with a token for her; and on the home's socket."""
    home = config.home()
    with (
        App.open(home, create=True) as app,
        socket.create_server(("127.0.0.1", 0)) as tcp,
        served.unix(home) as unix,
    ):
        caller_of(app)("add_agent", agent="ana")
        monkeypatch.setenv("NREM_TOKEN", caller_of(app)("create_token", agent="ana")["token"])
        web = Web(app)
        with served.serving(web.guard, tcp), served.serving(web.guard, unix):
            yield f"127.0.0.1:{tcp.getsockname()[1]}"
        web.close()


@pytest.mark.rows(99)
def test_the_examples_of_the_client_print_what_the_page_says(address: str) -> None:
    known: dict[str, Any] = {}
    for block in CLIENT:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(block.replace(ADDRESS, address), known)
        said = re.findall(r"^ *print\(.*\)  # (.+)$", block, re.MULTILINE)
        assert len(said) == block.count("print(")
        assert printed.getvalue().splitlines() == [line for text in said for line in text.split(", then ")]
    assert len(CLIENT) >= 6


@pytest.mark.rows(99)
def test_the_examples_over_http_answer_what_the_page_says(address: str) -> None:
    commands = [number for number, line in enumerate(HTTP) if line.startswith("$ ")]
    assert len(commands) >= 10
    nrem = f"{sys.executable} -m nrem"
    token = ""
    for number, end in zip(commands, [*commands[1:], len(HTTP)], strict=True):
        command = HTTP[number].removeprefix("$ ").replace(ADDRESS, address).replace("$(nrem ", f"$({nrem} ")
        command = command.removeprefix("export ")
        shown = command + (' && printf %s "$TOKEN"' if command.startswith("TOKEN=") else "")
        done = subprocess.run(
            ["sh", "-c", shown],
            env=os.environ | {"TOKEN": token},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        if command.startswith("TOKEN="):
            token = done.stdout
            continue
        said = "\n".join(HTTP[number + 1 : end])
        wanted = ".+?".join(map(re.escape, VOLATILE.split(said)))
        assert re.fullmatch(wanted, done.stdout.rstrip("\n"), re.DOTALL), (command, done.stdout)
