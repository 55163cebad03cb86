"""nrem checkpoint, restore, log, diff, show: an agent's workspace under git."""

from __future__ import annotations

from typing import Any

import click

from nrem.client import choose_agent
from nrem.policy import rendering
from nrem.policy.rendering import clean
from nrem.surface.cli.shared import (
    Command,
    agent_option,
    count,
    json_option,
    present,
    show_json,
    show_text,
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
        click.echo(f"Committed {made['commit'][:SHORT]}: {rendering.counts(made)}.")
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
    click.echo(f"{what} the state of {when(done['at'])}: {rendering.counts(done | {'files': 0})}.")
    if done["commit"]:
        click.echo(f"Committed {done['commit'][:SHORT]}.")
    elif done["note"]:
        click.echo(f"No commit: {done['note']}.")


@click.command("log", cls=Command)
@click.option("-n", "--limit", type=click.IntRange(1, 100), default=20, help="Most commits shown; 20.")
@click.option("--diff", "include_diff", is_flag=True, help="Show which memories came, changed and went.")
@agent_option
@json_option
def log_command(limit: int, include_diff: bool, agent: str | None, as_json: bool) -> None:
    """List the commits of an agent's workspace, newest first."""
    with store() as run:
        found = run("log", agent=choose_agent(run, agent), limit=limit, include_diff=include_diff)
    if as_json:
        show_json(found)
        return
    rows = [
        [c["commit"][:SHORT], when(c["at"]), c["cause"], rendering.counts(c), c["subject"]]
        for c in found["commits"]
    ]
    if include_diff:
        for row, commit in zip(rows, found["commits"], strict=True):
            click.echo(clean("  ".join(row)))
            _show_changes(commit)
    elif rows:
        table("Commit", "When", "Cause", "Changes", "Subject", rows=rows)
    if found["note"]:
        click.echo(f"Note: {clean(found['note'])}.", err=True)
    if found["unpublished"]:
        click.echo(f"{count(found['unpublished'], 'event is', 'events are')} not committed yet.", err=True)


@click.command("diff", cls=Command)
@click.argument("a")
@click.argument("b", required=False)
@click.option("--text", is_flag=True, help="Show the difference of the files as a unified diff too.")
@agent_option
@json_option
def diff_command(a: str, b: str | None, text: bool, agent: str | None, as_json: bool) -> None:
    """Show what became of memories and files between A and B, or now.

    A and B are times, or ids of commits, recalls or sessions.
    """
    with store() as run:
        found = run("diff", agent=choose_agent(run, agent), a=a, text=text, **present({"b": b}))
    if as_json:
        show_json(found)
        return
    click.echo(f"{_point(found['a'])} -> {_point(found['b'])}: {rendering.counts(found)}")
    _show_changes(found)
    for id in found["promoted"]:
        click.echo(f"promoted: {id}")
    for id in found["demoted"]:
        click.echo(f"demoted: {id}")
    for path in found["files"]:
        click.echo(f"file: {clean(path)}")
    if found["text"]:
        click.echo()
        show_text(found["text"])
    if found["text_cut"]:
        click.echo("Note: the end of the text is missing, because it is too long.", err=True)
    for note in found["notes"]:
        click.echo(f"Note: {clean(note)}.", err=True)


@click.command("show", cls=Command)
@click.argument("commit")
@click.argument("path", metavar="FILE")
@agent_option
@json_option
def show_command(commit: str, path: str, agent: str | None, as_json: bool) -> None:
    """Print a file of the workspace as it was in a commit."""
    with store() as run:
        found = run("show_file", agent=choose_agent(run, agent), commit=commit, path=path)
    if as_json:
        show_json(found)
    else:
        show_text(found["content"])


def _show_changes(of: dict[str, Any]) -> None:
    for change in of["memories"]:
        click.echo(rendering.change(change))
    if of["more"]:
        click.echo(f"and {of['more']} more")


def _point(of: dict[str, Any]) -> str:
    commit = f", commit {of['commit'][:SHORT]}" if of["commit"] else ""
    return clean(f"{of['word']} ({when(of['at'])}, event {of['event']}{commit})")
