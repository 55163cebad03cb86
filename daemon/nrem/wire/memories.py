"""What the operations on memories take and give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field

from nrem.model import (
    KIND_ALIASES,
    Filter,
    Kind,
    Memory,
    Moment,
    Version,
)
from nrem.wire.common import AgentRef, Input
from nrem.wire.fields import (
    BATCH,
    PAGE,
    Category,
    Content,
    Embedding,
    Json,
    KindWord,
    Label,
    Parsed,
    Room,
    Session,
    Tags,
    Text,
    Time,
    TrustWord,
    Unit,
    User,
    choices,
    slug,
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
    notes: tuple[str, ...] = ()
    """What was asked for and not done, such as a pin that comes with text that is not trusted."""


class Draft(Input):
    """A memory to be stored, before importance, concepts and secrets were looked at."""

    content: Content = Field(description="The text: one statement that can be understood by itself.")
    kind: KindWord = Field(
        default="semantic",
        validation_alias=AliasChoices("kind", "memory_type", "type"),
        description="What it is: something known, something done, how to do it, and others.",
    )
    category: Category = Field(default="general", description="One word for its subject: preferences, work.")
    tags: Tags = Field(default=[], description="Labels to find it by.")
    data: Json | None = Field(default=None, description="Any JSON object, given back unchanged.")
    metadata: Json | None = Field(default=None, description="A JSON object that memories can be filtered by.")
    context: Text | None = Field(
        default=None, description="Text by which it is found too, but that is not part of it."
    )
    importance: Unit | None = Field(
        default=None, description="Cost of forgetting, from 0 to 1; derived when not given."
    )
    confidence: Unit = Field(default=1.0, description="Belief that it is true, from 0 to 1.")
    role: Parsed | None = Field(default=None, description="Who said it.")
    session: Session = None
    room: Room = None
    user: User = None
    pinned: bool = Field(default=False, description="Never evicted, and first when room is scarce.")
    source: Label | None = Field(default=None, description="Where it comes from.")
    trust: TrustWord | None = Field(default=None, description="May only lower the caller's own trust.")
    trigger: Label | None = Field(
        default=None,
        validation_alias=AliasChoices("trigger", "trigger_type"),
        description="What made the caller store it.",
    )
    embedding: Embedding | None = Field(default=None, description="Its vector, if the caller has it.")
    legacy_id: Label | None = Field(
        default=None, description="Its id in another system; a known one is not stored again."
    )
    created_at: Time | None = Field(
        default=None,
        validation_alias=AliasChoices("created_at", "createdAt"),
        description="When it was learned, if not now.",
    )
    updated_at: Time | None = Field(default=None, description="When it was last edited elsewhere.")
    expires_at: Time | None = Field(default=None, description="When it stops being true, if it does.")
    consolidated_at: Time | None = None
    supersedes: Annotated[list[Label], Field(max_length=16)] = Field(
        default=[], description="Ids of memories that are not true any more, because this one is."
    )
    superseded_by: Label | None = Field(
        default=None, description="The id of the memory that took its place, if it comes with its history."
    )


class Remember(AgentRef, Draft):
    pass


class RememberMany(AgentRef):
    memories: Annotated[list[Draft], Field(min_length=1, max_length=BATCH)]
    dry_run: bool = Field(default=False, description="Only check; nothing is stored.")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMany:
    memories: tuple[Stored, ...]


class MemoryRef(AgentRef):
    id: Label = Field(
        validation_alias=AliasChoices("id", "memory_id"),
        description="The id of the memory, or the beginning or end of it.",
    )


class Edit(MemoryRef):
    """What to change; a field that is not given stays as it is."""

    content: Content | None = Field(default=None, description="The new text.")
    category: Category | None = Field(default=None, description="One word for its subject.")
    tags: Tags | None = Field(default=None, description="Replaces all tags.")
    data: Json | None = Field(default=None, description="Replaces the JSON object beside the text.")
    metadata: Json | None = Field(default=None, description="Replaces the metadata.")
    context: Text | None = Field(default=None, description="Text by which it is found too.")
    importance: Unit | None = Field(default=None, description="Cost of forgetting, from 0 to 1.")
    confidence: Unit | None = Field(default=None, description="Belief that it is true, from 0 to 1.")
    expires_at: Time | None = Field(default=None, description="When it stops being true.")
    version: int | None = Field(
        default=None, ge=1, description="Refuse the edit unless this is still the version."
    )


class Conditions(AgentRef):
    """Which memories: every given condition must hold."""

    kinds: Annotated[
        list[KindWord], choices("kinds", "memory_types"), Field(max_length=len(KIND_ALIASES))
    ] = Field(default=[], description="Only of these kinds.")
    category: Category | None = Field(default=None, description="Only of this category.")
    tags_any: Tags = Field(default=[], description="Only with at least one of these tags.")
    tags_all: Tags = Field(default=[], description="Only with all of these tags.")
    room: Room = None
    user: User = None
    session: Session = None
    metadata: Json | None = Field(default=None, description="Memories whose metadata holds all of this.")
    after: Time | None = Field(default=None, description="Created at or after this moment.")
    before: Time | None = Field(default=None, description="Created before this moment.")
    trust: TrustWord | None = Field(default=None, description="Only of this trust.")
    pinned: bool | None = Field(default=None, description="Only pinned ones, or only others.")

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
            metadata=self.metadata or None,  # an empty one holds for all, also for those without any
            after=self.after,
            before=self.before,
            trust=self.trust,
            pinned=self.pinned,
        )


class ListMemories(Conditions):
    limit: int = Field(
        default=20,
        ge=1,
        le=PAGE,
        validation_alias=AliasChoices("limit", "top_k"),
        description="At most so many.",
    )
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
    mode: Literal["keyword", "vector", "hybrid"] = Field(
        default="hybrid", description="By the words, by the meaning, or by both."
    )
    limit: int = Field(
        default=5,
        ge=1,
        le=PAGE,
        validation_alias=AliasChoices("limit", "top_k"),
        description="At most so many.",
    )
    budget: int | None = Field(
        default=None, ge=1, le=1_000_000, description="Most tokens that the hits may have together."
    )
    threshold: float | None = Field(
        default=None, ge=-1, le=1, allow_inf_nan=False, description="Least cosine; needs vectors."
    )
    profile: Literal["default", "agentos"] | None = None
    asked_at: Time | None = Field(default=None, description="When it was asked, if not now.")
    expired: bool = Field(default=False, description="Also memories that have expired.")
    superseded: bool = Field(default=False, description="Also memories that another one has superseded.")
    as_of: Label | None = Field(
        default=None,
        description="Answer from what was known then: a time, or the id of a commit, recall or session.",
    )
    explain: bool = Field(default=False, description="Give each hit's score and its parts.")
    observe: bool = Field(default=True, description="Record the recall; false leaves no trace.")
    purpose: Literal["cron", "dream", "replay"] | None = Field(
        default=None, description="What asks when nobody does; it then does not count as use."
    )


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
class AsOf:
    """The point of the past that an answer is from."""

    event: int
    """The last one that had happened; 0 is before everything."""
    at: Moment
    commit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    recall_id: str | None
    """None when nothing was recorded."""
    hits: tuple[Hit, ...]
    mode: str
    degraded: tuple[str, ...] = ()
    """What could not be used: `vector` when there was no usable vector to search with."""
    notes: tuple[str, ...] = ()
    as_of: AsOf | None = None


class MarkUsed(AgentRef):
    recall_id: Label = Field(description="The `recall_id` of the answer.")
    memory_ids: Annotated[list[Label], Field(min_length=1, max_length=PAGE)] = Field(
        description="Which of its memories."
    )
    verdict: Literal["used", "wrong"] = Field(
        default="used", description="`used` when they helped, `wrong` when they are not true (any more)."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedUsed:
    recall_id: str
    verdict: str
    marked: int
    """How many were not marked so before."""


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
    """Memories of this page that the format cannot tell: of a kind that it lacks, or superseded."""
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
class Erased:
    """The receipt of an erasure: what went, what could not go, and none of the text."""

    id: str
    at: Moment
    actor: str
    events: int
    """Events that are empty now; the chain has them still."""
    versions: int
    """Versions that were deleted."""
    recalls: int
    """Recorded questions that gave it away, and were replaced."""
    commits: int
    """Commits that were written anew; nrem knows their old ids."""
    objects: int
    """Objects of git that were deleted."""
    backups: tuple[str, ...] = ()
    """Older backups, which have it still."""
    files: tuple[str, ...] = ()
    """Files of people in the workspace that have its text."""
    past_files: tuple[str, ...] = ()
    """Those that have it only in earlier commits."""
    messages: tuple[str, ...] = ()
    """Commits whose message has its text."""
    memories: tuple[str, ...] = ()
    """Other memories, forgotten ones too, that repeat its text or name its id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    id: str
    versions: tuple[Version, ...]
