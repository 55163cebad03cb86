"""nrem recall, used, embed, reembed."""

from __future__ import annotations

import sys
from typing import Any

import click

from nrem import wire
from nrem.client import choose_agent
from nrem.errors import InvalidField
from nrem.policy import rendering
from nrem.policy.rendering import clean
from nrem.surface.cli.shared import (
    Command,
    agent_option,
    count,
    filter_options,
    filters,
    json_option,
    present,
    read_text,
    show_json,
    store,
    when,
)


@click.command("recall", cls=Command)
@click.argument("query", required=False)
@agent_option
@click.option("--mode", type=click.Choice(["keyword", "vector", "hybrid"]), help="How to search.")
@click.option("--limit", type=int, default=5, show_default=True, help="At most so many, up to 1000.")
@click.option("--budget", type=int, metavar="TOKENS", help="At most so many tokens together.")
@click.option("--threshold", type=float, help="Only hits with at least this cosine.")
@click.option("--profile", type=click.Choice(["default", "agentos"]), help="How to score.")
@click.option("--asked-at", metavar="TIME", help="When the question was asked, if not now.")
@click.option("--as-of", metavar="POINT", help="Answer from what was known then.")
@click.option("--expired", is_flag=True, help="Also memories that have expired.")
@click.option("--superseded", is_flag=True, help="Also memories that another one has superseded.")
@click.option("--explain", is_flag=True, help="Show each hit's score and its parts.")
@click.option("--no-observe", is_flag=True, help="Leave no record of this recall.")
@click.option(
    "--purpose", type=click.Choice(["cron", "dream", "replay"]), help="What asks, when nobody does."
)
@filter_options
@json_option
def recall_command(
    query: str | None, agent: str | None, limit: int, no_observe: bool, as_json: bool, **given: Any
) -> None:
    """Find the memories that answer a question best. A QUERY of - is read from standard input.

    A POINT is a time (yesterday, 3d ago, 2026-06-01T14:00Z), or the id of a commit, recall or session.

    \b
    nrem recall -a ana "how should I answer Luis?"
    """
    body = filters(given)
    if not (body.get("budget") and _is_default("limit")):
        body["limit"] = limit
    body |= {"query": read_text(query, "query"), "observe": not no_observe}
    with store() as run:
        found = run("recall", agent=choose_agent(run, agent), **body)
    if as_json:
        show_json(found)
        return
    for note in [
        *found["notes"],
        *(f"degraded: {what} search was not possible" for what in found["degraded"]),
    ]:
        click.echo(clean(note), err=True)
    if found["as_of"]:
        point = found["as_of"]
        click.echo(f"As of {when(point['at'])}, event {point['event']}.", err=True)
    if not found["hits"]:
        click.echo("Nothing found.")
        return
    click.echo(rendering.hits(_shown(hit) for hit in found["hits"]))


@click.command("used", cls=Command)
@click.argument("recall")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("--wrong", is_flag=True, help="They are not true, or not any more.")
@agent_option
@json_option
def used_command(recall: str, ids: tuple[str, ...], wrong: bool, agent: str | None, as_json: bool) -> None:
    """Say which memories of a recall helped. Its id is in the JSON of nrem recall."""
    verdict = "wrong" if wrong else "used"
    with store() as run:
        marked = run(
            "mark_used",
            agent=choose_agent(run, agent),
            recall_id=recall,
            memory_ids=list(ids),
            verdict=verdict,
        )
    if as_json:
        show_json(marked)
        return
    click.echo(f"Marked {count(marked['marked'], 'memory', 'memories')} as {verdict}.")
    if marked["marked"] < len(set(ids)):
        click.echo("The others were marked so before.")


def _is_default(option: str) -> bool:
    source = click.get_current_context().get_parameter_source(option)
    return source is click.core.ParameterSource.DEFAULT


def _shown(hit: dict[str, Any]) -> str:
    """Return a hit as data between delimiters: who it is, then its text."""
    memory, explain = hit["memory"], hit["explain"]
    shown = rendering.hit(
        memory["content"],
        kind=memory["kind"],
        category=memory["category"],
        created_at=memory["created_at"],
        trusted=memory["provenance"]["trust"] == "trusted",
        superseded_by=memory["superseded_by"],
        score=explain["score"] if explain else None,
    )
    if explain is not None:
        parts = "  ".join(f"{name} {value:.3f}" for name, value in explain["parts"].items())
        shown += f"\n({memory['id']}  {parts})"
    return shown


@click.command("embed", cls=Command)
@click.argument("text", required=False)
@json_option
def embed_command(text: str | None, as_json: bool) -> None:
    """Show the vector that the embedder makes of a text."""
    given = read_text(text, "text")
    if wire.is_blank(given):
        raise InvalidField("text", "must not be blank")
    with store() as run:
        made = run("embed", texts=[given])
    if as_json:
        show_json(made)
        return
    [vector] = made["embeddings"]
    start = "no vector" if vector is None else ", ".join(f"{value:.4f}" for value in vector[:8])
    click.echo(f"{made['embedder']}, {made['dimension']} dimensions: {start}{', …' if vector else ''}")


@click.command("reembed", cls=Command)
@json_option
def reembed_command(as_json: bool) -> None:
    """Make all vectors with the configured embedder. It can be stopped and goes on where it was."""
    from rich.console import Console
    from rich.progress import Progress

    made = 0
    with (
        store() as run,
        Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress,
    ):
        task = progress.add_task("Embedding", total=None)
        while True:
            step = run("reembed")
            made += step["done"]
            if step["left"] == 0:
                break
            progress.update(task, total=made + step["left"], completed=made)
    if as_json:
        show_json(present({"embedder": step["embedder"], "made": made, "failed": step["failed"]}))
        return
    click.echo(f"Made {count(made, 'vector', 'vectors')} with {step['embedder']}, which serves now.")
    if step["failed"]:
        without = count(step["failed"], "memory has", "memories have")
        click.echo(f"{without} none; words still find what has no vector.", err=True)
