"""Backups of the whole store: made while it is in use, listed, and put back."""

from __future__ import annotations

from pathlib import Path

from nrem.clock import Clock
from nrem.errors import Corrupt, NotFound
from nrem.model import Backup, Contents, Lost, Restored
from nrem.store import backup, driver, events, memories, migrations
from nrem.store.database import Database
from nrem.store.lock import Lock
from nrem.wire import Backups


def create(store: Database, *, clock: Clock) -> Backup:
    """Copy the store while it is in use, and check the copy."""
    return backup.create(store.path, clock, origin="manual", pause=backup.PAUSE_SECONDS)


def list_(home: Path) -> Backups:
    """Return the backups of a home, newest first."""
    return Backups(backups=tuple(backup.list_(home / "backups")))


def get(home: Path, name: str) -> Backup:
    """Return one backup by its name; raise NotFound for any other."""
    for known in backup.list_(home / "backups"):
        if known.name == name:
            return known
    raise NotFound(
        f"there is no backup {name}", hint="nrem backup list shows their names", code="backup_not_found"
    )


def restore(home: Path, name: str, *, clock: Clock) -> Restored:
    """Put a backup in the store's place, while no process has the store.

    The backup is checked and migrated beside the store first; until that is done nothing has changed. The
    store that it replaces becomes a backup itself.
    """
    chosen = get(home, name)
    path, new = home / "nrem.db", home / "nrem.db.restoring"
    lock = Lock.take(home / "nrem.lock", clock)
    try:
        backup.fetch(home / "backups" / name, chosen.sha256, new)
        _check(new)
        migrations.migrate(new, clock)
        with backup.opened(new) as db:
            for agent in backup.contents(db).agents:
                memories.verify_rows(db, agent.scope)
            held = backup.contents(db)
        kept, replaced = _keep(path, clock)
        backup.put_in_place(new, path)
    except OSError as error:
        raise backup.failed(error) from error
    except driver.Error as error:
        raise driver.translate(error) from error
    finally:
        backup.remove(new)
        lock.release()
    lost = None if kept is not None and replaced is None else _lost(replaced, held)
    return Restored(name=name, contents=held, kept=kept, lost=lost)


def _check(copy: Path) -> None:
    """Raise Corrupt unless a copy is whole, of a known schema, and its chains are unbroken."""
    with backup.opened(copy) as db:
        backup.check_pages(db)
        held = backup.contents(db)
        migrations.refuse_newer(held.schema)
        for agent in held.agents:
            events.verify(db, agent.scope)


def _keep(path: Path, clock: Clock) -> tuple[str | None, Contents | None]:
    """Make a backup of the store that is to be replaced; return its name, and what it holds if known."""
    if not path.exists():
        return None, None
    try:
        kept = backup.create(path, clock, origin="before-restore")
    except Corrupt:
        return backup.keep_damaged(path, clock), None
    return kept.name, kept.contents


def _lost(replaced: Contents | None, held: Contents) -> tuple[Lost, ...]:
    now = {agent.scope: agent.events for agent in held.agents}
    before = replaced.agents if replaced else ()
    behind = [Lost(agent=a.agent, events=a.events - now.get(a.scope, 0)) for a in before]
    return tuple(lost for lost in behind if lost.events > 0)
