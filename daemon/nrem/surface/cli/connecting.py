"""What to paste into an agent's program so that it has its memory."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from nrem import config


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The same MCP server, in the form that each client wants."""

    claude_code: str
    """A command to run."""
    codex: str
    """Lines of ~/.codex/config.toml."""
    mcp_json: str
    """The configuration of most other clients."""


def connection(agent: str) -> Connection:
    """Return the lines for an agent."""
    name = f"nrem-{agent}".replace(".", "-")
    command, *arguments = words = [_command(), "mcp", "--agent", agent, "--start"]
    home = config.given_home()
    variables = {"NREM_HOME": str(Path(home).expanduser().absolute())} if home else {}

    # The name of a server must not come right after --env, which takes more than one value.
    options = [part for key, value in variables.items() for part in ("--env", f"{key}={value}")]
    claude = ["claude", "mcp", "add", *options, "--scope", "user", name, "--", *words]

    codex = [
        f"[mcp_servers.{name}]",
        f"command = {_quoted(command)}",
        f"args = {_quoted(arguments)}",
        *(f"env = {{ {key} = {_quoted(value)} }}" for key, value in variables.items()),
    ]

    server = {"command": command, "args": arguments} | ({"env": variables} if variables else {})
    return Connection(
        claude_code=shlex.join(claude),
        codex="\n".join(codex),
        mcp_json=json.dumps({"mcpServers": {name: server}}, ensure_ascii=False, indent=2),
    )


def _quoted(value: str | list[str]) -> str:
    """Return a text or a list of texts as JSON, which is TOML too."""
    return json.dumps(value, ensure_ascii=False)


def _command() -> str:
    """Return this nrem: a client may have another $PATH than whoever is typing."""
    beside = Path(sys.executable).with_name("nrem")
    return str(beside) if beside.exists() else "nrem"
