"""What a shell offers for the names of agents, tokens and backups: nothing when they can't be had at once."""

from __future__ import annotations

from typing import Any

import click
import httpx
from click.shell_completion import CompletionItem

from nrem import config, wire
from nrem.client import is_up, unix_transport
from nrem.errors import NremError

SECONDS = 1.0
"""Somebody waits at a prompt."""


def agents(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    found = [CompletionItem(agent["agent"]) for agent in _listed("list_agents", "agents")]
    return _beginning(found, incomplete)


def tokens(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    found = [CompletionItem(token["id"], help=token["label"]) for token in _listed("list_tokens", "tokens")]
    return _beginning(found, incomplete)


def backups(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from nrem.core import backup  # the store's modules: not for every command

    try:
        found = backup.list_(config.home()).backups  # a restore is made while the daemon is down
    except (NremError, OSError):
        return []
    return _beginning([CompletionItem(known.name) for known in found], incomplete)


def _listed(operation: str, field: str) -> list[dict[str, Any]]:
    """Return what an operation of the daemon lists; nothing when it does not answer soon."""
    try:
        path = config.socket(config.home())
        if not is_up(path):
            return []
        with httpx.Client(
            transport=unix_transport(path), base_url="http://nrem", timeout=SECONDS, trust_env=False
        ) as client:
            answer = client.get(wire.OPERATIONS[operation].path).raise_for_status().json()
    except (NremError, httpx.HTTPError, ValueError):
        return []
    listed: list[dict[str, Any]] = answer[field]
    return listed


def _beginning(items: list[CompletionItem], incomplete: str) -> list[CompletionItem]:
    return [item for item in items if item.value.startswith(incomplete)]
