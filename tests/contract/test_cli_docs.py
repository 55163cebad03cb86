"""docs/cli.md covers the command line, and what it and the README show can be typed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from nrem.errors import NremError
from nrem.surface.cli import shared
from nrem.surface.cli.main import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/cli.md").read_text()
SHARED = {"-a", "--agent", "--json", "-f", "--force"}


def commands(
    group: click.Group = main, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command that does something, with the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def options(command: click.Command) -> set[str]:
    return {
        name
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for name in (*parameter.opts, *parameter.secondary_opts)
    }


def named(text: str) -> set[str]:
    """The options that a text has in its code."""
    return set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", " ".join(re.findall(r"`([^`\n]+)`", text))))


COMMANDS = dict(commands())
SECTIONS = {
    title: text for title, text in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
}


def examples() -> Iterator[tuple[str, str]]:
    """Each line of the pages that calls nrem: in a block after `$ `, or indented as it is."""
    for name in ("docs/cli.md", "README.md"):
        text = (ROOT / name).read_text()
        blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        lines = []
        for block in map(str.splitlines, blocks):
            typed = [line for line in block if line.startswith("$ ")]
            lines += typed or block  # beside what is typed, a block shows what is answered
        lines += re.findall(r"^ {4}(\S.*)$", text, re.MULTILINE)
        for line in lines:
            shown = line.removeprefix("$ ")
            if re.match(r"(\w+=\S+ )*(nrem|scripts/run) ", shown) or (shown != line and "| nrem " in shown):
                yield name, shown


def calls(line: str) -> Iterator[list[str]]:
    """The arguments of each nrem in a line of shell."""
    words = shlex.shlex(line, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    call: list[str] | None = None
    for word in words:
        if word in ("|", "&&", ">", ";"):
            if call is not None:
                yield call
            call = None
        elif call is not None:
            call.append(word)
        elif word in ("nrem", "scripts/run"):
            call = []
    if call is not None:
        yield call


def parse(words: list[str]) -> None:
    """Read a command line down to its last command, as click does, without running it."""
    context = click.Context(main, info_name="nrem")
    group: click.Command = main
    while isinstance(group, click.Group):
        if set(words) & {"--help", "--version"}:
            return
        name, *words = words
        found = group.get_command(context, name)
        if found is None:
            raise click.UsageError(f"there is no command {name}")
        group = found
    group.make_context(group.name, list(words), parent=context)


@pytest.mark.rows(95)
@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_and_option_is_documented(path: tuple[str, ...]) -> None:
    section = SECTIONS["nrem " + " ".join(path)]
    known = named(section)
    if "(#conditions)" in section:
        known |= named(SECTIONS["Conditions"])
    assert options(COMMANDS[path]) - SHARED <= known


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_no_option_is_documented_that_does_not_exist(path: tuple[str, ...]) -> None:
    rows = re.findall(r"^\| (`-.+?) \|", SECTIONS["nrem " + " ".join(path)], re.MULTILINE)
    assert named(" ".join(rows)) <= options(COMMANDS[path])


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_has_an_example(path: tuple[str, ...]) -> None:
    section = SECTIONS["nrem " + " ".join(path)]
    assert re.search(rf"^\$ (.*\| )?nrem {' '.join(path)}\b", section, re.MULTILINE)


def test_no_command_is_documented_that_does_not_exist() -> None:
    documented = {title for title in SECTIONS if title.startswith("nrem ")}
    assert documented == {"nrem " + " ".join(path) for path in COMMANDS}


def test_the_shared_options_are_documented() -> None:
    assert named(SECTIONS["Shared options"]) >= SHARED | {"-h", "--help"}


def test_the_conditions_are_those_that_commands_take() -> None:
    rows = re.findall(r"^\| (`-.+?) \|", SECTIONS["Conditions"], re.MULTILINE)
    conditions = named(" ".join(rows))
    taking = [" ".join(path) for path, command in COMMANDS.items() if conditions <= options(command)]
    assert taking == ["recall", "list", "clear", "export"]
    assert all("(#conditions)" in SECTIONS[f"nrem {name}"] for name in taking)


def test_every_family_of_errors_has_its_exit_code_documented() -> None:
    rows = re.findall(r"^\| (\d) \|", SECTIONS["Exit codes"], re.MULTILINE)
    assert [family for family, _ in shared.EXIT_CODES] == NremError.__subclasses__()
    assert rows == ["0", "1", *(str(code) for _, code in shared.EXIT_CODES)]


def test_there_are_examples() -> None:
    assert len([line for name, line in examples() if name == "docs/cli.md"]) > 30


@pytest.mark.parametrize(("page", "line"), list(examples()))
def test_every_example_can_be_typed(page: str, line: str) -> None:
    found = list(calls(line))
    assert found
    for words in found:
        parse(words)


@pytest.mark.parametrize("line", ["nrem recollect x", "nrem list --colour red", "nrem agent", "nrem get"])
def test_a_wrong_example_would_be_found(line: str) -> None:
    with pytest.raises((click.UsageError, ValueError)):
        parse(next(calls(line)))


def test_the_links_of_the_page_lead_somewhere() -> None:
    anchors = {title.lower().replace(" ", "-") for title in SECTIONS}
    assert set(re.findall(r"\]\(#([\w-]+)\)", PAGE)) <= anchors
    for name in re.findall(r"\]\((\w+\.md)", PAGE):
        assert (ROOT / "docs" / name).exists()


def test_the_page_on_upgrading_shows_commands_that_can_be_typed() -> None:
    lines = re.findall(
        r"^\$ ((?:nrem|scripts/run) .+)$", (ROOT / "docs/upgrading.md").read_text(), re.MULTILINE
    )
    assert len(lines) >= 8
    for line in lines:
        for words in calls(line):
            parse(words)
