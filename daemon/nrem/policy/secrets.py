"""Find credentials in a text before it is written: a pure scan by the formats of `secret_rules`.

A rule's regex runs only in windows around its keywords, so the work grows with the length of the text,
whatever the text holds.
"""

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nrem.policy.secret_rules import RULES, Rule

CONFIGURED = "configured"
SHORTEST_LITERAL = 4


@dataclass(frozen=True, slots=True)
class Finding:
    """Where a secret stands, never what it is."""

    rule: str
    start: int
    end: int


_KEYWORDS = tuple((keyword, rule) for rule in RULES for keyword in rule.keywords)
_ORDER = {id: place for place, id in enumerate((CONFIGURED, *(rule.id for rule in RULES)))}
# Only the marks that redact() writes: `[redacted:anything-else]` could hide a secret.
MARK = re.compile(r"\[redacted:(?:" + "|".join(map(re.escape, _ORDER)) + r")\]")

_DUMMY = re.compile(
    r"example|x{4}|\*{3}|\.{3}|your|change.?me|placeholder|dummy|redacted|\$\{|\{\{", re.IGNORECASE
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PIECE = re.compile(r"[A-Z]?[a-z]{1,256}|[A-Z]{1,256}|[0-9]{1,256}")
_SEPARATOR = re.compile(r"[._/:@-]")
_TOKEN_TAIL = re.compile(r"[A-Za-z0-9_-]*+")
_LONG = 200
_PASSES = 8


def scan(
    text: str, *, literals: tuple[str, ...] = (), exclude: frozenset[str] = frozenset()
) -> list[Finding]:
    """The secrets of a text, in order and apart; redacting them leaves a text with none."""
    findings = _scan_once(text, literals, exclude)
    # Taking a secret out can uncover its neighbour, so look again at what would be written.
    for _ in range(_PASSES):
        if not findings:
            return findings
        uncovered = _scan_once(redact(text, findings), literals, exclude)
        if not uncovered:
            return findings
        findings = _merge([*findings, *_in_original(findings, uncovered)])
    return [Finding(findings[0].rule, 0, len(text))]  # it does not settle: let nothing through


def redact(text: str, findings: Sequence[Finding]) -> str:
    """The text with a mark in the place of each finding."""
    parts: list[str] = []
    done = 0
    for finding in findings:
        parts += (text[done : finding.start], _mark(finding))
        done = finding.end
    return "".join((*parts, text[done:]))


def windows(lowered: str, rule: Rule) -> list[tuple[int, int]]:
    """The stretches of a lower-cased text in which the rule can match; they do not overlap."""
    hits: list[int] = []
    for keyword in rule.keywords:
        if keyword in lowered:
            hit = lowered.find(keyword)
            while hit >= 0:
                hits.append(hit)
                hit = lowered.find(keyword, hit + 1)
    if len(rule.keywords) > 1:
        hits.sort()
    merged: list[tuple[int, int]] = []
    for hit in hits:
        start, end = max(0, hit - rule.before), min(len(lowered), hit + rule.after)
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged


def lower(text: str) -> str:
    """Lower case with every offset kept."""
    lowered = text.lower()
    if len(lowered) == len(text):  # no character becomes shorter, so equal length means one for one
        return lowered
    return "".join(c.lower() if c.isascii() else c for c in text)


def _scan_once(text: str, literals: tuple[str, ...], exclude: frozenset[str]) -> list[Finding]:
    lowered = lower(text)
    found: list[Finding] = []
    if CONFIGURED not in exclude:
        for literal in literals:
            found += _find_literal(text, literal)
    # Most texts hold no keyword at all, so they are looked for in one go.
    for rule in dict.fromkeys([rule for keyword, rule in _KEYWORDS if keyword in lowered]):
        if rule.id not in exclude:
            for start, end in windows(lowered, rule):
                found += _match(text, rule, start, end)
    return _merge(_outside_marks(text, found)) if found else found


def _find_literal(text: str, literal: str) -> Iterable[Finding]:
    if len(literal) < SHORTEST_LITERAL:
        return
    hit = text.find(literal)
    while hit >= 0:
        yield Finding(CONFIGURED, hit, hit + len(literal))
        hit = text.find(literal, hit + 1)


def _match(text: str, rule: Rule, position: int, limit: int) -> Iterable[Finding]:
    while match := rule.pattern.search(text, position, limit):
        start, end = match.span(match.lastindex or 0)
        if rule.prose:  # the full stop of a sentence is not part of the value
            end = start + len(text[start:end].rstrip(".:?"))
        if _plausible(text[start:end], rule):
            if end - start >= _LONG and (tail := _TOKEN_TAIL.match(text, end)):
                end = tail.end()  # longer than the pattern's bound: take the whole token
            yield Finding(rule.id, start, end)
            position = max(end, match.end())
        elif rule.prose:
            # What was refused may hold another match, as an address holds `?token=...`.
            position = max(start, match.start() + 1)
        else:
            position = match.end()


def _plausible(value: str, rule: Rule) -> bool:
    if rule.digits and not (re.search("[0-9]", value) and re.search("[A-Za-z]", value)):
        return False
    if rule.prose and (_DUMMY.search(value) or _DATE.match(value) or _is_words(value)):
        return False
    return rule.entropy == 0.0 or _entropy(value) >= rule.entropy


def _is_words(value: str) -> bool:
    """Whether a value reads as an identifier, a path or an address: random keys break into short pieces."""
    pieces = _PIECE.findall(value)
    average = sum(map(len, pieces)) / len(pieces) if pieces else 0.0
    if _SEPARATOR.search(value):
        return average >= 3.0
    return average >= 4.0 and sum(c.isdigit() for c in value) <= 2 and "=" not in value


def _entropy(value: str) -> float:
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values())


def _outside_marks(text: str, found: list[Finding]) -> list[Finding]:
    """Drop what lies within marks; what holds a part of a mark takes the whole of it."""
    marks = [match.span() for match in MARK.finditer(text)]
    if not marks:
        return found
    starts, ends = [start for start, _ in marks], [end for _, end in marks]
    kept: list[Finding] = []
    for finding in found:
        first = bisect_right(ends, finding.start)  # the first mark that ends after the finding's start
        last = bisect_right(starts, finding.end - 1) - 1  # the last that starts before its end
        if first > last:
            kept.append(finding)
            continue
        start, end = min(finding.start, starts[first]), max(finding.end, ends[last])
        if sum(ends[i] - starts[i] for i in range(first, last + 1)) < end - start:
            kept.append(Finding(finding.rule, start, end))
    return kept


def _merge(found: list[Finding]) -> list[Finding]:
    """Join what overlaps; the longest part names the whole, of equals the most telling."""
    merged: list[Finding] = []
    longest = 0
    for finding in sorted(found, key=lambda f: (f.start, -f.end, _ORDER[f.rule])):
        length = finding.end - finding.start
        if not merged or finding.start >= merged[-1].end:
            merged.append(finding)
            longest = length
            continue
        last = merged[-1]
        rule = finding.rule if length > longest else last.rule
        longest = max(longest, length)
        merged[-1] = Finding(rule, last.start, max(last.end, finding.end))
    return merged


def _in_original(findings: list[Finding], uncovered: list[Finding]) -> Iterable[Finding]:
    """Carry findings of the redacted text back to the offsets of the original."""
    shown, original = [0], [0]
    for finding in findings:
        at = shown[-1] + finding.start - original[-1]
        shown += (at, at + len(_mark(finding)))
        original += (finding.start, finding.end)

    def back(position: int) -> int:
        place = bisect_right(shown, position) - 1
        return original[place] + position - shown[place]

    for finding in uncovered:
        yield Finding(finding.rule, back(finding.start), back(finding.end))


def _mark(finding: Finding) -> str:
    return f"[redacted:{finding.rule}]"
