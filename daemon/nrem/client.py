"""A client of the daemon: every operation of `wire` as a method.

    from nrem import Client

    with Client(agent="ana") as client:
        client.remember("Luis prefers Spanish and short replies")
        for hit in client.recall("how should I answer Luis?").hits:
            print(hit.memory.content)

An operation raises the same errors here as it does inside the daemon (`nrem.errors`).
"""

from __future__ import annotations

import functools
import json
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx

from nrem import config, wire
from nrem.errors import Conflict, Corrupt, Denied, InputError, InvalidField, NotFound, NremError, Unavailable
from nrem.facade import Memories
from nrem.methods import Methods
from nrem.model import Right

CONNECT_SECONDS = 5.0
LIMITS = httpx.Limits(keepalive_expiry=2.0)
"""The daemon closes an idle connection after five seconds; one that is closed just then loses a request."""

TRIES = 3
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
NOTHING_DONE = frozenset({"busy", "too_many"})
"""Errors that come before anything was done, so that any request may be sent again."""

SEED_NAMES = {"agent_id": "agent", "agentId": "agent", "memory_id": "id"}
"""Other names of what stands in a path."""

JSON = {"Content-Type": "application/json"}

FAMILIES: tuple[tuple[range, type[NremError]], ...] = (
    (range(401, 402), Denied),
    (range(403, 404), Denied),
    (range(404, 405), NotFound),
    (range(408, 409), Unavailable),
    (range(409, 410), Conflict),
    (range(421, 422), Denied),
    (range(429, 430), Unavailable),
    (range(400, 500), InputError),
    (range(503, 504), Unavailable),
    (range(507, 508), Unavailable),
    (range(500, 600), Corrupt),
)


class Client(Methods):
    """Speaks to a daemon: at a URL, with a token, or on the owner's socket (a path; by default the home's).

    `agent` is whose memory is meant where a call names no agent. Without it that is $NREM_AGENT's, or that of
    the only agent there is, as found by the first call that needs one. `ingress` is what the owner's own
    programs say they are, and becomes part of what they store.
    """

    def __init__(
        self,
        where: str | Path | None = None,
        *,
        token: str | None = None,
        agent: str | None = None,
        ingress: str = "http",
    ) -> None:
        self.agent = agent
        self._chosen: str | None = None
        self._path = None if isinstance(where, str) else where or config.socket(config.home())
        self._seen = False
        self._http = httpx.Client(
            transport=None if self._path is None else unix_transport(self._path),
            base_url=where if isinstance(where, str) else "http://nrem",
            headers={"Nrem-Ingress": ingress}
            | ({} if token is None else {"Authorization": f"Bearer {token}"}),
            timeout=CONNECT_SECONDS,
            limits=LIMITS,
            trust_env=False,
        )

    @functools.cached_property
    def memories(self) -> Memories:
        """The same memories in the shapes of PromptRails' client."""
        return Memories(self.call)

    def call(self, name: str, **body: Any) -> dict[str, Any]:
        """Run an operation by name; return its answer as JSON has it."""
        answer: dict[str, Any] = self._ask(name, body).json()
        return answer

    def health(self) -> dict[str, Any]:
        """Return what the daemon says of itself."""
        answer: dict[str, Any] = self._send("GET", "/healthz", {}, again=True).json()
        return answer

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, name: str, body: Mapping[str, Any]) -> Any:
        response = self._ask(name, {field: value for field, value in body.items() if value is not None})
        return wire.read_answer(wire.OPERATIONS[name], response.content)

    def _ask(self, name: str, body: Mapping[str, Any]) -> httpx.Response:
        operation = wire.OPERATIONS[name]
        fields = {SEED_NAMES.get(name, name): value for name, value in body.items()}
        if "agent" in operation.takes.model_fields and "agent" not in fields:
            if self.agent is not None:
                fields["agent"] = self.agent
            elif "{agent}" in operation.path:
                fields["agent"] = self._choose(operation)
        try:
            text = json.dumps(fields, allow_nan=False)
        except (ValueError, TypeError, RecursionError):
            wire.read(operation.takes, fields)  # what JSON cannot carry is refused there, by the field's name
            raise
        path = operation.path
        for field in list(fields):
            if f"{{{field}}}" in path:
                path = path.replace(f"{{{field}}}", wire.path_part(fields.pop(field)))
        given: dict[str, Any] = {"content": text, "headers": JSON}
        if operation.method in ("GET", "DELETE"):
            given = {"params": httpx.QueryParams(wire.to_query(fields))}  # type: ignore[arg-type]
        given["timeout"] = httpx.Timeout(operation.patience, connect=CONNECT_SECONDS)
        return self._send(operation.method, path, given, again=operation.right is Right.READ)

    def _choose(self, operation: wire.Operation) -> str:
        """Return whose memory is meant when nobody said so; what only an owner may do is never guessed."""
        if operation.right is Right.ADMIN:
            raise InvalidField("agent", "is missing", hint='Client(agent="ana"), or agent= in the call')
        if self._chosen is None:
            self._chosen = choose_agent(self.call)
        return self._chosen

    def _send(self, method: str, path: str, given: Mapping[str, Any], *, again: bool) -> httpx.Response:
        """Send a request, and once more when it may be done twice or was not even begun."""
        for left in reversed(range(TRIES)):
            pause = FIRST_PAUSE * 2 ** (TRIES - 1 - left)
            try:
                self._look()
                return _checked(self._http.request(method, path, **given))
            except httpx.ReadTimeout as error:  # it is at it: asked again, it would only do it twice
                raise _slow() from error
            except (httpx.TransportError, ValueError) as error:
                if not left or not (again or isinstance(error, httpx.ConnectError)):
                    raise _gone(type(error).__name__) from error
            except Unavailable as error:
                if not left or not (error.code in NOTHING_DONE or (again and error.code == "unavailable")):
                    raise
                pause = max(pause, float(str(error.details.get("retry_after", 0))))
                if pause > LONGEST_PAUSE:
                    raise
            time.sleep(pause)
        raise AssertionError("the last try returns or raises")

    def _look(self) -> None:
        """Look once whether somebody listens, before the library leaves a refused socket to be collected."""
        if self._path is not None and not self._seen and not is_up(self._path):
            raise _gone("nobody listens")
        self._seen = True


def choose_agent(call: Callable[..., dict[str, Any]], given: str | None = None) -> str:
    """Return the agent to work with: the one given, $NREM_AGENT, or the only one there is."""
    chosen = given or config.default_agent()
    if chosen is not None:
        return chosen
    names = [agent["agent"] for agent in call("list_agents")["agents"]]
    if len(names) == 1:
        return str(names[0])
    if not names:
        raise NotFound("there is no agent yet", hint="nrem agent add NAME", code="no_agent")
    raise InputError(
        f"there are several agents: {', '.join(names)}",
        hint="choose one with -a NAME (in Python agent=NAME), or set NREM_AGENT",
        field="agent",
    )


def unix_transport(path: Path) -> httpx.HTTPTransport:
    """Return a transport over a socket that lets go of an idle connection before the daemon does."""
    return httpx.HTTPTransport(uds=str(path), limits=LIMITS)


def is_up(path: Path) -> bool:
    """Tell whether somebody listens at a socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _gone(problem: str) -> Unavailable:
    return Unavailable(
        f"the daemon did not answer ({problem})", hint="nrem up --detach starts it", code="no_daemon"
    )


def _slow() -> Unavailable:
    return Unavailable(
        "the daemon is up, but did not answer in time",
        hint="what was asked may still be done: look before you ask again; its log says more",
        code="no_answer",
    )


def _checked(response: httpx.Response) -> httpx.Response:
    """Return an answer that went well; raise the error that another one tells of."""
    if response.status_code < 400:
        return response
    try:
        error = response.json()["error"]
    except (ValueError, RecursionError, KeyError, TypeError):
        error = None
    if not isinstance(error, dict):
        raise Unavailable(f"the daemon answered with status {response.status_code}", code="no_daemon")
    family = next(family for statuses, family in FAMILIES if response.status_code in statuses)
    raise family(
        str(error.get("message")),
        hint=error.get("hint"),
        code=error.get("code"),
        field=error.get("field"),
        details=error.get("details"),
    )
