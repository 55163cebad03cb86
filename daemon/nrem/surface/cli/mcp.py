"""nrem mcp: an agent's tools over stdio, by way of the running daemon."""

from __future__ import annotations

import base64
import json
import logging
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click
import httpx

from nrem import config, wire
from nrem.client import CONNECT_SECONDS, Client, choose_agent, is_up, unix_transport
from nrem.errors import InvalidField, Unavailable
from nrem.surface.cli import daemon
from nrem.surface.cli.shared import Command, agent_option, keep_token

ANSWER_SECONDS = 60.0
AT_ONCE = 16
"""How many requests of a client are under way together."""

SERVER_ERROR = -32000
"""The code of JSON-RPC for what the server could not do."""

VERSION = "io.modelcontextprotocol/protocolVersion"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Methods, with the parameter that streamable HTTP wants in a header too."""

log = logging.getLogger("nrem.mcp")


@click.command("mcp", cls=Command)
@agent_option
@click.option("--start", is_flag=True, help="Start the daemon if it is not up.")
def mcp_command(agent: str | None, start: bool) -> None:
    """Serve an agent's tools over standard input and output, for an MCP client that starts it."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    agent = config.default_agent() if agent is None else agent
    if agent is not None:
        wire.read(wire.AgentRef, {"agent": agent})
    home = config.home()
    path = config.socket(home)
    if not is_up(path):
        if not start:
            raise Unavailable(
                "nrem is not up", hint="nrem up --detach, or nrem mcp --start", code="no_daemon"
            )
        daemon.start(home, path)
    with Client(path, ingress="cli") as client:
        agent = choose_agent(client.call, agent)
        token = _token(home, agent)
        if token is None:
            keep_token(client.call, agent)
            token = _token(home, agent)
    with Bridge(path, agent, {"Authorization": f"Bearer {token}"}) as bridge:
        bridge.serve()


def _token(home: Path, agent: str) -> str | None:
    """Return the agent's token, of $NREM_TOKEN or of its file, if there is one."""
    given = config.variable("NREM_TOKEN")
    if given is None:
        try:
            given = (home / "tokens" / agent).read_text()
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidField("token", f"cannot be read: {error}") from None
    token = given.strip()
    if not re.fullmatch(r"[\x21-\x7e]+", token):
        raise InvalidField("token", "is not a token", hint="nrem token create makes one")
    return token


class Bridge:
    """Hands each line of standard input to the daemon, and what it answers to standard output.

    The daemon keeps no sessions, so that a line needs nothing but its headers: those are made of the line
    itself, except for the revision that an older client agreed on when it began.
    """

    def __init__(self, path: Path, agent: str, headers: dict[str, str]) -> None:
        self._http = httpx.Client(
            transport=unix_transport(path),
            base_url="http://nrem",
            headers=headers | {"Accept": "application/json, text/event-stream"},
            timeout=httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
        )
        self._path = f"/mcp/{wire.path_part(agent)}"
        self._version: str | None = None
        self._writing = threading.Lock()

    def serve(self) -> None:
        """Serve until standard input ends; what was asked before is answered."""
        free = threading.BoundedSemaphore(2 * AT_ONCE)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for line in sys.stdin.buffer:
                if line.strip():
                    free.acquire()
                    pool.submit(self._serve, line).add_done_callback(lambda _: free.release())

    def _serve(self, line: bytes) -> None:
        try:
            answer = self.answer(line)
        except Exception:  # the edge: one line never ends the others
            log.exception("a message failed")
            answer = _error(_parse(line), "something went wrong inside; the log has it")
        if answer is not None:
            self._write(answer)

    def answer(self, line: bytes) -> dict[str, Any] | None:
        """Return the answer to a message; None when it wants none."""
        message = _parse(line)
        headers = self._headers(message) | {"Content-Type": "application/json"}
        try:
            response = self._http.post(self._path, content=line, headers=headers)
        except httpx.ReadTimeout:
            return _error(message, "the daemon is up, but did not answer in time; it may still do it")
        except httpx.TransportError as error:
            problem = f"the daemon did not answer ({type(error).__name__}); nrem up --detach starts it"
            return _error(message, problem)
        body = _parse(response.content)
        if "jsonrpc" not in body:
            return None if response.is_success else _error(message, _problem(response.status_code, body))
        if message.get("method") == "initialize":
            self._version = _text(body.get("result"), "protocolVersion")
        return body

    def _headers(self, message: dict[str, Any]) -> dict[str, str]:
        method, params = message.get("method"), message.get("params")
        version = _text(params.get("_meta"), VERSION) if isinstance(params, dict) else None
        if version is None:
            older = self._version if method != "initialize" else None
            return {"MCP-Protocol-Version": older} if older else {}
        named = _text(params, NAMED.get(str(method), ""))
        headers = {"MCP-Protocol-Version": version, "Mcp-Method": str(method)}
        if named is not None:
            headers["Mcp-Name"] = named
        return {name: _header(value) for name, value in headers.items()}

    def _write(self, answer: dict[str, Any]) -> None:
        text = json.dumps(answer, ensure_ascii=False, separators=(",", ":")) + "\n"
        with self._writing:
            sys.stdout.buffer.write(text.encode(errors="replace"))
            sys.stdout.buffer.flush()

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Bridge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _parse(text: bytes) -> dict[str, Any]:
    """Return a message; an empty one for what is none, which the daemon refuses in its own words."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _text(value: Any, name: str) -> str | None:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def _header(value: str) -> str:
    """Return a value as streamable HTTP writes it in a header."""
    if re.fullmatch(r"[\x20-\x7e]*", value) and value == value.strip() and not value.startswith("=?"):
        return value
    return f"=?base64?{base64.b64encode(value.encode(errors='replace')).decode()}?="


def _problem(status: int, body: dict[str, Any]) -> str:
    error = body.get("error")
    message = _text(error, "message") or f"the daemon answered with status {status}"
    hint = _text(error, "hint")
    return f"{message} ({hint})" if hint else message


def _error(message: dict[str, Any], problem: str) -> dict[str, Any] | None:
    """Return the answer to a request that failed; a notification wants none."""
    if message and "id" not in message:
        log.warning("%s", problem)
        return None
    return {
        "jsonrpc": "2.0",
        "id": message.get("id"),
        "error": {"code": SERVER_ERROR, "message": problem},
    }
