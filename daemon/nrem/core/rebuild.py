"""Make the store anew from the workspaces: from what their branches have, not from what lies in the folders.

The new store is built and checked beside the old one; until it is put in place nothing has changed. What git
does not have is not in it: tokens, vectors, sweeps, and what was not published of recalls and events.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from nrem import config, wire
from nrem.clock import Clock
from nrem.core import incoming
from nrem.core.incoming import Incoming
from nrem.core.soundness import check_chain, check_index, check_rows
from nrem.errors import Corrupt, NotFound, NremError
from nrem.model import AgentContents, Contents, Lost, Rebuilt, RebuiltAgent
from nrem.sections import Config
from nrem.store import backup, commits, driver, migrations, replay
from nrem.store.driver import Connection
from nrem.store.lock import Lock
from nrem.workspace.repository import Repository

KEPT = "nrem.db.before-rebuild"
T = TypeVar("T")


class Progress:
    """Told what is worked on; `total` and `done` are events and memories to be stored."""

    def __init__(
        self,
        tell: Callable[[str, int, int], None] = lambda subject, done, total: None,
        *,
        hide: Callable[[], None] = lambda: None,
    ) -> None:
        self._tell = tell
        self.hide = hide
        self.subject, self.done, self.total = "", 0, 0

    def begin(self, subject: str, total: int = 0) -> None:
        self.subject, self.done, self.total = subject, 0, total
        self._tell(subject, 0, total)

    def advance(self, number: int) -> None:
        self.done += number
        self._tell(self.subject, self.done, self.total)


class Prepared:
    """A new store beside the old one, checked; `put_in_place` makes it the store."""

    def __init__(self, path: Path, new: Path, kept: Path | None, rebuilt: Rebuilt) -> None:
        self.rebuilt = rebuilt
        self.is_in_place = False
        self._path, self._new, self._kept = path, new, kept

    def put_in_place(self) -> None:
        """Let the new store take the old one's place, atomically; the copy of the old one is durable."""
        backup.put_in_place(self._new, self._path)
        self.is_in_place = True


@contextmanager
def prepared(
    home: Path, *, without: Collection[str] = (), clock: Clock, progress: Progress | None = None
) -> Iterator[Prepared]:
    """Build a store from a home's workspaces while no process has the store, and lend it.

    What is not put in place is gone afterwards. Raises Corrupt naming the place when a workspace is damaged,
    and NotFound for an agent in `without` that has none.
    """
    path, new = home / "nrem.db", home / "nrem.db.rebuilding"
    settings = config.load(home).config
    if not home.is_dir():
        raise NotFound(f"there is no home {home}", hint="set NREM_HOME", code="no_home")
    lock = Lock.take(home / "nrem.lock", clock)
    kept = _free(home) if path.exists() else None
    made: Prepared | None = None
    try:
        backup.remove(new)
        progress = progress or Progress()
        agents, bare = _build(home, new, settings, without, clock, progress)
        progress.begin("the store before")
        old = backup.keep_as(path, kept) if kept is not None else None
        left = _compare(old, kept, agents)
        known = {agent.agent for agent in old.agents} if old is not None else set()
        named = {agent.agent for agent in agents} | set(without)
        made = Prepared(
            path,
            new,
            kept,
            Rebuilt(
                agents=agents,
                without_git=tuple(sorted(bare)),
                without_workspace=tuple(sorted(known - named - set(bare))),
                left_out=tuple(sorted(without)),
                lost=left if kept is not None else (),
                kept=kept.name if kept is not None else None,
            ),
        )
        yield made
    except OSError as error:
        raise backup.failed(error) from error
    except driver.Error as error:
        raise driver.translate(error) from error
    finally:
        backup.remove(new)
        if kept is not None and not (made is not None and made.is_in_place):
            backup.remove(kept)
        lock.release()


class _New:
    """The new store while it is filled: one connection, and a transaction for each agent."""

    def __init__(self, db: Connection) -> None:
        self._db = db

    def write(self, run: Callable[[Connection], T]) -> T:
        return run(self._db)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        yield self._db


def _build(
    home: Path, new: Path, settings: Config, without: Collection[str], clock: Clock, progress: Progress
) -> tuple[tuple[RebuiltAgent, ...], list[str]]:
    """Fill a new file from every workspace; return its agents, and the names of those without a commit."""
    names = _names(home / "workspaces")
    for name in without:
        if name not in names:
            raise NotFound(f"there is no workspace of {name}", hint="leave out --without", field="without")
    migrations.migrate(new, clock)
    db = driver.connect(new, read_only=False)
    agents, bare = [], []
    try:
        for name in names:
            if name in without:
                continue
            progress.begin(f"the workspace of {name}")
            try:
                repository = Repository.open(home / "workspaces" / name)
            except NotFound:
                bare.append(name)
                continue
            with repository:
                try:
                    found = incoming.read(repository, name)
                except NotFound:
                    bare.append(name)
                    continue
                except NremError as error:
                    raise _leave_out(error, name) from error
                agents.append(_fill(db, repository, name, found, settings, progress))
    finally:
        db.close()
    return tuple(agents), bare


def _fill(
    db: Connection, repository: Repository, name: str, found: Incoming, settings: Config, progress: Progress
) -> RebuiltAgent:
    progress.begin(name, found.weight)
    db.execute("begin immediate")
    scope = incoming.store(_New(db), repository, name, found, settings, progress.advance)
    replay.finish(db, scope.number)
    db.execute("commit")
    _, broken = check_chain(db, scope.number)
    wrong = [broken] if broken else [*check_rows(db, scope.number), *check_index(db, scope.number)]
    if wrong:
        raise Corrupt(f"what was rebuilt of {name} is not what git has: {wrong[0]}", code="rebuild_failed")
    last = found.events[-1]
    return RebuiltAgent(
        agent=name,
        memories=len(found.history.records),
        events=last.seq,
        chain=last.chain.hex(),
        commit=found.head,
    )


def _names(folder: Path) -> list[str]:
    """Return the folders that are an agent's; what a crash left has a name that no agent can have."""
    there = sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    return [name for name in there if wire.is_agent_name(name)]


def _leave_out(error: NremError, name: str) -> NremError:
    return type(error)(
        error.message,
        hint=f"bring it back from a clone of it, or leave this agent out: --without {name}",
        code=error.code,
        details=error.details,
    )


def _free(home: Path) -> Path:
    """Return where the old store is to be kept, which is nowhere that one is kept already."""
    file, number = home / KEPT, 1
    while file.exists():
        number += 1
        file = home / f"{KEPT}-{number}"
    return file


def _compare(
    old: Contents | None, kept: Path | None, agents: Collection[RebuiltAgent]
) -> tuple[Lost, ...] | None:
    """Return which events of the old store git has not; None when it cannot be read."""
    if old is None or kept is None:
        return None
    new = {agent.agent: agent for agent in agents}
    with backup.opened(kept) as db:
        behind = [Lost(agent=was.agent, events=_missing(db, was, new.get(was.agent))) for was in old.agents]
    return tuple(lost for lost in behind if lost.events > 0)


def _missing(db: Connection, was: AgentContents, now: RebuiltAgent | None) -> int:
    """Return how many events an agent had beyond those that the two chains share."""
    shared = now.events if now is not None else 0
    if now is not None and (link := commits.chain_at(db, was.scope, shared)) is not None:
        return was.events - shared if link.hex() == now.chain else was.events
    return was.events if now is None else 0
