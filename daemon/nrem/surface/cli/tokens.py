"""nrem token: create, list, revoke."""

from __future__ import annotations

from typing import Any

import click

from nrem.client import choose_agent
from nrem.errors import InputError
from nrem.model import Right
from nrem.surface.cli import completing
from nrem.surface.cli.shared import (
    Group,
    json_option,
    present,
    show_json,
    store,
    table,
    when,
)


@click.group("token", cls=Group)
def token_command() -> None:
    """Tokens for programs that reach nrem over TCP."""


@token_command.command("create")
@click.option(
    *("-a", "--agent"),
    metavar="NAME",
    shell_complete=completing.agents,
    help="For this agent; $NREM_AGENT, or the only agent.",
)
@click.option("--org", metavar="NAME", help="For all agents of this organisation instead.")
@click.option("--all", "everything", is_flag=True, help="For the whole store instead.")
@click.option(
    "--right",
    "rights",
    type=click.Choice([right.value for right in Right]),
    multiple=True,
    help="What it allows; may be repeated. Without any: read, write and dream.",
)
@click.option("--label", metavar="TEXT", help="What you will know it by.")
@click.option("--expires", "expires_at", metavar="TIME", help="When it ends by itself.")
@json_option
def create(everything: bool, as_json: bool, **given: Any) -> None:
    """Make a token and print it: the only time that it can be read."""
    if everything and (given["agent"] or given["org"]):
        raise InputError("--all is for the whole store", hint="leave out --agent and --org", field="all")
    with store() as run:
        if not everything and given["org"] is None:
            given["agent"] = choose_agent(run, given["agent"])
        made = run("create_token", **present(given))
    if as_json:
        show_json(made)
    else:
        click.echo(
            f"A token for {_reach(made)}: {', '.join(made['rights'])}. It is shown only now.", err=True
        )
        click.echo(made["token"])


@token_command.command("list")
@json_option
def list_tokens(as_json: bool) -> None:
    """List the tokens; what they are for, never themselves."""
    with store() as run:
        found = run("list_tokens")
    if as_json:
        show_json(found)
    elif found["tokens"]:
        rows = [
            [
                *(t["id"], _reach(t)),
                *(", ".join(t["rights"]), when(t["created_at"]), when(t["expires_at"])),
                *(when(t["last_used_at"]), t["label"]),
            ]
            for t in found["tokens"]
        ]
        table("Id", "For", "Rights", "Made", "Ends", "Last used", "Label", rows=rows)
    else:
        click.echo("No tokens yet. Next: nrem token create --agent NAME")


@token_command.command("revoke")
@click.argument("id", shell_complete=completing.tokens)
@json_option
def revoke(id: str, as_json: bool) -> None:
    """End a token at once."""
    with store() as run:
        revoked = run("revoke_token", id=id)
    if as_json:
        show_json(revoked)
    else:
        click.echo(f"Revoked {id}.")


def _reach(token: dict[str, Any]) -> str:
    reach: str = token["agent"] or (f"{token['org']}.*" if token["org"] else "everything")
    return reach
