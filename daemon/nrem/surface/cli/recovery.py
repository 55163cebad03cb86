"""nrem rebuild: the store again, from git alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
from pydantic import TypeAdapter

from nrem import config
from nrem.clock import SystemClock
from nrem.model import Rebuilt
from nrem.policy.rendering import clean
from nrem.surface.cli.shared import Command, confirm, count, json_option, show_json

if TYPE_CHECKING:
    from nrem.core.rebuild import Progress

NOT_IN_GIT = (
    "Not in git, and so not in the new store: tokens (make new ones: nrem token create), and recalls"
    " that were not committed. Vectors are made again once the daemon is up; those that callers gave are"
    " lost."
)


@click.command("rebuild", cls=Command)
@click.option("--without", multiple=True, metavar="NAME", help="Leave this agent out. May be repeated.")
@click.option("-f", "--force", "--yes", is_flag=True, help="Do not ask.")
@json_option
def rebuild_command(without: tuple[str, ...], force: bool, as_json: bool) -> None:
    """Make the store anew from the workspaces' git, while the daemon is down.

    All of it is checked before it takes the place of the old store, which is kept beside it.
    """
    from nrem.core import rebuild

    with _bar() as progress:
        made = rebuild.prepared(config.home(), without=without, clock=SystemClock(), progress=progress)
        with made as new:
            progress.hide()
            if not as_json:
                _show(new.rebuilt)
            confirm("Put the rebuilt store in place?", force=force)
            new.put_in_place()
    if as_json:
        show_json(TypeAdapter(Rebuilt).dump_python(new.rebuilt, mode="json") | {"note": NOT_IN_GIT})
        return
    memories = sum(agent.memories for agent in new.rebuilt.agents)
    agents = count(len(new.rebuilt.agents), "agent", "agents")
    click.echo(f"Rebuilt {agents} with {count(memories, 'memory', 'memories')}.")
    if new.rebuilt.kept is not None:
        click.echo(f"The store before it is kept as {new.rebuilt.kept}.")


def _show(rebuilt: Rebuilt) -> None:
    """Say what is in the new store, and what the old one had more, before anything is changed."""
    for agent in rebuilt.agents:
        held = f"{count(agent.memories, 'memory', 'memories')}, {count(agent.events, 'event', 'events')}"
        click.echo(f"{agent.agent}: {held}, commit {agent.commit[:10]}")
    for names, what in (
        (rebuilt.without_git, "has no commit, so nothing of it can be rebuilt"),
        (rebuilt.without_workspace, "was in the store, and has no workspace"),
        (rebuilt.left_out, "is left out"),
    ):
        for name in names:
            click.echo(clean(f"Not rebuilt: {name} {what}."), err=True)
    if rebuilt.lost is None:
        click.echo("The store before cannot be read, so what it had more is not known.", err=True)
    for lost in rebuilt.lost or ():
        events = count(lost.events, "event", "events")
        click.echo(clean(f"Not in git: {events} of {lost.agent}."), err=True)
    click.echo(NOT_IN_GIT, err=True)


@contextmanager
def _bar() -> Iterator[Progress]:
    """Lend what shows on a terminal how far it is."""
    from rich.console import Console
    from rich.progress import Progress as Bar

    from nrem.core.rebuild import Progress

    with Bar(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("Reading", total=None)

        def tell(subject: str, done: int, total: int) -> None:
            bar.update(task, description=clean(subject), completed=done, total=total or None)

        yield Progress(tell, hide=bar.stop)
