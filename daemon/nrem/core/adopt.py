"""Bring an agent from a workspace that was moved aside, or comes from another machine."""

from __future__ import annotations

import functools

from nrem.core import agents, incoming
from nrem.core.workspaces import Workspaces
from nrem.errors import Denied
from nrem.model import Caller
from nrem.sections import Config
from nrem.store import replay
from nrem.store.database import Database
from nrem.workspace import transfer

OWNER = "owner"


def check_owner(caller: Caller) -> None:
    """Refuse whoever came with a token: a source is read with the owner's eyes, from any path or host."""
    if caller.actor != OWNER:
        raise Denied(
            "source: only the owner may bring an agent from elsewhere",
            hint="run nrem agent add NAME --from on the machine itself",
            code="owner_only",
            field="source",
        )


def adopt(
    store: Database, workspaces: Workspaces, settings: Config, name: str, source: str
) -> tuple[str, ...]:
    """Add an agent as the branch of a workspace has it, with its history; nothing is committed anew.

    Its events stay as they are, also the first one, which has the name that it was given first. Returns the
    files that are left out of the folder: links, and names that not every system takes. Raises Conflict when
    the name is taken, Corrupt when the workspace is damaged.
    """
    with workspaces.changing:
        agents.make_room(store, workspaces, name)
    with workspaces.arriving() as folder, transfer.fetch(source, folder) as repository:
        found = incoming.read(repository, name)
        left_out = transfer.check_out(repository)
        with workspaces.changing:
            agents.make_room(store, workspaces, name)
            try:
                scope = incoming.store(store, repository, name, found, settings)
                workspaces.settle(folder, name)
                store.write(functools.partial(replay.finish, scope=scope.number))
            except BaseException:
                agents.finish_removals(store, workspaces)
                raise
    return left_out
