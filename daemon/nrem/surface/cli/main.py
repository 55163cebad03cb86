"""The nrem command: finds the module of a subcommand and imports it only when it is called."""

from __future__ import annotations

import difflib
import importlib

import click

from nrem import __version__

COMMANDS = {
    "up": "daemon",
    "down": "daemon",
    "status": "daemon",
    "service": "service",
    "mcp": "mcp",
    "init": "setup",
    "config": "setup",
    "completion": "setup",
    "agent": "agents",
    "token": "tokens",
    "remember": "memories",
    "recall": "recalling",
    "used": "recalling",
    "get": "memories",
    "list": "memories",
    "edit": "memories",
    "pin": "memories",
    "unpin": "memories",
    "forget": "memories",
    "versions": "memories",
    "clear": "memories",
    "export": "exchange",
    "import": "exchange",
    "embed": "recalling",
    "reembed": "recalling",
    "file": "files",
    "checkpoint": "workspace",
    "restore": "workspace",
    "log": "workspace",
    "why": "replaying",
    "replay": "replaying",
    "bisect": "replaying",
    "diff": "workspace",
    "show": "workspace",
    "jobs": "jobs",
    "dream": "dreaming",
    "prune": "care",
    "backup": "care",
    "doctor": "care",
    "verify": "care",
    "rebuild": "recovery",
}
"""Each command and the module that has it."""


class LazyGroup(click.Group):
    """A group that knows the names of its commands before their modules are imported."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            near = difflib.get_close_matches(name, COMMANDS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"nrem.surface.cli.{COMMANDS[name]}")
        command: click.Command = getattr(module, f"{name}_command")
        return command


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="nrem")
def main() -> None:
    """Memory that lasts, for all of your AI agents.

    Everything lives in one folder: $NREM_HOME, else ~/.local/share/nrem.
    """
