"""One table, four surfaces: names, checks and errors are the same wherever an operation is called."""

from __future__ import annotations

import importlib.util
import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import served
from builders import caller_of
from nrem import wire
from nrem.client import Client
from nrem.errors import InputError, NremError
from nrem.methods import Methods
from nrem.runtime.app import App
from nrem.surface import mcp, operations
from nrem.surface.cli.main import main
from nrem.surface.http import Web
from nrem.wire.tools import tools_of

ROOT = Path(__file__).parents[2]


def test_the_methods_of_the_client_are_fresh() -> None:
    spec = importlib.util.spec_from_file_location("generate_client", ROOT / "scripts/generate_client.py")
    assert spec is not None
    assert spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    assert generator.text() == (ROOT / "daemon/nrem/methods.py").read_text()


@pytest.mark.rows(99, 116)
@pytest.mark.parametrize("name", wire.OPERATIONS)
def test_each_operation_is_a_method_with_its_fields(name: str) -> None:
    parameters = inspect.signature(getattr(Methods, name)).parameters
    assert set(parameters) - {"self"} == set(wire.OPERATIONS[name].takes.model_fields)


@pytest.fixture
def client(app: App, home: Path) -> Iterator[Client]:
    """The typed client on the owner's socket of a daemon that has ana and ben."""
    web = Web(app)
    with (
        served.unix(home) as listener,
        served.serving(web.guard, listener),
        Client(home / "nrem.sock", agent="ana") as client,
    ):
        yield client
    web.close()


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("remember", {"content": " "}),
    ("remember", {"content": "x", "kind": "nope"}),
    ("remember", {"content": "x", "importance": 2.0}),
    ("remember", {"content": "x" * 70_000}),
    ("remember", {"content": "x", "tags": ["a"] * 65}),
    ("recall", {"query": "x", "limit": 0}),
    ("recall", {"query": "x", "mode": "nope"}),
    ("recall", {"query": "x", "threshold": 0.5, "mode": "keyword"}),
    ("list_memories", {"limit": 5000}),
    ("forget", {"id": "nope"}),
]


@pytest.mark.rows(99, 116)
@pytest.mark.parametrize(("name", "body"), WRONG, ids=lambda value: str(value)[:40])
def test_what_one_surface_refuses_all_refuse_in_the_same_words(
    app: App, client: Client, name: str, body: dict[str, Any]
) -> None:
    def refused(run: Callable[[], object]) -> dict[str, object]:
        with pytest.raises(NremError) as caught:
            run()
        return caught.value.as_json()

    told = refused(lambda: caller_of(app)(name, agent="ana", **body))
    assert refused(lambda: client.call(name, **body)) == told
    assert refused(lambda: getattr(client, name)(**body)) == told
    [tool] = [tool for tool in tools_of("typed", frozenset()).values() if tool.name == name]
    visit = mcp.Visit(
        agent="ana",
        settings=app.settings(app.scope("ana")),
        run=lambda name, body: operations.call(app, served.OWNER, name, body),
    )
    answer = mcp.call(visit, tool, body)
    assert answer.failed
    if body.keys() & {"mode", "threshold", "kind"}:  # not for models to choose
        assert "is not an argument of this tool" in answer.texts[0]
    else:
        assert str(told["message"]) in answer.texts[0]


@pytest.mark.rows(99)
def test_the_client_gives_the_records_that_the_operations_give(app: App, client: Client) -> None:
    stored = client.remember("Luis likes tea", kind="fact", tags=["luis"], data={"n": [1, None]})
    [hit] = client.recall("tea", explain=True).hits
    scope = app.scope("ana")
    shown = operations.execute(app, served.OWNER, "get_memory", {"agent": "ana", "id": stored.id})
    assert hit.memory == shown.memory
    assert hit.explain is not None
    assert hit.explain.score == pytest.approx(sum(hit.explain.parts.values()))
    assert client.list_memories().memories == (shown.memory,)
    assert client.export_memories().memories == (shown.memory,)
    assert client.show_agent().created_at == scope.created_at
    assert client.list_versions(stored.id).versions[0].at == shown.memory.created_at


@pytest.mark.rows(99)
def test_other_names_of_what_is_in_the_path_are_taken(client: Client) -> None:
    id = client.call("remember", agent_id="ben", content="Ben likes tea")["id"]
    assert client.call("get_memory", agentId="ben", memory_id=id)["memory"]["content"] == "Ben likes tea"


@pytest.mark.rows(99)
def test_a_client_that_names_no_agent_takes_the_environments_or_the_only_one(
    home: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Client(home / "nrem.sock") as other:
        with pytest.raises(InputError, match="there are several agents: ana, ben"):
            other.remember("x")
        monkeypatch.setenv("NREM_AGENT", "ben")
        other.remember("Ben likes tea")
    assert client.list_memories(agent="ben").memories
    monkeypatch.delenv("NREM_AGENT")
    token = client.create_token(agent="ana").token
    with Client(home / "nrem.sock", token=token) as only:  # it reaches one agent
        only.remember("Ana likes tea")
        assert [memory.content for memory in client.list_memories().memories] == ["Ana likes tea"]


@pytest.mark.rows(99)
def test_what_needs_an_admin_is_done_to_no_agent_that_nobody_named(
    home: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NREM_AGENT", "ben")
    with Client(home / "nrem.sock") as other, pytest.raises(InputError, match="agent: is missing"):
        other.remove_agent()
    assert client.show_agent(agent="ben").agent == "ben"


def test_each_method_explains_the_arguments_that_agents_know(client: Client) -> None:
    told = inspect.getdoc(client.recall) or ""
    assert "as_of: Answer from what was known then" in " ".join(told.split())
    assert "agent: Whose memory; the client's agent if not given." in told


@pytest.mark.rows(99)
def test_the_facade_has_the_shapes_of_its_seed(client: Client) -> None:
    made = client.memories.create(
        agent_id="ana",
        content="Luis likes tea",
        memory_type="procedure",
        chat_session_id="s1",
        metadata={"a": 1},
    )
    assert (made["memory_type"], made["chat_session_id"], made["metadata"]) == ("procedure", "s1", {"a": 1})
    for i in range(4):
        client.memories.create(content=f"note {i}")
    page = client.memories.list(page=2, limit=2)
    assert page["meta"] == {"total": 5, "page": 2, "limit": 2, "total_pages": 3}
    assert [item["content"] for item in page["data"]] == ["note 1", "note 0"]
    assert client.memories.list(memory_type="procedure")["meta"]["total"] == 1
    [found] = client.memories.search(query="tea", memory_type="procedure", limit=5)["data"]
    assert (found["id"], found["score"] > 0) == (made["id"], True)
    assert client.memories.update(made["id"], content="Luis likes coffee")["content"] == "Luis likes coffee"
    client.memories.delete(made["id"])
    with pytest.raises(NremError):
        client.memories.get(made["id"])


def test_the_command_and_the_package_import_little() -> None:
    """`nrem --version` must not pay for the daemon."""
    code = "import sys, nrem.surface.cli.main; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not set(loaded.split()) & {"pydantic", "httpx", "numpy", "starlette", "uvicorn", "mcp", "rich"}
    assert CliRunner().invoke(main, ["--version"]).exit_code == 0
