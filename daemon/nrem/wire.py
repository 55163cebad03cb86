"""Every operation once: its name, what it takes and gives, its route, and who may see it.

HTTP routes, OpenAPI, MCP tools and client methods are made from OPERATIONS; `read` turns what came over the
wire into a checked record, once, so that nothing below checks again.
"""

from __future__ import annotations

import difflib
import functools
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
)

from nrem.errors import InputError, InvalidField
from nrem.model import (
    KIND_ALIASES,
    AgentConfig,
    Filter,
    Kind,
    Memory,
    Moment,
    Role,
    Trust,
    Version,
)

DEPTH = 64
BATCH = 1000
TEXT_BYTES = 64 << 10
LABEL = 512
TAGS = 64
PAGE = 1000
LAST_MOMENT = 253_402_300_799_999  # the end of the year 9999, the last that ISO-8601 writes with four digits


# Types


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("is not valid Unicode (it has a lone surrogate)") from None
    return value


def _label(value: str) -> str:
    if "\0" in value:
        raise ValueError("must not contain a NUL character")
    if not value.strip():
        raise ValueError("must not be blank")
    return _text(value)


def _content(value: str) -> str:
    if is_blank(value):
        raise ValueError("must not be blank")
    return _text(value)


def is_blank(value: str) -> bool:
    """Tell whether a text has nothing to see: white space, controls, zero-width characters."""
    return all(c.isspace() or unicodedata.category(c) in ("Cc", "Cf") for c in value)


def _json_object(value: Any) -> Any:
    """Refuse what JSON cannot carry or what is nested too deep, without recursion."""
    level = [value]
    for _ in range(DEPTH + 1):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below += [*item.keys(), *item.values()]
            elif isinstance(item, list | tuple):
                below += item
            elif isinstance(item, str):
                _text(item)
            elif isinstance(item, float) and not math.isfinite(item):
                raise ValueError("must not contain NaN or infinity")
            elif not isinstance(item, int | float | bool | None):
                raise ValueError(f"must be JSON, not {type(item).__name__}")
            if isinstance(item, dict) and not all(isinstance(key, str) for key in item):
                raise ValueError("must have texts as keys")
        if not below:
            break
        level = below
    else:
        raise ValueError(f"is nested deeper than {DEPTH} levels")
    if len(json.dumps(value, ensure_ascii=False).encode()) > TEXT_BYTES:
        raise ValueError(f"is larger than {TEXT_BYTES} bytes as JSON")
    return value


def _yes(value: bool) -> bool:
    if not value:
        raise ValueError("must be true: an agent is removed only together with its memories")
    return value


def _agent_name(value: str) -> str:
    if not re.fullmatch(r"[a-z0-9_-]{1,64}(\.[a-z0-9_-]{1,64})?", value):
        raise ValueError(
            "must be of lower-case letters, digits, _ and - (at most 64), with an organisation and a dot"
            " before it if you like: ana, or acme.ana"
        )
    return value


def _kind(value: Any) -> Any:
    if value == "relationship":
        raise ValueError("a relationship is not a memory; relationships have an operation of their own")
    if not isinstance(value, str) or value not in KIND_ALIASES:
        raise ValueError(f"must be one of {', '.join(KIND_ALIASES)}")
    return value


def _moment(value: Any) -> Any:
    """Read ISO-8601 (no offset means UTC; a date means its first moment) or epoch milliseconds."""
    if isinstance(value, str):
        _text(value)
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            raise ValueError("must be a time such as 2026-06-01T10:30:00Z or 2026-06-01") from None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        value = round((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("must be a time such as 2026-06-01T10:30:00Z or 2026-06-01")
    if not 0 <= value <= LAST_MOMENT:
        raise ValueError("must lie between the years 1970 and 9999")
    return value


def slug(value: str) -> str:
    """Return the one spelling of a category: lower case, runs of anything but letters and digits as `_`."""
    spelled = unicodedata.normalize("NFC", unicodedata.normalize("NFC", value).lower())
    kept = (c if unicodedata.category(c)[0] in "LMN" else "_" for c in spelled)
    return re.sub("_+", "_", "".join(kept)).strip("_") or "general"


def _choices(*names: str) -> Any:
    return Field(validation_alias=AliasChoices(*names))


AgentName = Annotated[str, Field(examples=["ana"]), AfterValidator(_agent_name)]
Content = Annotated[str, AfterValidator(_content)]
Text = Annotated[str, AfterValidator(_text)]
Label = Annotated[str, Field(max_length=LABEL), AfterValidator(_label)]
Category = Annotated[str, Field(max_length=LABEL), AfterValidator(_text)]
"""Not a slug yet: a secret must be found before its spelling changes."""
Tags = Annotated[list[Label], Field(max_length=TAGS)]
Embedding = Annotated[
    list[Annotated[float, Field(allow_inf_nan=False)]], Field(min_length=1, max_length=65_536)
]
Unit = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Json = Annotated[dict[str, Any], BeforeValidator(_json_object)]
KindWord = Annotated[str, BeforeValidator(_kind)]
Time = Annotated[int, BeforeValidator(_moment)]
Parsed = Annotated[Role, Field(strict=False)]
TrustWord = Annotated[Trust, Field(strict=False)]


class Input(BaseModel):
    """What an operation takes: exact types, no unknown fields."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, populate_by_name=True, str_max_length=16 << 20
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What became of one memory that was to be remembered."""

    id: str
    stored: bool
    deduplicated: bool = False
    reason: Literal["evicted", "differs"] | None = None
    """Why it was not stored although it was new: a cap left no room for it, or another text came in before
    under its legacy id."""
    redacted: tuple[str, ...] = ()
    """Which secret rules fired; their finds were replaced before anything was written."""


# Agents


class AgentRef(Input):
    agent: AgentName = Field(validation_alias=AliasChoices("agent", "agent_id", "agentId"))


class AddAgent(AgentRef):
    pass


class ListAgents(Input):
    pass


class RemoveAgent(AgentRef):
    erase: Annotated[bool, AfterValidator(_yes)] = Field(
        description="Must be true: all memories of the agent and their history are deleted for good."
    )


class SetAgentConfig(AgentRef):
    config: Json
    message: Label


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    agent: str
    memories: int
    created_at: Moment
    config_version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Agents:
    agents: tuple[Agent, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfigs:
    versions: tuple[AgentConfig, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedAgent:
    agent: str
    memories: int


# Memories


class Draft(Input):
    """A memory to be stored, before importance, concepts and secrets were looked at."""

    content: Content
    kind: KindWord = Field(default="semantic", validation_alias=AliasChoices("kind", "memory_type", "type"))
    category: Category = "general"
    tags: Tags = []
    data: Json | None = None
    metadata: Json | None = None
    context: Text | None = None
    importance: Unit | None = Field(default=None, description="Cost of forgetting; derived when not given.")
    confidence: Unit = 1.0
    role: Parsed | None = None
    session: Label | None = Field(
        default=None, validation_alias=AliasChoices("session", "session_id", "chat_session_id", "sessionId")
    )
    room: Label | None = Field(default=None, validation_alias=AliasChoices("room", "room_id", "roomId"))
    user: Label | None = Field(default=None, validation_alias=AliasChoices("user", "user_id", "userId"))
    pinned: bool = False
    source: Label | None = None
    trust: TrustWord | None = Field(default=None, description="May only lower the caller's own trust.")
    trigger: Label | None = Field(default=None, validation_alias=AliasChoices("trigger", "trigger_type"))
    embedding: Embedding | None = Field(default=None, description="Its vector, if the caller has it.")
    legacy_id: Label | None = Field(
        default=None, description="Its id in another system; a known one is not stored again."
    )
    created_at: Time | None = Field(default=None, validation_alias=AliasChoices("created_at", "createdAt"))
    updated_at: Time | None = Field(default=None, description="When it was last edited elsewhere.")
    expires_at: Time | None = None
    consolidated_at: Time | None = None


class Remember(AgentRef, Draft):
    pass


class RememberMany(AgentRef):
    memories: Annotated[list[Draft], Field(min_length=1, max_length=BATCH)]
    dry_run: bool = Field(default=False, description="Only check; nothing is stored.")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMany:
    memories: tuple[Stored, ...]


class MemoryRef(AgentRef):
    id: Label = Field(validation_alias=AliasChoices("id", "memory_id"))


class Edit(MemoryRef):
    """What to change; a field that is not given stays as it is."""

    content: Content | None = None
    category: Category | None = None
    tags: Tags | None = None
    data: Json | None = None
    metadata: Json | None = None
    context: Text | None = None
    importance: Unit | None = None
    confidence: Unit | None = None
    expires_at: Time | None = None
    version: int | None = Field(
        default=None, ge=1, description="Refuse the edit unless this is still the version."
    )


class Conditions(AgentRef):
    """Which memories: every given condition must hold."""

    kinds: Annotated[
        list[KindWord], _choices("kinds", "memory_types"), Field(max_length=len(KIND_ALIASES))
    ] = []
    category: Category | None = None
    tags_any: Tags = []
    tags_all: Tags = []
    room: Label | None = Field(default=None, validation_alias=AliasChoices("room", "room_id", "roomId"))
    user: Label | None = Field(default=None, validation_alias=AliasChoices("user", "user_id", "userId"))
    session: Label | None = Field(
        default=None, validation_alias=AliasChoices("session", "session_id", "chat_session_id", "sessionId")
    )
    metadata: Json | None = Field(default=None, description="Memories whose metadata holds all of this.")
    after: Time | None = Field(default=None, description="Created at or after this moment.")
    before: Time | None = Field(default=None, description="Created before this moment.")
    trust: TrustWord | None = None
    pinned: bool | None = None

    def filter(self, *, exclude: tuple[Kind, ...] = ()) -> Filter:
        return Filter(
            kinds=tuple(KIND_ALIASES[word] for word in self.kinds),
            exclude_kinds=exclude,
            category=None if self.category is None else slug(self.category),
            tags_any=tuple(self.tags_any),
            tags_all=tuple(self.tags_all),
            room=self.room,
            user=self.user,
            session=self.session,
            metadata=self.metadata,
            after=self.after,
            before=self.before,
            trust=self.trust,
            pinned=self.pinned,
        )


class ListMemories(Conditions):
    limit: int = Field(default=20, ge=1, le=PAGE, validation_alias=AliasChoices("limit", "top_k"))
    page: int | None = Field(default=None, ge=1, le=1_000_000, description="A page by number, with totals.")
    cursor: Label | None = Field(default=None, description="The `next` of the page before.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    memories: tuple[Memory, ...]
    next: str | None = None
    """The cursor of the next page; None at the end."""
    page: int | None = None
    limit: int
    total: int | None = None
    total_pages: int | None = None


class Recall(Conditions):
    query: Text = Field(default="", description="The question, in the words of whoever asks it.")
    embedding: Embedding | None = Field(default=None, description="A vector in place of the query.")
    mode: Literal["keyword", "vector", "hybrid"] = "hybrid"
    limit: int = Field(default=5, ge=1, le=PAGE, validation_alias=AliasChoices("limit", "top_k"))
    budget: int | None = Field(
        default=None, ge=1, le=1_000_000, description="Most tokens that the hits may have together."
    )
    threshold: float | None = Field(
        default=None, ge=-1, le=1, allow_inf_nan=False, description="Least cosine; needs vectors."
    )
    profile: Literal["default", "agentos"] | None = None
    asked_at: Time | None = Field(default=None, description="When it was asked, if not now.")
    expired: bool = Field(default=False, description="Also memories that have expired.")
    explain: bool = Field(default=False, description="Give each hit's score and its parts.")
    observe: bool = Field(default=True, description="Record the recall; false leaves no trace.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A score and the parts that it is the sum of."""

    score: float
    parts: dict[str, float]
    cosine: float | None = None
    coverage: float = 0.0
    """The share of the question's terms that the memory has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    memory: Memory
    explain: Explained | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    recall_id: str | None
    """None when nothing was recorded."""
    hits: tuple[Hit, ...]
    mode: str
    degraded: tuple[str, ...] = ()
    """What could not be used: `vector` when the embedder did not answer."""
    notes: tuple[str, ...] = ()


class Embed(Input):
    texts: Annotated[list[Content], Field(min_length=1, max_length=BATCH)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    embedder: str
    dimension: int
    embeddings: tuple[tuple[float, ...] | None, ...]
    """None for a text that the embedder has no vector for."""


class Reembed(Input):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Reembedded:
    embedder: str
    done: int
    """Vectors made by this step."""
    left: int
    """Memories that have none yet; 0 when the new vectors serve."""
    failed: int = 0
    """Memories that the embedder has no vector for."""


class Export(Conditions):
    format: Literal["nrem", "initrunner"] = "nrem"
    limit: int = Field(default=PAGE, ge=1, le=PAGE)
    cursor: Label | None = Field(default=None, description="The `next` of the page before.")


@dataclass(frozen=True, slots=True, kw_only=True)
class InitRunnerMemory:
    """A memory in the shape of InitRunner's own export."""

    id: str
    content: str
    category: str
    created_at: Moment
    memory_type: str
    metadata: dict[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    memories: tuple[Memory | InitRunnerMemory, ...]
    left_out: int = 0
    """Memories of this page whose kind the format does not have."""
    next: str | None = None


class Clear(Conditions):
    sessions_only: bool = Field(default=False, description="Only turns of conversations.")
    memories_only: bool = Field(default=False, description="Everything but turns of conversations.")
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleared:
    count: int
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A memory with its use, which is not part of its state."""

    memory: Memory
    access_count: int
    last_accessed_at: Moment | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    id: str
    version: int
    redacted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    id: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    id: str
    versions: tuple[Version, ...]


# The table


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    name: str
    summary: str
    route: str
    takes: type[Input]
    gives: type
    right: Literal["read", "write", "admin"]
    tool: str | None = None
    """The MCP tool that exposes it."""
    status: int = 200
    """What HTTP answers when it went well."""

    @property
    def method(self) -> str:
        return self.route.partition(" ")[0]

    @property
    def path(self) -> str:
        return self.route.partition(" ")[2]


_A = "/v1/agents/{agent}"
_M = _A + "/memories"

OPERATIONS: Mapping[str, Operation] = {
    operation.name: operation
    for operation in (
        Operation(
            name="add_agent",
            summary="Add an agent, with a memory of its own.",
            route="POST /v1/agents",
            takes=AddAgent,
            gives=Agent,
            right="admin",
            status=201,
        ),
        Operation(
            name="list_agents",
            summary="List the agents.",
            route="GET /v1/agents",
            takes=ListAgents,
            gives=Agents,
            right="read",
        ),
        Operation(
            name="show_agent",
            summary="Show one agent.",
            route=f"GET {_A}",
            takes=AgentRef,
            gives=Agent,
            right="read",
        ),
        Operation(
            name="remove_agent",
            summary="Remove an agent and erase all that it remembered.",
            route=f"DELETE {_A}",
            takes=RemoveAgent,
            gives=RemovedAgent,
            right="admin",
        ),
        Operation(
            name="set_agent_config",
            summary="Replace an agent's own configuration; every version is kept.",
            route=f"PUT {_A}/config",
            takes=SetAgentConfig,
            gives=AgentConfig,
            right="admin",
        ),
        Operation(
            name="list_agent_configs",
            summary="List the versions of an agent's configuration, newest first.",
            route=f"GET {_A}/config/versions",
            takes=AgentRef,
            gives=AgentConfigs,
            right="read",
        ),
        Operation(
            name="remember",
            summary="Store one memory.",
            route=f"POST {_M}",
            takes=Remember,
            gives=Stored,
            right="write",
            status=201,
            tool="remember",
        ),
        Operation(
            name="remember_many",
            summary="Store up to 1,000 memories in one transaction, all or none.",
            route=f"POST {_M}/batch",
            takes=RememberMany,
            gives=StoredMany,
            right="write",
            status=201,
        ),
        Operation(
            name="get_memory",
            summary="Show one memory.",
            route=f"GET {_M}/{{id}}",
            takes=MemoryRef,
            gives=Shown,
            right="read",
        ),
        Operation(
            name="list_memories",
            summary="List memories, newest first.",
            route=f"GET {_M}",
            takes=ListMemories,
            gives=Page,
            right="read",
            tool="list_memories",
        ),
        Operation(
            name="recall",
            summary="Find the memories that answer a question best.",
            route=f"POST {_A}/recall",
            takes=Recall,
            gives=Recalled,
            right="read",
            tool="recall",
        ),
        Operation(
            name="embed",
            summary="Turn texts into vectors with the store's embedder.",
            route="POST /v1/embed",
            takes=Embed,
            gives=Embedded,
            right="read",
        ),
        Operation(
            name="reembed",
            summary="Make the next vectors of the configured embedder; the old serve till all are there.",
            route="POST /v1/reembed",
            takes=Reembed,
            gives=Reembedded,
            right="admin",
        ),
        Operation(
            name="export_memories",
            summary="Give all memories that match, oldest first, in pages.",
            route=f"GET {_A}/export",
            takes=Export,
            gives=Exported,
            right="read",
        ),
        Operation(
            name="edit_memory",
            summary="Change a memory; the version before is kept.",
            route=f"PATCH {_M}/{{id}}",
            takes=Edit,
            gives=Changed,
            right="write",
        ),
        Operation(
            name="pin_memory",
            summary="Keep a memory from ever being evicted.",
            route=f"POST {_M}/{{id}}/pin",
            takes=MemoryRef,
            gives=Changed,
            right="write",
        ),
        Operation(
            name="unpin_memory",
            summary="Let a pinned memory go its way again.",
            route=f"POST {_M}/{{id}}/unpin",
            takes=MemoryRef,
            gives=Changed,
            right="write",
        ),
        Operation(
            name="forget",
            summary="Forget a memory; its history stays.",
            route=f"DELETE {_M}/{{id}}",
            takes=MemoryRef,
            gives=Forgotten,
            right="write",
            tool="forget",
        ),
        Operation(
            name="clear_memories",
            summary="Forget all memories that match, and say exactly how many.",
            route=f"POST {_M}/clear",
            takes=Clear,
            gives=Cleared,
            right="write",
        ),
        Operation(
            name="list_versions",
            summary="List every state a memory ever had, with who made it and when.",
            route=f"GET {_M}/{{id}}/versions",
            takes=MemoryRef,
            gives=Versions,
            right="read",
        ),
    )
}


# In and out


def read(model: type[Input], body: Mapping[str, Any]) -> Input:
    """Return the checked record of a request; raise InvalidField naming the first field that is wrong."""
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise _explain(model, error) from None


def write(operation: Operation, result: Any) -> dict[str, Any]:
    """Return an operation's result as JSON-ready values."""
    shown: dict[str, Any] = _adapter(operation.gives).dump_python(result, mode="json")
    return shown


@functools.cache
def _adapter(gives: type) -> TypeAdapter[Any]:
    return TypeAdapter(gives)


def write_json(operation: Operation, result: Any) -> bytes:
    """Return an operation's result as the text of its JSON."""
    return _adapter(operation.gives).dump_json(result)


def from_query(model: type[Input], pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the fields of a query string, each as the type that its field has; what is none stays text."""
    body: dict[str, Any] = {}
    kinds = _query_kinds(model)
    for name, text in pairs:
        kind = kinds.get(name, "text")
        if kind == "list":
            body.setdefault(name, []).append(text)
        else:
            body[name] = _QUERY[kind](text, name)
    return body


def to_query(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return fields as a query string that from_query reads; nothing for None."""
    pairs = []
    for name, value in body.items():
        for item in value if isinstance(value, list) else [value]:
            if item is not None:
                pairs.append((name, item if isinstance(item, str) else json.dumps(item)))
    return pairs


def path_part(value: object) -> str:
    """Return a value as one part of a path."""
    text = str(value)
    return quote(text, safe="") if text not in (".", "..") else quote(text).replace(".", "%2E")


_QUERY: Mapping[str, Callable[[str, str], Any]] = {
    "text": lambda text, name: text,
    "int": lambda text, name: int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else text,
    "float": lambda text, name: float(text) if re.fullmatch(r"-?[0-9.]{1,32}", text) else text,
    "bool": lambda text, name: {"true": True, "false": False}.get(text, text),
    "object": lambda text, name: parse_json(text, name),
}


@functools.cache
def _query_kinds(model: type[Input]) -> dict[str, str]:
    """Return what the text of each field in a query stands for, under all the names of the field."""
    schema = model.model_json_schema(by_alias=False)["properties"]
    kinds: dict[str, str] = {}
    for name, field in model.model_fields.items():
        types = {part.get("type") for part in schema[name].get("anyOf", [schema[name]])}
        kind = next((kind for json_type, kind in _QUERY_TYPES if json_type in types), "text")
        alias = field.validation_alias
        names = alias.choices if isinstance(alias, AliasChoices) else [name]
        kinds |= {str(known): kind for known in [name, *names]}
    return kinds


_QUERY_TYPES = (
    ("array", "list"),
    ("object", "object"),
    ("boolean", "bool"),
    ("string", "text"),
    ("integer", "int"),
    ("number", "float"),
)


def openapi(version: str) -> dict[str, Any]:
    """Return the description of all operations as OpenAPI 3.1."""
    paths: dict[str, dict[str, Any]] = {}
    schemas: dict[str, Any] = {}
    for operation in OPERATIONS.values():
        takes = operation.takes.model_json_schema(ref_template=_REF, by_alias=False)
        gives = _adapter(operation.gives).json_schema(ref_template=_REF, mode="serialization")
        for schema in (takes, gives):
            schemas |= schema.pop("$defs", {})
        described: dict[str, Any] = {
            "operationId": operation.name,
            "summary": operation.summary,
            "parameters": _parameters(operation, takes),
            "responses": {
                str(operation.status): {
                    "description": "It went well.",
                    "content": {"application/json": {"schema": gives}},
                },
                "default": {
                    "description": "It was refused; the code says why, the hint what to do.",
                    "content": {"application/json": {"schema": {"$ref": _REF.format(model="Error")}}},
                },
            },
        }
        if operation.method not in ("GET", "DELETE"):
            for name in re.findall(r"{(\w+)}", operation.path):
                takes["properties"].pop(name)
                takes["required"] = [field for field in takes.get("required", []) if field != name]
            described["requestBody"] = {"content": {"application/json": {"schema": takes}}}
        paths.setdefault(operation.path, {})[operation.method.lower()] = described
    schemas["Error"] = _ERROR
    return {
        "openapi": "3.1.0",
        "info": {"title": "nrem", "version": version},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _parameters(operation: Operation, takes: dict[str, Any]) -> list[dict[str, Any]]:
    in_path = re.findall(r"{(\w+)}", operation.path)
    places = dict.fromkeys(in_path, "path")
    if operation.method in ("GET", "DELETE"):
        places |= {name: "query" for name in takes["properties"] if name not in in_path}
    return [
        {
            "name": name,
            "in": place,
            "required": place == "path" or name in takes.get("required", []),
            "schema": takes["properties"][name],
        }
        for name, place in places.items()
    ]


_REF = "#/components/schemas/{model}"
_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "hint": {"type": "string"},
                "field": {"type": "string"},
                "details": {"type": "object"},
            },
        }
    },
}


def parse_json(text: str | bytes, field: str, *, hint: str = 'for example {"key": "value"}') -> Any:
    """Parse JSON from outside; raise InvalidField for what is not JSON or is nested too deep."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise InvalidField(field, f"is nested deeper than {DEPTH} levels") from None
    except ValueError as error:
        raise InvalidField(field, f"is not JSON: {error}", hint=hint) from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number in JSON")


def _explain(model: type[Input], error: ValidationError) -> InputError:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = [
        part for part in first["loc"] if isinstance(part, int | str) and not str(part).startswith("function-")
    ]
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")
    hint = None
    problem = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        known = list(Draft.model_fields) if "memories[" in field else list(model.model_fields)
        near = difflib.get_close_matches(str(place[-1]), known, n=1)
        problem = "is not a field of this operation"
        hint = f"did you mean {near[0]}?" if near else f"its fields are {', '.join(known)}"
    return InvalidField(field or "body", problem, hint=hint)
