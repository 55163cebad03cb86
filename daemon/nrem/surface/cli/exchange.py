"""nrem export and import: memories to a file and back."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from nrem.client import choose_agent
from nrem.core import import_
from nrem.errors import InputError, InvalidField
from nrem.policy.rendering import clean
from nrem.surface.cli.shared import (
    Call,
    Command,
    agent_option,
    count,
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
        told = {"count": 0, "left_out": 0}
        if output == "-":
            for chunk in _array(pages, told, escape=sys.stdout.isatty()):
                click.echo(chunk, nl=False)
        else:
            _write(Path(output), _array(pages, told))
    if as_json and output != "-":
        show_json({"file": output} | told)
        return
    if output != "-":
        click.echo(f"Exported {count(told['count'], 'memory', 'memories')} to {output}.")
    if told["left_out"]:
        click.echo(
            f"Left out: {told['left_out']} that the {format} format lacks, by their kind or as superseded.",
            err=True,
        )


def _pages(run: Call, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    cursor: dict[str, str] = {}
    while True:
        page = run("export_memories", **body, **cursor)
        yield page
        if page["next"] is None:
            return
        cursor = {"cursor": page["next"]}


def _array(pages: Iterator[dict[str, Any]], told: dict[str, int], *, escape: bool = False) -> Iterator[str]:
    """Yield the text of a JSON array, one record a line, and count into `told`."""
    yield "["
    for page in pages:
        for record in page["memories"]:
            yield ("," if told["count"] else "") + "\n" + json.dumps(record, ensure_ascii=escape)
            told["count"] += 1
        told["left_out"] += page["left_out"]
    yield "\n]\n"


def _write(path: Path, chunks: Iterator[str]) -> None:
    """Write a file as a whole or not at all, readable by its owner only; a pipe or a device as it comes."""
    try:
        if path.exists() and not path.is_file():
            with path.open("w", encoding="utf-8") as file:
                file.writelines(chunks)
            return
        path = Path(os.path.realpath(path))  # the file behind a link, not the link
        fd, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with open(fd, "w", encoding="utf-8") as file:
                file.writelines(chunks)
                file.flush()
                os.fsync(file.fileno())
            os.replace(unfinished, path)
        except BaseException:
            os.unlink(unfinished)
            raise
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}", field="output") from error


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
    stored = count(told["stored"], "memory", "memories")
    click.echo(f"Imported {stored} into {told['agent']}; {told['known']} known already.")
    for number, what in (
        (told["differs"], "left as it is: another text came in before under the same id"),
        (told["evicted"], "not kept: the agent's cap has no room for more"),
        (told["redacted"], "had a secret, which was taken out"),
        (source.blank, "blank, and skipped"),
    ):
        if number:
            click.echo(f"{count(number, 'record', 'records')} {what}.", err=True)
    for what, number in source.left_out.items():
        click.echo(clean(f"Left out: {number} {what}."), err=True)
    for warning in source.warnings:
        click.echo(clean(f"Warning: {warning}."), err=True)


def _take_in(run: Call, agent: str, source: import_.Source) -> dict[str, Any]:
    """Let every record be checked, then store them batch by batch."""
    from rich.console import Console
    from rich.progress import Progress

    told: dict[str, Any] = {
        "agent": agent,
        "stored": 0,
        "known": 0,
        "differs": 0,
        "evicted": 0,
        "redacted": 0,
    }
    batches = list(import_.batches(source.records))
    ids: dict[str, str] = {}
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        for step in ("Checking", "Importing"):
            task = progress.add_task(step, total=len(source.records))
            start = 0
            for batch in batches:
                dry = step == "Checking"
                try:
                    memories = batch if dry else import_.named(batch, ids)
                    answers = run("remember_many", agent=agent, memories=memories, dry_run=dry)
                except InputError as error:
                    raise _renamed(error, source.numbers[start:]) from None
                if not dry:
                    _add_up(told, answers["memories"])
                    ids |= {
                        one["legacy_id"]: answer["id"]
                        for one, answer in zip(batch, answers["memories"], strict=True)
                    }
                start += len(batch)
                progress.advance(task, len(batch))
    return told | {"blank": source.blank, "left_out": source.left_out, "warnings": list(source.warnings)}


def _add_up(told: dict[str, Any], answers: list[dict[str, Any]]) -> None:
    for answer in answers:
        told["stored"] += answer["stored"]
        told["known"] += answer["deduplicated"]
        told["redacted"] += bool(answer["redacted"])
        if answer["reason"] is not None:
            told[answer["reason"]] += 1


def _renamed(error: InputError, numbers: Sequence[int]) -> InputError:
    """Return an error of a batch with the number that the record has in the file."""
    found = re.fullmatch(r"memories\[(\d+)\]\.(.*)", error.field or "")
    if found is None:
        return error
    problem = error.message.removeprefix(f"{error.field}: ")
    field = f"record {numbers[int(found[1])]}: {found[2]}"
    return InvalidField(field, problem, hint=error.hint, code=error.code)
