"""nrem dream: what stands in MEMORY.md, why, and how to take it back."""

from __future__ import annotations

from typing import Any

import click

from nrem.client import choose_agent
from nrem.policy import diary
from nrem.policy.rendering import clean
from nrem.surface.cli.shared import (
    Group,
    agent_option,
    count,
    json_option,
    line,
    show_json,
    store,
    table,
    when,
)

SHORT = 10
WORDS = {"promote": "+", "demote": "-", "supersede": "~", "hold": "="}


class DreamGroup(Group):
    """A group that sweeps when no command is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ("-h", "--help")):
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group("dream", cls=DreamGroup)
def dream_command() -> None:
    """Choose anew what stands in MEMORY.md; alone, nrem dream is nrem dream run."""


@dream_command.command("run")
@click.option("--dry-run", is_flag=True, help="Only say what would become of the lines.")
@agent_option
@json_option
def run(dry_run: bool, agent: str | None, as_json: bool) -> None:
    """Sweep now: what proved useful gets a line, what did not gives its up."""
    with store() as call:
        chosen = choose_agent(call, agent)
        with _waiting(chosen, hidden=as_json):
            dreamed = call("dream", agent=chosen, dry_run=dry_run)
    if as_json:
        show_json(dreamed)
        return
    if dreamed["sweep"] is None and not dry_run:
        click.echo(f"No sweep: {dreamed['note']}.")
        return
    _show_outcome(dreamed["outcome"])
    if dry_run:
        click.echo("Nothing was written.")
    elif dreamed["proposals"]:
        waiting = count(len(dreamed["proposals"]), "proposal waits", "proposals wait")
        click.echo(f"{waiting} for your word: nrem dream status shows them.")
    elif dreamed["commit"]:
        click.echo(f"Committed {dreamed['commit'][:SHORT]}; sweep {dreamed['sweep']}.")
    else:
        click.echo(f"No line changed; sweep {dreamed['sweep']}.")


@dream_command.command("status")
@agent_option
@json_option
def status(agent: str | None, as_json: bool) -> None:
    """Say how dreaming stands: the last sweep, what waits, and what holds the next ones back."""
    with store() as call:
        found = call("dream_status", agent=choose_agent(call, agent))
    if as_json:
        show_json(found)
        return
    last = found["last"]
    click.echo(f"Mode {found['mode']}: {found['note']}.")
    if last is not None:
        changes = f"+{last['promoted']} -{last['demoted']} ~{last['superseded']}"
        click.echo(f"Last sweep {last['sweep']} at {when(last['started_at'])}: {changes}.")
    failure = found["failure"]
    if failure is not None:
        hint = f"\n  {clean(failure['hint'])}" if failure["hint"] else ""
        click.echo(f"The last try failed at {when(failure['at'])}: {clean(failure['error'])}{hint}")
    if found["alarm"] is not None:
        click.echo(f"Look here: {found['alarm']}.")
    since = found["days_since_promotion"]
    ago = f"the last came {count(since, 'day', 'days')} ago" if since else "the last came today"
    ago = "none was ever promoted" if since is None else ago
    room = f"{found['characters']} of {found['room']} characters"
    click.echo(f"{count(found['lines'], 'line', 'lines')} in MEMORY.md, {room}; {ago}.")
    _show_model(found["model"])
    _show_misses(found)
    if found["proposals"]:
        click.echo("Proposals:")
        rows = [[p["proposal"], p["change"], p["reason"], line(p["text"] or "")] for p in found["proposals"]]
        table("Proposal", "Change", "Why", "Memory", rows=rows)


@dream_command.command("explain")
@click.argument("id")
@agent_option
@json_option
def explain(id: str, agent: str | None, as_json: bool) -> None:
    """Explain why a memory has a line or none, term by term, and what would change that."""
    with store() as call:
        found = call("explain_dream", agent=choose_agent(call, agent), id=id)
    if as_json:
        show_json(found)
        return
    has = "has a line" if found["has_line"] else "has no line"
    click.echo(f"It {has}; a sweep would now decide: {found['decision']} ({clean(found['reason'])}).")
    rows = [[name, f"{value:+.3f}"] for name, value in sorted(found["terms"].items())]
    rows.append(["sum", f"{sum(found['terms'].values()):+.3f}"])
    table("Term", "Log-odds", rows=rows)
    place = f"number {found['rank']} of the lines" if found["rank"] else "without a line"
    among = count(found["candidates"], "candidate", "candidates")
    click.echo(f"P(needed again) {found['score']:.3f}; {place}, among {among}.")
    if found["line"]:
        click.echo(f"Its line is a sentence of {clean(found['model'])}: {clean(found['line'])}")
    for way in found["would_change"]:
        click.echo(f"What would change it: {clean(way)}")


@dream_command.command("list")
@click.option("-n", "--limit", type=click.IntRange(1, 100), default=20, help="Most sweeps shown; 20.")
@agent_option
@json_option
def list_(limit: int, agent: str | None, as_json: bool) -> None:
    """List the sweeps, newest first."""
    with store() as call:
        found = call("list_sweeps", agent=choose_agent(call, agent), limit=limit)
    if as_json:
        show_json(found)
        return
    rows = [
        [
            sweep["sweep"],
            when(sweep["started_at"]),
            f"+{sweep['promoted']} -{sweep['demoted']} ~{sweep['superseded']}",
            (sweep["commit"] or "")[:SHORT],
            "undone" if sweep["undone_at"] else sweep["state"],
        ]
        for sweep in found["sweeps"]
    ]
    if rows:
        table("Sweep", "When", "Lines", "Commit", "State", rows=rows)
    else:
        click.echo("No sweep yet.")


@dream_command.command("show")
@click.argument("sweep")
@agent_option
@json_option
def show(sweep: str, agent: str | None, as_json: bool) -> None:
    """Show what a sweep decided and why."""
    with store() as call:
        found = call("show_sweep", agent=choose_agent(call, agent), sweep=sweep)
    if as_json:
        show_json(found)
        return
    _show_outcome(found["outcome"])


@dream_command.command("undo")
@click.argument("sweep")
@agent_option
@json_option
def undo(sweep: str, agent: str | None, as_json: bool) -> None:
    """Take back what a sweep did to the lines that are as it left them."""
    with store() as call:
        undone = call("undo_sweep", agent=choose_agent(call, agent), sweep=sweep)
    if as_json:
        show_json(undone)
        return
    removed, restored = len(undone["removed"]), len(undone["restored"])
    click.echo(f"{count(removed, 'line', 'lines')} taken away, {count(restored, 'line', 'lines')} put back.")
    for left in undone["left"]:
        click.echo(f"Left as it is: {left['id']} ({left['reason']})", err=True)
    _show_by_hand(undone)


@dream_command.command("accept")
@click.argument("proposal")
@agent_option
@json_option
def accept(proposal: str, agent: str | None, as_json: bool) -> None:
    """Do what a sweep proposed."""
    _decide("accept_proposal", proposal, agent, as_json=as_json)


@dream_command.command("reject")
@click.argument("proposal")
@agent_option
@json_option
def reject(proposal: str, agent: str | None, as_json: bool) -> None:
    """Refuse what a sweep proposed; it is not proposed again."""
    _decide("reject_proposal", proposal, agent, as_json=as_json)


def _decide(operation: str, proposal: str, agent: str | None, *, as_json: bool) -> None:
    with store() as call:
        decided = call(operation, agent=choose_agent(call, agent), proposal=proposal)
    if as_json:
        show_json(decided)
        return
    click.echo(f"{'Accepted' if decided['accepted'] else 'Rejected'}: {decided['id']}.")
    _show_by_hand(decided)


def _show_outcome(outcome: dict[str, Any]) -> None:
    rows = [
        [WORDS[c["change"]], f"{c['score']:.3f}", c["id"], f"{c['reason']}: {line(c['text'] or '(gone)')}"]
        for c in outcome["changes"]
    ]
    if rows:
        table("", "Score", "Memory", "Why", rows=rows)
    room = f"{outcome['characters']} of {outcome['room']} characters"
    click.echo(f"{count(outcome['kept'], 'line stays', 'lines stay')}; the block takes {room}.")
    _show_by_hand(outcome)
    _show_answer(outcome["model"])
    _show_seen(outcome)
    _show_misses(outcome)


def _show_seen(outcome: dict[str, Any]) -> None:
    for theme in outcome["themes"]:
        tags = clean(" and ".join(theme["tags"]))
        name = f"{clean(theme['name'])} ({tags})" if theme["name"] else tags
        often = f"{count(theme['memories'], 'memory', 'memories')} on {count(theme['days'], 'day', 'days')}"
        click.echo(f"Theme: {name}, {often} (m:{theme['medoid']})")
    for said, name in (("One of two does not hold", "conflicts"), ("Said twice", "repeats")):
        for pair in outcome[name]:
            both = f"{line(pair['older_text'], 60)} / {line(pair['newer_text'], 60)}"
            click.echo(f"{said}: {both} (m:{pair['older']}, m:{pair['newer']})")


def _show_by_hand(found: dict[str, Any]) -> None:
    for told in diary.by_hand(found["by_hand"]):
        click.echo(told)


def _show_answer(answer: dict[str, Any] | None) -> None:
    if answer is None:
        return
    model = clean(answer["model"])
    if answer["note"]:
        click.echo(f"No advice of a model: {clean(answer['note'])}.")
    for worded in answer["lines"]:
        text = f": {line(worded['text'])}" if worded["text"] else ""
        click.echo(f"In the words of {model}: {worded['operation']} {worded['id']}{text}")
    for reason, number in sorted(answer["dropped"].items()):
        click.echo(f"Not taken of what {model} proposed: {number}, because {clean(reason)}")


def _show_misses(found: dict[str, Any]) -> None:
    for miss in found["misses"]:
        click.echo(f"Nearest without a line: {line(miss['text'] or '(gone)', 60)} ({clean(miss['reason'])})")
    for reason, number in sorted(found["rejected"].items()):
        click.echo(f"Left out: {number}, because {clean(reason)}")


def _show_model(model: dict[str, Any] | None) -> None:
    if model is None:
        return
    budget = "" if model["daily_tokens"] is None else f" of {model['daily_tokens']}"
    worded = count(model["lines"], "line is a model's sentence", "lines are a model's sentences")
    click.echo(f"Chat model {clean(model['model'])}: {worded}; {model['tokens']}{budget} tokens used today.")
    if model["failures"]:
        failed = count(model["failures"], "call failed", "calls failed")
        click.echo(f"In a row, {failed}; the last time: {clean(model['error'])}.")


def _waiting(agent: str, *, hidden: bool) -> Any:
    """Return a bar that moves, and the time, while a sweep is at work, on a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    progress = Progress(
        TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console,
        transient=True, disable=hidden or not console.is_terminal,
    )  # fmt: skip
    progress.add_task(f"Sweeping the memory of {clean(agent)}", total=None)
    return progress
