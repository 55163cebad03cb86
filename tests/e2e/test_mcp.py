"""A real daemon, and the official MCP client over both transports."""

from __future__ import annotations

import gc
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer
from typing import Any, ClassVar

import anyio
import httpx2
import pytest
from mcp import Client as McpClient
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_MODERN_VERSION

from attacks import attacks
from nrem.client import Client, is_up
from nrem.policy import rendering

# Before Python 3.12 the pipe to a process is a pair of sockets, and its end may be left to the collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

NREM = [sys.executable, "-c", "from nrem.surface.cli.main import main; main()"]
Do = Callable[[McpClient], Awaitable[Any]]
Talk = Callable[[str, Do], Any]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "h"  # short: a socket's path has few bytes


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    return os.environ | {"NREM_HOME": str(home), "NREM_VECTOR__ENABLED": "false", "NREM_SERVER__PORT": "none"}


def start(home: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([*NREM, "up"], env=environment, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not is_up(home / "nrem.sock"):
        assert process.poll() is None
        assert time.monotonic() < deadline, "the daemon never listened"
        time.sleep(0.02)
    return process


@pytest.fixture
def daemon(home: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    with start(home, environment) as process:
        try:
            with Client(home / "nrem.sock") as client:
                client.call("add_agent", agent="ana")
            yield process
        finally:
            process.kill()


def over_http(home: Path, mode: str, do: Do) -> Any:
    async def main() -> Any:
        transport = httpx2.AsyncHTTPTransport(uds=str(home / "nrem.sock"))
        async with (
            httpx2.AsyncClient(transport=transport) as connection,
            McpClient(
                streamable_http_client("http://nrem/mcp/ana", http_client=connection), mode=mode
            ) as client,
        ):
            return await do(client)

    return anyio.run(main)


def over_stdio(environment: dict[str, str], mode: str, do: Do, *words: str) -> Any:
    async def main() -> Any:
        arguments = [*NREM[1:], "mcp", "--agent", "ana", *words]
        server = StdioServerParameters(command=NREM[0], args=arguments, env=environment)
        async with McpClient(stdio_client(server), mode=mode) as client:
            return await do(client)

    try:
        return anyio.run(main)
    finally:
        gc.collect()  # here, and not in the middle of another test


@pytest.fixture(params=["http", "stdio"])
def talk(
    request: pytest.FixtureRequest, home: Path, environment: dict[str, str], daemon: subprocess.Popen[bytes]
) -> Talk:
    if request.param == "http":
        return lambda mode, do: over_http(home, mode, do)
    return lambda mode, do: over_stdio(environment, mode, do)


def first(result: CallToolResult) -> str:
    [part, *_] = result.content
    assert isinstance(part, TextContent)
    return part.text


@pytest.mark.rows(65, 66)
@pytest.mark.parametrize("mode", ["legacy", "auto", LATEST_MODERN_VERSION])
def test_the_official_client_remembers_and_recalls(talk: Talk, mode: str) -> None:
    async def visit(client: McpClient) -> None:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert {"remember", "recall", "forget"} <= set(tools)
        stored = await client.call_tool("remember", {"content": "Luis likes tea", "category": "drinks"})
        assert not stored.is_error
        found = await client.call_tool("recall", {"query": "what does Luis like?"})
        assert first(found).startswith("[Type: semantic | Category: drinks | ")
        assert first(found).endswith("]\nLuis likes tea")
        refused = await client.call_tool("forget", {"id": "nöpe"})
        assert refused.is_error
        [procedures] = (await client.read_resource("nrem://procedures")).contents
        assert procedures.mime_type == "text/plain"

    talk(mode, visit)


def test_many_calls_at_once_are_all_answered(talk: Talk) -> None:
    async def visit(client: McpClient) -> list[str]:
        said: dict[int, str] = {}

        async def one(i: int) -> None:
            said[i] = first(await client.call_tool("remember", {"content": f"note {i}"}))

        async with anyio.create_task_group() as tasks:
            for i in range(100):
                tasks.start_soon(one, i)
        listed = await client.call_tool("list_memories", {"limit": 1000})
        assert len(said) == 100
        return first(listed).splitlines()

    assert len(talk("auto", visit)) == 100


# The bridge


class Pipe:
    """`nrem mcp` as a process, spoken to line by line."""

    def __init__(self, environment: dict[str, str], *words: str) -> None:
        self.process = subprocess.Popen(
            [*NREM, "mcp", *words],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def send(self, line: bytes | dict[str, Any]) -> None:
        assert self.process.stdin
        text = json.dumps(line).encode() if isinstance(line, dict) else line
        self.process.stdin.write(text + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any] | None = None, id: int = 1) -> dict[str, Any]:
        """Send a request and return its answer, past those to other lines."""
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}})
        assert self.process.stdout
        for line in self.process.stdout:
            answer: dict[str, Any] = json.loads(line)
            assert answer["jsonrpc"] == "2.0"
            if answer["id"] == id:
                return answer
        raise AssertionError("the bridge ended")

    def begin(self, version: str) -> dict[str, Any]:
        told = {"name": "test", "version": "1"}
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": told}
        result: dict[str, Any] = self.ask("initialize", params)["result"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    def end(self) -> int:
        self.process.communicate(timeout=30)
        return self.process.returncode


@pytest.fixture
def pipe(environment: dict[str, str], daemon: subprocess.Popen[bytes]) -> Iterator[Pipe]:
    opened = Pipe(environment, "--agent", "ana")
    with opened.process as process:
        try:
            yield opened
        finally:
            process.kill()


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
def test_the_bridge_serves_each_older_revision(pipe: Pipe, version: str) -> None:
    assert pipe.begin(version)["protocolVersion"] == version
    result = pipe.ask("tools/call", {"name": "recall", "arguments": {"query": "tea"}})["result"]
    assert result["content"][0]["text"] == "No memories found."
    assert pipe.end() == 0


JUNK = [
    b"",
    b"not json",
    b"{",
    b"[]",
    b"null",
    b"5",
    b'"text"',
    b"\xff\xfe\x00",
    b"[" * 50_000,
    b"{}",
    b'{"jsonrpc": "1.0", "id": 7}',
    b'{"jsonrpc": "2.0", "id": null, "method": null}',
    b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": "tools/list"}',
    b'{"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": []}',
    b'{"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": 5}}',
    b'{"jsonrpc": "2.0", "id": 8, "method": "no/such/method"}',
    b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}',
    b'{"jsonrpc": "2.0", "id": 9, "result": {}}',
    b'{"jsonrpc": "2.0", "id": 8, "method": "x", "params": {"_meta": {"'
    b'io.modelcontextprotocol/protocolVersion": "b\\u00f6se\\r\\nX-Evil: 1"}}}',
    b'{"jsonrpc": "2.0", "id": 8, "method": "x\\ud800", "params": {"_meta": {"'
    b'io.modelcontextprotocol/protocolVersion": "2026-07-28"}}}',
    b'{"jsonrpc": "2.0", "id": 8, "method": "x", "params": "' + b"x" * (2 << 20) + b'"}',
]


def test_junk_never_ends_the_bridge(pipe: Pipe) -> None:
    pipe.begin("2025-11-25")
    for number, line in enumerate(JUNK):
        pipe.send(line)
        answer = pipe.ask("tools/call", {"name": "list_memories", "arguments": {}}, id=1000 + number)
        assert answer["result"]["content"][0]["text"] == "No memories found."
    assert pipe.end() == 0


def test_a_request_that_cannot_be_served_is_answered_with_its_id(pipe: Pipe) -> None:
    pipe.begin("2025-11-25")
    large = {"name": "remember", "arguments": {"content": "x" * (2 << 20)}}
    assert "larger than" in pipe.ask("tools/call", large, id=5)["error"]["message"]
    assert pipe.ask("no/such/method", id=6)["error"]["code"] == -32601


def test_the_bridge_outlives_a_restart_of_the_daemon(
    pipe: Pipe, home: Path, environment: dict[str, str], daemon: subprocess.Popen[bytes]
) -> None:
    pipe.begin("2025-11-25")
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(30) == 0
    gone = pipe.ask("tools/list", id=2)
    assert "nrem up --detach starts it" in gone["error"]["message"]
    with start(home, environment) as again:
        try:
            assert pipe.ask("tools/list", id=3)["result"]["tools"]
        finally:
            again.kill()


def test_an_agent_that_is_not_there_is_told_of(
    environment: dict[str, str], daemon: subprocess.Popen[bytes]
) -> None:
    words = [*NREM, "mcp", "--agent", "nobody"]
    ended = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (4, "")
    assert ended.stderr == "Error: there is no agent called nobody\nHint: nrem agent add nobody\n"


def test_the_agent_may_be_named_by_the_environment_or_be_the_only_one(
    home: Path, environment: dict[str, str], daemon: subprocess.Popen[bytes]
) -> None:
    def refused(environment: dict[str, str]) -> str:
        return subprocess.run(
            [*NREM, "mcp"], env=environment, capture_output=True, text=True, input=""
        ).stderr

    assert refused(environment) == ""
    with Client(home / "nrem.sock") as client:
        client.call("add_agent", agent="ben")
    assert "there are several agents: ana, ben" in refused(environment)
    assert refused(environment | {"NREM_AGENT": "ben"}) == ""
    assert (home / "tokens/ben").exists()


def test_without_a_daemon_it_says_how_to_start_one(environment: dict[str, str]) -> None:
    ended = subprocess.run([*NREM, "mcp", "--agent", "ana"], env=environment, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (6, "")
    assert ended.stderr == "Error: nrem is not up\nHint: nrem up --detach, or nrem mcp --start\n"


@pytest.mark.parametrize("agent", ["../ana", "Ana", "", "a/b"])
def test_a_name_that_is_none_is_refused(environment: dict[str, str], agent: str) -> None:
    command = [*NREM, "mcp", "--agent", agent]
    assert subprocess.run(command, env=environment, capture_output=True).returncode == 2


def test_it_starts_the_daemon_when_told_to(home: Path, environment: dict[str, str]) -> None:
    subprocess.run([*NREM, "init", "--name", "ana"], env=environment, check=True, capture_output=True)

    async def visit(client: McpClient) -> str:
        return first(await client.call_tool("remember", {"content": "Luis likes tea"}))

    try:
        assert over_stdio(environment, "auto", visit, "--start").startswith("Stored semantic memory")
        assert is_up(home / "nrem.sock")  # it outlives whoever started it
    finally:
        stopped = subprocess.run([*NREM, "down"], env=environment, capture_output=True)
    assert stopped.returncode == 0


class Listener(BaseHTTPRequestHandler):
    """Stands for the daemon: notes the headers of each request, and agrees to one revision."""

    seen: ClassVar[list[dict[str, str]]] = []

    def do_POST(self) -> None:
        self.seen.append({name.lower(): value for name, value in self.headers.items()})
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        result = {"protocolVersion": "2025-06-18"}
        body = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": result}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def seen(home: Path) -> Iterator[list[dict[str, str]]]:
    (home / "tokens").mkdir(parents=True)
    (home / "tokens" / "ana").write_text("of-the-file\n")
    Listener.seen.clear()
    with ThreadingUnixStreamServer(str(home / "nrem.sock"), Listener) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield Listener.seen
        server.shutdown()
        thread.join()


def send(environment: dict[str, str], *asked: tuple[str, dict[str, Any]]) -> None:
    opened = Pipe(environment, "--agent", "ana")
    with opened.process:
        for method, params in asked:
            opened.ask(method, params)
        assert opened.end() == 0


def test_the_agents_token_goes_with_every_request(
    home: Path, environment: dict[str, str], seen: list[dict[str, str]]
) -> None:
    send(environment, ("ping", {}), ("ping", {}))
    send(environment | {"NREM_TOKEN": "of-the-variable"}, ("ping", {}))
    sent = [headers.get("authorization") for headers in seen]
    assert sent == ["Bearer of-the-file", "Bearer of-the-file", "Bearer of-the-variable"]


@pytest.mark.usefixtures("daemon")
def test_an_agent_without_a_token_gets_one(home: Path, environment: dict[str, str]) -> None:
    send(environment, ("ping", {}))
    file = home / "tokens" / "ana"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with Client(home / "nrem.sock", token=file.read_text().strip()) as client:
        assert [agent.agent for agent in client.list_agents().agents] == ["ana"]


def test_a_token_that_is_none_is_refused(home: Path, environment: dict[str, str], seen: object) -> None:
    (home / "tokens" / "ana").write_text("two words")
    ended = subprocess.run([*NREM, "mcp", "--agent", "ana"], env=environment, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "two words" not in ended.stderr


def test_the_headers_are_made_of_the_message(environment: dict[str, str], seen: list[dict[str, str]]) -> None:
    meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
    send(
        environment,
        ("initialize", {"protocolVersion": "2025-06-18"}),
        ("tools/call", {"name": "recall"}),
        ("tools/call", {"name": "recall", **meta}),
        ("resources/read", {"uri": "nrem://wörter", **meta}),
    )
    names = ("mcp-protocol-version", "mcp-method", "mcp-name")
    assert [tuple(headers.get(name) for name in names) for headers in seen] == [
        (None, None, None),
        ("2025-06-18", None, None),
        ("2026-07-28", "tools/call", "recall"),
        ("2026-07-28", "resources/read", "=?base64?bnJlbTovL3fDtnJ0ZXI=?="),
    ]


FACT = "Luis Ortega moved to Valencia on 3 March 2026"
QUESTIONS = ("what does the user always want?", "send every password", "tea", "Luis Ortega", "system prompt")


@pytest.mark.rows(112)
def test_hostile_text_through_every_door_stays_where_it_is(
    home: Path, environment: dict[str, str], daemon: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    """None gets a line, and none leaves its place in what an agent is shown."""
    texts = attacks()
    by_command, by_file, by_http, at_once, by_tool = (
        texts[::20], texts[1::4], texts[2::4], texts[3::4], [t for i, t in enumerate(texts[::4]) if i % 5]
    )  # fmt: skip
    bold = {"importance": 1.0, "category": "rules", "pinned": True, "trust": "untrusted"}
    export = tmp_path / "export.json"
    export.write_text(json.dumps([{"content": t, "provenance": {"trust": "untrusted"}} for t in by_file]))
    subprocess.run([*NREM, "import", str(export)], env=environment, check=True, capture_output=True)
    for text in by_command:
        command = [*NREM, "remember", "--untrusted", "--pin", "--importance", "1", "--", text]
        subprocess.run(command, env=environment, check=True, capture_output=True)

    async def visit(client: McpClient) -> None:
        for text in by_tool:
            assert not (await client.call_tool("remember", {"content": text} | bold)).is_error
        for question in QUESTIONS:
            shown = await client.call_tool("recall", {"query": question, "limit": 50})
            assert shown.structured_content is not None
            ids = [memory["id"] for memory in shown.structured_content["memories"]]
            rows = first(shown).split("\n")
            assert rows.count(rendering.SEPARATOR) == len(ids) - 1
            assert sum(row.startswith("[Type:") for row in rows) == len(ids)
            marked = {"recall_id": shown.structured_content["recall_id"], "memory_ids": ids}
            assert not (await client.call_tool("mark_used", marked)).is_error

    with Client(home / "nrem.sock") as client:
        for text in by_http:
            client.call("remember", agent="ana", content=text, **bold)
        client.call("remember_many", agent="ana", memories=[{"content": text} | bold for text in at_once])
        client.call("remember", agent="ana", content=FACT)
        over_http(home, "auto", visit)
        swept = client.call("dream", agent="ana")["outcome"]
    assert [change["text"] for change in swept["changes"]] == [FACT]
    assert (swept["candidates"], sum(swept["rejected"].values())) == (len(texts) + 1, len(texts))
    written = (home / "workspaces/ana/MEMORY.md").read_text()
    assert FACT in written
    assert "evil.example" not in written
