"""nrem prune, backup, doctor and verify: what keeps a store safe and small."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from pydantic import TypeAdapter

from nrem import config
from nrem.client import choose_agent, is_up
from nrem.clock import SystemClock
from nrem.errors import ConfigError, NremError
from nrem.model import iso
from nrem.policy.rendering import clean
from nrem.surface.cli import completing
from nrem.surface.cli.shared import (
    Command,
    Group,
    agent_option,
    confirm,
    count,
    force_option,
    json_option,
    present,
    show_json,
    store,
    table,
    when,
)

UNFIT = 1
"""What doctor ends with when it found an error; the codes from 2 on say why a command failed."""


@click.command("prune", cls=Command)
@click.option("--days", type=int, metavar="NUMBER", help="How many days are kept.")
@agent_option
@json_option
def prune_command(days: int | None, agent: str | None, as_json: bool) -> None:
    """Delete the records of old recalls, and give their space back. No memory is touched."""
    with store() as run, _progress() as progress:
        progress("old recalls")
        pruned = run("prune", **present({"agent": choose_agent(run, agent), "days": days}))
    if as_json:
        show_json(pruned)
    else:
        hits = count(pruned["hits"], "hit", "hits")
        click.echo(f"Deleted {count(pruned['recalls'], 'recall', 'recalls')} with {hits}.")


@click.group("backup", cls=Group)
def backup_command() -> None:
    """Make, list and restore backups of the whole store."""


@backup_command.command("create")
@json_option
def create(as_json: bool) -> None:
    """Copy the store, also while it is in use, and check the copy."""
    with store() as run:
        made = run("create_backup")
    if as_json:
        show_json(made)
    else:
        click.echo(f"Made {made['name']}: {_held(made['contents'])}, {_size(made['size'])}.")


@backup_command.command("list")
@json_option
def list_backups(as_json: bool) -> None:
    """List the backups, newest first."""
    from nrem.core import backup

    found = _written(backup.list_(config.home()))  # a store that cannot be opened must not hide them
    if as_json:
        show_json(found)
    elif found["backups"]:
        rows = [
            [b["name"], when(b["made_at"]), b["origin"], _size(b["size"]), _held(b["contents"])]
            for b in found["backups"]
        ]
        table("Name", "Made", "Origin", "Size", "Holds", rows=rows)
    else:
        click.echo("No backups yet. Next: nrem backup create")


@backup_command.command("restore")
@click.argument("name", shell_complete=completing.backups)
@force_option
@json_option
def restore(name: str, force: bool, as_json: bool) -> None:
    """Put a backup in the store's place, while the daemon is down. The store of now becomes a backup."""
    from nrem.core import backup

    home = config.home()
    chosen = backup.get(home, name)
    moment = when(iso(chosen.made_at))
    confirm(
        f"Replace the store by {name} of {moment}? What came later is then only in a backup.", force=force
    )
    restored = backup.restore(home, name, clock=SystemClock())
    shown = _written(restored)
    if as_json:
        show_json(shown)
        return
    click.echo(f"Restored {name}: {_held(shown['contents'])}.")
    if shown["contents"]["newest_event"] is not None:
        click.echo(f"Its newest event is of {when(shown['contents']['newest_event'])}.")
    if restored.kept is not None:
        click.echo(f"The store before it is kept as {restored.kept}.")
    if restored.lost is None:
        click.echo("It could not be read, so what it had more is not known.")
    for lost in restored.lost or ():
        click.echo(clean(f"Not here any more: {count(lost.events, 'event', 'events')} of {lost.agent}."))


def _written(record: Any) -> dict[str, Any]:
    """Return a record as the JSON that an operation would answer with."""
    shown: dict[str, Any] = TypeAdapter(type(record)).dump_python(record, mode="json")
    return shown


def _held(contents: dict[str, Any] | None) -> str:
    if contents is None:
        return "not known"
    memories = sum(agent["memories"] for agent in contents["agents"])
    agents = count(len(contents["agents"]), "agent", "agents")
    return f"{agents}, {count(memories, 'memory', 'memories')}"


def _size(number: int) -> str:
    return f"{number / (1 << 20):.1f} MiB"


@click.command("doctor", cls=Command)
@click.option("--deep", is_flag=True, help="Also recompute every event and compare every memory.")
@json_option
@click.pass_context
def doctor_command(ctx: click.Context, deep: bool, as_json: bool) -> None:
    """Look for what is wrong with the store and where it lives, and say what to do.

    Nothing is changed. Ends with 1 when there is an error, with 0 otherwise.
    """
    levels = {"ok": 0, "warning": 0, "error": 0}
    shown = []
    with _progress() as progress:
        for finding in _findings(deep, progress):
            levels[finding["level"]] += 1
            shown.append(finding)
            if not as_json:
                _show(finding)
    if as_json:
        show_json({"findings": shown, "errors": levels["error"], "warnings": levels["warning"]})
    else:
        errors = count(levels["error"], "error", "errors")
        click.echo(f"{errors}, {count(levels['warning'], 'warning', 'warnings')}.")
    ctx.exit(UNFIT if levels["error"] else 0)


@click.command("verify", cls=Command)
@click.option(
    *("-a", "--agent"),
    metavar="NAME",
    shell_complete=completing.agents,
    help="Only this agent's; else $NREM_AGENT's, or all.",
)
@json_option
@click.pass_context
def verify_command(ctx: click.Context, agent: str | None, as_json: bool) -> None:
    """Compare database, git and ledger byte by byte, and name everything that differs.

    Nothing is changed. Ends with 1 when there is an error, with 0 otherwise.
    """
    found: list[dict[str, Any]] = []
    with _progress() as progress, store() as run:
        chosen = agent or config.default_agent()
        names = [chosen] if chosen else [known["agent"] for known in run("list_agents")["agents"]]
        for name in names:
            progress(f"the database and the git of {name}")
            findings = run("verify", agent=name)["findings"]
            found += [{"agent": name, **finding} for finding in findings]
            if not as_json:
                if len(names) > 1:
                    click.echo(f"Agent {name}:")
                for finding in findings:
                    _show(finding)
    errors = sum(finding["level"] == "error" for finding in found)
    if as_json:
        show_json({"agents": names, "findings": found, "errors": errors})
    else:
        click.echo(f"{count(errors, 'error', 'errors')}.")
    ctx.exit(UNFIT if errors else 0)


def _findings(deep: bool, progress: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """Yield what is found: by the daemon when it is up, as only it can look into its store, else here."""
    from nrem.core import doctor, surroundings

    home = config.home()
    try:
        socket = config.socket(home)
    except ConfigError:
        socket = home / "nrem.sock"  # the finding about the configuration comes below
    yield from map(_written, doctor.examine_daemon(socket))
    if is_up(socket):
        progress("the daemon's store")
        try:
            with store() as run:
                yield from run("doctor", deep=deep)["findings"]
            return
        except NremError as error:
            yield _written(surroundings.problem("NR030", "daemon", error))
    yield from map(_written, doctor.examine(home, SystemClock(), deep=deep, progress=progress))


def _show(finding: dict[str, Any]) -> None:
    click.echo(clean(f"{finding['level']:7}  {finding['id']}  {finding['subject']}: {finding['message']}"))
    if finding["hint"] is not None and finding["level"] != "ok":
        click.echo(clean(f"         do: {finding['hint']}"))


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Lend a function that shows on a terminal what is being looked at."""
    if not sys.stderr.isatty():
        yield lambda subject: None
        return
    from rich.console import Console

    with Console(stderr=True).status("") as status:
        yield lambda subject: status.update(f"Looking at {clean(subject)}")
