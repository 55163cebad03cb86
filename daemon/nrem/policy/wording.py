"""Whether a sentence says what another one says: its words, in their order, or its beginning.

Nothing is understood here. A sentence is a row of words with the joints between them, and another one may be
made of it only in ways that keep who does what to whom: an article and a word such as "also" may go, "runs"
is "run", a relative date becomes the day that it means, two things around an "and" change places, and an
"and" at the end may go with what follows it. A sentence that denies, limits, allows, reports or quotes is
kept whole, because half of it may say the opposite.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import pairwise

from nrem.policy import terms
from nrem.policy.wordlists import (
    AS_ROLE,
    GUARDS,
    NEGATING,
    PLAIN,
    PRONOUNS,
    RELATIVE_DAYS,
    asks,
    is_small_talk,
    sentences,
)

AND = "and"
COMMA = ","


@dataclass(frozen=True, slots=True)
class Word:
    """A word, and what stands between it and the one before: nothing, a sign, or "and"."""

    key: str
    """The same for a word in the singular and in the plural, and the like."""
    text: str
    joint: str
    capital: bool


Words = tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    words: Words
    plain: Words
    """Without a greeting or the like at the beginning."""
    asks: bool
    guarded: bool
    """It is kept whole."""
    points: bool
    """It speaks of what the sentence before it has named."""


# Reading

_ARTICLES = frozenset("the an".split())
"""Of English only, and without "a": elsewhere such words tell who does what ("llama a Ana", "den Hund")."""
_ANDS = frozenset("and & y und et и".split())
_OPENING = re.compile(
    r"(?i)^\W*(?:(?:hi|hello|hey|hola|hallo|bonjour|привет)(?: (?:all|team|everyone|everybody|there|a todos"
    r"|todos|zusammen))?[,!.:]|by the way,?|btw,?|fyi[,:]?|for the record,|(?:please )?note(?: that|:)"
    r"|please(?: note(?: that|:)| remember(?: that|:))?|remember(?: that|:)|keep in mind that"
    r"|just so you know,|as you know,|por cierto,|por favor,?|recuerda que|übrigens:?"
    r"|bitte(?: beachten:)?|пожалуйста,?)(?:\s+|$)"
)
"""What a sentence may begin with and says nothing."""
_STOPS = str.maketrans(
    {"，": ", ", "、": ", ", "；": "; ", "：": ": ", "（": " (", "）": ") ", "—": " - ", "\u2019": "'"}
)
_EDGES_BEFORE = '"`\u201c\u201d\u201e\u2018\u00ab\u00bb([{\u00bf\u00a1'
_EDGES_AFTER = '"`\u201c\u201d\u2018\u00ab\u00bb)]}.,;:!?\u2026\u3002\uff01\uff1f'
_QUOTES = re.compile('["\u201c\u201e\u00ab\u300c]')
_JOINTS = ((".", ".!?\u2026"), (":", ":"), (COMMA, ",)];"))
"""Signs behind a word, the strongest first. A full stop in a sentence is that of "Dr." or of "No."."""
_DASHES = frozenset(("-", "\u2013", "\u2022"))
_NOT = re.compile(r"(?i)\b(?:(can)(?:not|'t)|(wo)n't|(\w+)n't)(?!\w)")
_SCRIPTS = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff]")


def read(text: str) -> list[Sentence]:
    """Return the sentences of a text."""
    plain = unicodedata.normalize("NFC", text).translate(_STOPS)
    return [_sentence(part) for part in sentences(re.sub(r";(?=\s|$)", "\n", plain))]


def _sentence(text: str) -> Sentence:
    spelt = _NOT.sub(_parted, text)
    plain = tuple(_words(_OPENING.sub("", spelt)))
    said = {word.text for word in plain}
    return Sentence(
        words=tuple(_words(spelt)),
        plain=plain,
        asks=asks(text),
        guarded=bool(said & GUARDS) or _QUOTES.search(text) is not None,
        points=bool(said & PRONOUNS),
    )


def says_nothing(sentence: Sentence) -> bool:
    """Tell whether a sentence is a greeting or other small talk."""
    return not sentence.plain or (
        not sentence.guarded and is_small_talk({word.text for word in sentence.words})
    )


def _parted(match: re.Match[str]) -> str:
    can, will, other = match.groups()
    return f"{can or (will and 'will') or other} not"


def _words(text: str) -> Iterator[Word]:
    joint = ""
    article = False
    for token in text.split():
        inner = token.lstrip(_EDGES_BEFORE)
        if token[0] in "([" or token in _DASHES:
            joint = joint or COMMA
        bare = inner.rstrip(_EDGES_AFTER)
        if not bare or token in _DASHES:
            continue
        lower = bare.casefold()
        if lower in _ANDS:
            joint = AND
            continue
        article = lower in _ARTICLES and not article
        if not article:
            for part in _by_script(bare):
                yield Word(_key(part.casefold()), part.casefold(), joint, part[0].isupper())
                joint = ""
        after = inner[len(bare) :]
        joint = next((sign for sign, signs in _JOINTS if set(after) & set(signs)), joint)
    if joint == AND:  # and nothing comes
        yield Word(AND, AND, AND, capital=False)


def _by_script(token: str) -> Iterator[str]:
    """Part a token where its script has no spaces: there each character is a word."""
    start = 0
    for match in _SCRIPTS.finditer(token):
        if match.start() > start:
            yield token[start : match.start()]
        yield match.group()
        start = match.end()
    if start < len(token):
        yield token[start:]


def _key(word: str) -> str:
    """Return the stem of a plural, of a form with -s or -ing and of what they are forms of.

    Other endings stay: they turn a word into another (import, important), or the present into the past.
    """
    if not word.isascii() or not word.isalpha():
        return word
    stem = terms.stem(word)
    if word.endswith("ing") and stem != word:
        return stem
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and stem != word:
        word = word[:-1]
        stem = terms.stem(word)
    return stem if word in (stem, f"{stem}e", f"{stem[:-1]}y", f"{stem[:-1]}ie") else word


# Telling


def ways(sentence: Sentence, day: date) -> list[Sentence]:
    """Return a sentence as it is, without its opening, and with days for its relative dates."""
    found = []
    for words in dict.fromkeys((sentence.words, sentence.plain)):
        found.append(replace(sentence, words=words))
        days = tuple(_resolved(word, day) for word in words)
        if days != words:
            found.append(replace(sentence, words=days))
            found.append(replace(sentence, words=tuple(_on(words, days))))
    return found


def _resolved(word: Word, day: date) -> Word:
    offset = RELATIVE_DAYS.get(word.text)
    if offset is None:
        return word
    try:
        shown = (day + timedelta(days=offset)).isoformat()
    except OverflowError:  # the last day that there is
        return word
    return Word(shown, shown, word.joint, capital=False)


def _on(words: Words, days: Words) -> Iterator[Word]:
    for word, resolved in zip(words, days, strict=True):
        if word != resolved:
            yield Word("on", "on", resolved.joint, capital=False)
            resolved = replace(resolved, joint="")
        yield resolved


def tells(said: Sentence, source: Sentence) -> bool:
    """Tell whether a sentence says nothing but what another one says."""
    if said.asks != source.asks or said.guarded != source.guarded:
        return False
    if source.guarded:
        return _equal(said.words, source.words)
    return _begins(said.words, source.words) or any(_equal(said.words, way) for way in _turned(source.words))


def tells_with_aside(said: Sentence, source: Sentence, others: Sequence[Sentence]) -> bool:
    """Tell whether a sentence says what another one says, and between commas what its first words are.

    "Marta, the sister of Ana, studies in Granada" needs a sentence on whom Marta is: "Marta is the sister of
    Ana", or one that begins with both ("The sister of Ana, Marta, moved").
    """
    pieces = _pieces(said.words)
    if len(pieces) < 3 or said.asks or source.asks or said.guarded or source.guarded:
        return False
    who, aside, rest = pieces[0], pieces[1], said.words[len(pieces[0]) + len(pieces[1]) :]
    if len(aside) < 2 or aside[0].joint != COMMA or rest[0].joint != COMMA:
        return False
    if not _begins((*who, replace(rest[0], joint=""), *rest[1:]), source.words):
        return False
    return any(_introduces(other, who, aside) for other in others)


def _introduces(sentence: Sentence, who: Words, aside: Words) -> bool:
    if sentence.guarded or sentence.asks:
        return False
    keys = _texts(sentence.words)
    if keys == [*_texts(who), "is", *_texts(aside)] or keys == [*_texts(aside), "is", *_texts(who)]:
        return True
    pieces = _pieces(sentence.words)
    first = [_texts(piece) for piece in pieces[:2]]
    return (
        len(pieces) == 3
        and pieces[1][0].joint == pieces[2][0].joint == COMMA
        and first in ([_texts(who), _texts(aside)], [_texts(aside), _texts(who)])
    )


def _begins(said: Words, source: Words) -> bool:
    """Tell whether a row of words is another one up to a place where it may end, but for plain words."""
    place = 0
    skipped: str | None = None
    for index, word in enumerate(source):
        if word.text in PLAIN and (place == len(said) or not _same(said[place], word)):
            skipped = skipped or word.joint
            continue
        if place == len(said):
            return index >= 2 and _may_end(source[index:])
        joint = word.joint if skipped is None else word.joint or skipped
        loose = skipped is not None and {said[place].joint, joint} <= {"", COMMA}
        if not _same(said[place], word) or (place and said[place].joint != joint and not loose):
            return False
        place, skipped = place + 1, None
    return place == len(said)


def _may_end(rest: Words) -> bool:
    """Tell whether the rest of a sentence may be left out: what an "and" adds, or as what somebody works.

    Not what a comma adds: that may be what the rest depends on.
    """
    if rest[0].joint == AND:
        return all(word.joint in ("", AND) for word in rest)
    return _is_role(rest)


def _is_role(rest: Words) -> bool:
    """Tell whether some words are "as an engineer" or the like; "as needed" would be a condition."""
    nouns = [word for word in rest[1:] if word.text != "a"]
    return (
        rest[0].text in AS_ROLE
        and len(nouns) == 1
        and not nouns[0].joint
        and not nouns[0].text.endswith("ed")
    )


def _turned(words: Words) -> Iterator[Words]:
    """Change two things around one "and" that belong to a name at the beginning.

    "Luis prefers A and B", each of one or two words, and "Luis does this and does that". Of anything else
    nothing shows where the first thing begins: "hates cold soup and tea" does not hate cold tea.
    """
    pieces = _pieces(words)
    if len(pieces) != 2 or pieces[1][0].joint != AND:
        return
    first, second = pieces
    names = next((place for place, word in enumerate(first) if not word.capital), 0)
    places = []
    if names and not second[0].capital and len(second) > 1:
        places.append(names)
    if names and 1 <= len(first) - (names + 1) <= 2 and len({word.capital for word in second}) == 1:
        places.append(names + 1)
    for place in places:
        moved = (replace(first[place], joint=AND), *first[place + 1 :])
        ends = [end for end in range(2, len(second)) if _is_role(second[end:])]
        for end in (len(second), *ends):
            yield (*first[:place], replace(second[0], joint=""), *second[1:end], *moved)


def _pieces(words: Words) -> list[Words]:
    starts = [0, *(place for place, word in enumerate(words) if place and word.joint), len(words)]
    return [words[start:end] for start, end in pairwise(starts)]


def _equal(said: Words, way: Words) -> bool:
    return len(said) == len(way) and all(
        _same(one, other) and (one.joint == other.joint or place == 0)
        for place, (one, other) in enumerate(zip(said, way, strict=True))
    )


def _same(one: Word, other: Word) -> bool:
    """Tell whether two words say the same; two names do only when they are equal (Marco, Marcos)."""
    return one.text == other.text or (one.key == other.key and not (one.capital and other.capital))


def _texts(words: Words) -> list[str]:
    return [word.text for word in words]


# What may not be lost

_HELPING = frozenset("do does did".split())


def bare(sentence: Sentence) -> list[str]:
    """Return the words of a sentence, all negations alike: "does not run" denies what "never run" does."""
    return [
        "not" if word.text in NEGATING else word.key for word in sentence.plain if word.text not in _HELPING
    ]


def holds(whole: Sequence[str], part: Sequence[str]) -> bool:
    """Tell whether some words stand in a row in others."""
    return any(whole[at : at + len(part)] == part for at in range(len(whole) - len(part) + 1))
