"""nrem service install, uninstall: the daemon as a service of systemd."""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from nrem import config
from nrem.errors import Conflict, Denied, InputError, NotFound
from nrem.runtime import shipped
from nrem.surface.cli.shared import Command, Group, json_option, show_json

UNIT = "nrem.service"
MARK = "# Installed by nrem"
"""How a unit begins that nrem may replace or remove."""
SYSTEM_UNITS = Path("/etc/systemd/system")
HIDDEN = ("home", "root", "run/user", "tmp", "var/tmp")
"""What the system service does not see of the machine, because of ProtectHome and PrivateTmp."""

user_option = click.option("--user", is_flag=True, help="A service of your own, not of the whole machine.")


@click.group("service", cls=Group)
def service_command() -> None:
    """Run the daemon as a service of systemd."""


@service_command.command("install", cls=Command)
@user_option
@click.option("-f", "--force", is_flag=True, help="Replace a unit that nrem did not write.")
@json_option
def install(user: bool, force: bool, as_json: bool) -> None:
    """Write the unit of systemd, and say how to start it."""
    path = _folder(user, "install") / UNIT
    command = _command()
    home = config.home() if user else None
    if home is None:
        check_visible([command, Path(sys.prefix), Path(sys.base_prefix), shipped.PACKAGE])
    unit = render(command, home)
    changed = not path.is_file() or path.read_bytes() != unit.encode()
    with _changing():
        if changed:
            _check_ours(path, "replace", force=force)
            _write(path, unit)
        if home is not None:
            home.mkdir(parents=True, mode=0o700, exist_ok=True)  # systemd does not make what a unit may write
    systemctl = "systemctl --user" if user else "systemctl"
    follow = [f"{systemctl} daemon-reload", f"{systemctl} enable --now nrem"]
    if user:
        follow.append("loginctl enable-linger")
    if as_json:
        show_json({"path": str(path), "changed": changed, "next": follow})
        return
    click.echo(f"Installed {path}" if changed else f"{path} is as it should be.")
    _show_next(follow)


@service_command.command("uninstall", cls=Command)
@user_option
@click.option("-f", "--force", is_flag=True, help="Remove a unit that nrem did not write.")
@json_option
def uninstall(user: bool, force: bool, as_json: bool) -> None:
    """Remove the unit of systemd. Memories stay where they are."""
    path = _folder(user, "uninstall") / UNIT
    if not os.path.lexists(path):
        raise NotFound(f"there is no {path}", code="not_installed")
    _check_ours(path, "remove", force=force)
    with _changing():
        for target in path.parent.glob("*.target.wants"):
            (target / UNIT).unlink(missing_ok=True)
        path.unlink()
    systemctl = "systemctl --user" if user else "systemctl"
    follow = [f"{systemctl} stop nrem", f"{systemctl} daemon-reload"]
    if as_json:
        show_json({"path": str(path), "next": follow})
        return
    click.echo(f"Removed {path}")
    _show_next(follow)


def render(command: Path, home: Path | None) -> str:
    """Return the text of the unit that starts this command: for the owner of a home, else the machine's."""
    shape = shipped.folder("systemd") / ("nrem.service" if home is None else "nrem-user.service")
    unit = shape.read_text().replace("@NREM@", _quoted(str(command)))
    if home is None:
        return unit
    unit = unit.replace("NREM_HOME=@HOME@", _quoted(f"NREM_HOME={home}"))
    return unit.replace("@HOME@", _quoted(str(home)))


def check_visible(needed: list[Path]) -> None:
    """Refuse to install what the system service would not find when it starts."""
    for path in needed:
        for hidden in HIDDEN:
            if path.resolve().is_relative_to(Path("/", hidden)):
                raise InputError(
                    f"a service of the machine does not see {path}: it is kept from /{hidden}",
                    hint="install nrem elsewhere, such as with pipx install --global, or add --user",
                    code="hidden_command",
                )


def _quoted(word: str) -> str:
    """A word as units have it; systemd would read spaces, quotes and percent signs as its own."""
    for sign, escaped in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%")):
        word = word.replace(sign, escaped)
    return f'"{word}"'


def _folder(user: bool, action: str) -> Path:
    """Where systemd looks for units."""
    if user:
        return config.user_settings() / "systemd" / "user"
    if os.geteuid() != 0:
        raise Denied(
            f"only root may {action} a service of the machine",
            hint=f"sudo {_command()} service {action}, or add --user for a service of your own",
            code="needs_root",
        )
    return SYSTEM_UNITS


def _command() -> Path:
    """The nrem command that runs now, else the one beside this Python."""
    called = Path(sys.argv[0]).absolute()
    command = called if called.name == "nrem" else Path(sysconfig.get_path("scripts"), "nrem")
    if not os.access(command, os.X_OK):
        raise NotFound(f"there is no command {command}", hint="install nrem with pip or pipx")
    return command


def _check_ours(path: Path, action: str, *, force: bool) -> None:
    """Refuse to touch a unit that someone else wrote, or a link that masks it."""
    if force or not os.path.lexists(path):
        return
    if path.is_symlink() or not path.read_bytes().startswith(MARK.encode()):
        raise Conflict(
            f"{path} is not of nrem's making",
            hint=f"look at it; --force will {action} it all the same",
            code="foreign_unit",
        )


@contextmanager
def _changing() -> Iterator[None]:
    """Files are changed inside; say which one cannot be."""
    try:
        yield
    except OSError as error:
        raise Denied(
            f"{error.filename} cannot be changed: {error.strerror}", hint="look at its permissions"
        ) from error


def _write(path: Path, text: str) -> None:
    """Write a file that all may read, as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fd, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(fd, "w", encoding="utf-8") as file:
            file.write(text)
            os.fchmod(fd, 0o644)
        os.replace(unfinished, path)
    except BaseException:
        os.unlink(unfinished)
        raise


def _show_next(commands: list[str]) -> None:
    for command in commands:
        click.echo(f"Next: {command}")
