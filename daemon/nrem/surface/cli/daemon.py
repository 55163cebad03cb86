"""nrem up, down, status: the daemon itself."""

from __future__ import annotations

import fcntl
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import click

from nrem import config
from nrem.client import Client, is_up
from nrem.errors import ConfigError, Corrupt, Denied, NremError, Unavailable
from nrem.policy.rendering import clean
from nrem.surface.cli.shared import (
    Command,
    count,
    json_option,
    report,
    show_json,
    store,
    told_of_remote,
    when,
)

START_SECONDS = 60.0
STOP_SECONDS = 15.0
THREAD_SECONDS = 0.5
MOST_DEAD = 100
"""Dead jobs that are counted."""
PORT_FLAG = "server.port"

# What a service's process ends with (sysexits.h), where the other commands have a code for each family.
EXIT_CODES: tuple[tuple[type[NremError], int], ...] = (
    (ConfigError, 78),
    (Denied, 77),
    (Corrupt, 65),
    (Unavailable, 75),
    (NremError, 70),
)


@click.command("up")
@click.option("--port", type=click.IntRange(1, 65535), help="Listen on this port in place of server.port.")
@click.option("--detach", is_flag=True, help="Start it in the background, and return once it answers.")
@click.pass_context
def up_command(ctx: click.Context, port: int | None, detach: bool) -> None:
    """Start the daemon in the foreground; Ctrl-C or `nrem down` ends it."""
    flags: dict[str, object] = {} if port is None else {PORT_FLAG: port}
    try:
        home = config.home()
        path = config.socket(home)
        if is_up(path):
            raise Unavailable(f"nrem is up already: {path}", hint="nrem status", code="already_up")
        if detach:
            start(home, path, *(() if port is None else ("--port", str(port))))
            click.echo(f"nrem is up: {path}", err=True)
        else:
            _run(home, path, flags)
    except NremError as error:
        report(error, as_json=False)
        if "exit_code" in error.details:  # of the process that did not start
            ctx.exit(int(str(error.details["exit_code"])))
        ctx.exit(next(code for family, code in EXIT_CODES if isinstance(error, family)))


def _run(home: Path, path: Path, flags: dict[str, object]) -> None:
    from nrem.runtime import logs, service
    from nrem.runtime.app import App
    from nrem.surface.http import Web

    logs.set_up()
    os.umask(0o077)
    with App.open(home, create=True, flags=flags) as app:
        web = Web(app)
        service.serve(app, web.guard, path, reload=web.reload)
        web.close()
    _end_with_busy_threads()


def _end_with_busy_threads() -> None:
    """Wait for no thread that waits for a provider: the store is closed, nothing can be lost."""
    deadline = time.monotonic() + THREAD_SECONDS
    for thread in threading.enumerate():
        if thread.name.startswith("nrem-http"):
            thread.join(max(deadline - time.monotonic(), 0))
            if thread.is_alive():
                logging.getLogger("nrem.service").warning("some requests had not finished")
                logging.shutdown()
                os._exit(0)


def start(home: Path, path: Path, *options: str) -> None:
    """Start a daemon in the background; return once it listens."""
    home.mkdir(parents=True, mode=0o700, exist_ok=True)
    with open(os.open(home / "nrem.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as output:
        begin = output.tell()
        process = subprocess.Popen(
            [sys.executable, "-m", "nrem", "up", *options],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    deadline = time.monotonic() + START_SECONDS
    while not is_up(path):
        if process.poll() is not None:
            said = (home / "nrem.log").read_bytes()[begin:].decode(errors="replace").strip()
            raise Unavailable(
                f"nrem did not start: {said[-2000:]}",
                hint="nrem up shows more",
                code="not_started",
                details={"exit_code": process.returncode},
            )
        if time.monotonic() > deadline:
            raise Unavailable("nrem has not started yet", hint=f"look at {home / 'nrem.log'}", code="slow")
        time.sleep(0.02)


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
    """Say whether the daemon is up, which one it is, and what is not committed yet."""
    health = _health()
    with store() as run:
        agents = run("list_agents")["agents"]
        dead = len(run("list_jobs", state="dead", limit=MOST_DEAD)["jobs"])
        embedder = run("show_embedder")
    unpublished = {
        agent["agent"]: {"events": agent["unpublished"], "since": agent["unpublished_since"]}
        for agent in agents
        if agent["unpublished"]
    }
    remotes = {agent["agent"]: agent["remote"] for agent in agents if agent.get("remote")}
    if as_json:
        waiting = {"unpublished": unpublished, "remotes": remotes, "dead_jobs": dead}
        show_json(health | waiting | {"embedder": embedder})
        return
    click.echo(f"nrem {health['version']} is up, process {health['pid']}: {config.socket(config.home())}")
    click.echo(_told_of_embedder(embedder))
    for agent, left in unpublished.items():
        told = count(left["events"], "event is", "events are")
        click.echo(f"{agent}: {told} not committed yet, the oldest of {when(left['since'])}.")
    for agent, remote in remotes.items():
        click.echo(f"{agent}: {told_of_remote(remote)}")
    if dead:
        told = count(dead, "job is", "jobs are")
        click.echo(f"{told} not tried any more: nrem jobs list --state dead shows why.")


def _told_of_embedder(state: dict[str, Any]) -> str:
    """Return a sentence on what makes vectors, and on what is wrong with it."""
    if state["configured"] is None:
        return "Vectors are off: recall goes by words."
    text = f"Vectors: {clean(state['configured'])}"
    if state["dimension"] is not None and state["serving"] == state["configured"]:
        text += f", {state['dimension']} dimensions"
    if state["pending"]:
        text += f"; {count(state['pending'], 'memory waits', 'memories wait')} for theirs"
    if state["given_up"]:
        text += f"; {count(state['given_up'], 'memory gets', 'memories get')} none"
    return f"{text}. Recall goes by words: {clean(state['problem'])}." if state["problem"] else f"{text}."


def _health() -> dict[str, Any]:
    path = config.socket(config.home())
    if not is_up(path):
        raise Unavailable("nrem is not up", hint="nrem up --detach", code="no_daemon")
    with Client(path) as client:
        return client.health()


def _holds_the_store() -> bool:
    with (config.home() / "nrem.lock").open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
