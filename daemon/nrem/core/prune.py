"""Delete the records of old recalls, after what they say of memories was summed up."""

from __future__ import annotations

import functools
from zoneinfo import ZoneInfo

from nrem.model import Scope
from nrem.policy import timewords
from nrem.sections import Config
from nrem.store import signals
from nrem.store.database import Database
from nrem.wire import Pruned


def prune(store: Database, settings: Config, scope: Scope, *, days: int | None, now: int) -> Pruned:
    """Delete what was asked more than so many whole days ago; by default those that the settings keep.

    In small steps between other writes. Use counts stay, and so does what a dream reads from recalls.
    """
    kept = days if days is not None else settings.recall.retention_days
    if kept is None:
        return Pruned(recalls=0, hits=0)
    before = timewords.local_day(now, ZoneInfo(settings.time.zone)) - kept
    while store.write(functools.partial(signals.roll_up, scope=scope.number, before=before)):
        pass
    recalls = hits = 0
    while True:
        step = store.write(functools.partial(signals.delete_step, scope=scope.number, before=before))
        if step[0] == 0:
            break
        recalls, hits = recalls + step[0], hits + step[1]
    if recalls:
        store.reclaim()
    return Pruned(recalls=recalls, hits=hits)
