"""Copies of the store's file: made while it is written to, checked, and put in its place.

A copy is read inside one snapshot. Without it SQLite begins again at every write of another connection, and
under load never ends. The steps are small and have pauses, so that the writer keeps its pace.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

from pydantic import TypeAdapter, ValidationError

from nrem import __version__
from nrem.clock import Clock
from nrem.errors import Conflict, Corrupt, Unavailable
from nrem.model import AgentContents, Backup, Contents, Origin, iso
from nrem.store import driver
from nrem.store.driver import Connection

STEP_PAGES = 128
STEPS_TO_SYNC = 4
PAUSE_SECONDS = 0.005
ORIGINS: tuple[Origin, ...] = get_args(Origin)

_one_at_a_time = threading.Lock()
_manifest = TypeAdapter(Backup)


def create(path: Path, clock: Clock, *, origin: Origin, pause: float = 0.0) -> Backup:
    """Copy the store into its folder of backups and check the copy; `pause` is slept between steps.

    Only whoever has the store's lock may call it.
    """
    with _begun(path, clock, origin) as (file, unfinished, made_at):
        held = _copy(path, unfinished, pause)
        return _finish(file, unfinished, held, origin, made_at)


def keep(path: Path, clock: Clock) -> Backup:
    """Make a backup of a store that is to be replaced and that nobody has open.

    SQLite sees only a copy: opening a damaged file can change it. One that cannot be read is kept as it is,
    its WAL included, and without a manifest.
    """
    with _begun(path, clock, "before-restore") as (file, unfinished, made_at):
        _copy_files(path, unfinished)
        try:
            db = driver.connect(unfinished, read_only=False)
            try:
                held = contents(db)
            finally:
                db.close()  # which also folds the WAL into it
            return _finish(file, unfinished, held, "before-restore", made_at)
        except (driver.Error, Corrupt):
            remove(unfinished)
        _copy_files(path, file)
        for copy in (file, file.with_name(file.name + "-wal"), file.parent):
            if copy.exists():
                sync(copy)
        return _read_manifest(file)


def keep_as(path: Path, target: Path) -> Contents | None:
    """Copy a store that nobody has open, and return what it holds: None when it cannot be read.

    A copy that can be read has the WAL in it; another one is as the files were, its WAL beside it.
    """
    _copy_files(path, target)
    try:
        db = driver.connect(target, read_only=False)
        try:
            held = contents(db)
            check_pages(db)
        finally:
            db.close()
    except (driver.Error, Corrupt):
        remove(target)
        _copy_files(path, target)
        held = None
    for copy in (target, target.with_name(target.name + "-wal"), target.parent):
        if copy.exists():
            sync(copy)
    return held


def list_(folder: Path) -> list[Backup]:
    """Return the backups in a folder, newest first."""
    found = [_read_manifest(file) for file in folder.glob("nrem-*.db")]
    return sorted(found, key=lambda backup: (backup.made_at, backup.name), reverse=True)


def contents(db: Connection) -> Contents:
    """Return what a store holds."""
    schema = applied(db)
    if not schema:  # its very first start was cut short
        return Contents(schema=(), agents=(), newest_event=None)
    rows = db.execute(
        "select s.scope, s.name, e.seq, e.chain, e.at,"
        " (select count(*) from memories m where m.scope = s.scope) as memories"
        " from scopes s join events e on e.scope = s.scope"
        " and e.seq = (select max(seq) from events l where l.scope = s.scope)"
        " where s.removed_at is null order by s.scope"
    ).fetchall()
    return Contents(
        schema=schema,
        agents=tuple(
            AgentContents(
                scope=row["scope"],
                agent=row["name"],
                memories=row["memories"],
                events=row["seq"],
                chain=row["chain"].hex(),
            )
            for row in rows
        ),
        newest_event=max((row["at"] for row in rows), default=None),
    )


def applied(db: Connection) -> tuple[str, ...]:
    """Return the steps of the schema that a store has, in order."""
    if db.execute("select 1 from sqlite_master where name = '_sqlite_migrations'").fetchone() is None:
        return ()
    rows = db.execute("select name from _sqlite_migrations where migration_set = 'nrem' order by id")
    return tuple(row[0] for row in rows)


@contextmanager
def opened(file: Path) -> Iterator[Connection]:
    """Lend a connection to a copy that nobody writes to; leaves no file beside it."""
    try:
        db = driver.connect_copy(file)
        try:
            yield db
        finally:
            db.close()
    except driver.Error as error:
        raise driver.translate(error) from error


def check_pages(db: Connection) -> None:
    """Raise Corrupt unless the structure of a file is whole."""
    problem = db.execute("pragma quick_check(1)").fetchone()[0]
    if problem != "ok":
        raise Corrupt(f"the copy is damaged: {problem}", hint="nrem doctor --deep", code="backup_damaged")


# Putting a backup in the store's place


def fetch(backup: Path, expected: str | None, target: Path) -> None:
    """Copy a backup to where it is checked and migrated; raise Corrupt when it is not what was made."""
    remove(target)
    shutil.copyfile(backup, target)
    target.chmod(0o600)
    if expected is not None and _digest(target) != expected:
        raise Corrupt(
            f"{backup.name} has changed since it was made",
            hint="choose another one: nrem backup list",
            code="backup_damaged",
        )


def put_in_place(new: Path, path: Path) -> None:
    """Let a closed file be the store. What the old one's WAL held must be kept elsewhere by now."""
    sync(new)
    for suffix in ("-wal", "-shm"):  # first: the new file must never meet the old WAL
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    sync(path.parent)
    os.replace(new, path)
    sync(path.parent)


def remove(path: Path) -> None:
    """Delete a database file with those beside it."""
    for suffix in ("-wal", "-shm", ""):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Make a file, or the names in a folder, durable."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def failed(error: OSError) -> Unavailable:
    """Return the error of ours for a file that could not be read or written."""
    return Unavailable(
        f"the backup failed: {error.strerror}",
        hint="check the disk and the permissions of NREM_HOME",
        code="storage_failed",
    )


@contextmanager
def kept_away(folder: Path) -> Iterator[None]:
    """Let no backup be made meanwhile, and leave none half made; raise Conflict while one is being made."""
    if not _one_at_a_time.acquire(blocking=False):
        raise Conflict("a backup is being made", hint="wait until it is there", code="backup_running")
    try:
        for left_behind in folder.glob("*.partial*"):
            left_behind.unlink()
        yield
    finally:
        _one_at_a_time.release()


@contextmanager
def _begun(path: Path, clock: Clock, origin: Origin) -> Iterator[tuple[Path, Path, int]]:
    """Lend the name of a new backup, that of its unfinished file, and the time; leave nothing half done."""
    if not _one_at_a_time.acquire(blocking=False):
        raise Conflict("a backup is being made", hint="wait until it is there", code="backup_running")
    try:
        folder = path.with_name("backups")
        folder.mkdir(mode=0o700, exist_ok=True)
        for left_behind in folder.glob("*.partial*"):
            left_behind.unlink()
        now = clock.now()
        file = _free(folder, now, origin)
        unfinished = file.with_suffix(".partial")
        try:
            yield file, unfinished, now
        finally:
            remove(unfinished)
    except driver.Error as error:
        raise driver.translate(error) from error
    except OSError as error:
        raise failed(error) from error
    finally:
        _one_at_a_time.release()


def _finish(file: Path, unfinished: Path, held: Contents, origin: Origin, made_at: int) -> Backup:
    """Check a copy, give it its name, and write down what it holds."""
    _check(unfinished, held)
    sync(unfinished)
    backup = Backup(
        name=file.name,
        origin=origin,
        made_at=made_at,
        size=unfinished.stat().st_size,
        version=__version__,
        sha256=_digest(unfinished),
        contents=held,
    )
    unfinished.rename(file)
    sync(file.parent)
    _write_manifest(file, backup)
    return backup


def _copy_files(path: Path, target: Path) -> None:
    """Copy a closed database file, and the WAL that a killed process left beside it."""
    for suffix in ("-wal", ""):
        source, copy = path.with_name(path.name + suffix), target.with_name(target.name + suffix)
        if source.exists():
            shutil.copyfile(source, copy)
            copy.chmod(0o600)


def _free(folder: Path, now: int, origin: Origin) -> Path:
    """Return a file that is not there yet, named by the second and why it is made."""
    stamp = iso(now // 1000 * 1000)[:19].replace(":", "").replace("-", "")
    behind = "" if origin == "manual" else f"-{origin}"
    file, number = folder / f"nrem-{stamp}{behind}.db", 1
    while file.exists():
        number += 1
        file = folder / f"nrem-{stamp}-{number}{behind}.db"
    return file


def _copy(path: Path, unfinished: Path, pause: float) -> Contents:
    """Copy one snapshot of a store; return what it holds."""
    fd = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        source = driver.connect(path, read_only=True)
        try:
            source.execute("begin")
            held = contents(source)  # this read fixes the snapshot
            target = driver.sqlite3.connect(str(unfinished))
            try:
                target.execute("pragma synchronous = off")  # made durable here, a little at a time
                steps = 0

                def rest(status: int, remaining: int, total: int) -> None:
                    nonlocal steps
                    steps += 1
                    if steps % STEPS_TO_SYNC == 0:
                        os.fsync(fd)
                    if remaining:
                        time.sleep(pause)

                source.backup(target, pages=STEP_PAGES, progress=rest)
            finally:
                target.close()
        finally:
            source.close()
        return held
    finally:
        os.close(fd)


def _check(copy: Path, expected: Contents) -> None:
    with opened(copy) as db:
        check_pages(db)
        if contents(db) != expected:
            raise Corrupt(
                "the copy does not hold what the store held", hint="nrem doctor --deep", code="backup_damaged"
            )


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _write_manifest(file: Path, backup: Backup) -> None:
    unfinished = file.with_suffix(".json.partial")
    fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as stream:
        stream.write(json.dumps(dataclasses.asdict(backup), indent=2).encode() + b"\n")
        stream.flush()
        os.fsync(fd)
    unfinished.rename(file.with_suffix(".json"))
    sync(file.parent)


def _read_manifest(file: Path) -> Backup:
    """Return what a backup's manifest says; without one, what can be seen from outside."""
    try:
        known = _manifest.validate_json(file.with_suffix(".json").read_bytes())
        return dataclasses.replace(known, name=file.name)
    except (FileNotFoundError, ValidationError):
        state = file.stat()
        origin: Origin = next((word for word in ORIGINS if file.stem.endswith(word)), "manual")
        return Backup(
            name=file.name, origin=origin, made_at=state.st_mtime_ns // 1_000_000, size=state.st_size
        )
