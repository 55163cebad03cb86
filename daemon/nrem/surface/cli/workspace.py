"""nrem checkpoint, restore, log: an agent's workspace under git."""

from __future__ import annotations

from typing import Any

import click

from nrem.surface.cli.shared import (
    Command,
    agent_option,
    choose_agent,
    clean,
    count,
    json_option,
    present,
    show_json,
    store,
    table,
    when,
)

SHORT = 10
"""Characters of a commit's id that are shown; git takes them for the whole."""


@click.command("checkpoint", cls=Command)
@click.option("-m", "--message", "note", metavar="NOTE", help="What it is for; the commit's subject has it.")
@agent_option
@json_option
def checkpoint_command(note: str | None, agent: str | None, as_json: bool) -> None:
    """Commit what happened, and what was changed in the workspace's files."""
    with store() as run:
        made = run("checkpoint", agent=choose_agent(run, agent), **present({"note": note}))
    if as_json:
        show_json(made)
        return
    if made["commit"] is None:
        click.echo(f"No commit: {made['note']}.")
    else:
        click.echo(f"Committed {made['commit'][:SHORT]}: {_changes(made)}.")
    for left in made["left_out"]:
        click.echo(f"Left out: {clean(left['path'])} {left['reason']}", err=True)


@click.command("restore", cls=Command)
@click.option("--to", metavar="POINT", help="A time, or the id of a commit, a session or a recall.")
@click.option("--only", metavar="ID", help="Only this memory; without --to, as it was when it was forgotten.")
@click.option("--dry-run", is_flag=True, help="Only tell what would change.")
@agent_option
@json_option
def restore_command(
    to: str | None, only: str | None, dry_run: bool, agent: str | None, as_json: bool
) -> None:
    """Bring the memories of a point in the past back, as new events on top."""
    with store() as run:
        chosen = choose_agent(run, agent)
        done = run("restore", agent=chosen, dry_run=dry_run, **present({"to": to, "only": only}))
    if as_json:
        show_json(done)
        return
    for memory in done["memories"]:
        click.echo(f"{memory['change']:9}  {memory['id']}")
    for left in done["left"]:
        other = f" ({left['other']})" if left["other"] else ""
        click.echo(f"Not restored: {left['id']}: {left['reason']}{other}", err=True)
    if not (done["added"] or done["changed"] or done["forgotten"]):
        click.echo(f"Nothing to restore: the memories are as they were {when(done['at'])}.")
        return
    if len(done["memories"]) < done["added"] + done["changed"] + done["forgotten"]:
        click.echo("(and more)")
    what = "Would restore" if dry_run else "Restored"
    click.echo(f"{what} the state of {when(done['at'])}: {_changes(done | {'files': 0})}.")
    if done["commit"]:
        click.echo(f"Committed {done['commit'][:SHORT]}.")
    elif done["note"]:
        click.echo(f"No commit: {done['note']}.")


@click.command("log", cls=Command)
@click.option("-n", "--limit", type=click.IntRange(1, 100), default=20, help="Most commits shown; 20.")
@agent_option
@json_option
def log_command(limit: int, agent: str | None, as_json: bool) -> None:
    """List the commits of an agent's workspace, newest first."""
    with store() as run:
        found = run("log", agent=choose_agent(run, agent), limit=limit)
    if as_json:
        show_json(found)
        return
    rows = [
        [c["commit"][:SHORT], when(c["at"]), c["cause"], _changes(c), c["subject"]] for c in found["commits"]
    ]
    if rows:
        table("Commit", "When", "Cause", "Changes", "Subject", rows=rows)
    if found["note"]:
        click.echo(f"Note: {found['note']}.", err=True)
    elif found["unpublished"]:
        click.echo(f"{count(found['unpublished'], 'event is', 'events are')} not committed yet.", err=True)


def _changes(of: dict[str, Any]) -> str:
    memories = f"+{of['added']} -{of['forgotten']} ~{of['changed']}"
    return f"{memories}, {count(of['files'], 'file', 'files')}" if of["files"] else memories
