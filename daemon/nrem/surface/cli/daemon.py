"""nrem up, down, status: the daemon itself."""

from __future__ import annotations

import fcntl
import logging
import os
import signal
import time
from typing import Any

import click

from nrem import config
from nrem.client import Client, is_up
from nrem.errors import Unavailable
from nrem.surface.cli.shared import Command, json_option, show_json

STOP_SECONDS = 15.0


@click.command("up", cls=Command)
def up_command() -> None:
    """Start the daemon in the foreground; Ctrl-C or `nrem down` ends it."""
    from nrem.runtime.app import App
    from nrem.surface import http

    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    home = config.home()
    path = config.socket(home)
    if is_up(path):
        raise Unavailable(f"nrem is up already: {path}", hint="nrem status", code="already_up")
    with App.open(home, create=True) as app:
        click.echo(f"nrem is up: {path}", err=True)
        http.serve(app, path)


@click.command("down", cls=Command)
@json_option
def down_command(as_json: bool) -> None:
    """Stop the daemon, once it has finished what it was asked."""
    path = config.socket(config.home())
    pid = _health()["pid"]
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while is_up(path) or _holds_the_store():
        if time.monotonic() > deadline:
            raise Unavailable(f"process {pid} has not stopped yet", hint="look at its log", code="still_up")
        time.sleep(0.05)
    if as_json:
        show_json({"stopped": pid})
    else:
        click.echo("nrem is down.")


@click.command("status", cls=Command)
@json_option
def status_command(as_json: bool) -> None:
    """Say whether the daemon is up, and which one it is."""
    health = _health()
    if as_json:
        show_json(health)
    else:
        click.echo(f"nrem {health['version']} is up, process {health['pid']}: {config.socket(config.home())}")


def _health() -> dict[str, Any]:
    path = config.socket(config.home())
    if not is_up(path):
        raise Unavailable("nrem is not up", hint="nrem up", code="no_daemon")
    with Client(path) as client:
        return client.health()


def _holds_the_store() -> bool:
    with (config.home() / "nrem.lock").open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
