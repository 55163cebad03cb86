"""Every operation as a method. Made from `wire` by scripts/generate_client.py; do not edit."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, Literal

from nrem import model, wire


class Methods(abc.ABC):
    """What a client can ask for. A field that is not given, or None, is left to the daemon."""

    @abc.abstractmethod
    def _run(self, name: str, body: Mapping[str, Any]) -> Any:
        """Run an operation by name; return the record that it gives."""

    def add_agent(self, *, agent: str | None = None, source: str | None = None) -> wire.Agent:
        """Add an agent, with a memory of its own or one that a workspace brings.

        agent: The agent's name.
        source: A workspace to bring the agent from: a whole path, or an https or ssh URL of git.
            Only for the owner, on the socket.
        """
        found: wire.Agent = self._run("add_agent", {"agent": agent, "source": source})
        return found

    def list_agents(self) -> wire.Agents:
        """List the agents."""
        found: wire.Agents = self._run("list_agents", {})
        return found

    def show_agent(self, *, agent: str | None = None) -> wire.Agent:
        """Show one agent.

        agent: Whose memory; the client's agent if not given.
        """
        found: wire.Agent = self._run("show_agent", {"agent": agent})
        return found

    def remove_agent(self, *, agent: str | None = None, erase: bool | None = None) -> wire.RemovedAgent:
        """Remove an agent; its workspace is moved aside, or with `erase` deleted too.

        agent: Whose memory; the client's agent if not given.
        erase: Delete all memories and their history for good; else the workspace is moved aside.
        """
        found: wire.RemovedAgent = self._run("remove_agent", {"agent": agent, "erase": erase})
        return found

    def set_agent_config(
        self, config: dict[str, Any], message: str, *, agent: str | None = None
    ) -> model.AgentConfig:
        """Replace an agent's own configuration; every version is kept.

        agent: Whose memory; the client's agent if not given.
        """
        found: model.AgentConfig = self._run(
            "set_agent_config", {"agent": agent, "config": config, "message": message}
        )
        return found

    def list_agent_configs(self, *, agent: str | None = None) -> wire.AgentConfigs:
        """List the versions of an agent's configuration, newest first.

        agent: Whose memory; the client's agent if not given.
        """
        found: wire.AgentConfigs = self._run("list_agent_configs", {"agent": agent})
        return found

    def create_token(
        self,
        *,
        agent: str | None = None,
        org: str | None = None,
        rights: list[Literal["read", "write", "dream", "hook", "admin"]] | None = None,
        label: str | None = None,
        expires_at: str | int | None = None,
    ) -> wire.CreatedToken:
        """Make a token, for an agent, an organisation or the whole store.

        agent: The agent that it is for.
        org: The organisation whose agents it is for.
        label: What you will know it by.
        """
        found: wire.CreatedToken = self._run(
            "create_token",
            {"agent": agent, "org": org, "rights": rights, "label": label, "expires_at": expires_at},
        )
        return found

    def list_tokens(self) -> wire.Tokens:
        """List the tokens, newest first; none can be read again."""
        found: wire.Tokens = self._run("list_tokens", {})
        return found

    def revoke_token(self, id: str) -> wire.RevokedToken:
        """End a token at once."""
        found: wire.RevokedToken = self._run("revoke_token", {"id": id})
        return found

    def remember(
        self,
        content: str,
        *,
        kind: Literal[
            "semantic",
            "fact",
            "episodic",
            "procedural",
            "conversation",
            "message",
            "document",
            "chunk",
            "summary",
            "goal",
            "task",
            "action",
            "episode",
            "procedure",
            "fragment",
        ]
        | None = None,
        category: str | None = None,
        tags: list[str] | None = None,
        data: dict[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
        context: str | None = None,
        importance: float | None = None,
        confidence: float | None = None,
        role: Literal["user", "assistant", "system", "tool"] | None = None,
        session: str | None = None,
        room: str | None = None,
        user: str | None = None,
        pinned: bool | None = None,
        source: str | None = None,
        trust: Literal["trusted", "untrusted"] | None = None,
        trigger: str | None = None,
        embedding: list[float] | None = None,
        legacy_id: str | None = None,
        created_at: str | int | None = None,
        updated_at: str | int | None = None,
        expires_at: str | int | None = None,
        consolidated_at: str | int | None = None,
        supersedes: list[str] | None = None,
        superseded_by: str | None = None,
        agent: str | None = None,
    ) -> wire.Stored:
        """Store one memory.

        content: The text: one statement that can be understood by itself.
        kind: What it is: something known, something done, how to do it, and others.
        category: One word for its subject: preferences, work.
        tags: Labels to find it by.
        data: Any JSON object, given back unchanged.
        metadata: A JSON object that memories can be filtered by.
        context: Text by which it is found too, but that is not part of it.
        importance: Cost of forgetting, from 0 to 1; derived when not given.
        confidence: Belief that it is true, from 0 to 1.
        role: Who said it.
        session: The session it belongs to.
        room: The room or channel it belongs to.
        user: The user it is about.
        pinned: Never evicted, and first when room is scarce.
        source: Where it comes from.
        trust: May only lower the caller's own trust.
        trigger: What made the caller store it.
        embedding: Its vector, if the caller has it.
        legacy_id: Its id in another system; a known one is not stored again.
        created_at: When it was learned, if not now.
        updated_at: When it was last edited elsewhere.
        expires_at: When it stops being true, if it does.
        supersedes: Ids of memories that are not true any more, because this one is.
        superseded_by: The id of the memory that took its place, if it comes with its history.
        agent: Whose memory; the client's agent if not given.
        """
        found: wire.Stored = self._run(
            "remember",
            {
                "content": content,
                "kind": kind,
                "category": category,
                "tags": tags,
                "data": data,
                "metadata": metadata,
                "context": context,
                "importance": importance,
                "confidence": confidence,
                "role": role,
                "session": session,
                "room": room,
                "user": user,
                "pinned": pinned,
                "source": source,
                "trust": trust,
                "trigger": trigger,
                "embedding": embedding,
                "legacy_id": legacy_id,
                "created_at": created_at,
                "updated_at": updated_at,
                "expires_at": expires_at,
                "consolidated_at": consolidated_at,
                "supersedes": supersedes,
                "superseded_by": superseded_by,
                "agent": agent,
            },
        )
        return found

    def remember_many(
        self, memories: list[dict[str, Any]], *, agent: str | None = None, dry_run: bool | None = None
    ) -> wire.StoredMany:
        """Store up to 1,000 memories in one transaction, all or none.

        agent: Whose memory; the client's agent if not given.
        dry_run: Only check; nothing is stored.
        """
        found: wire.StoredMany = self._run(
            "remember_many", {"agent": agent, "memories": memories, "dry_run": dry_run}
        )
        return found

    def get_memory(self, id: str, *, agent: str | None = None) -> wire.Shown:
        """Show one memory.

        id: The id of the memory, or the beginning or end of it.
        agent: Whose memory; the client's agent if not given.
        """
        found: wire.Shown = self._run("get_memory", {"agent": agent, "id": id})
        return found

    def list_memories(
        self,
        *,
        agent: str | None = None,
        kinds: list[
            Literal[
                "semantic",
                "fact",
                "episodic",
                "procedural",
                "conversation",
                "message",
                "document",
                "chunk",
                "summary",
                "goal",
                "task",
                "action",
                "episode",
                "procedure",
                "fragment",
            ]
        ]
        | None = None,
        category: str | None = None,
        tags_any: list[str] | None = None,
        tags_all: list[str] | None = None,
        room: str | None = None,
        user: str | None = None,
        session: str | None = None,
        metadata: dict[str, Any] | None = None,
        after: str | int | None = None,
        before: str | int | None = None,
        trust: Literal["trusted", "untrusted"] | None = None,
        pinned: bool | None = None,
        limit: int | None = None,
        page: int | None = None,
        cursor: str | None = None,
    ) -> wire.Page:
        """List memories, newest first.

        agent: Whose memory; the client's agent if not given.
        kinds: Only of these kinds.
        category: Only of this category.
        tags_any: Only with at least one of these tags.
        tags_all: Only with all of these tags.
        room: The room or channel it belongs to.
        user: The user it is about.
        session: The session it belongs to.
        metadata: Memories whose metadata holds all of this.
        after: Created at or after this moment.
        before: Created before this moment.
        trust: Only of this trust.
        pinned: Only pinned ones, or only others.
        limit: At most so many.
        page: A page by number, with totals.
        cursor: The `next` of the page before.
        """
        found: wire.Page = self._run(
            "list_memories",
            {
                "agent": agent,
                "kinds": kinds,
                "category": category,
                "tags_any": tags_any,
                "tags_all": tags_all,
                "room": room,
                "user": user,
                "session": session,
                "metadata": metadata,
                "after": after,
                "before": before,
                "trust": trust,
                "pinned": pinned,
                "limit": limit,
                "page": page,
                "cursor": cursor,
            },
        )
        return found

    def recall(
        self,
        query: str | None = None,
        *,
        agent: str | None = None,
        kinds: list[
            Literal[
                "semantic",
                "fact",
                "episodic",
                "procedural",
                "conversation",
                "message",
                "document",
                "chunk",
                "summary",
                "goal",
                "task",
                "action",
                "episode",
                "procedure",
                "fragment",
            ]
        ]
        | None = None,
        category: str | None = None,
        tags_any: list[str] | None = None,
        tags_all: list[str] | None = None,
        room: str | None = None,
        user: str | None = None,
        session: str | None = None,
        metadata: dict[str, Any] | None = None,
        after: str | int | None = None,
        before: str | int | None = None,
        trust: Literal["trusted", "untrusted"] | None = None,
        pinned: bool | None = None,
        embedding: list[float] | None = None,
        mode: Literal["keyword", "vector", "hybrid"] | None = None,
        limit: int | None = None,
        budget: int | None = None,
        threshold: float | None = None,
        profile: Literal["default", "agentos"] | None = None,
        asked_at: str | int | None = None,
        expired: bool | None = None,
        superseded: bool | None = None,
        as_of: str | None = None,
        explain: bool | None = None,
        observe: bool | None = None,
        purpose: Literal["cron", "dream", "replay"] | None = None,
    ) -> wire.Recalled:
        """Find the memories that answer a question best.

        agent: Whose memory; the client's agent if not given.
        kinds: Only of these kinds.
        category: Only of this category.
        tags_any: Only with at least one of these tags.
        tags_all: Only with all of these tags.
        room: The room or channel it belongs to.
        user: The user it is about.
        session: The session it belongs to.
        metadata: Memories whose metadata holds all of this.
        after: Created at or after this moment.
        before: Created before this moment.
        trust: Only of this trust.
        pinned: Only pinned ones, or only others.
        query: The question, in the words of whoever asks it.
        embedding: A vector in place of the query.
        mode: By the words, by the meaning, or by both.
        limit: At most so many.
        budget: Most tokens that the hits may have together.
        threshold: Least cosine; needs vectors.
        asked_at: When it was asked, if not now.
        expired: Also memories that have expired.
        superseded: Also memories that another one has superseded.
        as_of: Answer from what was known then: a time, or the id of a commit, recall or session.
        explain: Give each hit's score and its parts.
        observe: Record the recall; false leaves no trace.
        purpose: What asks when nobody does; it then does not count as use.
        """
        found: wire.Recalled = self._run(
            "recall",
            {
                "agent": agent,
                "kinds": kinds,
                "category": category,
                "tags_any": tags_any,
                "tags_all": tags_all,
                "room": room,
                "user": user,
                "session": session,
                "metadata": metadata,
                "after": after,
                "before": before,
                "trust": trust,
                "pinned": pinned,
                "query": query,
                "embedding": embedding,
                "mode": mode,
                "limit": limit,
                "budget": budget,
                "threshold": threshold,
                "profile": profile,
                "asked_at": asked_at,
                "expired": expired,
                "superseded": superseded,
                "as_of": as_of,
                "explain": explain,
                "observe": observe,
                "purpose": purpose,
            },
        )
        return found

    def mark_used(
        self,
        recall_id: str,
        memory_ids: list[str],
        *,
        agent: str | None = None,
        verdict: Literal["used", "wrong"] | None = None,
    ) -> wire.MarkedUsed:
        """Say which memories of an answer helped, or which are wrong.

        recall_id: The `recall_id` of the answer.
        memory_ids: Which of its memories.
        agent: Whose memory; the client's agent if not given.
        verdict: `used` when they helped, `wrong` when they are not true (any more).
        """
        found: wire.MarkedUsed = self._run(
            "mark_used",
            {"agent": agent, "recall_id": recall_id, "memory_ids": memory_ids, "verdict": verdict},
        )
        return found

    def embed(self, texts: list[str]) -> wire.Embedded:
        """Turn texts into vectors with the store's embedder."""
        found: wire.Embedded = self._run("embed", {"texts": texts})
        return found

    def export_memories(
        self,
        *,
        agent: str | None = None,
        kinds: list[
            Literal[
                "semantic",
                "fact",
                "episodic",
                "procedural",
                "conversation",
                "message",
                "document",
                "chunk",
                "summary",
                "goal",
                "task",
                "action",
                "episode",
                "procedure",
                "fragment",
            ]
        ]
        | None = None,
        category: str | None = None,
        tags_any: list[str] | None = None,
        tags_all: list[str] | None = None,
        room: str | None = None,
        user: str | None = None,
        session: str | None = None,
        metadata: dict[str, Any] | None = None,
        after: str | int | None = None,
        before: str | int | None = None,
        trust: Literal["trusted", "untrusted"] | None = None,
        pinned: bool | None = None,
        format: Literal["nrem", "initrunner"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> wire.Exported:
        """Give all memories that match, oldest first, in pages.

        agent: Whose memory; the client's agent if not given.
        kinds: Only of these kinds.
        category: Only of this category.
        tags_any: Only with at least one of these tags.
        tags_all: Only with all of these tags.
        room: The room or channel it belongs to.
        user: The user it is about.
        session: The session it belongs to.
        metadata: Memories whose metadata holds all of this.
        after: Created at or after this moment.
        before: Created before this moment.
        trust: Only of this trust.
        pinned: Only pinned ones, or only others.
        cursor: The `next` of the page before.
        """
        found: wire.Exported = self._run(
            "export_memories",
            {
                "agent": agent,
                "kinds": kinds,
                "category": category,
                "tags_any": tags_any,
                "tags_all": tags_all,
                "room": room,
                "user": user,
                "session": session,
                "metadata": metadata,
                "after": after,
                "before": before,
                "trust": trust,
                "pinned": pinned,
                "format": format,
                "limit": limit,
                "cursor": cursor,
            },
        )
        return found

    def edit_memory(
        self,
        id: str,
        *,
        agent: str | None = None,
        content: str | None = None,
        category: str | None = None,
        tags: list[str] | None = None,
        data: dict[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
        context: str | None = None,
        importance: float | None = None,
        confidence: float | None = None,
        expires_at: str | int | None = None,
        version: int | None = None,
    ) -> wire.Changed:
        """Change a memory; the version before is kept.

        id: The id of the memory, or the beginning or end of it.
        agent: Whose memory; the client's agent if not given.
        content: The new text.
        category: One word for its subject.
        tags: Replaces all tags.
        data: Replaces the JSON object beside the text.
        metadata: Replaces the metadata.
        context: Text by which it is found too.
        importance: Cost of forgetting, from 0 to 1.
        confidence: Belief that it is true, from 0 to 1.
        expires_at: When it stops being true.
        version: Refuse the edit unless this is still the version.
        """
        found: wire.Changed = self._run(
            "edit_memory",
            {
                "agent": agent,
                "id": id,
                "content": content,
                "category": category,
                "tags": tags,
                "data": data,
                "metadata": metadata,
                "context": context,
                "importance": importance,
                "confidence": confidence,
                "expires_at": expires_at,
                "version": version,
            },
        )
        return found

    def pin_memory(self, id: str, *, agent: str | None = None) -> wire.Changed:
        """Keep a memory from ever being evicted.

        id: The id of the memory, or the beginning or end of it.
        agent: Whose memory; the client's agent if not given.
        """
        found: wire.Changed = self._run("pin_memory", {"agent": agent, "id": id})
        return found

    def unpin_memory(self, id: str, *, agent: str | None = None) -> wire.Changed:
        """Let a pinned memory go its way again.

        id: The id of the memory, or the beginning or end of it.
        agent: Whose memory; the client's agent if not given.
        """
        found: wire.Changed = self._run("unpin_memory", {"agent": agent, "id": id})
        return found

    def forget(self, id: str, *, agent: str | None = None) -> wire.Forgotten:
        """Forget a memory; its history stays.

        id: The id of the memory, or the beginning or end of it.
        agent: Whose memory; the client's agent if not given.
        """
        found: wire.Forgotten = self._run("forget", {"agent": agent, "id": id})
        return found

    def erase_memory(self, id: str, *, agent: str | None = None) -> wire.Erased:
        """Erase a memory for good: every version, in the store and in the workspace's history.

        id: The id of the memory, or the beginning or end of it.
        agent: Whose memory; the client's agent if not given.
        """
        found: wire.Erased = self._run("erase_memory", {"agent": agent, "id": id})
        return found

    def clear_memories(
        self,
        *,
        agent: str | None = None,
        kinds: list[
            Literal[
                "semantic",
                "fact",
                "episodic",
                "procedural",
                "conversation",
                "message",
                "document",
                "chunk",
                "summary",
                "goal",
                "task",
                "action",
                "episode",
                "procedure",
                "fragment",
            ]
        ]
        | None = None,
        category: str | None = None,
        tags_any: list[str] | None = None,
        tags_all: list[str] | None = None,
        room: str | None = None,
        user: str | None = None,
        session: str | None = None,
        metadata: dict[str, Any] | None = None,
        after: str | int | None = None,
        before: str | int | None = None,
        trust: Literal["trusted", "untrusted"] | None = None,
        pinned: bool | None = None,
        sessions_only: bool | None = None,
        memories_only: bool | None = None,
        dry_run: bool | None = None,
    ) -> wire.Cleared:
        """Forget all memories that match, and say exactly how many.

        agent: Whose memory; the client's agent if not given.
        kinds: Only of these kinds.
        category: Only of this category.
        tags_any: Only with at least one of these tags.
        tags_all: Only with all of these tags.
        room: The room or channel it belongs to.
        user: The user it is about.
        session: The session it belongs to.
        metadata: Memories whose metadata holds all of this.
        after: Created at or after this moment.
        before: Created before this moment.
        trust: Only of this trust.
        pinned: Only pinned ones, or only others.
        sessions_only: Only turns of conversations.
        memories_only: Everything but turns of conversations.
        """
        found: wire.Cleared = self._run(
            "clear_memories",
            {
                "agent": agent,
                "kinds": kinds,
                "category": category,
                "tags_any": tags_any,
                "tags_all": tags_all,
                "room": room,
                "user": user,
                "session": session,
                "metadata": metadata,
                "after": after,
                "before": before,
                "trust": trust,
                "pinned": pinned,
                "sessions_only": sessions_only,
                "memories_only": memories_only,
                "dry_run": dry_run,
            },
        )
        return found

    def list_versions(self, id: str, *, agent: str | None = None) -> wire.Versions:
        """List every state a memory ever had, with who made it and when.

        id: The id of the memory, or the beginning or end of it.
        agent: Whose memory; the client's agent if not given.
        """
        found: wire.Versions = self._run("list_versions", {"agent": agent, "id": id})
        return found

    def why(self, id: str, *, agent: str | None = None) -> wire.Why:
        """Tell where a memory comes from, what became of it, and which questions it answered.

        id: The id of the memory, or the beginning or end of it.
        agent: Whose memory; the client's agent if not given.
        """
        found: wire.Why = self._run("why", {"agent": agent, "id": id})
        return found

    def checkpoint(self, *, agent: str | None = None, note: str | None = None) -> wire.CheckpointMade:
        """Commit what happened, and what was changed in the workspace's files.

        agent: Whose memory; the client's agent if not given.
        note: What the checkpoint is for; ends up in git.
        """
        found: wire.CheckpointMade = self._run("checkpoint", {"agent": agent, "note": note})
        return found

    def restore(
        self,
        *,
        agent: str | None = None,
        to: str | None = None,
        only: str | None = None,
        dry_run: bool | None = None,
    ) -> wire.Restored:
        """Bring the memories of a point in the past back, as new events on top.

        agent: Whose memory; the client's agent if not given.
        to: A time, or the id of a commit, a session or a recall; may be left out to undo a
            forget.
        only: The id of the one memory that is restored.
        dry_run: Only tell what would change.
        """
        found: wire.Restored = self._run(
            "restore", {"agent": agent, "to": to, "only": only, "dry_run": dry_run}
        )
        return found

    def read_file(self, path: str, *, agent: str | None = None) -> wire.WorkspaceFile:
        """Read a text file of an agent's workspace.

        path: Within the workspace, such as MEMORY.md or notes/plan.md.
        agent: Whose memory; the client's agent if not given.
        """
        found: wire.WorkspaceFile = self._run("read_file", {"agent": agent, "path": path})
        return found

    def write_file(self, path: str, content: str, *, agent: str | None = None) -> wire.WrittenFile:
        """Write a text file of an agent's workspace, as a whole.

        path: Within the workspace, such as notes/plan.md; folders are made.
        content: The whole text of the file, 1 MiB at most.
        agent: Whose memory; the client's agent if not given.
        """
        found: wire.WrittenFile = self._run("write_file", {"agent": agent, "path": path, "content": content})
        return found

    def list_files(self, *, agent: str | None = None, path: str | None = None) -> wire.ListedFiles:
        """List the files and folders in a folder of an agent's workspace.

        agent: Whose memory; the client's agent if not given.
        path: A folder of the workspace; its top if not given.
        """
        found: wire.ListedFiles = self._run("list_files", {"agent": agent, "path": path})
        return found

    def show_file(self, commit: str, path: str, *, agent: str | None = None) -> wire.ShownFile:
        """Show a text file as it was in a commit of an agent's workspace.

        commit: A commit of the workspace's history, or the beginning of its id.
        path: Within the workspace, such as MEMORY.md.
        agent: Whose memory; the client's agent if not given.
        """
        found: wire.ShownFile = self._run("show_file", {"agent": agent, "commit": commit, "path": path})
        return found

    def diff(
        self, a: str, *, agent: str | None = None, b: str | None = None, text: bool | None = None
    ) -> wire.Differences:
        """Tell what became of memories and files between two points of the past.

        a: The point to compare from: a time, or the id of a commit, a recall or a session.
        agent: Whose memory; the client's agent if not given.
        b: The point to compare with; now if not given.
        text: Give a unified diff of the workspace's files too.
        """
        found: wire.Differences = self._run("diff", {"agent": agent, "a": a, "b": b, "text": text})
        return found

    def log(
        self, *, agent: str | None = None, limit: int | None = None, include_diff: bool | None = None
    ) -> wire.Log:
        """List the commits of an agent's workspace, newest first.

        agent: Whose memory; the client's agent if not given.
        limit: Most commits that are given.
        include_diff: Tell of each commit which memories came, changed and went.
        """
        found: wire.Log = self._run("log", {"agent": agent, "limit": limit, "include_diff": include_diff})
        return found

    def replay(
        self,
        *,
        agent: str | None = None,
        of: str | None = None,
        since: str | None = None,
        until: str | None = None,
        limit: int | None = None,
    ) -> wire.Replays:
        """Ask recorded questions again of the state of their moment, and compare the answers.

        agent: Whose memory; the client's agent if not given.
        of: A recall, or a session that recalls were limited to.
        since: From this point on: a time, or the id of a commit, recall or session.
        until: Up to this point; now if not given.
        limit: Most recalls that are replayed.
        """
        found: wire.Replays = self._run(
            "replay", {"agent": agent, "of": of, "since": since, "until": until, "limit": limit}
        )
        return found

    def bisect(
        self,
        id: str,
        query: str,
        *,
        agent: str | None = None,
        mode: Literal["keyword", "vector", "hybrid"] | None = None,
        limit: int | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> wire.Bisected:
        """Find since which commit and event a memory is, or is no more, in an answer.

        id: The id of the memory, or the beginning or end of it.
        query: The question.
        agent: Whose memory; the client's agent if not given.
        limit: How many hits count as the answer.
        since: From this point on: a time, or the id of a commit, recall or session.
        until: Up to this point; now if not given.
        """
        found: wire.Bisected = self._run(
            "bisect",
            {
                "agent": agent,
                "id": id,
                "query": query,
                "mode": mode,
                "limit": limit,
                "since": since,
                "until": until,
            },
        )
        return found

    def verify(self, *, agent: str | None = None) -> wire.Diagnosis:
        """Compare an agent's database, git and ledger, and name everything that differs.

        agent: Whose memory; the client's agent if not given.
        """
        found: wire.Diagnosis = self._run("verify", {"agent": agent})
        return found

    def dream(self, *, agent: str | None = None, dry_run: bool | None = None) -> wire.Dreamed:
        """Choose anew what stands in MEMORY.md: what proved useful comes, what did not goes.

        agent: Whose memory; the client's agent if not given.
        dry_run: Only say what would become of the lines.
        """
        found: wire.Dreamed = self._run("dream", {"agent": agent, "dry_run": dry_run})
        return found

    def dream_status(self, *, agent: str | None = None) -> wire.DreamStatus:
        """Tell how dreaming stands: the last sweep, and what holds back those that have no line.

        agent: Whose memory; the client's agent if not given.
        """
        found: wire.DreamStatus = self._run("dream_status", {"agent": agent})
        return found

    def explain_dream(self, id: str, *, agent: str | None = None) -> wire.DreamExplained:
        """Explain why a memory has a line in MEMORY.md or none, and what would change that.

        id: The id of the memory, or the beginning or end of it.
        agent: Whose memory; the client's agent if not given.
        """
        found: wire.DreamExplained = self._run("explain_dream", {"agent": agent, "id": id})
        return found

    def list_sweeps(self, *, agent: str | None = None, limit: int | None = None) -> wire.Sweeps:
        """List the sweeps of an agent, newest first.

        agent: Whose memory; the client's agent if not given.
        limit: Most sweeps that are given.
        """
        found: wire.Sweeps = self._run("list_sweeps", {"agent": agent, "limit": limit})
        return found

    def show_sweep(self, sweep: str, *, agent: str | None = None) -> wire.SweepShown:
        """Show what a sweep decided, with every term of every score.

        sweep: The id of a sweep, as dream and list give it.
        agent: Whose memory; the client's agent if not given.
        """
        found: wire.SweepShown = self._run("show_sweep", {"agent": agent, "sweep": sweep})
        return found

    def undo_sweep(self, sweep: str, *, agent: str | None = None) -> wire.Undone:
        """Take back what a sweep did to the lines that are as it left them.

        sweep: The id of a sweep, as dream and list give it.
        agent: Whose memory; the client's agent if not given.
        """
        found: wire.Undone = self._run("undo_sweep", {"agent": agent, "sweep": sweep})
        return found

    def accept_proposal(self, proposal: str, *, agent: str | None = None) -> wire.ProposalDecided:
        """Do what a sweep proposed.

        proposal: The id of an open proposal, as status gives it.
        agent: Whose memory; the client's agent if not given.
        """
        found: wire.ProposalDecided = self._run("accept_proposal", {"agent": agent, "proposal": proposal})
        return found

    def reject_proposal(self, proposal: str, *, agent: str | None = None) -> wire.ProposalDecided:
        """Refuse what a sweep proposed; it is not proposed again.

        proposal: The id of an open proposal, as status gives it.
        agent: Whose memory; the client's agent if not given.
        """
        found: wire.ProposalDecided = self._run("reject_proposal", {"agent": agent, "proposal": proposal})
        return found

    def show_embedder(self) -> wire.EmbedderState:
        """Say what makes vectors, how many are missing, and what is wrong."""
        found: wire.EmbedderState = self._run("show_embedder", {})
        return found

    def reembed(self) -> wire.Reembedded:
        """Make the next vectors of the configured embedder; the old serve till all are there."""
        found: wire.Reembedded = self._run("reembed", {})
        return found

    def prune(self, *, agent: str | None = None, days: int | None = None) -> wire.Pruned:
        """Delete the records of old recalls; what they say of memories is summed up first.

        agent: Whose memory; the client's agent if not given.
        days: How many are kept; recall.retention_days if not given.
        """
        found: wire.Pruned = self._run("prune", {"agent": agent, "days": days})
        return found

    def list_jobs(
        self, *, state: Literal["queued", "running", "done", "dead"] | None = None, limit: int | None = None
    ) -> wire.Jobs:
        """List what is done in the background, newest first.

        state: Only of this state.
        limit: At most so many.
        """
        found: wire.Jobs = self._run("list_jobs", {"state": state, "limit": limit})
        return found

    def retry_job(self, id: str) -> wire.Job:
        """Queue a job anew that failed too often."""
        found: wire.Job = self._run("retry_job", {"id": id})
        return found

    def create_backup(self) -> model.Backup:
        """Copy the store while it is in use, and check the copy."""
        found: model.Backup = self._run("create_backup", {})
        return found

    def list_backups(self) -> wire.Backups:
        """List the backups, newest first."""
        found: wire.Backups = self._run("list_backups", {})
        return found

    def doctor(self, *, deep: bool | None = None) -> wire.Diagnosis:
        """Look for what is wrong with the store and where it lives, and say what to do.

        deep: Also recompute every event and compare every memory.
        """
        found: wire.Diagnosis = self._run("doctor", {"deep": deep})
        return found
