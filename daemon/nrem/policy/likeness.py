"""Texts that say the same, and texts that say something else of the same thing.

Two texts are near duplicates when they share most of their words, weighed by rarity, and what they do not
share is no number, no name of a thing and no negation: "port 8080" is not "port 8081". A claim is a short
text of a known form ("Ana lives in Berlin"); its key is the subject and the attribute, and a newer claim
with the same key and another value replaces the older one.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nrem.policy.prior import split
from nrem.policy.wordlists import FIRST_PERSON, NEGATIONS

ALIKE = 0.85
RAREST = 4
"""Words of a text by which others are found that may say the same."""
NEAR = 10
"""Texts that are found by one such word."""
LONGEST_CLAIM = 160
UNKNOWN = 6.0
"""The rarity of a word that the scope's other texts do not have."""

_IDENTIFIER = re.compile(r"\w+(?:[-_./:@#]\w+)+|\w*\d\w*|[/~]\S+|[+-]\d")
_NOT_A_NAME = re.compile(r"(?:^|[.!?:]\s+)\W*\w+|\b(?:I|I['\u2019]\w+)\b")
_CAPITALISED = re.compile(r"\b[A-Z]\w*")


# Near duplicates


def similarity(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Return the share of the weight of two texts' words that both have."""
    shared = sum(weight for word, weight in one.items() if word in other)
    total = sum(one.values()) + sum(other.values()) - shared
    return shared / total if total > 0 else 0.0


def weigh(text: str, rarities: Mapping[str, float]) -> dict[str, float]:
    """Return the words of a text with their rarity; stop words have none."""
    return {word: weight for word in split(text) if (weight := rarities.get(word, UNKNOWN)) > 0}


def says_the_same(one: str, other: str, rarities: Mapping[str, float]) -> bool:
    """Tell whether two texts are near duplicates."""
    if similarity(weigh(one, rarities), weigh(other, rarities)) < ALIKE:
        return False
    return _binding(one) == _binding(other)


def _binding(text: str) -> frozenset[str]:
    """Return what may not differ between two texts that say the same."""
    names = _CAPITALISED.findall(_NOT_A_NAME.sub(" ", text))
    negated = (word for word in split(text) if word in NEGATIONS)
    return frozenset([*_IDENTIFIER.findall(text), *(name.lower() for name in names), *negated])


def near_duplicates(
    texts: Sequence[str], rarities: Mapping[str, float], *, most: int
) -> list[tuple[int, int]]:
    """Return the first pairs of texts that say the same, as places, the earlier one first.

    A text is compared only with the last few that have one of its rarest words. So the time grows with the
    number of texts, whatever they are, and a pair may be missed.
    """
    weighed = [weigh(text, rarities) for text in texts]
    heavy = [sum(words.values()) for words in weighed]
    seen: dict[str, deque[int]] = {}
    pairs: list[tuple[int, int]] = []
    for place, words in enumerate(weighed):
        near = set[int]()
        for word in sorted(words, key=lambda word: (-words[word], word))[:RAREST]:
            others = seen.setdefault(word, deque(maxlen=NEAR))
            near.update(others)
            others.append(place)
        lightest, heaviest = ALIKE * heavy[place], heavy[place] / ALIKE
        pairs += [
            (other, place)
            for other in sorted(near)
            if lightest <= heavy[other] <= heaviest
            and similarity(words, weighed[other]) >= ALIKE
            and _binding(texts[other]) == _binding(texts[place])
        ]
        if len(pairs) >= most:
            break
    return pairs[:most]


# Contradictions


@dataclass(frozen=True, slots=True)
class Claim:
    """What a text says: of whom or what, which attribute, which value."""

    subject: str
    attribute: str
    value: str

    @property
    def key(self) -> tuple[str, str]:
        return self.subject, self.attribute


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A text with who said it and when."""

    id: str
    text: str
    at: int
    trusted: bool = True
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
_FORMS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(rf"{form}\W*", re.IGNORECASE), attribute)
    for form, attribute in (
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


def claim(text: str, *, speaker: str = "") -> Claim | None:
    """Return what a short text of a known form claims; what "I" do is said of the speaker."""
    line = " ".join(text.split())
    if len(line) > LONGEST_CLAIM or line.endswith("?") or not _STATES.search(line):
        return None
    for form, attribute in _FORMS:
        found = form.fullmatch(line)
        if found is not None:
            parts = found.groupdict()
            subject = _subject(parts["subject"], speaker)
            if subject is None:
                return None
            value = _plain(parts["value"])
            return Claim(subject=subject, attribute=_attribute(attribute, parts), value=value)
    return None


def contradiction_key(text: str, *, speaker: str = "") -> tuple[str, str] | None:
    """Return the subject and the attribute of which a text gives the value, if it is of a known form."""
    found = claim(text, speaker=speaker)
    return found.key if found is not None else None


def replaced(said: Sequence[Said]) -> dict[str, str]:
    """Return which texts a newer one replaces, each with the newest that gives another value.

    What is not trusted replaces nothing.
    """
    newest: dict[tuple[str, str], tuple[Said, Claim]] = {}
    claims: list[tuple[Said, Claim]] = []
    for one in said:
        found = claim(one.text, speaker=one.speaker)
        if found is None:
            continue
        claims.append((one, found))
        best = newest.get(found.key)
        if one.trusted and (best is None or (one.at, one.id) > (best[0].at, best[0].id)):
            newest[found.key] = one, found
    return {
        one.id: newest[found.key][0].id
        for one, found in claims
        if found.key in newest
        and newest[found.key][1].value != found.value
        and one.at < newest[found.key][0].at
    }


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
