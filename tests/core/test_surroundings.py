"""What doctor says of the machine and the home."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from nrem import __version__
from nrem.core import surroundings
from nrem.model import Finding

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/export /mnt/share nfs4 rw 0 0
/dev/sdb1 /mnt/share/local xfs rw 0 0
//host/c /mnt/with\\040space cifs rw 0 0
host /mnt/vm 9p rw 0 0
tmpfs /mnt/vm tmpfs rw 0 0
nonsense
"""


def permissions(home: Path) -> list[Finding]:
    return list(surroundings.permissions(home, home / "nrem.sock"))


def test_it_names_the_versions() -> None:
    assert f"nrem {__version__}" in surroundings.python().message


@pytest.mark.parametrize(
    ("version", "level"),
    [
        ((3, 6, 23), "ok"),
        ((3, 7, 0), "error"),
        ((3, 40, 1), "error"),
        ((3, 51, 2), "error"),
        ((3, 51, 3), "ok"),
        ((4, 0, 0), "ok"),
    ],
)
def test_the_versions_of_sqlite_with_the_wal_bug_are_errors(version: tuple[int, ...], level: str) -> None:
    found = surroundings.sqlite(version)
    assert (found.id, found.level) == ("NR002", level)
    assert ".".join(map(str, version)) in found.message


def test_the_extension_can_be_loaded_here() -> None:
    assert (surroundings.extension().id, surroundings.extension().level) == ("NR003", "ok")


def test_an_extension_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = surroundings.extension()
    assert (found.level, found.message) == ("error", "sqlite-vec is not installed")
    assert found.hint


def test_a_home_that_is_not_there_is_an_error(home: Path) -> None:
    assert surroundings.has_home(home).level == "error"
    home.mkdir()
    assert surroundings.has_home(home).level == "ok"


@pytest.mark.parametrize("name", [".", "nrem.db", "tokens", "tokens/ana", "backups/nrem-x.db", "nrem.sock"])
def test_what_others_may_use_is_named(home: Path, name: str) -> None:
    home.mkdir(mode=0o700)
    for folder in ("tokens", "backups"):
        (home / folder).mkdir(mode=0o700)
    for file in ("nrem.db", "tokens/ana", "backups/nrem-x.db"):
        (home / file).touch(mode=0o600)
    with socket.socket(socket.AF_UNIX) as listener:
        before = os.umask(0o177)
        listener.bind(str(home / "nrem.sock"))
        os.umask(before)
    assert [(found.id, found.level) for found in permissions(home)] == [("NR011", "ok")]
    path = (home / name).resolve()
    wanted = path.stat().st_mode & 0o777
    path.chmod(0o755)
    [found] = permissions(home)
    assert (found.level, found.subject, found.hint) == ("warning", str(path), f"chmod {wanted:o} {path}")
    path.chmod(wanted)
    assert [found.level for found in permissions(home)] == ["ok"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_what_belongs_to_another_user_is_an_error(home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "nrem.db").touch(mode=0o600)
    os.chown(home / "nrem.db", 12345, -1)
    [found] = permissions(home)
    assert (found.level, found.subject) == ("error", str(home / "nrem.db"))
    assert "12345" in found.message


def test_a_socket_elsewhere_is_looked_at_too(home: Path, tmp_path: Path) -> None:
    home.mkdir(mode=0o700)
    elsewhere = tmp_path / "x.sock"
    elsewhere.touch(mode=0o666)
    elsewhere.chmod(0o666)
    [found] = surroundings.permissions(home, elsewhere)
    assert found.subject == str(elsewhere)


@pytest.mark.parametrize(
    ("path", "kind", "level"),
    [
        ("/var/lib/nrem", "ext4", "ok"),
        ("/mnt/share/nrem", "nfs4", "warning"),
        ("/mnt/share/local/nrem", "xfs", "ok"),
        ("/mnt/shared", "ext4", "ok"),
        ("/mnt/with space/nrem", "cifs", "warning"),
        ("/mnt/vm/nrem", "tmpfs", "ok"),  # the last one mounted at a place is what is seen there
    ],
)
def test_a_network_file_system_is_warned_of(path: str, kind: str, level: str) -> None:
    found = surroundings.file_system(Path(path), MOUNTS)
    assert (found.id, found.level) == ("NR012", level)
    assert kind in found.message


def test_where_the_mounts_are_not_known_nothing_is_said() -> None:
    assert surroundings.file_system(Path("/var/lib"), "").level == "ok"


@pytest.mark.parametrize(
    ("free", "level"), [(0, "error"), (63 << 20, "error"), (100 << 20, "warning"), (2 << 30, "ok")]
)
def test_little_space_is_warned_of_and_none_is_an_error(free: int, level: str) -> None:
    found = surroundings.disk(free, 10 << 30)
    assert (found.id, found.level, found.hint is None) == ("NR013", level, level == "ok")


@pytest.mark.parametrize(
    ("free", "total", "level"), [(0, 0, "ok"), (10, 100, "warning"), (10**6, 10**7, "ok")]
)
def test_few_inodes_are_warned_of(free: int, total: int, level: str) -> None:
    assert (surroundings.inodes(free, total).id, surroundings.inodes(free, total).level) == ("NR014", level)


@pytest.mark.parametrize(
    ("watches", "instances", "level"),
    [(None, None, "ok"), (8192, 128, "ok"), (100, 128, "warning"), (100_000, 8, "warning")],
)
def test_low_limits_of_inotify_are_warned_of(watches: int | None, instances: int | None, level: str) -> None:
    found = surroundings.inotify(watches, instances)
    assert (found.id, found.level, found.hint is None) == ("NR015", level, level == "ok")


def test_a_path_that_is_too_long_for_a_socket_is_an_error() -> None:
    assert surroundings.socket_path(Path("/run/nrem.sock")).level == "ok"
    found = surroundings.socket_path(Path("/" + "a" * 120))
    assert (found.id, found.level) == ("NR021", "error")
    assert "server.socket" in (found.hint or "")


def test_this_machine_can_be_examined(tmp_path: Path) -> None:
    found = list(surroundings.examine_home(tmp_path))
    assert [finding.id for finding in found] == ["NR012", "NR013", "NR014", "NR015"]
