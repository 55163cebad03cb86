"""What a sweep of one agent works with."""

from __future__ import annotations

from dataclasses import dataclass

from nrem.core import memory_file
from nrem.core.memory_file import Found
from nrem.core.workspaces import Workspace
from nrem.model import Scope
from nrem.models.chat import Chat
from nrem.models.embeddings import Embedder
from nrem.sections import Config
from nrem.store.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Dreamer:
    store: Database
    workspace: Workspace
    settings: Config
    scope: Scope
    embedder: Embedder | None
    chat: Chat | None
    """None: no model is asked."""


def look(dreamer: Dreamer) -> Found:
    """Return what MEMORY.md has now; raise Conflict where that can't be read or isn't what people meant."""
    zone = dreamer.settings.time.zone
    found = memory_file.look(dreamer.store, dreamer.workspace, dreamer.scope, zone=zone)
    memory_file.check(found)
    return found
