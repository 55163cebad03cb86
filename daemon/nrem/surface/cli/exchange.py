"""nrem export and import: memories to a file and back."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from nrem.core import import_
from nrem.errors import InputError, InvalidField, NremError
from nrem.surface.cli.shared import (
    Call,
    Command,
    agent_option,
    choose_agent,
    clean,
    filter_options,
    filters,
    json_option,
    show_json,
    store,
    store_or_notice,
)


@click.command("export", cls=Command)
@agent_option
@click.option(
    "-o",
    "--output",
    default="memories.json",
    show_default=True,
    metavar="FILE",
    help="Where to; - prints it.",
)
@click.option(
    "--format",
    type=click.Choice(["nrem", "initrunner"]),
    default="nrem",
    show_default=True,
    help="Its shape.",
)
@filter_options
@json_option
def export_command(agent: str | None, output: str, format: str, as_json: bool, **given: Any) -> None:
    """Write memories to a JSON file, oldest first. `nrem import` reads it again."""
    with store_or_notice() as run:
        body = filters(given) | {"agent": choose_agent(run, agent), "format": format}
        pages = _pages(run, body)
        if output == "-":
            for chunk in _array(pages, told := {"count": 0, "left_out": 0}):
                click.echo(chunk, nl=False)
        else:
            told = _write(Path(output), pages)
    if output == "-":
        return
    if as_json:
        show_json({"file": output} | told)
        return
    click.echo(f"Exported {told['count']} memories to {output}.")
    if told["left_out"]:
        click.echo(f"Left out: {told['left_out']} of kinds that the {format} format does not have.", err=True)


def _pages(run: Call, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    cursor: dict[str, str] = {}
    while True:
        page = run("export_memories", **body, **cursor)
        yield page
        if page["next"] is None:
            return
        cursor = {"cursor": page["next"]}


def _array(pages: Iterator[dict[str, Any]], told: dict[str, int]) -> Iterator[str]:
    """Yield the text of a JSON array, one record a line, and count into `told`."""
    yield "["
    for page in pages:
        for record in page["memories"]:
            yield ("," if told["count"] else "") + "\n" + json.dumps(record, ensure_ascii=False)
            told["count"] += 1
        told["left_out"] += page["left_out"]
    yield "\n]\n"


def _write(path: Path, pages: Iterator[dict[str, Any]]) -> dict[str, int]:
    """Write a file as a whole or not at all, readable by its owner only."""
    told = {"count": 0, "left_out": 0}
    unfinished = path.with_name(path.name + ".partial")
    try:
        fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with open(fd, "w", encoding="utf-8") as file:
                file.writelines(_array(pages, told))
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}", field="output") from error
    return told


@click.command("import", cls=Command)
@click.argument("file", type=click.Path(path_type=Path))
@agent_option
@click.option(
    "--from", "system", type=click.Choice(["initrunner", "nexo"]), help="FILE is the database of this system."
)
@click.option("--source-agent", metavar="NAME", help="Whose memories, if FILE has those of several agents.")
@json_option
def import_command(
    file: Path, agent: str | None, system: str | None, source_agent: str | None, as_json: bool
) -> None:
    """Take in memories from a JSON export, or from another system's database.

    Every record is checked before the first one is stored. Records that came in before are skipped, so an
    import can be repeated.
    """
    if source_agent is not None and system != "nexo":
        raise InvalidField("source_agent", "goes with --from nexo only")
    source = import_.read_source(file, system, source_agent)
    with store() as run:
        told = _take_in(run, choose_agent(run, agent), source)
    if as_json:
        show_json(told)
        return
    click.echo(
        f"Imported {told['stored']} memories into {told['agent']}; {told['known']} were known already."
    )
    for note in [
        *([f"{source.blank} blank records were skipped."] if source.blank else []),
        *([f"{told['redacted']} records had a secret, which was taken out."] if told["redacted"] else []),
        *(f"Left out: {count} {what}." for what, count in source.left_out.items()),
        *(f"Warning: {warning}." for warning in source.warnings),
    ]:
        click.echo(clean(note), err=True)


def _take_in(run: Call, agent: str, source: import_.Source) -> dict[str, Any]:
    from rich.console import Console
    from rich.progress import Progress

    told: dict[str, Any] = {
        "agent": agent,
        "stored": 0,
        "known": 0,
        "redacted": 0,
        "blank": source.blank,
        "left_out": source.left_out,
        "warnings": list(source.warnings),
    }
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("Importing", total=len(source.records))
        for batch in import_.batches(source.records):
            try:
                answers = run("remember_many", agent=agent, memories=batch)["memories"]
            except NremError as error:
                done = told["stored"] + told["known"]
                error.message += f" (the first {done} records are in; none of the rest is)"
                raise
            told["stored"] += sum(answer["stored"] for answer in answers)
            told["known"] += sum(answer["deduplicated"] for answer in answers)
            told["redacted"] += sum(bool(answer["redacted"]) for answer in answers)
            progress.advance(task, len(batch))
    return told
