"""nrem remember, get, list, edit, pin, unpin, forget, versions, clear."""

from __future__ import annotations

import json
from typing import Any

import click

from nrem.client import choose_agent
from nrem.policy.rendering import clean
from nrem.surface.cli.shared import (
    Command,
    agent_option,
    confirm,
    count,
    filter_options,
    filters,
    force_option,
    json_option,
    kind_option,
    line,
    parse_objects,
    place_options,
    present,
    read_text,
    show_json,
    store,
    store_or_notice,
    table,
    when,
)


@click.command("remember", cls=Command)
@click.argument("text", required=False)
@agent_option
@kind_option(many=False)
@click.option("--category", metavar="NAME", help="One word for what it is about.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="May be repeated.")
@click.option("--importance", type=float, help="Cost of forgetting, 0 to 1; derived when not given.")
@click.option("--confidence", type=float, help="Belief that it is true, 0 to 1.")
@click.option("--role", type=click.Choice(["user", "assistant", "system", "tool"]), help="Who said it.")
@place_options
@click.option("--context", metavar="TEXT", help="Text by which it is found too, but that is not part of it.")
@click.option("--source", metavar="TEXT", help="Where it comes from.")
@click.option("--data", metavar="JSON", help="Any JSON object, given back unchanged.")
@click.option("--metadata", metavar="JSON", help="A JSON object that lists can be filtered by.")
@click.option("--created-at", metavar="TIME", help="When it was learned, if not now.")
@click.option("--expires-at", metavar="TIME", help="When it stops being true.")
@click.option("--pin", "pinned", is_flag=True, default=None, help="Never evict it.")
@click.option(
    "--supersedes", multiple=True, metavar="ID", help="A memory that is not true any more. May be repeated."
)
@click.option("--untrusted", is_flag=True, help="It comes from outside, such as a web page.")
@json_option
def remember_command(
    text: str | None, agent: str | None, untrusted: bool, as_json: bool, **given: Any
) -> None:
    """Store one memory. Without TEXT, or with -, it is read from standard input.

    \b
    nrem remember -a ana "Luis prefers Spanish and short replies" --category preferences
    """
    body = present(parse_objects(given, "data", "metadata"))
    if untrusted:
        body["trust"] = "untrusted"
    body["content"] = read_text(text, "text")
    with store() as run:
        stored = run("remember", agent=choose_agent(run, agent), **body)
    if as_json:
        show_json(stored)
        return
    click.echo(f"Remembered {stored['id']}" if stored["stored"] else f"Known already: {stored['id']}")
    if body.get("supersedes") and stored["reason"] is None:
        click.echo(clean(f"It supersedes {', '.join(body['supersedes'])}"))
    for note in stored["notes"]:
        click.echo(clean(note), err=True)
    _tell_redacted(stored)


def _tell_redacted(answer: dict[str, Any]) -> None:
    if answer["redacted"]:
        click.echo(f"A secret was taken out before it was stored: {', '.join(answer['redacted'])}", err=True)


@click.command("get", cls=Command)
@click.argument("id")
@agent_option
@json_option
def get_command(id: str, agent: str | None, as_json: bool) -> None:
    """Show one memory."""
    with store() as run:
        shown = run("get_memory", agent=choose_agent(run, agent), id=id)
    if as_json:
        show_json(shown)
        return
    memory = shown["memory"]
    hidden = {"content", "provenance"} | ({"kind_given"} if memory["kind_given"] == memory["kind"] else set())
    rest = {name: value for name, value in memory.items() if name not in hidden}
    rest |= memory["provenance"] | {"recalled": count(shown["access_count"], "time", "times")}
    click.echo(clean(memory["content"]))
    click.echo()
    table(
        "Field",
        "Value",
        rows=[[name, _shown(value)] for name, value in rest.items() if value not in (None, [])],
    )


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@click.command("list", cls=Command)
@agent_option
@filter_options
@click.option("--limit", type=int, default=20, show_default=True, help="At most so many, up to 1000.")
@click.option("--page", type=int, help="A page by its number, with totals.")
@click.option("--cursor", metavar="NEXT", help="The page behind another one.")
@json_option
def list_command(
    agent: str | None, limit: int, page: int | None, cursor: str | None, as_json: bool, **given: Any
) -> None:
    """List memories, newest first."""
    body = filters(given) | present({"limit": limit, "page": page, "cursor": cursor})
    with store_or_notice() as run:
        found = run("list_memories", agent=choose_agent(run, agent), **body)
    if as_json:
        show_json(found)
        return
    if not found["memories"] and not found["page"]:
        click.echo("No memories.")
        return
    rows = [
        [
            m["id"],
            f"[{m['kind']}:{m['category']}] ({when(m['created_at'])})"
            f"{' pinned' if m['pinned'] else ''}{' superseded' if m['superseded_by'] else ''}"
            f" {line(m['content'])}",
        ]
        for m in found["memories"]
    ]
    table("Id", "Memory", rows=rows)
    if found["page"] is not None:
        click.echo(f"Page {found['page']} of {found['total_pages']}, {_many(found['total'])}.")
    elif found["next"] is not None:
        click.echo(f"More: --cursor {found['next']}")


@click.command("edit", cls=Command)
@click.argument("id")
@click.argument("text", required=False)
@agent_option
@click.option("--category", metavar="NAME", help="One word for what it is about.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Replaces all tags. May be repeated.")
@click.option("--importance", type=float, help="Cost of forgetting, 0 to 1.")
@click.option("--confidence", type=float, help="Belief that it is true, 0 to 1.")
@click.option("--context", metavar="TEXT", help="Text by which it is found too.")
@click.option("--data", metavar="JSON", help="Replaces the JSON object beside the text.")
@click.option("--metadata", metavar="JSON", help="Replaces the metadata.")
@click.option("--expires-at", metavar="TIME", help="When it stops being true.")
@click.option(
    "--clear",
    "cleared",
    multiple=True,
    type=click.Choice(["tags", "context", "data", "metadata", "expires_at"]),
    help="Take this away. May be repeated.",
)
@click.option("--if-version", "version", type=int, help="Only if this is still the version.")
@json_option
def edit_command(
    id: str, text: str | None, agent: str | None, cleared: tuple[str, ...], as_json: bool, **given: Any
) -> None:
    """Change a memory; the version before is kept. A TEXT of - is read from standard input."""
    body = present(parse_objects(given, "data", "metadata"))
    body |= {name: [] if name == "tags" else None for name in cleared}
    if text is not None:
        body["content"] = read_text(text, "text")
    with store() as run:
        changed = run("edit_memory", agent=choose_agent(run, agent), id=id, **body)
    if as_json:
        show_json(changed)
        return
    click.echo(f"Changed {changed['id']}, now version {changed['version']}.")
    _tell_redacted(changed)


@click.command("pin", cls=Command)
@click.argument("id")
@agent_option
@json_option
def pin_command(id: str, agent: str | None, as_json: bool) -> None:
    """Keep a memory from ever being evicted."""
    _pin("pin_memory", "Pinned", id, agent, as_json)


@click.command("unpin", cls=Command)
@click.argument("id")
@agent_option
@json_option
def unpin_command(id: str, agent: str | None, as_json: bool) -> None:
    """Let a pinned memory go its way again."""
    _pin("unpin_memory", "Unpinned", id, agent, as_json)


def _pin(operation: str, done: str, id: str, agent: str | None, as_json: bool) -> None:
    with store() as run:
        changed = run(operation, agent=choose_agent(run, agent), id=id)
    if as_json:
        show_json(changed)
    else:
        click.echo(f"{done} {changed['id']}.")


@click.command("forget", cls=Command)
@click.argument("id")
@click.option("--erase", is_flag=True, help="Erase every version for good, also from the history in git.")
@agent_option
@force_option
@json_option
def forget_command(id: str, erase: bool, agent: str | None, force: bool, as_json: bool) -> None:
    """Forget a memory. Its history stays, unless it is to be erased."""
    if erase:
        confirm(f"Erase every version of {clean(id)} for good, and rewrite the history in git?", force=force)
    with store() as run:
        answer = run("erase_memory" if erase else "forget", agent=choose_agent(run, agent), id=id)
    if as_json:
        show_json(answer)
    elif erase:
        _show_receipt(answer)
    else:
        click.echo(answer["note"])


def _show_receipt(receipt: dict[str, Any]) -> None:
    click.echo(
        f"Erased {receipt['id']}: {count(receipt['events'], 'event', 'events')} emptied,"
        f" {count(receipt['versions'], 'version', 'versions')} and"
        f" {count(receipt['objects'], 'object', 'objects')} of git deleted,"
        f" {count(receipt['commits'], 'commit', 'commits')} written anew,"
        f" {count(receipt['recalls'], 'question', 'questions')} replaced."
    )
    for field, what in (
        ("backups", "Backups that have it still"),
        ("files", "Your files that have its text"),
        ("past_files", "Your files that had its text in earlier commits"),
        ("messages", "Commits whose message has its text"),
        ("memories", "Other memories that repeat or name it"),
    ):
        if receipt[field]:
            click.echo(f"{what}: {', '.join(map(clean, receipt[field]))}", err=True)


@click.command("versions", cls=Command)
@click.argument("id")
@agent_option
@json_option
def versions_command(id: str, agent: str | None, as_json: bool) -> None:
    """List every state a memory ever had, with who made it and when."""
    with store() as run:
        found = run("list_versions", agent=choose_agent(run, agent), id=id)
    if as_json:
        show_json(found)
        return
    rows = [
        [
            str(v["version"] or ""),
            when(v["at"]),
            v["operation"],
            f"{v['actor']} ({v['cause']})",
            line(v["memory"]["content"]) if v["memory"] else "",
        ]
        for v in found["versions"]
    ]
    table("Version", "When", "What", "Who", "Content", rows=rows)


@click.command("clear", cls=Command)
@agent_option
@filter_options
@click.option("--sessions-only", is_flag=True, help="Only turns of conversations.")
@click.option("--memories-only", is_flag=True, help="Everything but turns of conversations.")
@click.option("--dry-run", is_flag=True, help="Only say how many it would be.")
@force_option
@json_option
def clear_command(
    agent: str | None,
    sessions_only: bool,
    memories_only: bool,
    dry_run: bool,
    force: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Forget all memories that match; without a condition, all of the agent's."""
    body = filters(given) | {"sessions_only": sessions_only, "memories_only": memories_only}
    with store_or_notice() as run:
        name = choose_agent(run, agent)
        cleared = run("clear_memories", agent=name, dry_run=True, **body)
    if not dry_run and cleared["count"]:
        confirm(f"Forget {_many(cleared['count'])} of {name}?", force=force)  # nobody waits for the answer
        with store() as run:
            cleared = run("clear_memories", agent=name, **body)
    if as_json:
        show_json(cleared)
    elif dry_run:
        click.echo(f"{_many(cleared['count'])} of {name} would be forgotten.")
    else:
        click.echo(
            f"Forgot {_many(cleared['count'])} of {name}." if cleared["count"] else "Nothing to clear."
        )


def _many(number: int) -> str:
    return count(number, "memory", "memories")
