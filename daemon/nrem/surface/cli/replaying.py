"""nrem why, replay, bisect: what was known, when, and since when."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from nrem.client import choose_agent
from nrem.policy.rendering import clean
from nrem.surface.cli.shared import (
    Command,
    agent_option,
    count,
    json_option,
    present,
    show_json,
    store,
    table,
    when,
)

DRIFTED = 1
SHORT = 10
WIDE = 60
"""Characters of a text that a line shows."""


@contextmanager
def _working(what: str) -> Iterator[None]:
    """Show that something is going on which may take a while."""
    from rich.console import Console

    if not sys.stderr.isatty():
        yield
        return
    with Console(stderr=True).status(what):
        yield


@click.command("why", cls=Command)
@click.argument("id")
@agent_option
@json_option
def why_command(id: str, agent: str | None, as_json: bool) -> None:
    """Tell where a memory comes from, what became of it, and which questions it answered.

    Forgotten memories too.
    """
    with store() as run:
        told = run("why", agent=choose_agent(run, agent), id=id)
    if as_json:
        show_json(told)
        return
    by = f", superseded by {told['superseded_by']}" if told["superseded_by"] else ""
    click.echo(f"{told['id']} is {told['state']}{by}.")
    if told["supersedes"]:
        click.echo(f"It supersedes {', '.join(told['supersedes'])}.")
    for event in told["events"]:
        commit = f"commit {event['commit'][:SHORT]}" if event["commit"] else "not committed yet"
        actor = clean(event["actor"])
        click.echo(f"{when(event['at'])}  {event['operation']} by {actor} (event {event['event']}, {commit})")
        for line in _details(event):
            click.echo(f"    {line}")
    if not told["recalled"]:
        click.echo("It was in no answer that is on record.")
        return
    click.echo(
        f"In {count(told['recalled'], 'answer', 'answers')}, first {when(told['first_recalled_at'])},"
        f" last {when(told['last_recalled_at'])}:"
    )
    if told["used"] or told["wrong"]:
        click.echo(f"    marked {told['used']}x as used, {told['wrong']}x as wrong")
    for query in told["queries"]:
        click.echo(f"    {query['count']}x, at best place {query['best_rank']}: {_short(query['query'])}")


def _details(event: dict[str, Any]) -> Iterator[str]:
    if event["erased"]:
        yield "erased"
    if event["content"] is not None:
        yield _short(event["content"])
    if event["reason"] is not None:
        score = "" if event["score"] is None else f", score {event['score']:.3f}"
        sweep = f", sweep {event['sweep']}" if event["sweep"] else ""
        yield f"{clean(event['reason'])}{score}{sweep}"
    origin = {name: event[name] for name in ("ingress", "source", "session", "trust") if event[name]}
    if origin:
        yield ", ".join(f"{name} {clean(value)}" for name, value in origin.items())
    for change in event["changes"]:
        yield f"{change['field']}: {_short(change['before'])} -> {_short(change['after'])}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = clean(" ".join(text.split()))
    return text if len(text) <= WIDE else text[: WIDE - 1] + "…"


@click.command("replay", cls=Command)
@click.argument("of", required=False, metavar="[RECALL|SESSION]")
@click.option("--from", "since", metavar="POINT", help="Replay the recalls since then.")
@click.option("--to", "until", metavar="POINT", help="Up to then; now if not given.")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, help="Most recalls replayed; 100.")
@agent_option
@json_option
def replay_command(limit: int, agent: str | None, as_json: bool, **given: Any) -> None:
    """Ask recorded questions again of the state of their moment, and compare the answers.

    A POINT is a time (yesterday, 3d ago, 2026-06-01T14:00Z), or the id of a commit, recall or session. Exits
    with 1 when an answer has drifted.

    \b
    nrem replay -a ana --from yesterday
    """
    with store() as run, _working("Replaying"):
        told = run("replay", agent=choose_agent(run, agent), limit=limit, **present(given))
    if as_json:
        show_json(told)
    else:
        _show_replays(told)
    click.get_current_context().exit(DRIFTED if told["drifted"] else 0)


def _show_replays(told: dict[str, Any]) -> None:
    rows = [
        [when(one["at"]), one["recall_id"], one["outcome"], _short(one["query"])] for one in told["recalls"]
    ]
    if rows:
        table("When", "Recall", "Outcome", "Query", rows=rows)
    for one in told["recalls"]:
        for cause in one["causes"]:
            click.echo(f"{one['recall_id']}: {clean(cause)}")
    outcomes = ", ".join(f"{told[name]} {name}" for name in ("equal", "drifted", "impossible") if told[name])
    click.echo(f"{outcomes}." if outcomes else "Nothing to replay.")
    if told["more"]:
        click.echo("There are more; --limit or --from shows them.", err=True)
    if told["note"]:
        click.echo(f"Note: {told['note']}.", err=True)


@click.command("bisect", cls=Command)
@click.option("--query", required=True, help="The question.")
@click.option("--id", required=True, help="The memory that came into its answer, or went out of it.")
@click.option("--limit", type=click.IntRange(1, 100), default=5, help="How many hits are the answer; 5.")
@click.option("--mode", type=click.Choice(["keyword", "vector", "hybrid"]), help="How to search.")
@click.option("--from", "since", metavar="POINT", help="Where to begin.")
@click.option("--to", "until", metavar="POINT", help="Where to end; now if not given.")
@agent_option
@json_option
def bisect_command(agent: str | None, as_json: bool, **given: Any) -> None:
    """Find since which commit and event a memory is, or is no more, in an answer.

    \b
    nrem bisect -a ana --query "how should I answer Luis?" --id ID
    """
    with store() as run, _working("Bisecting"):
        told = run("bisect", agent=choose_agent(run, agent), **present(given))
    if as_json:
        show_json(told)
        return
    if told["event"] is None:
        click.echo(f"It {told['change']} being in the answer, but {told['note']}.")
        return
    where = f"commit {told['commit'][:SHORT]}" if told["commit"] else "not committed yet"
    click.echo(f"It {told['change']} being in the answer at event {told['event']} ({where}):")
    click.echo(
        f"    {when(told['at'])}  {told['operation']} {clean(told['subject'])} by {clean(told['actor'])}"
    )
    click.echo(f"The question was asked {count(told['asked'], 'time', 'times')}.")
