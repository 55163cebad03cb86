"""nrem file: list, read, write."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from nrem.client import choose_agent
from nrem.errors import InvalidField
from nrem.surface.cli.shared import (
    Group,
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


@click.group("file", cls=Group)
def file_command() -> None:
    """List, read and write the files of an agent's workspace."""


@file_command.command("list")
@click.argument("folder", required=False)
@agent_option
@json_option
def list_files(folder: str | None, agent: str | None, as_json: bool) -> None:
    """List the files and folders in a folder of the workspace, or at its top."""
    with store() as run:
        found = run("list_files", agent=choose_agent(run, agent), **present({"path": folder}))
    if as_json:
        show_json(found)
        return
    rows = [
        [f"{file['path']}/" if file["folder"] else file["path"], str(file["size"]), when(file["changed_at"])]
        for file in found["files"]
    ]
    table("File", "Bytes", "Changed", rows=rows)


@file_command.command("read")
@click.argument("path")
@agent_option
@json_option
def read(path: str, agent: str | None, as_json: bool) -> None:
    """Print a text file of the workspace."""
    with store() as run:
        found = run("read_file", agent=choose_agent(run, agent), path=path)
    if as_json:
        show_json(found)
    else:
        show_text(found["content"])


@file_command.command("write")
@click.argument("path")
@click.option(
    "--from", "source", type=click.Path(path_type=Path), help="The file that has the text; standard input."
)
@agent_option
@json_option
def write(path: str, source: Path | None, agent: str | None, as_json: bool) -> None:
    """Write a text file of the workspace, as a whole."""
    content = _content(source)
    with store() as run:
        written = run("write_file", agent=choose_agent(run, agent), path=path, content=content)
    if as_json:
        show_json(written)
    else:
        click.echo(f"Wrote {path}: {count(written['size'], 'byte', 'bytes')}.")


def _content(source: Path | None) -> str:
    """Return the text to write, to the byte."""
    field = "content" if source is None else "from"
    if source is None and sys.stdin.isatty():
        raise InvalidField(field, "is missing", hint="pipe it in, or give --from FILE")
    try:
        return (sys.stdin.buffer.read() if source is None else source.read_bytes()).decode()
    except OSError as error:
        raise InvalidField(field, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidField(field, f"is not valid UTF-8 (at byte {error.start})") from None
