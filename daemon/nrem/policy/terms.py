"""Text to index terms: the same words for a memory and for a question about it.

Every term consists of letters, marks, digits and emoji only, folded for case, width and accents. The keyword
index splits at ASCII punctuation and white space and nowhere else, so a term stays one token of the index
whatever script it is in, and a scope's prefix in front of it stays with it.
"""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import Stemmer

VERSION = 6
"""Raised when the same text gets other terms; a store of another version is indexed anew."""

LONGEST = 64
"""Characters of a term that count; longer runs (base64, hashes glued together) are cut."""

# Accents and vowel points that people leave out when they type (Latin, Greek and Cyrillic, Hebrew, Arabic),
# and those that choose the picture or the skin of an emoji. The breve of \u0439 is part of the letter.
_OPTIONAL_MARKS = re.compile(
    "(?<!\u0438)\u0306|[\u0300-\u0305\u0307-\u036f\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f"
    "\u0670\ufe00-\ufe0f\U0001f3fb-\U0001f3ff]"
)
# Written without spaces between words: Thai to Myanmar, Khmer, kana, Han (with extensions), Hangul with its
# particles, emoji.
_EMOJI = "\u2600-\u27bf\U0001f000-\U0001faff"
_CLOSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
    f"\uf900-\ufaff\U00020000-\U0003ffff{_EMOJI}"
)
_IS_EMOJI = re.compile(f"[{_EMOJI}]")
_UNSPACED = re.compile(f"[{_CLOSE}]+")
# What ties words into one name: 1.2.3, user_id, foo-bar, a path, an address. Two in a row tie nothing
# ("well... yes"), except for __ and ://.
_IN_NAMES = r"_+|[.\u2010-]"
_IN_PATHS = rf"{_IN_NAMES}|://|[:/\\@]"
_TIES = frozenset("._-\u2010:/\\@")
_LETTER = rf"[^ ._\u2010:/\\@{_CLOSE}-]"
_TIED = (
    re.compile(r"(?<!\d)\d++(?:[.:/\u2010-]\d++)+"),  # v1.2.3 has 1.2.3 too
    *(re.compile(rf"(?<!{_LETTER}){_LETTER}++(?:(?:{tie}){_LETTER}++)+") for tie in (_IN_NAMES, _IN_PATHS)),
)
_TIE = re.compile(_IN_PATHS)
_MAYBE_TIED = re.compile(r"[._:/\\@\u2010-]\S")  # most texts have none
_BETWEEN_DIGITS = re.compile(rf"(?<=\d)(?:{_IN_PATHS})(?=\d)")
_DOT = "\ua78f"
"""A letter that looks like a dot and stands for a tie between digits: 1.2.3 is neither 123 nor 12.3."""
_POSSESSIVE = re.compile(r"['\u2019\u02bc]s\b", re.IGNORECASE)
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_CAMEL_WORD = re.compile(r"\b[A-Za-z0-9]*[a-z][A-Z][A-Za-z0-9]*\b")

STOP_WORDS = frozenset(
    """
    a about above after again all am an and any are as at be because been before being below between both
    but by can could did do does doing don down during each few for from further had has have having he her
    here hers herself him himself his how i if in into is it its itself just me more most my myself no nor
    not now of off on once only or other our ours ourselves out over own same she should so some such than
    that the their theirs them themselves then there these they this those through to too under until up
    very was we were what when where which while who whom why will with would you your yours yourself
    yourselves s t d ll m re ve
    """.split()
)

# Stop words that are names when they are written as such: IT, the WHO; after a word of small letters, Will.
_ACRONYM = re.compile(r"\b[A-Z]{2,}\b(?!['\u2019](?!s\b))")
_GIVEN_NAME = re.compile(r"(?<=[a-z] )(?:Will|Don)\b(?!['\u2019](?!s\b))")
_SMALL = re.compile("[a-z]")

# English words whose forms no stemmer brings together: verbs, plurals, parents and children, short forms and
# British spellings. Forms that are other words too (lay, bound, leaves) are not here, and neither are those
# that are stop words.
_IRREGULAR = {
    form: base
    for base, *forms in (
        group.split()
        for group in """
    arise arose arisen, awake awoke awoken, beat beaten, become became, begin began begun, bend bent, bite
    bit bitten, bleed bled, blow blew blown, break broke broken, breed bred, bring brought, build built,
    burn burnt, buy bought, catch caught, choose chose chosen, cling clung, come came, creep crept, deal
    dealt, dig dug, draw drew drawn, dream dreamt, drink drank drunk, drive drove driven, eat ate eaten,
    fall fell fallen, feed fed, feel felt, fight fought, find found, flee fled, fling flung, fly flew flown,
    forbid forbade forbidden, forget forgot forgotten, forgive forgave forgiven, freeze froze frozen, get
    got gotten, give gave given, go goes went gone, grow grew grown, hang hung, hear heard, hide hid hidden,
    hold held, keep kept, kneel knelt, know knew known, lead led, leap leapt, learn learnt, leave left, lend
    lent, lose lost, make made, mean meant, meet met, mistake mistook mistaken, pay paid, prove proven, ride
    rode ridden, ring rang rung, rise rose risen, run ran, say said, see saw seen, seek sought, sell sold,
    send sent, sew sewn, shake shook shaken, shine shone, shoot shot, show shown, shrink shrank shrunk, sing
    sang sung, sink sank sunk, sit sat, sleep slept, slide slid, speak spoke spoken, speed sped, spell
    spelt, spend spent, spill spilt, spin spun, spit spat, spoil spoilt, spring sprang sprung, stand stood,
    steal stole stolen, stick stuck, sting stung, stink stank stunk, strike struck stricken, strive strove
    striven, swear swore sworn, sweep swept, swell swollen, swim swam swum, swing swung, take took taken,
    teach taught, tear tore torn, tell told, think thought, throw threw thrown, understand understood,
    undertake undertook undertaken, wake woke woken, wear wore worn, weave wove woven, weep wept, win won,
    withdraw withdrew withdrawn, write wrote written, overcome overcame, rebuild rebuilt, retake retook
    retaken, rewrite rewrote rewritten,
    calf calves, child children kid kids, foot feet, goose geese, half halves, knife knives, loaf loaves, man
    men, mouse mice, person people, scarf scarves, shelf shelves, thief thieves, tooth teeth, wife wives, wolf
    wolves, woman women,
    father dad dads daddy papa, grandfather grandad grandads granddad granddads grandpa grandpas, grandmother
    grandma grandmas granny grannies, mother mama mom moms mommy mum mums,
    birthday bday, christmas xmas, favorite fav fave faves favs favourite favourites, phone telephone
    telephones, photo photograph photographs, picture pic pics, refrigerator fridge fridges, television tv
    tvs, center centre centres, color colour coloured colours, gray grey, neighbor neighbour neighbours,
    neighborhood neighbourhood, organize organise organised organising, realize realise realised, theater
    theatre theatres
    """.split(",")
    )
    for form in forms
}

# A word is stemmed by its script alone, so that a memory and a question get the same term whatever language
# the text around it is in.
_STEMMERS = (
    ("russian", re.compile("[\u0400-\u052f]+")),
    ("greek", re.compile("[\u0370-\u03ff]+")),
    ("arabic", re.compile("[\u0620-\u06ff]+")),
    ("hindi", re.compile("[\u0900-\u097f]+")),
    ("tamil", re.compile("[\u0b80-\u0bff]+")),
    ("armenian", re.compile("[\u0530-\u058f]+")),
)
_local = threading.local()  # a Stemmer is not safe to share between threads


class _Kept(dict[int, int | str]):
    """A str.translate table, filled as characters are met: what can stand in a word stays, and `besides`."""

    def __init__(self, besides: Iterable[str] = ()) -> None:
        super().__init__((ord(character), character) for character in besides)

    def __missing__(self, point: int) -> int | str:
        character = chr(point)
        keep = unicodedata.category(character)[0] in "LNM" or _IS_EMOJI.match(character)
        self[point] = point if keep else " "
        return self[point]


_words = _Kept()
_words_and_ties = _Kept(_TIES)


def fold(text: str) -> str:
    """Fold width, case and optional accents, so that spellings of one word become equal."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return unicodedata.normalize("NFC", _OPTIONAL_MARKS.sub("", decomposed))


def for_index(text: str) -> list[str]:
    """Return the terms of a memory, words in order and then names, repeats kept."""
    return [*_terms(text, single_characters=True), *names(text)]


def names(text: str) -> list[str]:
    """Return the terms that a text has as names: what is tied, as one word, and what looks like a stop word.

    Words that are part of a name are words too, so names do not make a text longer.
    """
    return [*_tied(text), *map(stem, _capitals(text))]


@dataclass(frozen=True, slots=True)
class Word:
    """A word as a question has it, and the terms by which it is looked up; a stop word has none."""

    text: str
    terms: tuple[str, ...]


def for_question(text: str) -> list[Word]:
    """Return the words of a question with their terms; if all are stop words, they count."""
    split = [(word, list(_split(word, single_characters=False))) for word in text.split()]
    only_stop_words = all(part in STOP_WORDS for _, parts in split for part in parts)
    capitals = set(_capitals(text))
    found = []
    for word, parts in split:
        kept = (part for part in parts if only_stop_words or part in capitals or part not in STOP_WORDS)
        found.append(Word(word, (*map(stem, kept), *_tied(word))))
    return found


def for_query(text: str) -> list[str]:
    """Return the distinct terms of a question, in order."""
    return list(dict.fromkeys([*_terms(text, single_characters=False), *names(text)]))


def question_key(terms: Iterable[str], text: str) -> int:
    """Return the same 64-bit number for questions with the same terms, in whatever order they come."""
    words = " ".join(sorted(set(terms))) or " ".join(fold(text).split())
    return int.from_bytes(hashlib.sha256(words.encode()).digest()[:8], signed=True)


def _terms(text: str, *, single_characters: bool) -> list[str]:
    words = list(_split(text, single_characters))
    kept = [word for word in words if word not in STOP_WORDS]
    return [stem(word) for word in kept or words]


def _tied(text: str) -> list[str]:
    """Join what is tied: the number in it, the name, the whole path or address."""
    folded = fold(_POSSESSIVE.sub("", text))
    if not _MAYBE_TIED.search(folded):
        return []
    kept = folded.translate(_words_and_ties)
    spans = dict.fromkeys(match.span() for pattern in _TIED for match in pattern.finditer(kept))
    return [stem(_TIE.sub("", _BETWEEN_DIGITS.sub(_DOT, kept[start:end]))) for start, end in spans]


def _capitals(text: str) -> list[str]:
    """Return the stop words that are written as names, unless all of a text is in capitals."""
    if not _SMALL.search(text):
        return []
    found = [*_ACRONYM.findall(text), *_GIVEN_NAME.findall(text)]
    return [word for word in map(str.lower, found) if word in STOP_WORDS]


def _split(text: str, single_characters: bool) -> Iterator[str]:
    text = _POSSESSIVE.sub("", text)
    parts = [part for word in _CAMEL_WORD.findall(text) for part in _CAMEL.findall(word)]
    for word in fold(" ".join([text, *parts])).translate(_words).split():
        if word.isascii():
            yield word
        else:
            yield from _split_scripts(word, single_characters)


def _split_scripts(word: str, single_characters: bool) -> Iterator[str]:
    """Part runs of unspaced scripts into overlapping pairs, and single characters where they are wanted."""
    start = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > start:
            yield word[start : run.start()]
        characters = run.group()
        if single_characters or len(characters) == 1:
            yield from characters
        for left, right in pairwise(characters):
            yield left + right
        start = run.end()
    if start < len(word):
        yield word[start:]


def stem(word: str) -> str:
    """Return what a folded word is looked up by."""
    word = _IRREGULAR.get(word, word)
    language = "english" if word.isascii() else _language(word)
    stemmed: str = _stemmer(language).stemWord(word) if language else word
    return (stemmed or word)[:LONGEST]


def _language(word: str) -> str | None:
    return next((language for language, script in _STEMMERS if script.fullmatch(word)), None)


def _stemmer(language: str) -> Stemmer.Stemmer:
    stemmer = getattr(_local, language, None)
    if stemmer is None:
        stemmer = Stemmer.Stemmer(language)
        setattr(_local, language, stemmer)
    return stemmer
