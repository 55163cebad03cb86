"""nrem service."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from nrem.errors import InputError
from nrem.surface.cli import service

Nrem = Callable[..., Result]
Answer = Callable[..., Any]
Refusal = Callable[..., dict[str, str]]


@pytest.fixture
def unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the unit of this user belongs."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "systemd" / "user" / "nrem.service"


@pytest.fixture
def common_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)


def test_install_writes_the_unit_and_says_what_is_next(nrem: Nrem, unit: Path, home: Path) -> None:
    assert nrem("service", "install", "--user").stdout.splitlines() == [
        f"Installed {unit}",
        "Next: systemctl --user daemon-reload",
        "Next: systemctl --user enable --now nrem",
        "Next: loginctl enable-linger",
    ]
    assert f'Environment="NREM_HOME={home}"\n' in unit.read_text()
    assert stat.S_IMODE(unit.stat().st_mode) == 0o644
    assert [file.name for file in unit.parent.iterdir()] == ["nrem.service"]


def test_install_makes_the_home_that_the_unit_may_write(nrem: Nrem, unit: Path, home: Path) -> None:
    nrem("service", "install", "--user")
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_the_unit_of_a_user_is_in_the_usual_folder(
    answer: Answer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    path = answer("service", "install", "--user")["path"]
    assert path == str(tmp_path / ".config/systemd/user/nrem.service")


def test_install_starts_a_command_that_there_is(nrem: Nrem, unit: Path) -> None:
    nrem("service", "install", "--user")
    [start] = [line for line in unit.read_text().splitlines() if line.startswith("ExecStart=")]
    command = Path(start.removeprefix('ExecStart="').removesuffix('" up'))
    assert command.is_absolute()
    assert os.access(command, os.X_OK)


def test_install_again_changes_nothing(nrem: Nrem, answer: Answer, unit: Path) -> None:
    assert answer("service", "install", "--user")["changed"] is True
    before = unit.stat()
    assert answer("service", "install", "--user") == {
        "path": str(unit),
        "changed": False,
        "next": [
            "systemctl --user daemon-reload",
            "systemctl --user enable --now nrem",
            "loginctl enable-linger",
        ],
    }
    assert nrem("service", "install", "--user").stdout.startswith(f"{unit} is as it should be.\n")
    assert (unit.stat().st_ino, unit.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_install_replaces_a_unit_of_another_version(answer: Answer, unit: Path) -> None:
    answer("service", "install", "--user")
    current = unit.read_text()
    unit.write_text(current.replace("WatchdogSec=30s", "WatchdogSec=1s"))
    assert answer("service", "install", "--user")["changed"] is True
    assert unit.read_text() == current


@pytest.mark.parametrize("action", ["install", "uninstall"])
def test_a_unit_of_someone_else_stays(refusal: Refusal, unit: Path, action: str) -> None:
    unit.parent.mkdir(parents=True)
    unit.write_bytes(b"[Service]\nExecStart=/bin/true\n# \xff\n")
    before = unit.read_bytes()
    assert refusal(5, "service", action, "--user")["code"] == "foreign_unit"
    assert unit.read_bytes() == before


@pytest.mark.parametrize("action", ["install", "uninstall"])
def test_a_unit_that_is_masked_stays(refusal: Refusal, unit: Path, action: str) -> None:
    unit.parent.mkdir(parents=True)
    unit.symlink_to("/dev/null")
    assert refusal(5, "service", action, "--user")["code"] == "foreign_unit"
    assert unit.is_symlink()


def test_force_replaces_what_is_there(nrem: Nrem, unit: Path) -> None:
    unit.parent.mkdir(parents=True)
    unit.symlink_to("/dev/null")
    nrem("service", "install", "--user", "--force")
    assert not unit.is_symlink()
    assert unit.read_text().startswith(service.MARK)


def test_uninstall_removes_the_unit_and_what_enabled_it(nrem: Nrem, unit: Path) -> None:
    nrem("service", "install", "--user")
    wants = unit.parent / "default.target.wants"
    wants.mkdir()
    (wants / "nrem.service").symlink_to(unit)
    (wants / "other.service").symlink_to("/dev/null")
    assert nrem("service", "uninstall", "--user").stdout.splitlines() == [
        f"Removed {unit}",
        "Next: systemctl --user stop nrem",
        "Next: systemctl --user daemon-reload",
    ]
    assert not unit.exists()
    assert [file.name for file in wants.iterdir()] == ["other.service"]


def test_uninstall_answers_in_json(answer: Answer, unit: Path) -> None:
    answer("service", "install", "--user")
    assert answer("service", "uninstall", "--user") == {
        "path": str(unit),
        "next": ["systemctl --user stop nrem", "systemctl --user daemon-reload"],
    }


def test_uninstall_force_removes_what_is_there(nrem: Nrem, unit: Path) -> None:
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\n")
    nrem("service", "uninstall", "--user", "--force")
    assert not unit.exists()


def test_uninstall_says_when_there_is_none(refusal: Refusal, unit: Path) -> None:
    assert refusal(4, "service", "uninstall", "--user")["code"] == "not_installed"


@pytest.mark.usefixtures("common_user")
@pytest.mark.parametrize("action", ["install", "uninstall"])
def test_a_service_of_the_machine_needs_root(refusal: Refusal, action: str) -> None:
    error = refusal(3, "service", action)
    assert error["code"] == "needs_root"
    assert "sudo " in error["hint"]
    assert "--user" in error["hint"]


def test_a_folder_that_cannot_be_written_is_named(
    refusal: Refusal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    assert str(tmp_path / "file") in refusal(3, "service", "install", "--user")["message"]


@pytest.mark.parametrize("folder", service.HIDDEN)
def test_a_command_that_the_system_service_would_not_see_is_refused(folder: str) -> None:
    with pytest.raises(InputError, match="does not see"):
        service.check_visible([Path("/usr"), Path("/", folder, "bin/nrem")])


def test_a_command_that_it_sees_is_not() -> None:
    service.check_visible([Path("/usr/local/bin/nrem"), Path("/opt/nrem"), Path("/homes/nrem")])
