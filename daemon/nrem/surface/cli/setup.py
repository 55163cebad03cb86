"""nrem init, config, completion: what there is before the first memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from nrem import config
from nrem.client import is_up
from nrem.model import Caller
from nrem.policy.rendering import clean
from nrem.sections import Config
from nrem.surface.cli.shared import (
    Call,
    Command,
    Group,
    agent_option,
    json_option,
    keep_token,
    show_json,
    store,
    table,
)

LOCK_SECONDS = 5.0
"""How long init waits for another process to finish with the store."""


@click.command("init", cls=Command)
@click.option("--name", metavar="AGENT", help="Also add an agent of this name.")
@click.option(
    "--template",
    type=click.Choice(["memory"]),
    default="memory",
    expose_value=False,
    help="What its workspace begins with.",
)
@json_option
def init_command(name: str | None, as_json: bool) -> None:
    """Make the home with its nrem.toml and store. What is there already stays as it is."""
    home = config.home()
    with _store_or_new(home) as run:
        settings = home / "nrem.toml"
        if not settings.exists():
            with open(os.open(settings, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(config.template())
        known = {agent["agent"] for agent in run("list_agents")["agents"]}
        if name is not None and name not in known:
            run("add_agent", agent=name)
            keep_token(run, name)
            known.add(name)
    if as_json:
        show_json({"home": str(home), "agents": sorted(known)})
        return
    click.echo(f"Ready: {home}")
    if known:
        click.echo(f"Agents: {', '.join(sorted(known))}")
    if not is_up(config.socket(home)):
        click.echo("Next: nrem up --detach")
    elif not known:
        click.echo("Next: nrem agent add NAME")


@contextmanager
def _store_or_new(home: Path) -> Iterator[Call]:
    """Lend what runs operations: in the daemon, or here, before there is one."""
    if is_up(config.socket(home)):
        with store() as run:
            yield run
        return
    from nrem.runtime.app import App
    from nrem.surface.operations import call

    with App.open(home, create=True, wait=LOCK_SECONDS) as app:
        yield lambda name, **body: call(app, Caller(actor="owner", ingress="cli"), name, body)


@click.group("config", cls=Group)
def config_command() -> None:
    """See the configuration."""


@config_command.command("show", cls=Command)
@agent_option
@json_option
def show(agent: str | None, as_json: bool) -> None:
    """Show every setting, its value and where it comes from. With -a, as it holds for that agent."""
    own = None
    if agent is not None:
        with store() as run:
            versions = run("list_agent_configs", agent=agent)["versions"]
            own = versions[0]["config"] if versions else None
    resolved = config.load(config.home(), agent=own)
    for warning in resolved.warnings:
        click.echo(f"Warning: {clean(warning)}", err=True)
    meant = _meant(resolved.config)
    if as_json:
        show_json(
            [
                {"key": s.key, "value": s.value, "origin": s.origin}
                | ({"means": meant} if _is_empty(s.key, s.value) else {})
                for s in resolved.settings
            ]
        )
        return
    rows = [
        [s.key, _shown(s.value) + (f" ({meant})" if meant and _is_empty(s.key, s.value) else ""), s.origin]
        for s in resolved.settings
    ]
    table("Setting", "Value", "From", rows=rows)


def _meant(settings: Config) -> str | None:
    """Return the embedder that a configuration means, also where it names none."""
    from nrem.core import embedder  # for this command alone: it takes a while to import

    return embedder.identity(settings)


def _is_empty(key: str, value: object) -> bool:
    """Tell whether a setting leaves it to others which embedder it is."""
    return key in ("memory.embeddings.provider", "memory.embeddings.model") and not value


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "(none)"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "none" if value is None else str(value) or '""'


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Print the completion script of a shell, to be sourced by it."""
    from nrem.surface.cli.main import main

    script = get_completion_class(shell)
    assert script is not None
    click.echo(script(main, {}, "nrem", "_NREM_COMPLETE").source())
