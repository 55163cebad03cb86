"""nrem token: for whom one is made, and that it can be revoked by what is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from click.testing import Result

Nrem = Callable[..., Result]
Answer = Callable[..., Any]
Refusal = Callable[..., dict[str, str]]


def test_a_token_is_for_the_only_agent_and_says_so(nrem: Nrem, answer: Answer, ana: str) -> None:
    made = nrem("token", "create")
    assert made.stdout.startswith("nrem_")
    assert made.stderr == "A token for ana: dream, read, write. It is shown only now.\n"
    assert "ana" in {token["label"] for token in answer("token", "list")["tokens"]}


def test_one_of_several_agents_is_never_guessed(nrem: Nrem, refusal: Refusal, ana: str) -> None:
    nrem("agent", "add", "ben")
    assert refusal(2, "token", "create")["message"] == "there are several agents: ana, ben"
    assert nrem("token", "create", "-a", "ben").stderr.startswith("A token for ben: ")


def test_the_whole_store_is_asked_for_by_name(nrem: Nrem, answer: Answer, refusal: Refusal, ana: str) -> None:
    assert nrem("token", "create", "--all").stderr.startswith("A token for everything: ")
    assert refusal(2, "token", "create", "--all", "-a", "ana")["field"] == "all"
    assert nrem("token", "create", "--org", "acme").stderr.startswith("A token for acme.*: ")
    reaches = {(token["agent"], token["org"], token["label"]) for token in answer("token", "list")["tokens"]}
    assert {(None, None, "everything"), (None, "acme", "acme")} <= reaches


def test_an_id_that_is_listed_can_be_revoked(nrem: Nrem, answer: Answer, ana: str) -> None:
    made = answer("token", "create", "--label", "laptop")
    [line] = [line for line in nrem("token", "list").stdout.splitlines() if "laptop" in line]
    assert line.split()[0] == made["id"]
    assert nrem("token", "revoke", made["id"]).stdout == f"Revoked {made['id']}.\n"
