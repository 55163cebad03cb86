"""Agents: add, list, show, remove, and their own configuration."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from nrem import config, sections
from nrem.clock import Clock
from nrem.core import push
from nrem.core.publish import GIT_IS_OFF
from nrem.core.scrub import Scrubber
from nrem.core.workspaces import Workspaces
from nrem.errors import Conflict, Denied, InvalidField, NotFound
from nrem.model import AgentConfig, By, Caller, Scope, Trust
from nrem.store import commits, scopes, search
from nrem.store.commits import Waiting
from nrem.store.database import Database
from nrem.store.driver import Connection
from nrem.wire import Agent, AgentConfigs, Agents, CheckpointMade, RemovedAgent, SetAgentConfig

TRIES = 3
_MEANWHILE = "written_meanwhile"

SettingsOf = Callable[[Scope], sections.Config]
"""Tells what holds for an agent."""


def add(store: Database, name: str, *, caller: Caller, clock: Clock) -> Agent:
    """Add an agent under a new number."""
    by = By(actor=caller.actor, cause=caller.ingress, now=clock.now())
    scope = store.write(lambda db: scopes.add(db, name, by))
    return Agent(agent=scope.name, memories=0, created_at=scope.created_at)


def make_room(store: Database, workspaces: Workspaces, name: str) -> None:
    """Raise Conflict when a new agent's name or folder is taken; a removed agent's folder goes now."""
    with store.reading() as db:
        if scopes.find(db, name) is not None:
            raise scopes.taken(name)
        removed = [number for number, known in scopes.removed(db) if known == name]
    for number in removed:
        workspaces.remove(number, name)
    workspaces.refuse_taken(name)


def list_(store: Database, settings: SettingsOf, *, caller: Caller) -> Agents:
    """Return the agents that the caller reaches, by name."""
    with store.reading() as db:
        known = [(scope, memories) for scope, memories in scopes.list_(db) if caller.reaches(scope.name)]
        return Agents(agents=tuple(_agent(db, settings(scope), scope, memories) for scope, memories in known))


def not_found(name: str) -> NotFound:
    """Return the error for an agent that is not there, or not for the one who asks."""
    return scopes.not_found(name)


def show(store: Database, settings: SettingsOf, scope: Scope) -> Agent:
    with store.reading() as db:
        return _agent(db, settings(scope), scope, scopes.count(db, scope.number))


def remove(store: Database, scope: Scope, *, clock: Clock) -> RemovedAgent:
    """Make an agent unreachable; finish_removals then erases it."""

    def mark(db: Connection) -> int:
        number = scopes.get(db, scope.name).number
        memories = scopes.count(db, number)
        scopes.mark_removed(db, number, now=clock.now())
        return memories

    memories = store.write(mark)
    store.pasts.drop(scope.number)
    return RemovedAgent(agent=scope.name, memories=memories)


def set_aside(
    store: Database,
    workspaces: Workspaces,
    scope: Scope,
    publish: Callable[[], CheckpointMade],
    *,
    clock: Clock,
) -> RemovedAgent:
    """Publish an agent, move its folder aside and make it unreachable; finish_removals takes its rows.

    The folder goes first: after a crash in between the agent is there, with a new one.
    """
    workspace = workspaces.of(scope)
    with workspace.lock:
        for left in reversed(range(TRIES)):
            made = publish()
            if made.note == GIT_IS_OFF:
                raise Conflict(
                    "workspace.git is off for this agent, so nothing of its memory would be kept",
                    hint=f"nrem export -a {scope.name}, then nrem agent remove {scope.name} --erase",
                    code="git_is_off",
                )
            place = workspaces.set_aside(scope, now=clock.now())
            try:
                removed = store.write(functools.partial(_mark_published, scope=scope, now=clock.now()))
                return dataclasses.replace(removed, kept=str(place))
            except BaseException as error:
                workspaces.bring_back(place, scope)
                if left == 0 or getattr(error, "code", None) != _MEANWHILE:
                    raise
    raise AssertionError  # the last try returned or raised


def _mark_published(db: Connection, scope: Scope, now: int) -> RemovedAgent:
    number = scopes.get(db, scope.name).number
    if commits.waiting(db, number).count:
        raise Conflict("something was remembered meanwhile", hint="repeat", code=_MEANWHILE)
    memories = scopes.count(db, number)
    scopes.mark_removed(db, number, now=now)
    return RemovedAgent(agent=scope.name, memories=memories)


def finish_removals(store: Database, workspaces: Workspaces) -> None:
    """Delete the folders of removed agents, take away their rows in steps, then give their space back.

    Start-up repeats this for a removal that was cut short.
    """
    with store.reading() as db:
        begun = scopes.removed(db)
    if not begun:
        return
    for number, name in begun:
        workspaces.remove(number, name)
        while store.write(functools.partial(scopes.erase_step, scope=number)):
            pass
    while store.write(search.merge_step):
        pass
    for number, _ in begun:  # only now: until its words have left the file, start-up must come back to it
        store.write(functools.partial(scopes.drop, scope=number))
    store.reclaim()


def make_workspaces(store: Database, workspaces: Workspaces) -> None:
    """Give each agent without a folder one, and note that nothing of the agent is in its git."""
    with store.reading() as db:
        known = scopes.list_(db)
    for scope, _ in known:
        if workspaces.make(scope):
            store.write(functools.partial(commits.begin_anew, scope=scope.number))


def set_config(
    store: Database,
    scope: Scope,
    request: SetAgentConfig,
    settings: sections.Config,
    *,
    caller: Caller,
    clock: Clock,
) -> AgentConfig:
    """Check an agent's configuration and record it as the next version; only a trusted caller may.

    It says what is kept, redacted and promoted: not for those to decide whose text is not trusted.
    """
    if caller.trust is not Trust.TRUSTED:
        raise Denied(
            "only a trusted caller may configure an agent", hint="ask the owner to do it", code="untrusted"
        )
    config.check_agent(request.config)
    scrub = Scrubber(settings, refuse=False)
    if scrub.json("config", request.config) != request.config:
        raise InvalidField(
            "config",
            f"holds a secret ({scrub.fired[0]})",
            hint="name the environment variable that has it instead",
            code="secret_found",
        )
    message = scrub.text("message", request.message)

    def write(db: Connection) -> AgentConfig:
        current = scopes.get(db, scope.name)
        if caller.reach is not None:
            _refuse_remote(scopes.config(db, current.number), request.config)
        by = By(actor=caller.actor, cause=caller.ingress, now=clock.now())
        return scopes.put_config(db, current, request.config, message, by)

    return store.write(write)


def _refuse_remote(known: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Raise Denied when somebody of one agent or organisation changes where memory is sent."""
    url = wanted.get("workspace", {}).get("remote", "")
    if url and url != known.get("workspace", {}).get("remote", ""):
        raise Denied(
            "where commits are pushed to is not for a token of one agent or organisation to say",
            hint="the owner can: nrem agent config",
        )


def list_configs(store: Database, scope: Scope) -> AgentConfigs:
    with store.reading() as db:
        return AgentConfigs(versions=tuple(scopes.configs(db, scope.number)))


def _agent(db: Connection, settings: sections.Config, scope: Scope, memories: int) -> Agent:
    versions = scopes.configs(db, scope.number)
    waiting = commits.waiting(db, scope.number) if settings.workspace.git else Waiting()
    return Agent(
        agent=scope.name,
        memories=memories,
        created_at=scope.created_at,
        config_version=versions[0].version if versions else 0,
        unpublished=waiting.count,
        unpublished_since=waiting.since,
        remote=push.status(db, settings, scope),
    )
