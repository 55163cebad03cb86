"""Bytes that no honest client sends (T17): an answer or a closed connection, never a 5xx."""

from __future__ import annotations

import gzip
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import served
from builders import Call
from nrem.runtime import service
from nrem.runtime.app import App
from nrem.surface import http
from nrem.surface.http import Web

ANA = "/v1/agents/ana/memories"


@pytest.fixture
def address(app: App, home: Path) -> Iterator[str]:
    """The owner's socket of a daemon."""
    web = Web(app)
    with served.unix(home) as listener, served.serving(web.guard, listener):
        yield str(home / "nrem.sock")
    web.close()


def send(address: str, *parts: bytes) -> bytes:
    """Send bytes; return all that comes back until the other side closes or answered."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(20)
        peer.connect(address)
        try:
            for part in parts:
                peer.sendall(part)
            return peer.recv(65536)
        except (BrokenPipeError, ConnectionResetError):
            return b""


def post(body: bytes, *headers: str, path: str = ANA) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


JSON = "Content-Type: application/json"


@pytest.mark.rows(102)
@pytest.mark.parametrize(
    "request_",
    [
        b"\x00" * 1000,
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: a\x00b\r\n\r\n",
        b"GET " + b"/a" * 32_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 2_000_000 + b"\r\n\r\n",
        b"GET /v1/agents/%00 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /v1/agents/%ff%fe/memories HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /v1/agents/../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /v1/agents/ana/memories?limit=%ff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /v1/agents/ana/memories?limit=1&limit=2&limit=" + b"9" * 5000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST "
        + ANA.encode()
        + b" HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcde",
        b"POST " + ANA.encode() + b" HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        post(b'{"content": "x"}', JSON, "Content-Encoding: gzip"),
        post(gzip.compress(b"0" * 10_000_000), JSON, "Content-Encoding: gzip"),
        post(json.dumps({"content": "x", "tags": ["t"] * 100_000}).encode(), JSON),
        post(b'{"content": "x", "data": ' + b'{"a":' * 10_000 + b"1" + b"}" * 10_000 + b"}", JSON),
        post(b'{"content": "\\ud800"}', JSON),
        post(b'{"content": "x\\u0000y", "session": "a\\u0000b"}', JSON),
        post(b'{"content": "\xff\xfe"}', JSON),
        post(b"", JSON),
        post(b"null", JSON),
    ],
    ids=lambda value: value[:40].decode(errors="replace"),
)
def test_it_is_refused_and_the_next_one_is_served(address: str, call: Call, request_: bytes) -> None:
    answer = send(address, request_)
    assert answer == b"" or answer.split()[1].startswith(b"4"), answer[:200]
    with httpx.Client(transport=httpx.HTTPTransport(uds=address)) as client:
        assert client.get("http://x/healthz").status_code == 200
    assert call("list_memories", agent="ana")["memories"] == []


@pytest.mark.parametrize(
    "content", ["e\u0301" * 10_000, "\u202e\u200b tea \U0001f9d1\u200d\U0001f680", "a\r\nb: c\tд"]
)
def test_bytes_in_are_bytes_out(address: str, content: str) -> None:
    with httpx.Client(transport=httpx.HTTPTransport(uds=address), base_url="http://x") as client:
        id = client.post(ANA, json={"content": content}).json()["id"]
        assert client.get(f"{ANA}/{id}").json()["memory"]["content"] == content


def test_a_body_of_100_megabytes_is_cut_off(address: str) -> None:
    head = f"POST {ANA} HTTP/1.1\r\nHost: x\r\n{JSON}\r\nContent-Length: 100000000\r\n\r\n".encode()
    answer = send(address, head, *[b"x" * 1_000_000] * 100)
    assert answer == b"" or answer.split()[1] == b"413"


def test_headers_that_never_end_are_not_waited_for(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "HEADER_SECONDS", 0.2)
    assert send(address, b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: ") == b""
    assert send(address) == b""


def test_a_body_that_never_ends_is_not_waited_for(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "BODY_SECONDS", 0.2)
    for head in ("Content-Length: 10", "Transfer-Encoding: chunked"):
        begun = f"POST {ANA} HTTP/1.1\r\nHost: x\r\n{JSON}\r\n{head}\r\n\r\n".encode()
        assert send(address, begun).split()[1] == b"408"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_is_not_served_even_if_the_socket_is_open_to_all(address: str) -> None:
    for folder in (Path(address), *Path(address).parents):
        if folder.stat().st_uid == os.geteuid() and folder != Path("/"):
            folder.chmod(
                folder.stat().st_mode | 0o777 if folder == Path(address) else folder.stat().st_mode | 0o711
            )
    script = f"""
import os, socket
os.setuid(65534)
peer = socket.socket(socket.AF_UNIX)
peer.connect({address!r})
try:
    peer.sendall(b"GET /healthz HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
    answer = peer.recv(100)
except (BrokenPipeError, ConnectionResetError):
    answer = b""
assert answer == b"", answer
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
