"""nrem agent."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Nrem = Callable[..., Result]
Answer = Callable[..., Any]
Refusal = Callable[..., dict[str, str]]
Remember = Callable[..., str]


def test_add_says_what_is_next(nrem: Nrem) -> None:
    nrem("init")
    shown = nrem("agent", "add", "ana").stdout
    assert shown.startswith('Added agent ana.\nNext: nrem remember -a ana "something worth keeping"\n')


def test_add_answers_in_json(nrem: Nrem, answer: Answer) -> None:
    nrem("init")
    added = answer("agent", "add", "ana")
    assert added.pop("created_at")
    assert set(added.pop("connect")) == {"claude_code", "codex", "mcp_json"}
    assert added == {
        "agent": "ana",
        "memories": 0,
        "config_version": 0,
        "unpublished": 0,
        "unpublished_since": None,
        "remote": None,
    }


def test_a_name_is_given_once(nrem: Nrem, refusal: Refusal, ana: str) -> None:
    assert nrem("agent", "add", "ana", exits=5).stderr.startswith("Error: there is an agent called ana")
    assert refusal(5, "agent", "add", "ana")["hint"] == "choose another name"


@pytest.mark.rows(102)
@pytest.mark.parametrize("name", ["", "Ana", "a b", "a/b", "../a", "a" * 65, "a\nb", "a.b.c"])
def test_a_name_is_lower_case_and_short(refusal: Refusal, answer: Answer, ana: str, name: str) -> None:
    assert refusal(2, "agent", "add", name)["field"] == "agent"
    assert [agent["agent"] for agent in answer("agent", "list")["agents"]] == ["ana"]


def test_list_and_show_count_memories(nrem: Nrem, answer: Answer, remember: Remember, ana: str) -> None:
    nrem("agent", "add", "ben")
    remember("one", "-a", "ana")
    remember("two", "-a", "ana")
    rows = [line.split() for line in nrem("agent", "list").stdout.splitlines()]
    assert rows[0][:2] == ["Agent", "Memories"]
    assert [row[:3] for row in rows[1:]] == [["ana", "2", "0"], ["ben", "0", "0"]]
    assert nrem("agent", "show", "ana").stdout.splitlines()[1].split()[:3] == ["ana", "2", "0"]
    shown = answer("agent", "show", "ana")
    added, since = shown["created_at"], shown["unpublished_since"]
    assert rows[1][3:5] == [added[:10], added[11:19]]
    assert rows[1][5:] == ["2", "events", "since", since[:10], since[11:19]]
    assert len(rows[2]) == 5
    assert answer("agent", "show", "ana") == answer("agent", "list")["agents"][0]


def test_list_of_an_empty_store_says_what_is_next(nrem: Nrem) -> None:
    nrem("init")
    assert nrem("agent", "list").stdout == "No agents yet. Next: nrem agent add NAME\n"


def test_an_unknown_agent_is_not_found(nrem: Nrem, ana: str) -> None:
    for words in (["show", "zed"], ["config", "zed"], ["remove", "zed", "--erase", "--force"]):
        assert nrem("agent", *words, exits=4).stderr == (
            "Error: there is no agent called zed\nHint: nrem agent add zed\n"
        )


@pytest.mark.rows(90)
def test_remove_moves_the_workspace_aside_and_add_brings_it_back(
    nrem: Nrem, answer: Answer, remember: Remember, home: Path, ana: str
) -> None:
    id = remember("a text")
    (home / "workspaces/ana/notes/mine.md").write_text("mine\n")
    said = nrem("agent", "remove", "ana", "--force").stdout
    assert said.startswith("Removed agent ana with 1 memory. Its workspace is now ")
    [place] = (home / "removed").iterdir()
    assert f"nrem agent add ana --from {place}" in said
    assert nrem("agent", "list").stdout.startswith("No agents yet")
    assert not (home / "tokens/ana").exists()
    assert nrem("agent", "add", "ana", "--from", str(place)).stdout.startswith(
        "Added agent ana with 1 memory.\n"
    )
    assert answer("get", id)["memory"]["content"] == "a text"
    assert (home / "workspaces/ana/notes/mine.md").read_text() == "mine\n"
    assert nrem("verify").stdout.endswith("0 errors.\n")


def test_remove_without_a_terminal_needs_force(nrem: Nrem, remember: Remember, ana: str) -> None:
    remember("a text")
    refused = nrem("agent", "remove", "ana", "--erase", exits=2).stderr
    assert "Erase agent ana with 1 memory and all history for good?" in refused
    assert "Hint: add --force" in refused
    assert "a text" in nrem("list").stdout


def test_remove_erases_the_text_itself(nrem: Nrem, remember: Remember, home: Path, ana: str) -> None:
    def files() -> bytes:
        return b"".join(file.read_bytes() for file in home.iterdir() if file.is_file())

    remember("the unmistakable marmalade")
    assert b"marmalade" in files()
    assert nrem("agent", "remove", "ana", "--erase", "-f").stdout == "Erased agent ana with 1 memory.\n"
    assert nrem("agent", "list").stdout.startswith("No agents yet")
    deadline = time.monotonic() + 10
    while b"marmalade" in files():  # the write-ahead log has it until the daemon is idle
        assert time.monotonic() < deadline, "the text is still there"
        time.sleep(0.05)


def test_remove_answers_in_json(answer: Answer, ana: str) -> None:
    assert answer("agent", "remove", "ana", "--erase", "--force") == {
        "agent": "ana",
        "memories": 0,
        "kept": None,
    }


LIMITS = {"content_bytes": 9}


def versions(answer: Answer) -> list[tuple[int, Any, str]]:
    found = answer("agent", "config", "ana")["versions"]
    return [(v["version"], v["config"], v["message"]) for v in found]


def test_config_keeps_every_version(nrem: Nrem, answer: Answer, ana: str) -> None:
    assert nrem("agent", "config").stdout == "ana has no configuration of its own.\n"
    told = nrem(
        *("agent", "config", "ana", "--set", "memory.semantic.max_memories=5"),
        *("--set", "secrets.on_secret=refuse", "-m", "less is more"),
    )
    assert told.stdout == "Recorded version 1 of ana's configuration.\n"
    nrem("agent", "config", "--unset", "secrets.on_secret", "--message", "too strict")
    first = {"memory": {"semantic": {"max_memories": 5}}, "secrets": {"on_secret": "refuse"}}
    second = {"memory": {"semantic": {"max_memories": 5}}}
    assert versions(answer) == [(2, second, "too strict"), (1, first, "less is more")]

    head, *rows = nrem("agent", "config").stdout.splitlines()
    assert head.split() == ["Version", "When", "Who", "Why", "Settings"]
    assert [re.split(r" {2,}", row) for row in rows] == [
        ["2", shown(answer, 0), "owner", "too strict", "memory.semantic.max_memories=5"],
        [
            *("1", shown(answer, 1), "owner", "less is more"),
            "memory.semantic.max_memories=5, secrets.on_secret=refuse",
        ],
    ]
    assert answer("agent", "show")["config_version"] == 2


def shown(answer: Answer, place: int) -> str:
    """When a version was recorded, as tables show it."""
    at: str = answer("agent", "config", "ana")["versions"][place]["at"]
    moment = at[:19].replace("T", " ")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", moment)
    return moment


@pytest.mark.parametrize(
    ("unset", "left"),
    [
        (["memory.semantic.max_memories"], {"memory": {"episodic": {"enabled": False}}, "limits": LIMITS}),
        (
            ["memory.semantic.max_memories", "memory.episodic.enabled"],
            {"limits": LIMITS},
        ),
        (["memory.semantic"], {"memory": {"episodic": {"enabled": False}}, "limits": LIMITS}),
        (["memory"], {"limits": LIMITS}),
        (["memory", "limits.content_bytes"], {}),
    ],
)
def test_a_section_goes_with_its_last_key(
    nrem: Nrem, answer: Answer, ana: str, unset: list[str], left: dict[str, Any]
) -> None:
    nrem(
        *("agent", "config", "--set", "memory.semantic.max_memories=5", "-m", "why"),
        *("--set", "memory.episodic.enabled=false", "--set", "limits.content_bytes=9"),
    )
    nrem("agent", "config", *(word for key in unset for word in ("--unset", key)), "-m", "why not")
    assert versions(answer)[0][1] == left


def test_config_answers_with_the_version_it_recorded(answer: Answer, ana: str) -> None:
    recorded = answer("agent", "config", "ana", "--set", "limits.content_bytes=9", "-m", "tight")
    assert recorded["version"] == 1
    assert recorded["config"] == {"limits": {"content_bytes": 9}}
    assert (recorded["message"], recorded["actor"]) == ("tight", "owner")


def test_a_new_setting_holds_at_once(nrem: Nrem, refusal: Refusal, ana: str) -> None:
    nrem("agent", "config", "--set", "limits.content_bytes=9", "-m", "tight")
    assert refusal(2, "remember", "ten letters")["code"] == "too_large"


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("secrets.enabled", "false", False),
        ("limits.content_bytes", "5", 5),
        ("secrets.exclude_rules", '["jwt", "npm"]', ["jwt", "npm"]),
        ("memory.semantic.max_memories", "null", None),
        ("memory.semantic.max_memories", "none", "none"),
        ("memory.consolidation.model_override", "small", "small"),
        ("memory.consolidation.model_override", "a=b", "a=b"),
        ("memory.consolidation.model_override", '"5"', "5"),
    ],
)
def test_a_value_is_json_and_a_word_needs_no_quotes(
    answer: Answer, ana: str, key: str, text: str, value: object
) -> None:
    config = answer("agent", "config", "ana", "--set", f"{key}={text}", "-m", "why")["config"]
    for part in key.split("."):
        config = config[part]
    assert config == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("new.json", json.dumps({"limits": {"content_bytes": 9}})),
        ("new.toml", "[limits]\ncontent_bytes = 9\n"),
        ("without-suffix", json.dumps({"limits": {"content_bytes": 9}})),
    ],
)
def test_a_file_replaces_it_all(
    nrem: Nrem, answer: Answer, tmp_path: Path, ana: str, name: str, text: str
) -> None:
    nrem("agent", "config", "--set", "secrets.enabled=false", "-m", "before")
    file = tmp_path / name
    file.write_text(text)
    nrem("agent", "config", "ana", "--file", str(file), "-m", "anew")
    assert versions(answer)[0] == (2, {"limits": {"content_bytes": 9}}, "anew")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("not.json", b'{"limits":'),
        ("list.json", b"[]"),
        ("not.toml", b"[limits\n"),
        ("latin.toml", b"# x\xe9\n"),
        ("latin.json", b'{"x\xe9": 1}'),
        ("missing.toml", None),
    ],
)
def test_a_bad_file_records_nothing(
    refusal: Refusal, answer: Answer, tmp_path: Path, ana: str, name: str, content: bytes | None
) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    assert refusal(2, "agent", "config", "ana", "--file", str(file), "-m", "why")["field"] == "file"
    assert versions(answer) == []


@pytest.mark.rows(102)
@pytest.mark.parametrize(
    ("words", "field"),
    [
        (["--set", "limits.content_bytes=9"], "message"),
        (["--set", "limits.content_bytes=9", "-m", ""], "message"),
        (["-m", "no change"], "message"),
        (["--set", "limits.content_bytes", "-m", "why"], "set"),
        (["--set", "limits.content_bytes=9", "--set", "limits.content_bytes.a=1", "-m", "why"], "set"),
        (["--unset", "limits.content_bytes", "-m", "why"], "unset"),
        (["--unset", "memory", "-m", "why"], "unset"),
        (["--set", "limits.content_bytes=many", "-m", "why"], "limits.content_bytes"),
        (["--set", "limits.bytes=9", "-m", "why"], "limits.bytes"),
        (["--set", 'secrets.literals=["x"]', "-m", "why"], "secrets.literals"),
    ],
)
def test_a_wrong_change_names_its_field_and_records_nothing(
    refusal: Refusal, answer: Answer, ana: str, words: list[str], field: str
) -> None:
    assert refusal(2, "agent", "config", "ana", *words)["field"] == field
    assert versions(answer) == []
