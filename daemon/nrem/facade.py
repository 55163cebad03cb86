"""`client.memories`: create, list, get, update, delete and search in the shapes of PromptRails' client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Record = dict[str, Any]


class Memories:
    """An agent's memories; `agent_id` may be left out where the client has an agent of its own."""

    def __init__(self, call: Callable[..., Record]) -> None:
        self._call = call

    def create(self, *, content: str, agent_id: str | None = None, **fields: Any) -> Record:
        """Store a memory and return it."""
        stored = self._call("remember", content=content, **_agent(agent_id), **fields)
        return self.get(stored["id"], agent_id=agent_id)

    def list(self, *, agent_id: str | None = None, page: int = 1, limit: int = 20, **fields: Any) -> Record:
        """Return a page of memories, newest first, with the totals."""
        found = self._call("list_memories", page=page, limit=limit, **_agent(agent_id), **_one_type(fields))
        return {
            "data": [_shown(memory, agent_id) for memory in found["memories"]],
            "meta": {name: found[name] for name in ("total", "page", "limit", "total_pages")},
        }

    def get(self, memory_id: str, *, agent_id: str | None = None) -> Record:
        """Return one memory."""
        found = self._call("get_memory", id=memory_id, **_agent(agent_id))
        use = {name: found[name] for name in ("access_count", "last_accessed_at")}
        return _shown(found["memory"], agent_id) | use

    def update(self, memory_id: str, *, agent_id: str | None = None, **fields: Any) -> Record:
        """Change what is given, and return the memory as it is now."""
        self._call("edit_memory", id=memory_id, **_agent(agent_id), **fields)
        return self.get(memory_id, agent_id=agent_id)

    def delete(self, memory_id: str, *, agent_id: str | None = None) -> None:
        """Forget a memory."""
        self._call("forget", id=memory_id, **_agent(agent_id))

    def search(self, *, query: str, agent_id: str | None = None, **fields: Any) -> Record:
        """Return the memories that fit a question best, with their scores."""
        found = self._call("recall", query=query, explain=True, **_agent(agent_id), **_one_type(fields))
        return {
            "data": [
                _shown(hit["memory"], agent_id) | {"score": hit["explain"]["score"]} for hit in found["hits"]
            ]
        }


def _agent(agent_id: str | None) -> Record:
    return {} if agent_id is None else {"agent": agent_id}


def _one_type(fields: Record) -> Record:
    """Return the conditions with `memory_type` as the list that the operation takes."""
    rest = dict(fields)
    if "memory_type" in rest:
        rest["kinds"] = [rest.pop("memory_type")]
    return rest


def _shown(memory: Record, agent_id: str | None) -> Record:
    return {
        "id": memory["id"],
        "agent_id": agent_id,
        "content": memory["content"],
        "memory_type": memory["kind_given"],
        "importance": memory["importance"],
        "metadata": memory["metadata"],
        "chat_session_id": memory["session"],
        "created_at": memory["created_at"],
        "updated_at": memory["updated_at"],
    }
