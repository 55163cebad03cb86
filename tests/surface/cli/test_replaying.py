"""nrem recall --as-of, why, replay, bisect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner, Result

from nrem.surface.cli.main import main

Nrem = Callable[..., Result]
Answer = Callable[..., Any]


@pytest.mark.rows(105)
def test_recall_as_of_a_recall_shows_what_was_known(nrem: Nrem, answer: Answer, ana: str) -> None:
    id = answer("remember", "Luis likes tea")["id"]
    then = answer("recall", "what does Luis like?")["recall_id"]
    nrem("edit", id, "Luis likes coffee")
    told = nrem("recall", "what does Luis like?", "--as-of", then)
    assert told.stdout.endswith("Luis likes tea\n")
    assert told.stderr.startswith("As of ")
    assert told.stderr.endswith(", event 2.\n")
    assert "yesterday" in nrem("recall", "tea", "--as-of", "someday", exits=2).stderr


@pytest.mark.rows(108)
def test_why_tells_of_edits_commits_and_questions(nrem: Nrem, answer: Answer, ana: str) -> None:
    id = answer("remember", "Luis likes tea", "--source", "a talk")["id"]
    commit = answer("checkpoint")["commit"][:10]
    assert nrem("why", id).stdout.endswith("It was in no answer that is on record.\n")
    nrem("recall", "what does Luis like?")
    nrem("edit", id, "Luis likes coffee")
    nrem("forget", id)
    told = nrem("why", id).stdout
    assert told.startswith(f"{id} is forgotten.\n")
    for part in (
        f"remember by owner (event 2, commit {commit})",
        "source a talk",
        "edit by owner (event 3, not committed yet)",
        "content: Luis likes tea -> Luis likes coffee",
        "forget by owner",
        "In 1 answer",
        "1x, at best place 1: what does Luis like?",
    ):
        assert part in told
    assert answer("why", id)["state"] == "forgotten"
    nrem("why", "unknown", exits=4)


@pytest.mark.rows(113)
def test_replay_says_equal_or_why_not(nrem: Nrem, answer: Answer, ana: str) -> None:
    nrem("remember", "Luis likes tea")
    then = answer("recall", "tea")["recall_id"]
    assert nrem("replay", then).stdout.endswith("1 equal.\n")
    assert answer("replay", "--from", "1h ago")["equal"] == 1
    nrem("agent", "config", ana, "--set", "recall.profile=agentos", "-m", "try it")
    told = CliRunner().invoke(main, ["replay", then], catch_exceptions=False)
    assert told.exit_code == 1
    assert f"{then}: configuration: has changed since that recall" in told.stdout
    assert told.stdout.endswith("1 drifted.\n")
    assert nrem("replay", "--from", "now", "--to", "1h ago").stdout == "Nothing to replay.\n"


def test_bisect_names_the_event(nrem: Nrem, answer: Answer, ana: str) -> None:
    id = answer("remember", "Luis likes tea")["id"]
    commit = answer("checkpoint")["commit"][:10]
    told = nrem("bisect", "--query", "tea", "--id", id).stdout
    assert told.startswith(f"It starts being in the answer at event 2 (commit {commit}):\n")
    assert f"memory.remember {id} by owner" in told
    nrem("forget", id)
    assert answer("bisect", "--query", "tea", "--id", id)["operation"] == "memory.forget"
    assert "--from" in nrem("bisect", "--query", "zeppelin", "--id", id, "--mode", "keyword", exits=2).stderr
