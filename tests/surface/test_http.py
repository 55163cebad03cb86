from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.routing import Route
from starlette.testclient import TestClient

import served
from builders import Call
from nrem import wire
from nrem.errors import Conflict, Corrupt, Denied, InputError, NotFound, NremError, Unavailable
from nrem.runtime.app import App
from nrem.surface import http, operations


@pytest.fixture
def web(app: App) -> Iterator[TestClient]:
    """The owner, on the socket."""
    web = http.Web(app)
    with TestClient(served.on_socket(web)) as client:
        yield client
    web.close()


@pytest.mark.rows(99, 116)
def test_every_operation_has_its_route_and_no_route_is_without_one(app: App) -> None:
    routes = {
        (method, route.path)
        for route in http.Web(app).routes.routes
        if isinstance(route, Route)
        for method in (route.methods or set()) - {"HEAD"}
    }
    declared = {(operation.method, operation.path) for operation in wire.OPERATIONS.values()}
    routes -= {(method, "/mcp/{agent}") for method, _ in routes}
    others = {("GET", path) for path in ("/healthz", "/readyz", "/metrics", "/openapi.json")}
    assert routes == declared | others


@pytest.mark.rows(99)
def test_the_life_of_a_memory_over_http(web: TestClient) -> None:
    stored = web.post("/v1/agents/ana/memories", json={"content": "Luis likes tea", "tags": ["luis"]})
    assert stored.status_code == 201
    id = stored.json()["id"]
    shown = web.get(f"/v1/agents/ana/memories/{id}").json()["memory"]
    assert (shown["content"], shown["provenance"]["ingress"]) == ("Luis likes tea", "http")
    found = web.post("/v1/agents/ana/recall", json={"query": "tea", "kinds": ["semantic"]}).json()
    assert [hit["memory"]["id"] for hit in found["hits"]] == [id]
    changed = web.patch(f"/v1/agents/ana/memories/{id}", json={"content": "Luis likes coffee"})
    assert changed.json()["version"] == 2
    assert web.delete(f"/v1/agents/ana/memories/{id}").status_code == 200
    assert web.get(f"/v1/agents/ana/memories/{id}").status_code == 404
    assert len(web.get(f"/v1/agents/ana/memories/{id}/versions").json()["versions"]) == 3


@pytest.mark.rows(99, 116)
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"limit": 2},
        {"kinds": ["fact", "task"]},
        {"tags_all": ["a", "b"]},
        {"metadata": {"project": {"name": "zephyr"}}},
        {"pinned": True},
        {"pinned": False, "limit": 1},
        {"page": 1},
        {"after": "2026-06-01T12:00:00Z", "trust": "trusted"},
        {"category": "Ünïcode & more?"},
    ],
    ids=str,
)
def test_a_list_over_http_is_the_list_in_process(web: TestClient, call: Call, body: dict[str, Any]) -> None:
    for i in range(4):
        kind = ("fact", "task", "semantic", "semantic")[i]
        given = {"tags": ["a", "b"][: i + 1], "metadata": {"project": {"name": "zephyr", "i": i}}}
        call("remember", agent="ana", content=f"note {i}", kind=kind, pinned=i == 1, **given)
    answer = web.get("/v1/agents/ana/memories", params=dict_of(wire.to_query(body)))
    assert answer.json() == call("list_memories", agent="ana", **body)


def dict_of(pairs: list[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


@pytest.mark.rows(99, 102)
@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("POST", "/v1/agents/ana/memories", {"content": " "}, 400, "invalid_field"),
        ("POST", "/v1/agents/ana/memories", {"content": "x", "kind": "nope"}, 400, "invalid_field"),
        ("POST", "/v1/agents/ana/memories", {"content": "x" * 70_000}, 413, "too_large"),
        ("POST", "/v1/agents/nobody/memories", {"content": "x"}, 404, "agent_not_found"),
        ("POST", "/v1/agents", {"agent": "ana"}, 409, "conflict"),
        ("POST", "/v1/agents", {"agent": "Not A Name"}, 400, "invalid_field"),
        ("GET", "/v1/agents/ana/memories/nope", None, 404, "memory_not_found"),
        ("GET", "/v1/agents/ana/memories?limit=many", None, 400, "invalid_field"),
        ("GET", "/v1/agents/ana/memories?metadata=notjson", None, 400, "invalid_field"),
        ("GET", "/v1/agents/ana/memories?colour=red", None, 400, "invalid_field"),
        ("DELETE", "/v1/agents/ana?erase=perhaps", None, 400, "invalid_field"),
        ("GET", "/v1/nothing", None, 404, "no_route"),
        ("PUT", "/v1/agents", {}, 405, "wrong_method"),
    ],
)
def test_what_is_refused_says_why(
    web: TestClient, method: str, path: str, body: Any, status: int, code: str
) -> None:
    answer = web.request(method, path, json=body) if body is not None else web.request(method, path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("content", "kind", "status", "code"),
    [
        (b"{", "application/json", 400, "invalid_field"),
        (b"[1]", "application/json", 400, "invalid_input"),
        (b'{"content": NaN}', "application/json", 400, "invalid_field"),
        (b"[" * 100_000, "application/json", 400, "invalid_field"),
        (b'{"content": "\xff"}', "application/json", 400, "invalid_field"),
        (b'{"content": "x"}', "text/plain", 415, "not_json"),
        (b'{"content": "' + b"x" * (1 << 20) + b'"}', "application/json", 413, "too_large"),
    ],
    ids=["cut off", "array", "NaN", "deep", "not UTF-8", "text", "large"],
)
def test_a_body_that_is_no_request_is_refused(
    web: TestClient, content: bytes, kind: str, status: int, code: str
) -> None:
    answer = web.post("/v1/agents/ana/memories", content=content, headers={"Content-Type": kind})
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_a_batch_may_be_larger_than_one_memory(web: TestClient) -> None:
    memories = [{"content": f"{i} " + "x" * 60_000} for i in range(40)]
    answer = web.post("/v1/agents/ana/memories/batch", json={"memories": memories})
    assert (answer.status_code, len(answer.json()["memories"])) == (201, 40)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InputError("x"), 400),
        (Denied("x"), 403),
        (NotFound("x"), 404),
        (Conflict("x"), 409),
        (Unavailable("x"), 503),
        (Unavailable("x", code="storage_full"), 507),
        (Corrupt("x"), 500),
    ],
)
def test_each_family_has_its_status(
    web: TestClient, monkeypatch: pytest.MonkeyPatch, error: NremError, status: int
) -> None:
    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setitem(operations.BINDING, "list_agents", refuse)
    answer = web.get("/v1/agents")
    assert (answer.status_code, answer.json()) == (status, {"error": {"code": error.code, "message": "x"}})


def test_an_error_of_ours_is_told_and_logged_but_not_shown(
    web: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("private detail")

    monkeypatch.setitem(operations.BINDING, "list_agents", fail)
    answer = web.get("/v1/agents")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")
    assert "private detail" not in answer.text
    assert "private detail" in caplog.text


@pytest.mark.parametrize("part", ["..", ".", "a/b", "a%2Fb", "ünï", "a b", "?x=1", "#"])
def test_an_id_of_any_shape_stays_one_part_of_the_path(web: TestClient, part: str) -> None:
    answer = web.get(f"/v1/agents/ana/memories/{wire.path_part(part)}")
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] in ("memory_not_found", "no_route")


def test_openapi_describes_every_operation(web: TestClient) -> None:
    described = web.get("/openapi.json").json()
    assert described["openapi"] == "3.1.0"
    named = {operation["operationId"] for path in described["paths"].values() for operation in path.values()}
    assert named == set(wire.OPERATIONS)
    references = set(_references(described))
    assert references
    assert references <= {f"#/components/schemas/{name}" for name in described["components"]["schemas"]}


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for item in value.values():
            yield from _references(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


def test_health_needs_no_agent(web: TestClient) -> None:
    assert web.get("/healthz").json()["status"] == "ok"


@pytest.mark.parametrize("name", [n for n, o in wire.OPERATIONS.items() if o.method in ("GET", "DELETE")])
def test_a_query_gives_back_what_it_was_made_of(name: str) -> None:
    operation = wire.OPERATIONS[name]
    samples = {"limit": 7, "page": 3, "pinned": True, "kinds": ["fact"], "metadata": {"a": [1, {"b": None}]}}
    body = {field: value for field, value in samples.items() if field in operation.takes.model_fields}
    assert wire.from_query(operation.takes, wire.to_query(body)) == json.loads(json.dumps(body))
