"""Tool calls of agents: what they do, and how their answers read. The SDK comes in only when asked for."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from nrem import wire
from nrem.errors import Corrupt, NotFound, NremError
from nrem.model import Kind
from nrem.policy import memory_doc, rendering
from nrem.sections import Config
from nrem.wire.tools import AnyTool, Request, Resource, resources_of, tools_of

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

Run = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Runs an operation by name on a body; gives a JSON-ready answer or raises NremError."""

VISIT = "nrem.visit"
"""Where a request's scope has its Visit."""

IN_THREAD = "nrem.in_thread"
"""Where it has what runs a function in a thread."""

InThread = Callable[..., Awaitable[Any]]

NOTHING_FOUND = "No memories found."
NOTHING_THERE = "No memories yet."
NO_COMMITS = "No commits yet."
SHORT = 7
"""Characters of a commit's id that are shown; git takes them for the whole."""

log = logging.getLogger("nrem.mcp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """Whom a request is for: the agent of its path, what holds for it, and what runs its operations."""

    agent: str
    settings: Config
    run: Run

    def tools(self) -> Mapping[str, AnyTool]:
        return tools_of(self.settings.mcp.toolset, self._off())

    def resources(self) -> Mapping[str, Resource]:
        return resources_of(self._off())

    def _off(self) -> frozenset[Kind]:
        memory = self.settings.memory
        enabled = {
            Kind.SEMANTIC: memory.semantic.enabled,
            Kind.EPISODIC: memory.episodic.enabled,
            Kind.PROCEDURAL: memory.procedural.enabled,
        }
        return frozenset(kind for kind, on in enabled.items() if not on)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a tool call gives: texts for the model, and the same as data."""

    texts: tuple[str, ...]
    data: dict[str, Any]
    failed: bool = False


class Endpoint:
    """The ASGI application of /mcp/{agent}: streamable HTTP in every revision that the SDK serves.

    It keeps nothing between requests: no session is made, so that none can be taken over and a restart of the
    daemon cuts none off. Each request is for the agent and the caller that it came with, and for no other.
    """

    def __init__(
        self,
        visit_for: Callable[[Scope], Visit],
        in_thread: InThread,
        read_body: Callable[[Receive, int], Awaitable[bytes]],
        *,
        body_bytes: int,
    ) -> None:
        """`visit_for` is called in a thread with each request's scope; what it raises refuses the request."""
        self._visit_for = visit_for
        self._in_thread = in_thread
        self._read_body = read_body
        self._body_bytes = body_bytes
        self._tasks: anyio.abc.TaskGroup | None = None
        self._loading = anyio.Lock()
        self._manager: StreamableHTTPSessionManager | None = None

    @contextlib.asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Hold what the endpoint needs while it serves."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()
                self._manager = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":  # GET and DELETE are for sessions
            await Response(status_code=405, headers={"Allow": "POST"})(scope, receive, send)
            return
        scope[VISIT] = await self._in_thread(self._visit_for, scope)
        scope[IN_THREAD] = self._in_thread
        body = await self._read_body(receive, self._body_bytes)
        manager = await self._started()
        await manager.handle_request(scope, _replayed(body, receive), send)

    async def _started(self) -> StreamableHTTPSessionManager:
        async with self._loading:
            if self._manager is None:
                assert self._tasks is not None, "the endpoint serves only within its lifespan"
                # The import takes a good part of a second, in which others are served.
                manager = await self._in_thread(_make_manager, self._body_bytes)
                await self._tasks.start(_hold, manager)
                self._manager = manager
        return self._manager


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return what gives a body that was read before, and then what still comes."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _make_manager(body_bytes: int) -> StreamableHTTPSessionManager:
    from nrem.surface import mcp_server

    return mcp_server.make_manager(body_bytes)


async def _hold(manager: StreamableHTTPSessionManager, *, task_status: anyio.abc.TaskStatus[None]) -> None:
    async with manager.run():
        task_status.started()
        await anyio.sleep_forever()


# Calls


def call(visit: Visit, tool: AnyTool, arguments: Mapping[str, Any]) -> Answer:
    """Run a tool. Whatever goes wrong is an answer too, which says what to do and nothing of the inside."""
    try:
        request = tool.request(arguments)
        given = _run(visit, request.operation, {**request.body, "agent": visit.agent})
    except NremError as error:
        return _refused(tool, error)
    if tool.unified:
        return _unified(visit, request, given)
    render = RENDERED.get(request.operation, _as_json)
    return render(request.body, given)


def read(visit: Visit, resource: Resource) -> str:
    """Return the text of a resource."""
    given = _run(visit, resource.operation, {**resource.preset, "agent": visit.agent})
    if resource.operation == "read_file":
        return memory_doc.injected(str(given["content"]))
    held = [memory for memory in given["memories"] if memory["superseded_by"] is None]
    return rendering.hits(map(_hit, held)) or NOTHING_THERE


def _run(visit: Visit, operation: str, body: dict[str, Any]) -> dict[str, Any]:
    try:
        return visit.run(operation, body)
    except NremError:
        raise
    except Exception:  # the edge: whatever it is, the caller gets an answer and the log the reason
        log.exception("operation %s failed", operation)
        raise Corrupt("something went wrong inside; the log has it", code="internal") from None


def _refused(tool: AnyTool, error: NremError) -> Answer:
    data: dict[str, Any] = {"error": error.as_json()}
    if tool.unified:
        data = {"ok": False, **data}
    text = error.message if error.hint is None else f"{error.message}\nHint: {error.hint}"
    return Answer(texts=(text,), data=data, failed=True)


# Answers


def _stored(body: Mapping[str, Any], given: dict[str, Any]) -> Answer:
    id, kind = given["id"], body.get("kind", Kind.SEMANTIC.value)
    if given["stored"]:
        text = f"Stored {kind} memory {id}"
        if given["redacted"]:  # perhaps the category as well, so it is not repeated here
            text += f". A secret was taken out first: {', '.join(given['redacted'])}"
        else:
            text += f" in category {wire.slug(body.get('category', 'general'))}"
        text += "".join(f". {note}" for note in given["notes"]) + "."
    else:
        text = f"Known already: memory {id} says the same. Nothing was stored again."
    if body.get("supersedes") and given["reason"] is None:
        text += f" It supersedes {', '.join(body['supersedes'])}."
    return Answer(texts=(text,), data=given)


def _found(body: Mapping[str, Any], given: dict[str, Any]) -> Answer:
    notes = [*given["notes"], *(f"{what} search was not possible" for what in given["degraded"])]
    memories = [hit["memory"] for hit in given["hits"]]
    scores = [hit["explain"] for hit in given["hits"]]
    text = rendering.hits(
        _hit(memory, score and score["score"]) for memory, score in zip(memories, scores, strict=True)
    )
    briefs = [
        _brief(memory) | ({"score": score["score"], "parts": score["parts"]} if score else {})
        for memory, score in zip(memories, scores, strict=True)
    ]
    data = {"memories": briefs, "recall_id": given["recall_id"], "notes": notes}
    ids = [f"{line}. Recall: {given['recall_id']}" for line in _ids(memories)]  # for mark_used
    return Answer(texts=(text or NOTHING_FOUND, *ids, *notes), data=data)


def _listed(body: Mapping[str, Any], given: dict[str, Any]) -> Answer:
    memories = given["memories"]
    text = "\n".join(
        rendering.line(
            m["content"],
            kind=m["kind"],
            category=m["category"],
            created_at=m["created_at"],
            superseded=m["superseded_by"] is not None,
        )
        for m in memories
    )
    more = [f"There are more: cursor {given['next']}"] if given["next"] else []
    data = {"memories": [_brief(memory) for memory in memories], "next": given["next"]}
    return Answer(texts=(text or NOTHING_FOUND, *_ids(memories), *more), data=data)


def _forgotten(body: Mapping[str, Any], given: dict[str, Any]) -> Answer:
    return Answer(texts=(f"Forgot memory {given['id']}. Its history is kept.",), data=given)


def _history(body: Mapping[str, Any], given: dict[str, Any]) -> Answer:
    notes = [given["note"]] if given["note"] else []
    if given["unpublished"]:
        notes.append(f"Events that are not committed yet: {given['unpublished']}")
    text = "\n".join(map(_commit, given["commits"]))
    return Answer(texts=(text or NO_COMMITS, *notes), data=given)


def _as_json(body: Mapping[str, Any], given: dict[str, Any]) -> Answer:
    return Answer(texts=(json.dumps(given, ensure_ascii=False),), data=given)


RENDERED: Mapping[str, Callable[[Mapping[str, Any], dict[str, Any]], Answer]] = {
    "remember": _stored,
    "recall": _found,
    "list_memories": _listed,
    "forget": _forgotten,
    "log": _history,
}
"""How the answer of an operation reads; others are their JSON."""


def _unified(visit: Visit, request: Request, given: dict[str, Any]) -> Answer:
    data: dict[str, Any] = {"ok": True}
    match request.operation:
        case "remember":
            data["id"] = given["id"]
        case "recall":
            memories = [hit["memory"] for hit in given["hits"]]
            data["results"] = [{name: m[name] for name in ("id", "content", "tags")} for m in memories]
        case "checkpoint":
            data |= _unified_checkpoint(given)
        case "log":
            data["commits"] = [_unified_commit(visit.agent, commit) for commit in given["commits"]]
            if request.body.get("include_diff"):
                data["diff"] = "\n".join(map(_commit, given["commits"]))
    return _as_json({}, data)


def _unified_checkpoint(given: dict[str, Any]) -> dict[str, Any]:
    if given["commit"] is None:
        return {"skipped": True, "reason": given["note"]}
    return {"oid": given["commit"][:SHORT], "subject": given["subject"], "skipped": False}


def _unified_commit(agent: str, commit: dict[str, Any]) -> dict[str, Any]:
    return {
        "oid": commit["commit"],
        "short_oid": commit["commit"][:SHORT],
        "subject": commit["subject"],
        "body": rendering.counts(commit),
        "author": "person" if commit["cause"] == "person" else agent,
        "timestamp_unix": int(datetime.fromisoformat(commit["at"]).timestamp()),
    }


def _commit(commit: dict[str, Any]) -> str:
    """Return a commit on a line, and below it what it changes, if that was asked for."""
    head = f"{commit['commit'][:SHORT]} {commit['at']} {commit['subject']} ({rendering.counts(commit)})"
    below = [rendering.change(change) for change in commit["memories"]]
    if commit["more"]:
        below.append(f"and {commit['more']} more")
    return "\n".join([head, *("  " + line for text in below for line in text.splitlines())])


def _hit(memory: dict[str, Any], score: float | None = None) -> str:
    return rendering.hit(
        memory["content"],
        kind=memory["kind"],
        category=memory["category"],
        created_at=memory["created_at"],
        trusted=memory["provenance"]["trust"] == "trusted",
        superseded_by=memory["superseded_by"],
        score=score,
    )


def _brief(memory: dict[str, Any]) -> dict[str, Any]:
    names = ("id", "kind", "category", "created_at", "content", "tags")
    brief = {name: memory[name] for name in names} | {"trust": memory["provenance"]["trust"]}
    successor = memory["superseded_by"]
    return brief if successor is None else brief | {"superseded_by": successor}


def _ids(memories: list[dict[str, Any]]) -> list[str]:
    """Return a text apart from the memories' own: forget needs the ids, and the heads do not have them."""
    return [f"Ids, in this order: {', '.join(memory['id'] for memory in memories)}"] if memories else []


def get_tool(visit: Visit, name: str) -> AnyTool:
    """Return a tool that this agent has."""
    found = visit.tools().get(name)
    if found is None:
        raise NotFound(f"there is no tool {name}", hint=f"there are {', '.join(visit.tools())}")
    return found


def get_resource(visit: Visit, uri: str) -> Resource:
    """Return a resource that this agent has."""
    found = visit.resources().get(uri)
    if found is None:
        raise NotFound(f"there is no resource {uri}", hint=f"there are {', '.join(visit.resources())}")
    return found
