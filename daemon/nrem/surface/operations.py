"""Binds the names in `wire` to what does the work: unpack, call, nothing else."""

from __future__ import annotations

import dataclasses
import functools
import logging
from collections.abc import Callable, Mapping
from typing import Any
from zoneinfo import ZoneInfo

from nrem import wire
from nrem.core import agents, backup, browse, doctor, embedder, jobs, push, reembed, tokens
from nrem.core.bisect import bisect
from nrem.core.change_lines import decide_proposal, undo_dream
from nrem.core.complete_ids import complete_ids
from nrem.core.diff import diff
from nrem.core.edit import edit, pin
from nrem.core.erase import erase
from nrem.core.explain_dream import explain_dream
from nrem.core.export import export
from nrem.core.forget import clear, forget
from nrem.core.list_files import list_files
from nrem.core.mark_used import mark_used
from nrem.core.prune import prune
from nrem.core.read_dreams import dream_status, list_sweeps, show_sweep
from nrem.core.read_file import read_file
from nrem.core.read_log import read_log
from nrem.core.recall import recall
from nrem.core.recall_as_of import recall_as_of
from nrem.core.remember import prepare, remember
from nrem.core.replay import replay
from nrem.core.restore import restore
from nrem.core.show_file import show_file
from nrem.core.verify import verify
from nrem.core.why import why
from nrem.core.write_file import write_file
from nrem.errors import Denied, NotFound, NremError
from nrem.model import AgentConfig, Caller
from nrem.runtime.app import App

log = logging.getLogger("nrem.operations")
FEW_HITS = range(51)


def call(app: App, caller: Caller, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Run an operation by name on what came over the wire; return its answer as JSON-ready values."""
    if name not in wire.OPERATIONS:
        raise NotFound(f"there is no operation {name}", hint=f"there are {', '.join(wire.OPERATIONS)}")
    return wire.write(wire.OPERATIONS[name], execute(app, caller, name, body))


def execute(app: App, caller: Caller, name: str, body: Mapping[str, Any]) -> Any:
    """Run an operation by name on what came over the wire; return the record that it gives."""
    operation = wire.OPERATIONS[name]
    check_right(caller, operation)
    now = wire.Now(app.clock.now(), ZoneInfo(app.config.time.zone))
    request = wire.read(operation.takes, body, now)
    _check_reach(caller, operation, request)
    return BINDING[name](app, caller, complete_ids(app.store, app.scope, request))


def check_right(caller: Caller, operation: wire.Operation) -> None:
    """Refuse whoever may not do such a thing at all."""
    if not caller.may(operation.right):
        raise Denied(f"this needs the right {operation.right}", hint="use a token that has it")


def is_quick(app: App, name: str, body: Mapping[str, Any]) -> bool:
    """Tell whether an operation is done sooner than a thread for it could be found."""
    if (
        name != "recall"
        or body.get("as_of") is not None
        or body.get("limit", body.get("top_k", 0)) not in FEW_HITS
    ):
        return False
    return app.is_warm(str(body.get("agent")))


def _check_reach(caller: Caller, operation: wire.Operation, request: wire.Input) -> None:
    """Refuse whoever reaches only some agents: what others have is for them as if it were not there."""
    if caller.reach is None or operation.shared:
        return
    agent: str | None = getattr(request, "agent", None)
    if agent is None or (operation.name == "add_agent" and not caller.reaches(agent)):
        raise Denied("this is not for a token of one agent or organisation", hint="use one without")
    if not caller.reaches(agent):
        raise agents.not_found(agent)


def _remember(app: App, caller: Caller, request: wire.Remember) -> wire.Stored:
    scope = app.scope(request.agent)
    settings = app.settings(scope)
    return remember(
        app.store, app.serving_embedder(), settings, scope, [request], caller=caller, clock=app.clock
    )[0]


def _remember_many(app: App, caller: Caller, request: wire.RememberMany) -> wire.StoredMany:
    scope = app.scope(request.agent)
    if request.dry_run:
        ready = prepare(request.memories, app.settings(scope), caller=caller, clock=app.clock, dry_run=True)
        return wire.StoredMany(
            memories=tuple(wire.Stored(id="", stored=False, redacted=item.redacted) for item in ready)
        )
    stored = remember(
        app.store,
        app.serving_embedder(),
        app.settings(scope),
        scope,
        request.memories,
        caller=caller,
        clock=app.clock,
    )
    return wire.StoredMany(memories=tuple(stored))


def _recall(app: App, caller: Caller, request: wire.Recall) -> wire.Recalled:
    scope = app.scope(request.agent)
    settings = app.settings(scope)

    if request.as_of is not None:
        return app.search(
            lambda embedder: recall_as_of(app.store, embedder, settings, scope, request, clock=app.clock)
        )
    return app.search(
        lambda embedder: recall(app.store, embedder, settings, scope, request, caller=caller, clock=app.clock)
    )


def _replay(app: App, caller: Caller, request: wire.Replay) -> wire.Replays:
    scope = app.scope(request.agent)
    settings = app.settings(scope)
    return app.search(lambda embedder: replay(app.store, embedder, settings, scope, request, clock=app.clock))


def _bisect(app: App, caller: Caller, request: wire.Bisect) -> wire.Bisected:
    scope = app.scope(request.agent)
    settings = app.settings(scope)
    return app.search(lambda embedder: bisect(app.store, embedder, settings, scope, request, clock=app.clock))


def _reembed(app: App, caller: Caller, request: wire.Reembed) -> wire.Reembedded:
    step = reembed.reembed(app.store, app.embedder)
    app.reembedded()
    return step


def _remove_agent(app: App, caller: Caller, request: wire.RemoveAgent) -> wire.RemovedAgent:
    with app.workspaces.changing:
        scope = app.scope(request.agent)
        if request.erase:
            removed = agents.remove(app.store, scope, clock=app.clock)
        else:
            publish = functools.partial(app.publish, scope, "removal")
            removed = agents.set_aside(app.store, app.workspaces, scope, publish, clock=app.clock)
        app.forget_scopes()
        app.doorkeeper.forget()
        agents.finish_removals(app.store, app.workspaces)
    return removed


def _revoke_token(app: App, caller: Caller, request: wire.TokenRef) -> wire.RevokedToken:
    revoked = tokens.revoke(app.store, request.id)
    app.doorkeeper.forget()
    return revoked


def _add_agent(app: App, caller: Caller, request: wire.AddAgent) -> wire.Agent:
    if request.source is not None:
        from nrem.core.adopt import adopt, check_owner  # a client of git: not for every start

        check_owner(caller)
        for path in adopt(app.store, app.workspaces, app.config, request.agent, request.source):
            log.warning("%s of %s is not a plain file, and stays out of its folder", path, request.agent)
        app.forget_scopes()
        return agents.show(app.store, app.settings, app.scope(request.agent))
    with app.workspaces.changing:
        agents.make_room(app.store, app.workspaces, request.agent)
        agents.add(app.store, request.agent, caller=caller, clock=app.clock)
        app.forget_scopes()
        scope = app.scope(request.agent)
        app.workspaces.make(scope)
    try:
        app.publish_first(scope)
    except NremError as error:  # the agent is there; the next commit will have it all
        log.warning("the workspace of %s is not committed yet: %s", scope.name, error.message)
    return agents.show(app.store, app.settings, scope)


def _edit(app: App, caller: Caller, request: wire.Edit) -> wire.Changed:
    scope = app.scope(request.agent)
    return edit(
        app.store, app.serving_embedder(), app.settings(scope), scope, request, caller=caller, clock=app.clock
    )


def _erase(app: App, caller: Caller, request: wire.MemoryRef) -> wire.Erased:
    scope = app.scope(request.agent)
    push.refuse_erasing(app.settings(scope), scope)
    workspace = app.workspaces.of(scope)
    receipt = erase(app.store, workspace, scope, request.id, caller=caller, clock=app.clock)
    try:
        app.publish(scope, "erase")
    except NremError as error:  # it is erased; that it was forgotten will be in the next commit
        log.warning("the workspace of %s is not committed yet: %s", scope.name, error.message)
    return receipt


def _pin(pinned: bool) -> Callable[[App, Caller, Any], wire.Changed]:
    def run(app: App, caller: Caller, request: wire.MemoryRef) -> wire.Changed:
        scope = app.scope(request.agent)
        return pin(app.store, scope, request.id, pinned, caller=caller, clock=app.clock)

    return run


def _decide_proposal(accepted: bool) -> Callable[[App, Caller, Any], wire.ProposalDecided]:
    def run(app: App, caller: Caller, request: wire.ProposalRef) -> wire.ProposalDecided:
        dreamer = app.dreamer(app.scope(request.agent))
        return decide_proposal(dreamer, request.proposal, accepted=accepted, caller=caller, clock=app.clock)

    return run


def _set_agent_config(app: App, caller: Caller, request: wire.SetAgentConfig) -> AgentConfig:
    scope = app.scope(request.agent)
    recorded = agents.set_config(
        app.store, scope, request, app.settings(scope), caller=caller, clock=app.clock
    )
    app.forget_settings(scope)
    return recorded


def _write_file(app: App, caller: Caller, request: wire.WriteFile) -> wire.WrittenFile:
    scope = app.scope(request.agent)
    workspace, settings = app.workspaces.of(scope), app.settings(scope)
    return write_file(app.store, workspace, settings, scope, request, caller=caller)


def _restore(app: App, caller: Caller, request: wire.Restore) -> wire.Restored:
    scope = app.scope(request.agent)
    done = restore(app.store, app.settings(scope), scope, request, caller=caller, clock=app.clock)
    if request.dry_run or not (done.added or done.changed or done.forgotten):
        return done
    try:
        made = app.publish(scope, "restore")
    except NremError as error:  # it is done; the next commit will have it
        return dataclasses.replace(done, note=error.message)
    return dataclasses.replace(done, commit=made.commit, note=made.note)


def _log(app: App, caller: Caller, request: wire.ReadLog) -> wire.Log:
    scope = app.scope(request.agent)
    workspace, settings = app.workspaces.of(scope), app.settings(scope)
    return read_log(app.store, workspace, settings, scope, request, now=app.clock.now())


def _diff(app: App, caller: Caller, request: wire.Diff) -> wire.Differences:
    scope = app.scope(request.agent)
    workspace, settings = app.workspaces.of(scope), app.settings(scope)
    return diff(app.store, workspace, settings, scope, request, now=app.clock.now())


def _show_file(app: App, caller: Caller, request: wire.ShowFile) -> wire.ShownFile:
    scope = app.scope(request.agent)
    return show_file(app.store, app.workspaces.of(scope), scope, request, now=app.clock.now())


def _verify(app: App, caller: Caller, request: wire.Verify) -> wire.Diagnosis:
    scope = app.scope(request.agent)
    return verify(app.store, app.workspaces.of(scope), app.settings(scope), scope, now=app.clock.now())


def _prune(app: App, caller: Caller, request: wire.Prune) -> wire.Pruned:
    scope = app.scope(request.agent)
    return prune(app.store, app.settings(scope), scope, days=request.days, now=app.clock.now())


def _doctor(app: App, caller: Caller, request: wire.Doctor) -> wire.Diagnosis:
    found = doctor.examine(app.home, app.clock, deep=request.deep, embedder=app.embedder, locked=True)
    return wire.Diagnosis(findings=tuple(found))


BINDING: Mapping[str, Callable[[App, Caller, Any], Any]] = {
    "add_agent": _add_agent,
    "list_agents": lambda app, caller, r: agents.list_(app.store, app.settings, caller=caller),
    "show_agent": lambda app, caller, r: agents.show(app.store, app.settings, app.scope(r.agent)),
    "remove_agent": _remove_agent,
    "set_agent_config": _set_agent_config,
    "list_agent_configs": lambda app, caller, r: agents.list_configs(app.store, app.scope(r.agent)),
    "create_token": lambda app, caller, r: tokens.create(app.store, r, clock=app.clock),
    "list_tokens": lambda app, caller, r: tokens.list_(app.store),
    "revoke_token": _revoke_token,
    "remember": _remember,
    "remember_many": _remember_many,
    "get_memory": lambda app, caller, r: browse.get(app.store, app.scope(r.agent), r.id),
    "list_memories": lambda app, caller, r: browse.list_(app.store, app.scope(r.agent), r),
    "recall": _recall,
    "mark_used": lambda app, caller, r: mark_used(
        app.store, app.scope(r.agent), r, caller=caller, clock=app.clock
    ),
    "embed": lambda app, caller, r: reembed.embed(app.serving_embedder(), r),
    "reembed": _reembed,
    "show_embedder": lambda app, caller, r: embedder.show(app.store, app.embedder, app.serving_embedder()),
    "export_memories": lambda app, caller, r: export(app.store, app.scope(r.agent), r),
    "edit_memory": _edit,
    "pin_memory": _pin(True),
    "unpin_memory": _pin(False),
    "forget": lambda app, caller, r: forget(
        app.store, app.scope(r.agent), r.id, caller=caller, clock=app.clock
    ),
    "erase_memory": _erase,
    "clear_memories": lambda app, caller, r: clear(
        app.store, app.scope(r.agent), r, caller=caller, clock=app.clock
    ),
    "list_versions": lambda app, caller, r: browse.versions(app.store, app.scope(r.agent), r.id),
    "why": lambda app, caller, r: why(app.store, app.scope(r.agent), r.id),
    "checkpoint": lambda app, caller, r: app.publish(app.scope(r.agent), "checkpoint", r.note),
    "restore": _restore,
    "read_file": lambda app, caller, r: read_file(app.workspaces.of(app.scope(r.agent)), r.path),
    "write_file": _write_file,
    "list_files": lambda app, caller, r: list_files(app.workspaces.of(app.scope(r.agent)), r.path),
    "show_file": _show_file,
    "diff": _diff,
    "log": _log,
    "replay": _replay,
    "bisect": _bisect,
    "verify": _verify,
    "prune": _prune,
    "list_jobs": lambda app, caller, r: jobs.list_(app.store, r),
    "retry_job": lambda app, caller, r: app.retry_job(r.id),
    "dream": lambda app, caller, r: app.dream(app.scope(r.agent), dry_run=r.dry_run, caller=caller),
    "dream_status": lambda app, caller, r: dream_status(app.dreamer(app.scope(r.agent)), now=app.clock.now()),
    "explain_dream": lambda app, caller, r: explain_dream(
        app.dreamer(app.scope(r.agent)), r.id, now=app.clock.now()
    ),
    "list_sweeps": lambda app, caller, r: list_sweeps(app.dreamer(app.scope(r.agent)), limit=r.limit),
    "show_sweep": lambda app, caller, r: show_sweep(app.dreamer(app.scope(r.agent)), r.sweep),
    "undo_sweep": lambda app, caller, r: undo_dream(
        app.dreamer(app.scope(r.agent)), r.sweep, caller=caller, clock=app.clock
    ),
    "accept_proposal": _decide_proposal(True),
    "reject_proposal": _decide_proposal(False),
    "create_backup": lambda app, caller, r: backup.create(app.store, clock=app.clock),
    "list_backups": lambda app, caller, r: backup.list_(app.home),
    "doctor": _doctor,
}
