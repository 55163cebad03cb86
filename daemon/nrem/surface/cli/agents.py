"""nrem agent: add, list, show, remove, config."""

from __future__ import annotations

import shlex
import tomllib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from nrem import config, wire
from nrem.client import choose_agent
from nrem.errors import InvalidField
from nrem.policy.rendering import clean
from nrem.surface.cli import completing
from nrem.surface.cli.connecting import connection
from nrem.surface.cli.shared import (
    Group,
    confirm,
    count,
    force_option,
    json_option,
    keep_token,
    present,
    show_json,
    store,
    table,
    told_of_remote,
    when,
)


@click.group("agent", cls=Group)
def agent_command() -> None:
    """Add, list, show, remove and configure agents."""


@agent_command.command("add")
@click.argument("name")
@click.option("--from", "source", metavar="PATH|URL", help="Bring it from this workspace, with all it knows.")
@json_option
def add(name: str, source: str | None, as_json: bool) -> None:
    """Add an agent with a memory of its own, and show how its program is connected to it."""
    if source is not None and (path := Path(source).expanduser()).exists():
        source = str(path.absolute())  # the daemon has another folder as its own
    with store() as run:
        added = run("add_agent", agent=name, **present({"source": source}))
        keep_token(run, name)
    ways = connection(name)
    if as_json:
        show_json(added | {"connect": asdict(ways)})
        return
    brought = f" with {count(added['memories'], 'memory', 'memories')}" if source is not None else ""
    click.echo(f"Added agent {name}{brought}.")
    click.echo(f'Next: nrem remember -a {name} "something worth keeping"')
    click.echo(f"\nClaude Code:\n{ways.claude_code}")
    click.echo(f"\nCodex, in ~/.codex/config.toml:\n{ways.codex}")
    click.echo(f"\nOther MCP clients:\n{ways.mcp_json}")


@agent_command.command("list")
@json_option
def list_agents(as_json: bool) -> None:
    """List the agents."""
    with store() as run:
        found = run("list_agents")
    if as_json:
        show_json(found)
    elif found["agents"]:
        _show(found["agents"])
    else:
        click.echo("No agents yet. Next: nrem agent add NAME")


@agent_command.command("show")
@click.argument("name", required=False, shell_complete=completing.agents)
@json_option
def show(name: str | None, as_json: bool) -> None:
    """Show one agent."""
    with store() as run:
        found = run("show_agent", agent=choose_agent(run, name))
    if as_json:
        show_json(found)
    else:
        _show([found])
        if found["remote"]:
            click.echo(told_of_remote(found["remote"]))


def _show(agents: list[dict[str, Any]]) -> None:
    rows = [
        [a["agent"], str(a["memories"]), str(a["config_version"]), when(a["created_at"]), _waiting(a)]
        for a in agents
    ]
    table("Agent", "Memories", "Config version", "Added", "Not committed", rows=rows)


def _waiting(agent: dict[str, Any]) -> str:
    if not agent["unpublished"]:
        return ""
    told = count(agent["unpublished"], "event", "events")
    return f"{told} since {when(agent['unpublished_since'])}"


@agent_command.command("remove")
@click.argument("name", shell_complete=completing.agents)
@click.option("--erase", is_flag=True, help="Delete the workspace too: all memories and history.")
@force_option
@json_option
def remove(name: str, erase: bool, force: bool, as_json: bool) -> None:
    """Remove an agent. Its workspace is moved aside; `nrem agent add NAME --from` brings it back.

    With --erase the workspace goes too, and that cannot be undone.
    """
    with store() as run:
        memories = count(run("show_agent", agent=name)["memories"], "memory", "memories")
    if erase:
        question = f"Erase agent {name} with {memories} and all history for good?"
    else:
        question = f"Remove agent {name} with {memories}? Its workspace is moved aside, its tokens end."
    confirm(question, force=force)
    with store() as run:
        removed = run("remove_agent", agent=name, erase=erase)
    (config.home() / "tokens" / name).unlink(missing_ok=True)
    if as_json:
        show_json(removed)
        return
    held = f"agent {name} with {count(removed['memories'], 'memory', 'memories')}"
    if erase:
        click.echo(f"Erased {held}.")
        return
    click.echo(f"Removed {held}. Its workspace is now {clean(removed['kept'])}")
    click.echo(f"Next, to have it back: nrem agent add {name} --from {shlex.quote(removed['kept'])}")


@agent_command.command("config")
@click.argument("name", required=False, shell_complete=completing.agents)
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Set a key. May be repeated.")
@click.option("--unset", "unsets", multiple=True, metavar="KEY", help="Take a key out. May be repeated.")
@click.option("--file", type=click.Path(path_type=Path), help="Replace it all by this JSON or TOML file.")
@click.option("-m", "--message", help="Why it changes; kept with the version.")
@json_option
def agent_config(
    name: str | None,
    sets: tuple[str, ...],
    unsets: tuple[str, ...],
    file: Path | None,
    message: str | None,
    as_json: bool,
) -> None:
    """Show the versions of an agent's own configuration, or record a new one.

    \b
    nrem agent config ana --set memory.semantic.max_memories=5000 -m "less is more"
    """
    with store() as run:
        agent = choose_agent(run, name)
        found = run("list_agent_configs", agent=agent)
        if message and not (sets or unsets or file):
            raise InvalidField("message", "was given without a change", hint="--set, --unset or --file")
        if sets or unsets or file:
            if not message:
                raise InvalidField("message", "is missing", hint='say why, with -m "..."')
            versions = found["versions"]
            config = _read(file) if file else (versions[0]["config"] if versions else {})
            for pair in sets:
                _set(config, pair)
            for key in unsets:
                _unset(config, key)
            found = run("set_agent_config", agent=agent, config=config, message=message)
            if not as_json:
                click.echo(f"Recorded version {found['version']} of {agent}'s configuration.")
                return
    if as_json:
        show_json(found)
    elif found["versions"]:
        rows = [
            [str(v["version"]), when(v["at"]), v["actor"], v["message"], _flat(v["config"])]
            for v in found["versions"]
        ]
        table("Version", "When", "Who", "Why", "Settings", rows=rows)
    else:
        click.echo(f"{agent} has no configuration of its own.")


def _read(file: Path) -> dict[str, Any]:
    try:
        text = file.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidField("file", f"cannot be read: {error}") from error
    if file.suffix == ".toml":
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InvalidField("file", f"is not TOML: {error}") from None
    config = wire.parse_json(text, "file")
    if not isinstance(config, dict):
        raise InvalidField("file", "must hold a JSON object")
    return config


def _set(config: dict[str, Any], pair: str) -> None:
    key, sign, text = pair.partition("=")
    if not sign:
        raise InvalidField("set", "must be KEY=VALUE", hint="--set memory.semantic.max_memories=5000")
    *path, last = key.split(".")
    for part in path:
        config = config.setdefault(part, {})
        if not isinstance(config, dict):
            raise InvalidField("set", f"{key}: {part} is a value, not a section")
    try:
        config[last] = wire.parse_json(text, "set")
    except InvalidField:
        config[last] = text  # a word needs no quotes


def _unset(config: dict[str, Any], key: str) -> None:
    first, _, rest = key.partition(".")
    if first not in config or (rest and not isinstance(config[first], dict)):
        raise InvalidField("unset", f"{key} is not set in this agent's configuration")
    if rest:
        _unset(config[first], rest)
    if not rest or not config[first]:  # a section goes with its last key
        del config[first]


def _flat(config: dict[str, Any], prefix: str = "") -> str:
    return ", ".join(
        _flat(value, f"{prefix}{key}.") if isinstance(value, dict) and value else f"{prefix}{key}={value}"
        for key, value in config.items()
    )
