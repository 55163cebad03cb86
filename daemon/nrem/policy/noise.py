"""Texts that no line of MEMORY.md is made of: what machines say, and what says nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping

from nrem.policy.chatter import chatter, is_acknowledgement
from nrem.policy.machine import JUDGED, machine
from nrem.policy.wordlists import asks, sentences

_PATTERNS: Mapping[str, re.Pattern[str]] = {
    "nrem's own output": re.compile(
        r"<!--\s*(?:m:|nrem:|mem:|openclaw)|^#+\s*(?:dreamed|dream diary|promoted from|light sleep"
        r"|rem sleep|deep sleep)\b"
        r"|^\[Type: ?\w+ \| |^\W{0,2}\[\w+:[\w -]*\] \(\d{4}-|^[+~-] [0-9a-f]{8}-[0-9a-f-]{27} "
        r"|^[+]\d+ -\d+ ~\d+"
        r"|[(\[,;|_] ?score[ =:]{1,2}[01]?\.\d|\bscore=\d|\brecalls=\d|\bstatus:\s*staged"
        r"|\bconfidence:\s*0?\.\d"
        r"|^\W{0,4}(?:promoted|demoted|superseded|kept|held)(?:\s*:| \d+ (?:lines?|memory|memories)\b)"
        r"|^\W{0,4}(?:recalled|relevant|retrieved|related) (?:memory|memories|context|facts?)\s*:"
        r"|^\W{0,4}(?:stored|saved) (?:memory|memories|context|facts?)\s*:[^\S\n]*(?:$|[-*\[\"<]|[0-9a-f]{8})"
        r"|^(?:remembered|forgot|stored|saved|recalled|pinned)(?: as)? (?:m:)?[0-9a-f]{8}"
        r"|^\W{0,4}memor(?:y|ies) (?:stored|saved|updated|forgotten|found|recalled)\b|^(?:no"
        r"|found \d+|\d+) memor(?:y|ies)\b"
        r"|^# dreams of \d{4}-|^## \d\d:\d\d sweep |[;(,] ?m:[\w-]{4,}\)|\bnumber \d+ of those that fit\b"
        r"|^\d+ lines? (?:stay|stays|stayed); the block\b|^nearest (?:of those )?without a line:"
        r"|^left out: \d+, because\b|^committed [0-9a-f]{7,}; sweep ",
        re.IGNORECASE | re.MULTILINE,
    ),
    "a heartbeat's acknowledgement": re.compile(
        r"^\W{0,8}HEARTBEAT_OK\b|^\W{0,8}NO_REPLY\b|^\W{0,8}heartbeat(?: (?:check|tick|ack|run|poll"
        r"|ok)){0,2}\s*(?:[:.!-]|$|complete|ok|done|at \d|#?\d)"
        r"|^\W{0,8}(?:read|checked|follow(?:ed)?) HEARTBEAT\.md\b"
        r"|^(?:all (?:systems|checks|services)\b.{0,40}(?:normal|ok|green|clear|passed|nominal)"
        r"|nothing (?:to report|new|needs attention|pending|due|to do)\b.{0,40}"
        r"|no (?:pending|due|open) (?:tasks|reminders|items)\b.{0,40}|still (?:alive|running|here)"
        r"|no (?:new|unread) (?:messages|e?mails)(?:[.,;!].{0,40})?)\W{0,8}$",
        re.IGNORECASE | re.MULTILINE,
    ),
    "chatter of a schedule": re.compile(r"^\W{0,8}\[cron\b|^\W{0,8}cron:", re.IGNORECASE | re.MULTILINE),
    "a prompt": re.compile(
        r"<\|(?:im_start|im_end|system|user|assistant|endoftext)\|>|\[/?INST\]|<</?SYS>>|\{\{\s*\w+[^}]*\}\}"
        r"|<(?:system|user|command)-[\w-]+>"
        r"|\byou are (?:an? |the )?(?:\w+[ -]){0,4}(?:assistant|agent|model|chatbot|AI|bot|expert)\b"
        r"|^[^\S\n]*(?:#+\s*)?(?:system prompt|system message|instructions?|response format"
        r"|output format)\s*:"
        r"|\b(?:respond|reply|answer|return) (?:only|strictly|exclusively) (?:with|in) (?:a |valid "
        r"|the )*(?:json|xml|yaml|yes|code|markdown)\b"
        r"|\bin the following (?:JSON|format)"
        r"|\b(?:ignore|disregard|forget) (?:all |any )?(?:of )?(?:the |your )?(?:previous|prior|above"
        r"|earlier) (?:\w+ )?"
        r"(?:instructions?|prompts?|rules|messages)",
        re.IGNORECASE | re.MULTILINE,
    ),
}  # fmt: skip


def noise(text: str) -> str | None:
    """Say what a text is that is not worth a line, judged by its beginning; None = it may be."""
    text = text[:JUDGED]
    for name, pattern in _PATTERNS.items():
        if pattern.search(text):
            return name
    what = machine(text) or chatter(text)
    if what is not None:
        return what
    parts = sentences(text)
    if all(map(asks, parts)):
        return "only questions"
    told = " ".join(part for part in parts if not asks(part))
    return "small talk" if is_acknowledgement(told) else None
