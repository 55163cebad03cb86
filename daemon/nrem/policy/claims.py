"""Which memories say otherwise than a newer one about the same thing: the newer is true now.

Only what has one value at a time is compared: where somebody lives or works, and named properties such as a
port, a version or a birthday; and facts with a subject and a predicate. Two preferences are no contradiction.
Text that is not trusted replaces nothing, and what is pinned stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

_PROPERTIES = (
    "address|age|birthday|branch|deadline|default branch|email|email address|host|hostname|job|job title|language"
    "|name|nickname|password manager|path|phone|phone number|port|region|role|surname|team|time zone|timezone|url"
    "|username|version"
)
_VERB = r"(?:is now|is|was changed to|has changed to|changed to|will be|are)"
_PATTERNS = (
    (re.compile(r"(?P<who>.{1,60}?) (?:now )?(?:lives|is living|live) in (?P<what>.+)"), "home"),
    (re.compile(r"(?P<who>.{1,60}?) (?:has |have )?moved to (?P<what>.+)"), "home"),
    (re.compile(r"(?P<who>.{1,60}?) (?:now )?(?:works|work|is working) (?:at|for) (?P<what>.+)"), "work"),
    (re.compile(rf"(?P<who>.{{1,60}}?)(?:'s|s')? (?P<of>{_PROPERTIES}) {_VERB} (?P<what>.+)"), None),
    (re.compile(rf"the (?P<of>{_PROPERTIES}) of (?P<who>.{{1,60}}?) {_VERB} (?P<what>.+)"), None),
    (re.compile(rf"(?P<who>.{{1,60}}?)(?:'s)? favou?rite (?P<of>\w+) {_VERB} (?P<what>.+)"), None),
    (re.compile(r"(?P<who>.{1,60}?) (?:now )?(?:listens on|runs on|uses) port (?P<what>\d+.*)"), "port"),
)
_QUOTES = str.maketrans({"\u2019": "'"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A memory as something that may be true no longer."""

    id: str
    text: str
    data: str | None
    """The JSON beside the text."""
    at: int
    trusted: bool
    pinned: bool


def successors(claims: Iterable[Claim]) -> dict[str, str]:
    """Return, for each memory that a newer one contradicts, that one."""
    groups: dict[tuple[str, str], list[tuple[str, Claim]]] = {}
    for claim in claims:
        said = _said(claim)
        if said is not None and claim.trusted:
            groups.setdefault(said[:2], []).append((said[2], claim))
    replaced = {}
    for group in groups.values():
        value, newest = max(group, key=lambda item: (item[1].at, item[1].id))
        for other, claim in group:
            if other != value and not claim.pinned:
                replaced[claim.id] = newest.id
    return replaced


def _said(claim: Claim) -> tuple[str, str, str] | None:
    """Return of whom or what a memory says which property to be what; None when it says no such thing."""
    return _of_fact(claim.data) or _of_text(claim.text)


def _of_fact(data: str | None) -> tuple[str, str, str] | None:
    known = json.loads(data) if data else None
    if not isinstance(known, dict):
        return None
    parts = [known.get(name) for name in ("subject", "predicate", "object")]
    if not all(isinstance(part, str) and part for part in parts):
        return None
    subject, predicate, object_ = (_plain(str(part)) for part in parts)
    return subject, predicate, object_


def _of_text(text: str) -> tuple[str, str, str] | None:
    if len(text) > 300:
        return None
    sentence = _plain(text)
    for pattern, of in _PATTERNS:
        if found := pattern.fullmatch(sentence):
            return found["who"].removeprefix("the "), of or found["of"], found["what"]
    return None


def _plain(text: str) -> str:
    return " ".join(text.casefold().translate(_QUOTES).split()).rstrip(".!")
