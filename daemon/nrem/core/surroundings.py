"""What doctor can say without opening the store: the machine, the home, the configuration."""

from __future__ import annotations

import os
import platform
import stat
from collections.abc import Iterator
from pathlib import Path

from nrem import __version__
from nrem.config import LONGEST_SOCKET
from nrem.errors import NremError
from nrem.model import Finding
from nrem.store import checks, driver

MIB = 1 << 20
LITTLE_SPACE = 1024 * MIB
NO_SPACE = 64 * MIB
FEW_INODES = 10_000
FEWEST_WATCHES = 8192
FEWEST_INSTANCES = 128
NETWORK = frozenset(
    ["nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "fuse.sshfs"]
)
"""File systems on which locks and shared memory are not what SQLite's WAL needs."""


def python() -> Finding:
    return Finding(
        id="NR001", level="ok", subject="versions", message=f"nrem {__version__}, {_interpreter()}"
    )


def _interpreter() -> str:
    return f"{platform.python_implementation()} {platform.python_version()} on {platform.system()}"


def sqlite(version: tuple[int, ...]) -> Finding:
    """Judge a version of SQLite by the range that has the WAL bug."""
    shown = ".".join(map(str, version))
    if (3, 7, 0) <= version < driver.OLDEST:
        return Finding(
            id="NR002",
            level="error",
            subject="SQLite",
            message=f"version {shown} can corrupt a store (a bug in its WAL, mended in 3.51.3)",
            hint="install the pysqlite3 package, or a Python with a newer SQLite",
        )
    return Finding(id="NR002", level="ok", subject="SQLite", message=f"version {shown}")


def extension() -> Finding:
    try:
        version = checks.vector_version()
    except NremError as error:
        return problem("NR003", "sqlite-vec", error)
    return Finding(id="NR003", level="ok", subject="sqlite-vec", message=f"version {version} can be loaded")


def has_home(home: Path) -> Finding:
    if not home.is_dir():
        return Finding(
            id="NR010",
            level="error",
            subject=str(home),
            message="there is no such directory",
            hint="nrem init makes it; or set NREM_HOME",
        )
    return Finding(id="NR010", level="ok", subject=str(home), message="the home is there")


def permissions(home: Path, socket: Path) -> Iterator[Finding]:
    """Look for what is another user's, or that others may read."""
    looked_at = [home, *sorted(home.glob("*"))]
    for name in ("tokens", "backups"):
        looked_at += sorted((home / name).glob("*"))
    if socket.exists() and socket not in looked_at:
        looked_at.append(socket)
    bad = [found for path in looked_at if (found := _permission(path)) is not None]
    yield from bad
    if not bad:
        yield Finding(id="NR011", level="ok", subject="permissions", message="only you can read the home")


def _permission(path: Path) -> Finding | None:
    try:
        state = path.lstat()
    except FileNotFoundError:  # SQLite's own files come and go
        return None
    if stat.S_ISLNK(state.st_mode):
        return None
    if state.st_uid != os.geteuid():
        return Finding(
            id="NR011",
            level="error",
            subject=str(path),
            message=f"belongs to user {state.st_uid}, and nrem runs as user {os.geteuid()}",
            hint=f"chown {os.geteuid()} {path}; or run nrem as its owner",
        )
    mode = stat.S_IMODE(state.st_mode)
    if mode & 0o077 == 0:
        return None
    wanted = 0o700 if stat.S_ISDIR(state.st_mode) else 0o600
    return Finding(
        id="NR011",
        level="warning",
        subject=str(path),
        message=f"others may use it (mode {mode:04o})",
        hint=f"chmod {wanted:o} {path}",
    )


def file_system(home: Path, mounts: str) -> Finding:
    """Judge the file system of a home by the text of /proc/mounts."""
    kind = mounted(home, mounts)
    if kind in NETWORK:
        return Finding(
            id="NR012",
            level="warning",
            subject="file system",
            message=f"the home is on {kind}, a network file system, where a store can be damaged",
            hint="move the home to a local disk and set NREM_HOME",
        )
    return Finding(id="NR012", level="ok", subject="file system", message=kind or "not known here")


def mounted(path: Path, mounts: str) -> str | None:
    """Return the type of the file system that a path is on; None when the text does not say."""
    best, kind = -1, None
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = Path(fields[1].encode().decode("unicode_escape"))  # a space in a name is \040
        if path.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), fields[2]
    return kind


def disk(free: int, total: int) -> Finding:
    """Judge how many bytes are free."""
    message = f"{free // MIB:,} MiB of {total // MIB:,} MiB are free"
    if free >= LITTLE_SPACE:
        return Finding(id="NR013", level="ok", subject="disk", message=message)
    return Finding(
        id="NR013",
        level="error" if free < NO_SPACE else "warning",
        subject="disk",
        message=message,
        hint="free some space: a full disk refuses every write; old backups may go",
    )


def inodes(free: int, total: int) -> Finding:
    """Judge how many files can still be made; 0 in total means that the file system does not count them."""
    if total == 0 or free >= FEW_INODES:
        return Finding(id="NR014", level="ok", subject="inodes", message=f"{free:,} are free")
    return Finding(
        id="NR014",
        level="warning",
        subject="inodes",
        message=f"only {free:,} are free",
        hint="delete files that are not needed: without inodes none can be made",
    )


def inotify(watches: int | None, instances: int | None) -> Finding:
    """Judge the limits of file watching; None stands for a system without inotify."""
    if watches is None or instances is None:
        return Finding(id="NR015", level="ok", subject="inotify", message="not on this system")
    message = f"{watches:,} watches, {instances:,} instances"
    if watches >= FEWEST_WATCHES and instances >= FEWEST_INSTANCES:
        return Finding(id="NR015", level="ok", subject="inotify", message=message)
    return Finding(
        id="NR015",
        level="warning",
        subject="inotify",
        message=f"{message}: changes of files may be seen late",
        hint=f"sysctl fs.inotify.max_user_watches={FEWEST_WATCHES}"
        f" fs.inotify.max_user_instances={FEWEST_INSTANCES}",
    )


def socket_path(socket: Path) -> Finding:
    length = len(os.fsencode(socket))
    if length <= LONGEST_SOCKET:
        return Finding(id="NR021", level="ok", subject="socket", message=str(socket))
    return Finding(
        id="NR021",
        level="error",
        subject="socket",
        message=f"its path has {length} bytes, more than the {LONGEST_SOCKET} that a socket may have",
        hint="set server.socket to a shorter path",
    )


def examine_home(home: Path) -> Iterator[Finding]:
    """Look at where a home is, with the figures of this machine."""
    yield file_system(home.resolve(), _read(Path("/proc/mounts")) or "")
    space = os.statvfs(home)
    yield disk(space.f_bavail * space.f_frsize, space.f_blocks * space.f_frsize)
    yield inodes(space.f_favail, space.f_files)
    limits = Path("/proc/sys/fs/inotify")
    yield inotify(_number(limits / "max_user_watches"), _number(limits / "max_user_instances"))


def problem(id: str, subject: str, error: NremError) -> Finding:
    """Return an error of ours as a finding."""
    return Finding(id=id, level="error", subject=subject, message=error.message, hint=error.hint)


def _read(file: Path) -> str | None:
    try:
        return file.read_text()
    except OSError:
        return None


def _number(file: Path) -> int | None:
    text = _read(file)
    return int(text) if text is not None and text.strip().isdigit() else None
