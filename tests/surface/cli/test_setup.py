"""nrem init, config, completion."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete
from click.testing import Result

from nrem.surface.cli.main import main

Nrem = Callable[..., Result]
Answer = Callable[..., Any]
Refusal = Callable[..., dict[str, str]]


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_init_makes_a_home_that_is_ready(nrem: Nrem, home: Path) -> None:
    assert nrem("init").stdout == f"Ready: {home}\nNext: nrem up --detach\n"
    assert {file.name for file in home.iterdir()} >= {"nrem.db", "nrem.toml"}


def test_init_beside_the_daemon_says_what_is_next(nrem: Nrem, home: Path) -> None:
    nrem("init")
    assert nrem("init").stdout == f"Ready: {home}\nNext: nrem agent add NAME\n"
    assert nrem("init", "--name", "ana").stdout == f"Ready: {home}\nAgents: ana\n"


def test_init_can_add_the_first_agent(nrem: Nrem, home: Path) -> None:
    assert nrem("init", "--name", "ana").stdout == f"Ready: {home}\nAgents: ana\nNext: nrem up --detach\n"


def test_init_answers_in_json(answer: Answer, home: Path) -> None:
    assert answer("init") == {"home": str(home), "agents": []}
    answer("init", "--name", "zoe")
    assert answer("init", "--name", "ana") == {"home": str(home), "agents": ["ana", "zoe"]}


@pytest.mark.usefixtures("open_umask")
def test_only_the_owner_can_look_into_the_home(nrem: Nrem, home: Path) -> None:
    nrem("init", "--name", "ana")
    nrem("remember", "a text")
    assert mode(home) == 0o700
    # The fixture binds the socket here; that of `nrem up` is looked at in e2e.
    files = [file for file in home.rglob("*") if file.is_file() and home / "workspaces" not in file.parents]
    assert mode(home / "tokens") == mode(home / "workspaces") == 0o700
    assert home / "tokens/ana" in files
    assert {file.name: oct(mode(file)) for file in files if mode(file) != 0o600} == {}
    assert {"nrem.db", "nrem.db-wal", "nrem.lock", "nrem.toml"} <= {file.name for file in files}


def test_init_again_changes_nothing(nrem: Nrem, home: Path, ana: str) -> None:
    nrem("remember", "a text")
    settings = "[limits]\ncontent_bytes = 1000\n"
    (home / "nrem.toml").write_text(settings)
    assert nrem("init", "--name", "ana").stdout.endswith("Agents: ana\n")
    assert (home / "nrem.toml").read_text() == settings
    assert "a text" in nrem("list").stdout


def test_init_with_a_bad_name_adds_no_agent(refusal: Refusal, answer: Answer) -> None:
    assert refusal(2, "init", "--name", "Not A Name")["field"] == "agent"
    assert answer("agent", "list") == {"agents": []}


def test_the_fresh_settings_file_changes_no_default(answer: Answer) -> None:
    before = answer("config", "show")
    answer("init")
    assert answer("config", "show") == before
    assert {setting["origin"] for setting in before} == {"default"}


def test_config_show_needs_no_store(nrem: Nrem, home: Path) -> None:
    assert "limits.content_bytes" in nrem("config", "show").stdout
    assert not home.exists()


def test_config_show_tells_where_each_value_comes_from(
    nrem: Nrem, answer: Answer, home: Path, ana: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "nrem.toml").write_text(
        '[retention]\nprofile = "initrunner"\n[memory.semantic]\nmax_memories = 7\n'
    )
    monkeypatch.setenv("NREM_LIMITS__CONTENT_BYTES", "2000")
    nrem("agent", "config", "ana", "--set", "memory.semantic.max_memories=9", "-m", "more")

    def origins(*words: str) -> dict[str, tuple[Any, str]]:
        return {s["key"]: (s["value"], s["origin"]) for s in answer("config", "show", *words)}

    assert origins() == origins("-a", "ana") | {
        "memory.semantic.max_memories": (7, str(home / "nrem.toml")),
    }
    shown = origins("-a", "ana")
    assert shown["memory.semantic.max_memories"] == (9, "agent")
    assert shown["memory.procedural.max_procedures"] == (100, "profile initrunner")
    assert shown["limits.content_bytes"] == (2000, "NREM_LIMITS__CONTENT_BYTES")
    assert shown["secrets.enabled"] == (True, "default")

    rows = [line.split() for line in nrem("config", "show", "-a", "ana").stdout.splitlines()]
    assert rows[0] == ["Setting", "Value", "From"]
    assert ["memory.semantic.max_memories", "9", "agent"] in rows
    assert ["secrets.enabled", "true", "default"] in rows


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_config_show_never_shows_a_secret(
    nrem: Nrem, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NREM_SECRETS__LITERALS", '["correct horse"]')
    shown = nrem("config", "show", *words)
    assert "********" in shown.stdout
    assert "correct horse" not in shown.output


def test_config_show_warns_of_a_deprecated_key(nrem: Nrem, home: Path) -> None:
    home.mkdir()
    (home / "nrem.toml").write_text("[memory]\nmax_memories = 7\n")
    shown = nrem("config", "show", "--json")
    assert shown.stderr.startswith("Warning: memory.max_memories ")
    assert "deprecated" in shown.stderr


def test_a_wrong_setting_stops_every_command_and_is_named(refusal: Refusal, home: Path, ana: str) -> None:
    (home / "nrem.toml").write_text("[limits]\ncontent_byte = 7\n")
    for words in (["config", "show"], ["list"], ["remember", "a text"], ["init"]):
        error = refusal(2, *words)
        assert error["code"] == "invalid_config"
        assert error["field"] == "limits.content_byte"
        assert error["hint"] == "did you mean limits.content_bytes?"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(nrem: Nrem, shell: str) -> None:
    script = nrem("completion", shell).stdout
    assert f"_NREM_COMPLETE={shell}_complete" in script
    assert "_nrem_completion" in script


def test_completion_knows_no_other_shell(nrem: Nrem) -> None:
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in nrem("completion", "tcsh", exits=2).stderr


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("nrem vers", ["versions"]),
        ("nrem agent re", ["remove"]),
        ("nrem remember --kind proc", ["procedural", "procedure"]),
    ],
)
def test_the_script_completes_commands_and_values(typed: str, offered: list[str]) -> None:
    asked = {
        "_NREM_COMPLETE": "bash_complete",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - 1),
    }
    done = subprocess.run(
        [Path(sys.executable).with_name("nrem")],
        env=os.environ | asked,
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line.partition(",")[2] for line in done.stdout.splitlines()] == offered


def offered(*words: str, part: str = "") -> list[str]:
    """What the shell is offered behind these words."""
    completion = ShellComplete(main, {}, "nrem", "_NREM_COMPLETE")
    return [item.value for item in completion.get_completions(list(words), part)]


def test_completion_offers_agents_tokens_and_backups(nrem: Nrem, answer: Answer, daemon: Any) -> None:
    nrem("init", "--name", "ana")
    nrem("agent", "add", "ben")
    token = answer("token", "create", "-a", "ana", "--label", "laptop")["id"]
    backup = answer("backup", "create")["name"]
    assert offered("recall", "-a") == ["ana", "ben"]
    assert offered("recall", "-a", part="b") == ["ben"]
    assert offered("agent", "show") == ["ana", "ben"]
    assert offered("token", "create", "-a") == ["ana", "ben"]
    assert token in offered("token", "revoke")
    assert offered("token", "revoke", part=token) == [token]
    assert offered("verify", "-a", part="x") == []
    daemon.stay_down()
    assert offered("backup", "restore") == [backup]
    assert offered("recall", "-a") == []


def test_completion_is_quiet_where_nothing_can_be_had(home: Path) -> None:
    assert [offered("recall", "-a"), offered("token", "revoke"), offered("backup", "restore")] == [[], [], []]
    home.mkdir()
    (home / "nrem.toml").write_text("no TOML")
    assert offered("recall", "-a") == []
