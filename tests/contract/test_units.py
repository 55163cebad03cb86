"""The units of systemd, in the form in which they are installed, as systemd itself sees them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from nrem.surface.cli.service import MARK, render

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed"
)


@pytest.fixture(params=["nrem", "a strange %n name"])
def command(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A program that there is: systemd looks whether it can be started."""
    file: Path = tmp_path / request.param
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


def analyze(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    # A user's manager needs a place for its sockets.
    environment = os.environ | {"XDG_RUNTIME_DIR": str(tmp_path), "SYSTEMD_COLORS": "0", "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        ["systemd-analyze", *words], capture_output=True, text=True, env=environment, check=False, timeout=60
    )


def installed(tmp_path: Path, unit: str) -> str:
    file = tmp_path / "nrem.service"
    file.write_text(unit)
    return str(file)


def settings(unit: str) -> list[str]:
    return [line for line in unit.splitlines() if line and not line.startswith("#")]


@needs_systemd
@pytest.mark.parametrize("owner", ["--system", "--user"])
def test_systemd_has_nothing_to_say_about_a_unit(tmp_path: Path, command: Path, owner: str) -> None:
    home = tmp_path / "home of %n" if owner == "--user" else None
    result = analyze(tmp_path, "verify", owner, installed(tmp_path, render(command, home)))
    # It only prints a key that it does not know, and ends well all the same.
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@needs_systemd
def test_a_key_that_is_misspelt_would_be_found(tmp_path: Path, command: Path) -> None:
    wrong = render(command, None).replace("ProtectHome=", "ProtectHouse=")
    assert "ProtectHouse" in analyze(tmp_path, "verify", installed(tmp_path, wrong)).stderr


@needs_systemd
def test_the_exposure_of_the_system_unit_is_at_most_1_1(tmp_path: Path, command: Path) -> None:
    unit = installed(tmp_path, render(command, None))
    result = analyze(tmp_path, "security", "--offline=yes", "--threshold=11", "--no-pager", unit)
    assert result.returncode == 0, result.stdout


def test_a_unit_starts_the_command_by_its_full_path() -> None:
    for home in (None, Path("/srv/memory of ana")):
        unit = render(Path("/opt/nrem/bin/nrem"), home)
        assert 'ExecStart="/opt/nrem/bin/nrem" up' in settings(unit)
        assert unit.startswith(MARK)
        assert "@" not in "".join(line for line in settings(unit) if not line.startswith("SystemCallFilter="))


def test_the_user_unit_has_the_home_and_writes_nothing_else() -> None:
    lines = settings(render(Path("/opt/nrem/bin/nrem"), Path("/srv/memory of 100%")))
    assert 'Environment="NREM_HOME=/srv/memory of 100%%"' in lines
    assert 'ReadWritePaths="/srv/memory of 100%%"' in lines
    # Without this one, systemd ignores the two below in a user's unit.
    assert {"PrivateUsers=yes", "ProtectSystem=strict", "ProtectHome=read-only"} <= set(lines)


def test_the_system_unit_keeps_its_state_where_systemd_says() -> None:
    lines = settings(render(Path("/opt/nrem/bin/nrem"), None))
    assert {"DynamicUser=yes", "StateDirectory=nrem", "StateDirectoryMode=0700"} <= set(lines)
    assert not any("NREM_HOME" in line for line in lines)
