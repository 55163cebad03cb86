"""Who may ask what over TCP, under which names, and how often (T31, T32, T39)."""

from __future__ import annotations

import hashlib
import re
import socket
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

import served
from builders import Call, ManualClock
from nrem import wire
from nrem.client import Client
from nrem.errors import Denied, NotFound, Unavailable
from nrem.runtime.app import App
from nrem.sections import Server
from nrem.surface import guard
from nrem.surface.http import Web

Token = Callable[..., str]


@pytest.fixture
def web(app: App) -> Iterator[Web]:
    web = Web(app)
    yield web
    web.close()


@pytest.fixture
def url(web: Web) -> Iterator[str]:
    """The daemon on a port of loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        port = listener.getsockname()[1]
        with served.serving(web.guard, listener):
            yield f"http://127.0.0.1:{port}"


@pytest.fixture
def token(call: Call) -> Token:
    def make(agent: str | None = None, **given: Any) -> str:
        body = given if agent is None else {"agent": agent} | given
        text: str = call("create_token", **body)["token"]
        return text

    return make


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.rows(6)
def test_a_token_opens_its_agent_and_nothing_else(url: str, token: Token, call: Call) -> None:
    foreign = call("remember", agent="ben", content="Ben likes tea")["id"]
    with Client(url, token=token("ana"), agent="ana") as ana:
        id = ana.remember("Ana likes tea").id
        assert ana.get_memory(id).memory.provenance.actor == "agent:ana"
        assert [hit.memory.id for hit in ana.recall("tea").hits] == [id]
        assert [agent.agent for agent in ana.list_agents().agents] == ["ana"]
        for agent in ("ben", "nobody"):
            with pytest.raises(NotFound) as caught:
                ana.get_memory(foreign, agent=agent)
            assert (caught.value.message, caught.value.code) == (
                f"there is no agent called {agent}",
                "agent_not_found",
            )
        with pytest.raises(NotFound):
            ana.get_memory(foreign)


REACHING_MORE = [name for name, o in wire.OPERATIONS.items() if "{agent}" not in o.path and not o.shared]


@pytest.mark.rows(6)
@pytest.mark.parametrize("name", [name for name, o in wire.OPERATIONS.items() if "{agent}" in o.path])
def test_every_operation_of_another_agent_is_not_found(url: str, token: Token, name: str) -> None:
    operation = wire.OPERATIONS[name]
    path = operation.path.replace("{agent}", "ben").replace("{id}", "x")
    body: dict[str, Any] = {
        "content": "x",
        "memories": [{"content": "x"}],
        "erase": "true",
        "config": {},
        "message": "x",
        "path": "MEMORY.md",
        "commit": "main",
        "a": "yesterday",
        "query": "x",
        "memory_ids": ["x"],
    }
    given = {field: body[field] for field in body.keys() & operation.takes.model_fields.keys()}
    admin = token("ana", rights=["admin"])
    if operation.method in ("GET", "DELETE"):
        answer = httpx.request(operation.method, url + path, params=given, headers=bearer(admin))
    else:
        answer = httpx.request(operation.method, url + path, json=given, headers=bearer(admin))
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "agent_not_found")


@pytest.mark.rows(6)
@pytest.mark.parametrize("name", [name for name in REACHING_MORE if name != "create_token"])
def test_what_is_for_the_whole_store_is_not_for_one_agent(url: str, token: Token, name: str) -> None:
    operation = wire.OPERATIONS[name]
    body = {"agent": "eve"} if name == "add_agent" else {}
    path = operation.path.replace("{id}", "x")
    admin = bearer(token("ana", rights=["admin"]))
    if operation.method in ("GET", "DELETE"):
        answer = httpx.request(operation.method, url + path, headers=admin)
    else:
        answer = httpx.request(operation.method, url + path, json=body, headers=admin)
    assert answer.status_code == 403


@pytest.mark.rows(6)
def test_a_token_cannot_make_one_that_reaches_further(url: str, token: Token) -> None:
    with Client(url, token=token("ana", rights=["admin"])) as ana:
        assert ana.create_token(agent="ana").agent == "ana"
        with pytest.raises(Denied):
            ana.create_token()
        with pytest.raises(Denied):
            ana.create_token(org="acme")
        with pytest.raises(NotFound):
            ana.create_token(agent="ben")


@pytest.mark.rows(6)
def test_organisations_are_apart(url: str, token: Token, call: Call) -> None:
    for agent in ("acme.ana", "zeta.ana"):
        call("add_agent", agent=agent)
        call("remember", agent=agent, content=f"the secret plan of {agent}")
    with Client(url, token=token(org="acme", rights=["admin"])) as acme:
        assert [agent.agent for agent in acme.list_agents().agents] == ["acme.ana"]
        assert [h.memory.content for h in acme.recall("plan", agent="acme.ana").hits] == [
            "the secret plan of acme.ana"
        ]
        with pytest.raises(NotFound):
            acme.recall("plan", agent="zeta.ana")
        with pytest.raises(NotFound):
            acme.recall("plan", agent="ana")
        acme.add_agent(agent="acme.bea")
        with pytest.raises(Denied):
            acme.add_agent(agent="zeta.bea")


@pytest.mark.parametrize(
    ("rights", "name", "allowed"),
    [
        (["read"], "list_memories", True),
        (["read"], "remember", False),
        (["write"], "remember", True),
        (["write"], "list_memories", False),
        (["dream"], "recall", False),
        (["hook"], "recall", False),
        (["read", "write"], "set_agent_config", False),
        (["admin"], "set_agent_config", True),
        (["admin"], "remember", True),
    ],
)
def test_rights_are_what_they_say(
    url: str, token: Token, rights: list[str], name: str, allowed: bool
) -> None:
    bodies: dict[str, Any] = {
        "remember": {"content": "x"},
        "set_agent_config": {"config": {}, "message": "m"},
    }
    body = bodies.get(name, {})
    with Client(url, token=token("ana", rights=rights)) as client:
        if allowed:
            client.call(name, agent="ana", **body)
        else:
            with pytest.raises(Denied, match="this needs the right"):
                client.call(name, agent="ana", **body)


@pytest.mark.parametrize("path", ["/v1/agents", "/metrics", "/openapi.json", "/v1/nothing"])
def test_without_a_token_there_is_only_health(url: str, path: str) -> None:
    answer = httpx.get(url + path)
    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert answer.json()["error"]["code"] == "no_token"
    assert [httpx.get(url + open).status_code for open in ("/healthz", "/readyz")] == [200, 200]


@pytest.mark.parametrize("scheme", ["Bearer", "bearer"])
def test_a_token_is_needed_whole(url: str, token: Token, scheme: str) -> None:
    good = token("ana")
    bad = [good[:-1], good + "0", good.upper(), good.replace("nrem_", "mem_"), "x", "x" * 5000]
    other = good[:-9][:-1] + ("0" if good[:-9][-1] != "0" else "1")
    for text in (*bad, other + good[-9:]):
        answer = httpx.get(url + "/v1/agents", headers={"Authorization": f"{scheme} {text}"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "bad_token")
    assert httpx.get(url + "/v1/agents", headers={"Authorization": f"{scheme} {good}"}).status_code == 200
    assert httpx.get(url + "/v1/agents", headers={"Authorization": f"Basic {good}"}).status_code == 401


@pytest.mark.rows(6)
def test_a_revoked_or_expired_token_ends_at_once(
    url: str, token: Token, call: Call, clock: ManualClock
) -> None:
    short = token("ana", expires_at=clock.now() + 60_000)
    other = token("ana")
    for text in (short, other):
        assert httpx.get(url + "/v1/agents", headers=bearer(text)).status_code == 200
    clock.advance(seconds=60)
    assert httpx.get(url + "/v1/agents", headers=bearer(short)).json()["error"]["code"] == "token_expired"
    call("revoke_token", id=other.split("_")[1])
    assert httpx.get(url + "/v1/agents", headers=bearer(other)).json()["error"]["code"] == "bad_token"


def test_tokens_end_with_their_agent(url: str, token: Token, call: Call) -> None:
    text = token("ana")
    assert httpx.get(url + "/v1/agents", headers=bearer(text)).status_code == 200
    call("remove_agent", agent="ana", erase=True)
    call("add_agent", agent="ana")
    assert httpx.get(url + "/v1/agents", headers=bearer(text)).status_code == 401


def test_no_token_is_in_the_store(app: App, token: Token, call: Call) -> None:
    text = token("ana")
    app.store.close()
    stored = b"".join(file.read_bytes() for file in app.home.iterdir() if file.is_file())
    assert hashlib.sha256(text.encode()).digest() in stored
    assert text.encode() not in stored
    assert text.split("_")[2].encode() not in stored


@pytest.mark.parametrize(
    "host",
    ["evil.com", "127.0.0.1.evil.com:{port}", "localhost.:{port}", "127.0.0.1", "[::1]", "127.0.0.1:1", ""],
)
@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/v1/agents", "/openapi.json", "/x"])
def test_another_host_is_refused_on_every_route(url: str, token: Token, host: str, path: str) -> None:
    named = host.format(port=url.rpartition(":")[2])
    answer = httpx.get(url + path, headers=bearer(token("ana")) | {"Host": named})
    assert (answer.status_code, answer.json()["error"]["code"]) == (421, "wrong_host")


def test_two_hosts_are_refused(url: str) -> None:
    port = int(url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as peer:
        peer.sendall(f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.com\r\n\r\n".encode())
        assert peer.recv(100).split()[1] in (b"400", b"421")


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}"])
def test_the_names_of_loopback_are_answered_to(url: str, host: str) -> None:
    named = host.format(port=url.rpartition(":")[2])
    assert httpx.get(url + "/healthz", headers={"Host": named}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["null", "http://evil.com", "file://", "http://127.0.0.1", "http://127.0.0.1:1"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_another_origin_is_refused(url: str, token: Token, origin: str, method: str) -> None:
    answer = httpx.request(method, url + "/v1/agents", headers=bearer(token("ana")) | {"Origin": origin})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "wrong_origin")
    assert "access-control-allow-origin" not in answer.headers


def test_more_names_are_allowed_by_configuration(url: str, token: Token, web: Web) -> None:
    named = bearer(token("ana")) | {"Host": "nrem.example", "Origin": "https://nrem.example"}
    assert httpx.get(url + "/v1/agents", headers=named).status_code == 421
    web.guard.configure(Server(allowed_hosts=("NREM.example",)))
    assert httpx.get(url + "/v1/agents", headers=named).status_code == 200


def test_a_token_has_a_rate(url: str, token: Token, web: Web) -> None:
    web.guard.configure(Server(rate=1, burst=5))
    ana, ben = bearer(token("ana")), bearer(token("ben"))
    with httpx.Client() as http:
        statuses = [http.get(url + "/v1/agents", headers=ana).status_code for _ in range(7)]
        refused = http.get(url + "/v1/agents", headers=ana)
        assert (statuses[:5], refused.status_code) == ([200] * 5, 429)
        assert int(refused.headers["Retry-After"]) >= 1
        assert http.get(url + "/v1/agents", headers=ben).status_code == 200
        assert http.get(url + "/healthz").status_code == 200
    web.guard.configure(Server(rate=None))
    with httpx.Client() as http:
        assert {http.get(url + "/v1/agents", headers=ana).status_code for _ in range(300)} == {200}


def test_who_tries_tokens_is_slowed_down_and_a_good_one_still_works(url: str, token: Token) -> None:
    good = bearer(token("ana"))
    bad = bearer("nrem_" + "0" * 8 + "_" + "0" * 64 + "_00000000")
    with httpx.Client() as http:
        statuses = [http.get(url + "/v1/agents", headers=bad).status_code for _ in range(guard.BAD_TRIES + 1)]
        assert statuses == [401] * guard.BAD_TRIES + [429]
        assert http.get(url + "/v1/agents", headers=good).status_code == 200
        elsewhere = bad | {"X-Forwarded-For": "10.1.2.3"}
        assert http.get(url + "/v1/agents", headers=elsewhere).status_code == 429


def test_who_may_not_do_it_need_not_send_it(url: str, token: Token) -> None:
    """A right is looked at before the body: nobody fills the memory with what will be refused."""
    port = int(url.rpartition(":")[2])
    head = (
        "POST /v1/agents/ana/memories/batch HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        f"Authorization: Bearer {token('ana', rights=['read'])}",
        "Content-Type: application/json",
        "Content-Length: 16000000",
    )
    with socket.create_connection(("127.0.0.1", port)) as peer:
        peer.settimeout(20)
        peer.sendall("\r\n".join((*head, "", "")).encode())
        assert peer.recv(100).split()[1] == b"403"


@pytest.mark.parametrize(("host", "named"), [("fd00::1", "[fd00::1]"), ("10.0.0.7", "10.0.0.7")])
def test_the_address_it_listens_on_is_a_name(url: str, web: Web, host: str, named: str) -> None:
    port = url.rpartition(":")[2]
    assert httpx.get(url + "/healthz", headers={"Host": f"{named}:{port}"}).status_code == 421
    web.guard.configure(Server(host=host))
    assert httpx.get(url + "/healthz", headers={"Host": f"{named}:{port}"}).status_code == 200


def test_no_address_at_all_is_no_name(url: str, web: Web) -> None:
    port = url.rpartition(":")[2]
    web.guard.configure(Server(host="0.0.0.0"))
    assert httpx.get(url + "/healthz", headers={"Host": f"0.0.0.0:{port}"}).status_code == 421


def test_a_request_has_an_id(url: str) -> None:
    assert httpx.get(url + "/healthz", headers={"X-Request-Id": "abc-1"}).headers["X-Request-Id"] == "abc-1"
    for strange in ("a b", "x" * 65, "é"):
        given = httpx.get(url + "/healthz", headers=[(b"X-Request-Id", strange.encode())]).headers[
            "X-Request-Id"
        ]
        assert re.fullmatch("[0-9a-f]{16}", given)


def test_metrics_count_what_happens_and_name_nobody(url: str, token: Token, call: Call) -> None:
    call("remember", agent="ana", content="Ana likes tea")
    call("create_backup")
    call("dream", agent="ana")
    call("dream", agent="ana")
    with Client(url, token=token("ana"), agent="ana") as ana:
        ana.recall("tea")
        ana.remember("my key is sk-ant-" + "api03-" + "a1B2" * 20)
    text = httpx.get(url + "/metrics", headers=bearer(token(rights=["read"]))).text
    for line in (
        'nrem_http_request_duration_seconds_count{operation="recall",status="200"} 1.0',
        'nrem_recall_duration_seconds_count{mode="hybrid"} 1.0',
        'nrem_secrets_blocked_total{rule="anthropic"} 1.0',
        "nrem_build_info{version=",
        'nrem_writes_total{result="ok"}',
        "nrem_write_commit_seconds_count",
        'nrem_queue_depth{queue="writes"}',
        "nrem_db_size_bytes",
        "# TYPE nrem_provider_requests_total counter",
        "nrem_wal_size_bytes",
        "nrem_jobs_pending 0.0",
        "nrem_oldest_pending_job_seconds 0.0",
        "# TYPE nrem_jobs_total counter",
        "nrem_lease_takeovers_total 0.0",
        'nrem_sweeps_total{result="none"} 1.0',
        "nrem_sweep_duration_seconds_count 2.0",
        "nrem_last_backup_timestamp_seconds 1.7803152e+09",
    ):
        assert line in text
    assert "ana" not in re.sub(r"# .*", "", text)
    assert httpx.get(url + "/metrics", headers=bearer(token(rights=["hook"]))).status_code == 403


def test_ready_means_that_a_write_can_be_made(url: str, app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> None:
        raise Unavailable("the disk is full", code="storage_full")

    monkeypatch.setattr(app.store, "probe", full)
    answer = httpx.get(url + "/readyz")
    assert (answer.status_code, answer.json()["problems"]) == (503, ["the disk is full"])
