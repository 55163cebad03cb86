"""What commands share: calling operations, choosing the agent, options, output, and how errors end."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from nrem import config, wire
from nrem.client import Client, is_up
from nrem.errors import Conflict, Corrupt, Denied, InputError, InvalidField, NotFound, NremError, Unavailable
from nrem.model import KIND_ALIASES, Kind
from nrem.policy.rendering import clean
from nrem.surface.cli import completing

F = TypeVar("F", bound=Callable[..., Any])
Call = Callable[..., dict[str, Any]]

EXIT_CODES: tuple[tuple[type[NremError], int], ...] = (
    (InputError, 2),
    (Denied, 3),
    (NotFound, 4),
    (Conflict, 5),
    (Unavailable, 6),
    (Corrupt, 7),
)


class Command(click.Command):
    """A command whose errors say what to do, and end with their family's exit code."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse like click; what is too much after a text was most likely meant to be part of it."""
        ctx.allow_extra_args = True
        rest = super().parse_args(ctx, args)
        if rest and not ctx.resilient_parsing:
            takes_text = any(parameter.name in ("text", "query") for parameter in self.params)
            hint = " A text of several words goes in quotes." if takes_text else ""
            ctx.fail(f"Nothing more was expected: {' '.join(rest)}.{hint}")
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except NremError as error:
            report(error, as_json=bool(ctx.params.get("as_json")))
            ctx.exit(next(code for family, code in EXIT_CODES if isinstance(error, family)))


class Group(click.Group):
    """A group of such commands."""

    command_class = Command


def report(error: NremError, *, as_json: bool) -> None:
    """Show an error on the error stream."""
    if as_json:
        show_json({"error": error.as_json()}, err=True)
        return
    click.echo(f"Error: {clean(error.message)}", err=True)
    if error.hint:
        click.echo(f"Hint: {clean(error.hint)}", err=True)


@contextmanager
def store() -> Iterator[Call]:
    """Lend a function that runs an operation by name in the daemon."""
    home = config.home()
    path = config.socket(home)
    if not is_up(path):
        if not (home / "nrem.db").exists():
            raise Unavailable("No memory store found.", hint="nrem up --detach", code="no_store")
        raise Unavailable("nrem is not up", hint="nrem up --detach", code="no_daemon")
    with Client(path, ingress="cli") as client:
        yield client.call


@contextmanager
def store_or_notice() -> Iterator[Call]:
    """Open the store like store(); where there is none, say so and end the command well."""
    ctx = click.get_current_context()
    try:
        with store() as run:
            yield run
    except Unavailable as error:
        if error.code != "no_store":
            raise
        if ctx.params["as_json"]:
            show_json({"notice": error.message})
        else:
            click.echo(error.message)
            click.echo("Next: nrem up --detach", err=True)
        ctx.exit(0)


def keep_token(run: Call, agent: str) -> None:
    """Make an agent's token, and put it where `nrem mcp` finds it, for nobody else to read."""
    token = run("create_token", agent=agent, label="nrem mcp")["token"]
    folder = config.home() / "tokens"
    folder.mkdir(mode=0o700, exist_ok=True)
    with open(os.open(folder / agent, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(f"{token}\n")


def confirm(question: str, *, force: bool) -> None:
    """Ask before something is lost; without a terminal there is nobody to ask."""
    if force:
        return
    if not sys.stdin.isatty():
        raise InputError(
            f"{question} This needs a yes, and there is no terminal to ask on.", hint="add --force"
        )
    click.confirm(question, abort=True, err=True)


# Options


def agent_option(command: F) -> F:
    return click.option(
        *("-a", "--agent"),
        metavar="NAME",
        shell_complete=completing.agents,
        help="Whose memory; $NREM_AGENT, or the only agent.",
    )(command)


def json_option(command: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")(command)


def force_option(command: F) -> F:
    return click.option("-f", "--force", is_flag=True, help="Do not ask.")(command)


def kind_option(*, many: bool) -> Callable[[F], F]:
    return click.option(
        "--kind",
        "--type",
        "kinds" if many else "kind",
        type=click.Choice(list(KIND_ALIASES)),
        metavar="KIND",
        multiple=many,
        help=f"{', '.join(kind for kind in Kind)}." + (" May be repeated." if many else ""),
    )


def place_options(command: F) -> F:
    for name, what in (
        ("user", "User it is about."),
        ("room", "Room or channel it belongs to."),
        ("session", "Session it belongs to."),
    ):
        command = click.option(f"--{name}", metavar="ID", help=what)(command)
    return command


def filter_options(command: F) -> F:
    """The conditions under which a memory is meant; all that are given must hold."""
    for option in (
        click.option(
            "--pinned/--not-pinned", "pinned", default=None, help="Only pinned ones, or only others."
        ),
        click.option("--trust", type=click.Choice(["trusted", "untrusted"]), help="Only of this trust."),
        click.option("--before", metavar="TIME", help="Only created before this time."),
        click.option("--after", metavar="TIME", help="Only created at or after this time."),
        click.option("--metadata", metavar="JSON", help="Only with metadata that holds all of this."),
        place_options,
        click.option("--all-tags", "tags_all", multiple=True, metavar="TAG", help="Only with all of these."),
        click.option("--tag", "tags_any", multiple=True, metavar="TAG", help="Only with one of these tags."),
        click.option("--category", metavar="NAME", help="Only of this category."),
        kind_option(many=True),
    ):
        command = option(command)
    return command


def filters(given: dict[str, Any]) -> dict[str, Any]:
    """Return the conditions that were given, as an operation takes them."""
    return present(parse_objects(given, "metadata"))


def present(body: dict[str, Any]) -> dict[str, Any]:
    """Return only what was given; a repeated option comes as a tuple."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in body.items()
        if value is not None and value != ()
    }


def parse_objects(body: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the body with the named options parsed from JSON."""
    return body | {name: wire.parse_json(body[name], name) for name in names if body[name] is not None}


def read_text(text: str | None, field: str) -> str:
    """Return the text of an argument, or of standard input when there is none."""
    if text is not None and text != "-":
        return text
    if text is None and sys.stdin.isatty():
        raise InvalidField(field, "is missing", hint="give it in quotes, or pipe it in")
    try:
        return sys.stdin.buffer.read().decode().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise InvalidField(field, f"is not valid UTF-8 (at byte {error.start})") from None


# Output


def show_json(value: Any, *, err: bool = False) -> None:
    """Print JSON; on a terminal, all that is not ASCII is escaped, so that no stored text can steer it."""
    stream = sys.stderr if err else sys.stdout
    click.echo(json.dumps(value, ensure_ascii=stream.isatty(), indent=2), err=err)


def show_text(text: str) -> None:
    """Print a stored text as it is; on a terminal, without what could steer it."""
    if sys.stdout.isatty():
        click.echo(clean(text), nl=not text.endswith("\n"))
    else:
        click.echo(text.encode(), nl=False)  # as text, click would take colours out


def line(text: str, width: int = 100) -> str:
    """Return the start of a text on one line."""
    flat = " ".join(clean(text).split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"


def when(moment: str | None) -> str:
    """Return a time of an answer, to the second, in UTC."""
    return "" if moment is None else moment[:19].replace("T", " ")


def count(number: int, one: str, many: str) -> str:
    return f"1 {one}" if number == 1 else f"{number} {many}"


def told_of_remote(remote: dict[str, Any]) -> str:
    """Return a sentence on the repository that an agent's commits are pushed to."""
    url = clean(remote["url"])
    text = f"{url} has all"
    if remote["ahead"]:
        text = f"{count(remote['ahead'], 'commit', 'commits')} to push to {url}"
    if remote["pushed_at"]:
        text += f"; last pushed {when(remote['pushed_at'])}"
    return f"{text}; {clean(remote['error'])}." if remote["error"] else f"{text}."


def table(*columns: str, rows: list[list[str]]) -> None:
    """Print a table. On a terminal all but the ids in front wraps; in a pipe every row is one line."""
    cells = [[clean(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        shown = Table(*columns, box=None, pad_edge=False, header_style="bold")
        for column in shown.columns:
            column.overflow = "fold"  # never cut: what is shown can be typed
        shown.columns[0].no_wrap = True
        for row in cells:
            shown.add_row(*map(Text, row))
        Console().print(shown)
        return
    flat = [[" ".join(cell.split()) for cell in row] for row in [list(columns), *cells]]
    widths = [max(len(row[i]) for row in flat) for i in range(len(columns))]
    for row in flat:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
