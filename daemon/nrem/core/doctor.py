"""Looks for what is wrong with the store and where it lives, changes nothing, and says what to do."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from nrem import __version__, client, config
from nrem.clock import Clock
from nrem.core import surroundings
from nrem.core.soundness import check_chain, check_rows
from nrem.core.surroundings import problem
from nrem.errors import ConfigError, Corrupt, NremError
from nrem.model import Finding, Level, iso
from nrem.models import embeddings
from nrem.models.embeddings import Embedder
from nrem.sections import Config
from nrem.store import backup, checks, driver, jobs, migrations, scopes, vectors
from nrem.store.driver import Connection
from nrem.store.lock import Lock

IDS = {
    "NR001": "versions",
    "NR002": "SQLite",
    "NR003": "sqlite-vec",
    "NR010": "home",
    "NR011": "permissions",
    "NR012": "file system",
    "NR013": "disk",
    "NR014": "inodes",
    "NR015": "inotify",
    "NR020": "configuration",
    "NR021": "socket",
    "NR022": "embedder",
    "NR030": "daemon",
    "NR031": "socket left behind",
    "NR040": "store",
    "NR041": "schema",
    "NR042": "file",
    "NR043": "references",
    "NR044": "events",
    "NR045": "memories",
    "NR046": "keyword index",
    "NR047": "vectors",
    "NR048": "clock",
    "NR049": "backups",
    "NR050": "jobs",
}
"""Every finding there is; docs/doctor.md explains each."""

RESTORE = "keep a copy of the home, then nrem backup restore NAME (nrem backup list shows the names)"
OLDEST_BACKUP = 7 * 86_400_000
FUTURE = 60_000
"""How many milliseconds ahead an event may be: clocks are set now and then."""


@dataclass(frozen=True, slots=True)
class _Patient:
    """A store that can be read, and what is needed to judge it."""

    db: Connection
    home: Path
    now: int
    embedder: str | None
    """The identity of the configured embedder; None when vectors are off or it is not known."""
    dimension: int | None
    """How many numbers it just gave; None when it gave none."""
    progress: Callable[[str], None]


def examine(
    home: Path,
    clock: Clock,
    *,
    deep: bool,
    embedder: Embedder | None = None,
    locked: bool = False,
    progress: Callable[[str], None] = lambda subject: None,
) -> Iterator[Finding]:
    """Yield what is found, in order; a check that cannot be made is itself a finding.

    `embedder` is the one that is loaded already, if any; `locked` says that this process has the store's
    lock; `progress` is told what is looked at when that takes long.
    """
    found = _examine(home, clock, deep, embedder, locked, progress)
    return (_printable(finding) for finding in found)


def examine_daemon(socket: Path) -> Iterator[Finding]:
    """Say whether the daemon is up, and whether it is this version; from outside of it."""
    if not client.is_up(socket):
        yield _finding("NR030", "ok", "it is not up; nrem up starts it")
        if socket.exists():
            hint = f"nrem up replaces it; or rm {socket}"
            yield _finding("NR031", "warning", f"{socket} is there, and nobody listens", hint)
        return
    try:
        with client.Client(socket) as speaking:
            version = speaking.health()["version"]
    except NremError as error:
        yield problem("NR030", IDS["NR030"], error)
        return
    if version == __version__:
        yield _finding("NR030", "ok", f"nrem {version} is up")
    else:
        message = f"nrem {version} is up, and this is nrem {__version__}"
        yield _finding("NR030", "warning", message, "nrem down, then nrem up")


def _examine(
    home: Path,
    clock: Clock,
    deep: bool,
    embedder: Embedder | None,
    locked: bool,
    progress: Callable[[str], None],
) -> Iterator[Finding]:
    yield surroundings.python()
    yield surroundings.sqlite(driver.VERSION)
    yield surroundings.extension()
    settings, findings = _configuration(home)
    yield from findings
    dimension = None
    if settings is not None:
        progress("the embedder")
        found, dimension = _embedder(settings, embedder)
        yield found
    yield (found := surroundings.has_home(home))
    if found.level == "error":
        return
    socket = home / "nrem.sock" if settings is None else config.socket(home)
    yield surroundings.socket_path(socket)
    yield from surroundings.permissions(home, socket)
    yield from surroundings.examine_home(home)
    try:
        lock = None if locked else Lock.take(home / "nrem.lock", clock)
    except NremError as error:
        yield problem("NR040", IDS["NR040"], error)
        return
    except OSError as error:
        yield _finding("NR040", "error", f"nrem.lock cannot be opened: {error.strerror}", "see NR011")
        return
    try:
        identity = embedder.identity if embedder is not None else _identity(settings)
        yield from _store(home, clock.now(), identity, dimension, deep, progress)
    finally:
        if lock is not None:
            lock.release()


def _configuration(home: Path) -> tuple[Config | None, list[Finding]]:
    try:
        resolved = config.load(home)
        embeddings.choose(resolved.config)
    except ConfigError as error:
        return None, [problem("NR020", IDS["NR020"], error)]
    hint = "nrem config show tells where each setting comes from"
    found = [_finding("NR020", "warning", warning, hint) for warning in resolved.warnings]
    return resolved.config, found or [_finding("NR020", "ok", "it is valid")]


def _identity(settings: Config | None) -> str | None:
    chosen = None if settings is None else embeddings.choose(settings)
    return None if chosen is None else chosen.identity


def _embedder(settings: Config, loaded: Embedder | None) -> tuple[Finding, int | None]:
    """Ask the embedder for one vector; one on a server is asked once, and not waited for long.

    Beside the finding, returns how many numbers the vector has.
    """
    probe = embeddings.choose(settings)
    if loaded is not None and not loaded.remote:
        probe = loaded
    if probe is None:
        return _finding("NR022", "ok", "vectors are off"), None
    try:
        dimension = embeddings.dimension_of(probe, embeddings.PROBE)
    except ConfigError as error:
        return problem("NR022", IDS["NR022"], error), None
    except NremError as error:
        message = f"{probe.identity}: {error.message}; until it answers, recall goes by words alone"
        return _finding("NR022", "warning", message, error.hint), None
    finally:
        if probe is not loaded:
            probe.close()
    return _finding("NR022", "ok", f"{probe.identity} answers, {dimension} dimensions"), dimension


# The store


def _store(
    home: Path,
    now: int,
    embedder: str | None,
    dimension: int | None,
    deep: bool,
    progress: Callable[[str], None],
) -> Iterator[Finding]:
    path = home / "nrem.db"
    if not path.exists():
        yield _finding("NR040", "error", "there is none", "nrem init makes it; nrem backup list")
        return
    try:
        with checks.inspecting(path) as db:
            yield _finding("NR040", "ok", f"{path.stat().st_size:,} bytes")
            patient = _Patient(db, home, now, embedder, dimension, progress)
            yield from _inside(patient, deep)
    except NremError as error:
        yield _damaged("NR040", error)


def _inside(patient: _Patient, deep: bool) -> Iterator[Finding]:
    db = patient.db
    patient.progress("the pages of the file")
    yield from _guarded("NR042", _pages(db, deep))
    schema = list(_guarded("NR041", _schema(db)))
    yield from schema
    if schema[-1].level != "ok":
        return
    yield from _guarded("NR043", _references(db))
    if deep:
        yield from _guarded("NR044", _events(patient))
        yield from _guarded("NR045", _memories(patient))
    yield from _guarded("NR046", _keyword_index(db))
    yield from _guarded("NR047", _vectors(patient))
    yield from _guarded("NR048", _clock(patient))
    yield from _guarded("NR049", _backups(patient))
    yield from _guarded("NR050", _jobs(db))


def _guarded(id: str, found: Iterator[Finding]) -> Iterator[Finding]:
    """Yield what a check finds; when the file keeps it from ending, that is found, and the next one runs."""
    try:
        yield from found
    except driver.Error as error:
        yield _damaged(id, driver.translate(error))
    except (AttributeError, KeyError, TypeError, ValueError) as error:  # what a changed byte can make
        yield _finding(id, "error", f"a value is not what it should be ({type(error).__name__})", RESTORE)


def _pages(db: Connection, deep: bool) -> Iterator[Finding]:
    problems = checks.pages(db, deep=deep)
    for message in problems:
        yield _finding("NR042", "error", message, RESTORE)
    if not problems:
        yield _finding("NR042", "ok", "its structure is whole")


def _schema(db: Connection) -> Iterator[Finding]:
    applied = backup.applied(db)
    try:
        migrations.refuse_newer(applied)
    except Corrupt as error:
        yield problem("NR041", IDS["NR041"], error)
        return
    if migrations.is_current(applied):
        yield _finding("NR041", "ok", applied[-1])
    else:
        yield _finding("NR041", "warning", "it is of an older nrem", "nrem up migrates it, after a backup")


def _references(db: Connection) -> Iterator[Finding]:
    tables = checks.foreign_keys(db)
    for table in tables:
        yield _finding("NR043", "error", f"{table} has rows whose parent is missing", RESTORE)
    if not tables:
        yield _finding("NR043", "ok", "every row has its parent")


def _events(patient: _Patient) -> Iterator[Finding]:
    checked, broken = 0, False
    for scope, _ in scopes.list_(patient.db):
        patient.progress(f"the events of {scope.name}")
        length, wrong = check_chain(patient.db, scope.number)
        checked += length
        if wrong is not None:
            broken = True
            yield _finding("NR044", "error", f"agent {scope.name}: {wrong}", RESTORE)
    if not broken:
        yield _finding("NR044", "ok", f"{checked:,} events, every chain unbroken")


def _memories(patient: _Patient) -> Iterator[Finding]:
    checked, broken = 0, False
    for scope, _ in scopes.list_(patient.db):
        patient.progress(f"the memories of {scope.name}")
        checked += checks.count(patient.db, scope.number)
        for wrong in check_rows(patient.db, scope.number):
            broken = True
            yield _finding("NR045", "error", f"agent {scope.name}: {wrong}", RESTORE)
    if not broken:
        yield _finding("NR045", "ok", f"{checked:,} memories, each as its event made it")


def _keyword_index(db: Connection) -> Iterator[Finding]:
    lacks, orphans = checks.indexed(db)
    if lacks or orphans:
        message = f"it lacks {lacks} memories, and has {orphans} entries without one"
        yield _finding("NR046", "error", message, "nrem down, then nrem up: the start builds it anew")
    else:
        yield _finding("NR046", "ok", "it has every memory once")


def _vectors(patient: _Patient) -> Iterator[Finding]:
    known = vectors.serving(patient.db)
    found = [] if known is None else list(_wrong_vectors(patient, known))
    if not found and patient.embedder is not None:
        found = list(_missing_vectors(patient.db))
    said = "there are none yet" if known is None else f"of {known.embedder}, {known.dimension} dimensions"
    yield from found or [_finding("NR047", "ok", said)]


def _wrong_vectors(patient: _Patient, known: vectors.Serving) -> Iterator[Finding]:
    db, configured = patient.db, patient.embedder
    anew = "nrem reembed makes them anew; or set the embedder back"
    if configured is not None and known.embedder != configured:
        if vectors.reembedding(db) == configured:
            message = f"those of {configured} are being made; until then {known.embedder} serves"
            yield _finding("NR047", "warning", message, "nrem reembed goes on with it")
        else:
            message = f"they are from {known.embedder}, the configured embedder is {configured}"
            yield _finding("NR047", "error", message, anew)
    elif configured is not None and patient.dimension not in (None, known.dimension):
        message = f"they have {known.dimension} dimensions, and {configured} now gives {patient.dimension}"
        yield _finding("NR047", "error", message, anew)
    odd = checks.odd_vectors(db, known.embedder, known.dimension)
    if odd:
        message = f"{odd} have not {known.dimension} dimensions"
        yield _finding("NR047", "error", message, "nrem reembed makes them anew")


def _missing_vectors(db: Connection) -> Iterator[Finding]:
    waiting, given_up = vectors.count_pending(db)
    if waiting:
        message = f"{waiting:,} memories wait for theirs, and are found by words alone"
        hint = "the daemon makes them by itself, 500 at a time; when it does not, see NR022"
        yield _finding("NR047", "warning", message, hint)
    if given_up:
        message = f"{given_up:,} memories have none: the embedder gave none three times"
        yield _finding("NR047", "warning", message, "words find them; nrem reembed tries again")


def _clock(patient: _Patient) -> Iterator[Finding]:
    newest = backup.contents(patient.db).newest_event
    if newest is not None and newest > patient.now + FUTURE:
        message = f"the newest event is of {iso(newest)}, and now it is {iso(patient.now)}"
        yield _finding("NR048", "warning", message, "set the machine's clock; date shows it")
    else:
        yield _finding("NR048", "ok", "no event is in the future")


def _backups(patient: _Patient) -> Iterator[Finding]:
    made = [known.made_at for known in backup.list_(patient.home / "backups")]
    since = max(made, default=None) or checks.first_event(patient.db) or patient.now
    said = f"the newest is of {iso(max(made))}" if made else "there is none yet"
    if patient.now - since > OLDEST_BACKUP:
        yield _finding("NR049", "warning", said, "nrem backup create; keep copies on another disk too")
    else:
        yield _finding("NR049", "ok", said)


def _jobs(db: Connection) -> Iterator[Finding]:
    dead = jobs.list_(db, state="dead", limit=5)
    for job in dead:
        message = f"{job.kind} of {job.agent} failed {job.attempts} times: {job.last_error}"
        yield _finding("NR050", "warning", message, f"mend the cause, then nrem jobs retry {job.id}")
    if not dead:
        yield _finding("NR050", "ok", "none failed for good")


def _finding(id: str, level: Level, message: str, hint: str | None = None) -> Finding:
    return Finding(id=id, level=level, subject=IDS[id], message=message, hint=hint)


def _damaged(id: str, error: NremError) -> Finding:
    return _finding(id, "error", error.message, error.hint or RESTORE)


def _printable(finding: Finding) -> Finding:
    """Return a finding that can be written out, also when it repeats what is not UTF-8 any more."""
    clean = {
        field.name: value.encode(errors="backslashreplace").decode()
        for field in dataclasses.fields(finding)
        if (value := getattr(finding, field.name)) is not None
    }
    return Finding(**clean)
