"""Backups of the whole store: made while it is in use, listed, and put back."""

from __future__ import annotations

from pathlib import Path

from nrem.clock import Clock
from nrem.errors import NotFound
from nrem.model import Backup, Contents, Lost, Restored
from nrem.store import backup, driver, events, memories, migrations, tokens
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
        kept = backup.keep(path, clock) if path.exists() else None
        if kept is not None and kept.contents is not None and "m003_tokens" in kept.contents.schema:
            _leave_revoked(new, home / "backups" / kept.name)
        backup.put_in_place(new, path)
    except OSError as error:
        raise backup.failed(error) from error
    except driver.Error as error:
        raise driver.translate(error) from error
    finally:
        backup.remove(new)
        lock.release()
    return Restored(
        name=name, contents=held, kept=kept.name if kept else None, lost=_lost(kept, held) if kept else ()
    )


def _leave_revoked(new: Path, replaced: Path) -> None:
    """Take away the tokens that the replaced store no longer had: a restore must not let anybody in again."""
    with backup.opened(replaced) as db:
        known = {token.id for token in tokens.list_(db)}
    db = driver.connect(new, read_only=False)
    try:
        for token in tokens.list_(db):
            if token.id not in known:
                tokens.revoke(db, token.id)
    finally:
        db.close()


def _check(copy: Path) -> None:
    """Raise Corrupt unless a copy is whole, of a known schema, and its chains are unbroken."""
    with backup.opened(copy) as db:
        backup.check_pages(db)
        held = backup.contents(db)
        migrations.refuse_newer(held.schema)
        for agent in held.agents:
            events.verify(db, agent.scope)


def _lost(kept: Backup, held: Contents) -> tuple[Lost, ...] | None:
    if kept.contents is None:
        return None
    now = {agent.scope: agent.events for agent in held.agents}
    behind = [
        Lost(agent=agent.agent, events=agent.events - now.get(agent.scope, 0))
        for agent in kept.contents.agents
    ]
    return tuple(lost for lost in behind if lost.events > 0)
