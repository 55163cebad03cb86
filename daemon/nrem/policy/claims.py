"""What short texts of a known form claim, and which claims do not hold beside a newer one.

The key of a claim is its subject, its attribute and the kind of its value: "works at night" has nothing
against "works at Acme". A newer claim with the same key and another value contradicts the older one; it
replaces it only if the older text says nothing besides, because nobody reads what is replaced.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nrem.policy.prior import split
from nrem.policy.terms import STOP_WORDS
from nrem.policy.wordlists import FIRST_PERSON

LONGEST = 160
"""Characters up to which a text can be a claim."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a text says: of whom or what, which attribute, which value."""

    subject: str
    attribute: str
    value: str
    kind: str
    besides: str = ""
    """What the text says of other things."""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.subject, self.attribute, self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A text with who said it and when."""

    id: str
    text: str
    at: int
    speaker: str = ""


_SUBJECT = r"(?P<subject>(?:the |our |my |your )?[\w'\u2019@#-]+(?: [\w'\u2019@#.-]+){0,3}?)"
_VALUE = r"(?P<value>[^.!?]+(?:\.[^\s.!?]+)*)"
# Of these a thing has one at a time; of others ("Ana's dog is old", "Ana's dog is called Rex") it has many.
_ATTRIBUTE = (
    r"(?P<attribute>(?:favou?rite|current|default|home|work|main|primary) [\w-]+(?: [\w-]+)?|(?:full "
    r"|first |last |user)?name"
    r"|birthday|date of birth|e-?mail(?: address)?|phone(?: number)?|address|age|job|title|employer|role"
    r"|version|port"
    r"|path|url|host|hostname|ip|branch|region|owner|maintainer|manager|boss|deadline|due date|time ?zone"
    r"|budget|database"
    r"|language|password|limit|size|status|salary|diet)"
)
_NOW = r"(?:(?:now|currently|just|recently|has|have|had|'s|'ve) ){0,2}"
_PLANNED = r"(?:planned|(?:re)?scheduled|due|set|moved|postponed|delayed|pushed)"
_JOB = r"(?:an? |the )?(?P<job>[a-z][\w -]{2,40}?)"
_FORMS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(rf"{form}\W*", re.IGNORECASE), attribute)
    for form, attribute in (
        (rf"{_SUBJECT} (?:is|was|has been) {_PLANNED}(?: back)? (?:for|on|to|until|in) {_VALUE}", "date"),
        (rf"{_SUBJECT} {_NOW}(?:is|am|'m) {_JOB} (?:at|for) (?P<value>(?-i:[A-Z])[^.!?]+)", "employer"),
        (rf"{_SUBJECT} {_NOW}(?:lives?|lived|resides?) {_NOW}(?:in|at|near) (?![/~]){_VALUE}", "home"),
        (rf"{_SUBJECT} {_NOW}(?:moved|relocated) (?:from [\w ]+? )?to (?![/~]){_VALUE}", "home"),
        (rf"{_SUBJECT} {_NOW}works? {_NOW}(?:at|for) {_VALUE}", "employer"),
        (rf"{_SUBJECT} {_NOW}works? {_NOW}as (?:an? )?{_VALUE}", "job"),
        (rf"{_SUBJECT} {_NOW}(?:listens?|runs?|is|serves?) {_NOW}on port {_VALUE}", "port"),
        (rf"{_SUBJECT} {_NOW}(?:lives|is|is stored|is kept) (?:in|at|under) (?P<value>[/~]\S+)", "path"),
        (rf"{_SUBJECT} {_NOW}(?:is|runs) {_NOW}(?:at|on) version {_VALUE}", "version"),
        (rf"{_SUBJECT} {_NOW}(?:is|am|'m|are) {_NOW}(?P<value>\d+) years old", "age"),
        (rf"{_SUBJECT} {_NOW}prefers? (?P<value>.+?) for (?P<topic>[^.!?]+)", "prefers for"),
        (rf"{_SUBJECT} {_NOW}prefers? (?P<value>.+?)(?: (?:over|to)|, not) (?P<other>.+)", "prefers"),
        (rf"(?:the |our |my )?{_ATTRIBUTE} (?:of|for) {_SUBJECT} (?:is|was) {_NOW}{_VALUE}", ""),
        (rf"{_SUBJECT}['\u2019]s {_ATTRIBUTE} (?:is|was) {_NOW}{_VALUE}", ""),
        (rf"(?P<subject>my|our) {_ATTRIBUTE} (?:is|was) {_NOW}{_VALUE}", ""),
        (rf"{_SUBJECT} {_ATTRIBUTE} (?:is|was) {_NOW}{_VALUE}", ""),
    )
)  # fmt: skip
_STATES = re.compile(
    r"\b(?:is|'s|was|are|am|'m|lives?|lived|resides?|moved|relocated|works?|prefers?|runs?|listens?|stays?)\b"
    r"|\u2019[sm]\b",
    re.IGNORECASE,
)
_POINTING = FIRST_PERSON | frozenset(
    "the he she it they this that these those who what which there here you your his her their its one"
    " someone everyone nobody and or but so because if when been".split()
)
_ARTICLE = re.compile(r"^(?:the|our|my|your|a|an)\s+", re.IGNORECASE)


_MORE = re.compile(
    r",? (?:and|but|with|because|while|where|which|who|so|as|plus) |[,;] |\s\(|\s[\u2013\u2014-]\s"
)
_MONTH = (
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|january|february|march|april|june|july"
    r"|august|september"
    r"|october|november|december)"
)
_DATE = (
    rf"(?:(?:early|mid|late|the end of|end of) )?(?:\d{{4}}-\d\d-\d\d|(?:\d{{1,2}}(?:st|nd|rd"
    rf"|th)?(?: of)? )?{_MONTH}\b\.?"
    r"(?: \d{1,2}(?:st|nd|rd|th)?)?,?(?: \d{4})?|q[1-4] \d{4}|\d{4}|(?:next |this |last )?(?:week"
    r"|month|year|spring|summer|autumn"
    r"|fall|winter|(?:mon|tues|wednes|thurs|fri|satur|sun)day))"
)
_WHEN = re.compile(
    rf",? (?:(?:on|in|since|from|until|by|as of|for|starting) )(?:{_DATE}|(?:a|one|two|three"
    rf"|\d+) (?:days|weeks|months|years?))$"
    r"| (?:now|again|today|currently|these days|at the moment|already|any more)$",
    re.IGNORECASE,
)
_OFFICE = re.compile(r" in [A-Z][\w-]*(?: [A-Z][\w-]*)*$")
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("date", _DATE),
        (
            "time",
            r"(?:at )?(?:the )?(?:nights?|days?|noon|midnight|mornings?|evenings?|afternoons?"
            r"|weekends?|the moment|(?:late|early)"
            r"(?: \w+)?|\d{1,2}(?::\d\d)?(?: ?[ap]m)?(?: ?(?:to|-"
            r"|\u2013) ?\d{1,2}(?::\d\d)?(?: ?[ap]m)?)|\d{1,2}:\d\d(?: ?[ap]m)?"
            r"|\d{1,2} ?[ap]m|\d+ (?:hours?|minutes?|days?|weeks?|months?|years?)(?: .*)?)",
        ),
        ("e-mail", r"\S+@\S+"),
        ("path", r"[/~].*|\w+://.*|[A-Z]:\\.*"),
        ("number", r"v?\d[\d.,]*(?: ?[\w%\u20ac$]+)?"),
        (
            "state",
            r"(?:(?:very|too|so|really|still|not) )?(?:down|up|slow|fast|full|empty|broken"
            r"|unreachable|offline|online|ready|gone|busy"
            r"|corrupt|wrong|unknown|old|new|missing|locked|free|home|full speed|read-only|required"
            r"|optional|important|fine|ok|unclear|tight|late)",
        ),
        ("thing", r"(?:an?|his|her|their|some|many|different|several|fun|money) .*|fun|money|peanuts"),
    )
)  # fmt: skip


def claim(text: str, *, speaker: str = "") -> Claim | None:
    """Return what a short text of a known form claims; what "I" do is said of the speaker."""
    line = " ".join(text.split())
    if len(line) > LONGEST or line.endswith("?") or not _STATES.search(line):
        return None
    for form, attribute in _FORMS:
        found = form.fullmatch(line)
        if found is not None:
            parts = found.groupdict()
            subject = _subject(parts["subject"], speaker)
            if subject is None:
                return None
            told = _claim(subject, attribute, parts)
            if attribute != "date" or told.kind == "date":
                return told
    return None


def _claim(subject: str, attribute: str, parts: Mapping[str, str | None]) -> Claim:
    value, besides = parts["value"] or "", ""
    if "topic" not in parts and "other" not in parts:
        value, besides = _divide(value, attribute)
    return Claim(
        subject=subject,
        attribute=_attribute(attribute, parts),
        value=_plain(value),
        kind=_kind(value),
        besides=f"{besides} {parts.get('job') or ''}".strip(),
    )


def rivals(said: Sequence[Said]) -> list[Said]:
    """Return the texts that claim something of what another one claims something too."""
    claims = [(one, found) for one in said if (found := claim(one.text, speaker=one.speaker))]
    many = Counter(found.key for _, found in claims)
    return [one for one, found in claims if many[found.key] > 1]


def contradicted(said: Sequence[Said]) -> dict[str, str]:
    """Return which texts a newer one contradicts, each with the newest that gives another value."""
    return {older.id: newer.id for older, _, newer in _contradictions(said)}


def replaced(said: Sequence[Said]) -> dict[str, str]:
    """Return which texts a newer one contradicts and leaves nothing of."""
    return {
        older.id: newer.id
        for older, claimed, newer in _contradictions(said)
        if set(split(claimed.besides)) <= STOP_WORDS | set(split(newer.text))
    }


def _contradictions(said: Sequence[Said]) -> list[tuple[Said, Claim, Said]]:
    newest: dict[tuple[str, str, str], tuple[Said, Claim]] = {}
    claims: list[tuple[Said, Claim]] = []
    for one in said:
        found = claim(one.text, speaker=one.speaker)
        if found is None:
            continue
        claims.append((one, found))
        best = newest.get(found.key)
        if best is None or (one.at, one.id) > (best[0].at, best[0].id):
            newest[found.key] = one, found
    return [
        (one, found, newest[found.key][0])
        for one, found in claims
        if found.key in newest
        and newest[found.key][1].value != found.value
        and one.at < newest[found.key][0].at
    ]


def _divide(value: str, attribute: str) -> tuple[str, str]:
    """Part a value from what else its text says; when it began or ends is neither."""
    besides = ""
    for found in _MORE.finditer(value):
        rest = value[found.end() :]
        # "Bosnia and Herzegovina" and "Berlin, Germany" are one value.
        if any(word[0].islower() for word in rest.split() if word not in ("and", "of", "the")):
            value, besides = value[: found.start()], rest
            break
    if attribute == "employer":
        value = _OFFICE.sub("", value)
    return value if _kind(value) == "date" else _WHEN.sub("", value), besides


def _kind(value: str) -> str:
    """Say what kind of thing a value is: values of two kinds do not contradict each other."""
    plain = value.strip(" .,;:!\"'")
    return next((kind for kind, pattern in _KINDS if pattern.fullmatch(plain)), "name")


def _plain(text: str) -> str:
    return _ARTICLE.sub("", " ".join(text.lower().split())).strip(" \"'.,;:!")


def _subject(text: str, speaker: str) -> str | None:
    """Return whom or what a claim is about; None where only its surroundings would tell."""
    plain = " ".join(text.lower().split())
    if plain in FIRST_PERSON:
        return speaker.lower() or "i"
    named = _plain(text)
    return None if set(split(named)) & _POINTING else named


def _attribute(attribute: str, parts: Mapping[str, str | None]) -> str:
    if attribute == "prefers for":
        return f"prefers for {_plain(parts['topic'] or '')}"
    if attribute == "prefers":
        both = sorted((_plain(parts["value"] or ""), _plain(parts["other"] or "")))
        return f"prefers among {' and '.join(both)}"
    return attribute or _plain(parts["attribute"] or "")
