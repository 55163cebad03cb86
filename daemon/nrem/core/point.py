"""Find the point of an agent's past that somebody means."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import tzinfo

from nrem.errors import InvalidField
from nrem.policy import moments
from nrem.store import commits, erasures, events, recalls
from nrem.store.driver import Connection

_ABBREVIATED = re.compile("[0-9a-f]{7,40}")
FORMS = f"a time ({moments.FORMS}), or the id of a commit, a recall or a session"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A moment of a scope's past: the last event that had happened, and what time it was."""

    seq: int
    """0 is before everything."""
    at: int
    word: str
    commit: str | None = None
    recall: str | None = None


def resolve(db: Connection, scope: int, word: str, *, now: int, zone: tzinfo, field: str = "as_of") -> Point:
    """Return the point that a word means; raise InvalidField, naming `field`, when it means none.

    A commit stands for the last event that is in git with it, a session for the last memory that was made in
    it, a recall for what its answer had seen. A session whose name reads as a time is taken for the time.
    """
    word = word.strip()
    at = moments.read_point(word, now=now, zone=zone)
    if at is not None:
        if at > now:
            raise InvalidField(field, "lies in the future", hint=f"give {FORMS}")
        return Point(seq=events.seq_at(db, scope, at), at=at, word=word)
    if _ABBREVIATED.fullmatch(word.lower()):
        name = erasures.current_commit(db, scope, word.lower()) or word.lower()
        found = commits.starting_with(db, scope, name)
        if len(found) > 1:
            raise InvalidField(field, f"{word} is the beginning of several commits", hint="give more of it")
        if found:
            [commit] = found
            seq = commits.seq_of(db, scope, commit.commit)
            return Point(seq=seq, at=commit.at, word=word, commit=commit.commit)
    recall = recalls.find(db, scope, word)
    if recall is not None:
        return Point(seq=recall.seq, at=recall.now, word=word, recall=recall.id)
    made = events.last_of_session(db, scope, word)
    if made is not None:
        return Point(seq=made.seq, at=made.at, word=word)
    raise InvalidField(
        field, "is no time, and no commit, recall or session of this agent", hint=f"give {FORMS}"
    )
