"""The command as a whole: its commands, its help, its start."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from click.testing import Result

from nrem import __version__
from nrem.surface.cli import main as module
from nrem.surface.cli.main import COMMANDS, main

Nrem = Callable[..., Result]


def commands(
    group: click.Group = main, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command of the tree with the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


TREE = dict(commands())


@pytest.mark.rows(95)
def test_help_lists_every_command(nrem: Nrem) -> None:
    shown = nrem("--help").stdout
    listed = [line.split()[0] for line in shown.partition("Commands:\n")[2].splitlines()]
    assert listed == list(COMMANDS)
    assert nrem("-h").stdout == shown


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_is_in_the_module_that_the_table_names(name: str) -> None:
    found = main.get_command(click.Context(main), name)
    assert found is not None
    assert found.name == name
    here = importlib.import_module(f"nrem.surface.cli.{COMMANDS[name]}")
    assert getattr(here, f"{name}_command") is found


def test_every_module_of_commands_is_in_the_table() -> None:
    folder = Path(module.__file__).parent
    others = {"__init__", "completing", "connecting", "main", "shared"}
    assert {file.stem for file in folder.glob("*.py")} - others == set(COMMANDS.values())


@pytest.mark.parametrize("path", TREE, ids=" ".join)
def test_every_command_and_option_says_what_it_is_for(path: tuple[str, ...]) -> None:
    command = TREE[path]
    assert command.help
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.opts


@pytest.mark.parametrize("path", TREE, ids=" ".join)
def test_every_command_that_answers_does_so_in_json(path: tuple[str, ...]) -> None:
    command = TREE[path]
    takes_json = any("--json" in parameter.opts for parameter in command.params)
    assert takes_json != (isinstance(command, click.Group) or path in [("completion",), ("mcp",), ("up",)])


def test_a_command_that_is_not_there_is_an_input_error(nrem: Nrem) -> None:
    assert "No such command 'recollect'" in nrem("recollect", exits=2).stderr


def test_without_a_command_help_is_shown(nrem: Nrem) -> None:
    assert "Commands:" in nrem(exits=2).stderr


def test_the_version_is_the_packages(nrem: Nrem) -> None:
    assert nrem("--version").stdout == f"nrem, version {__version__}\n"


def test_help_needs_neither_the_store_nor_any_command(tmp_path: Path) -> None:
    """The start stays quick: nothing is imported before it is called."""
    asked = (
        "import sys; from nrem.surface.cli import main; print([m for m in sys.modules if m[:5] == 'nrem.'])"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout == "['nrem.surface', 'nrem.surface.cli', 'nrem.surface.cli.main']\n"


def test_a_command_that_is_misspelled_is_guessed(nrem: Callable[..., Result]) -> None:
    assert "Did you mean 'recall'?" in nrem("recalls", "x", exits=2).stderr
    assert "Did you mean" not in nrem("zzzzzz", exits=2).stderr


def test_words_after_a_text_are_told_to_be_quoted(nrem: Callable[..., Result]) -> None:
    told = nrem("recall", "hello", "big", "world", exits=2).stderr
    assert "Nothing more was expected: big world. A text of several words goes in quotes." in told
    assert "quotes" not in nrem("get", "a", "b", exits=2).stderr
