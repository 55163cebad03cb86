"""Texts that no line of MEMORY.md is made of: what machines say, and what says nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping

from nrem.policy.prior import split
from nrem.policy.wordlists import asks, is_small_talk, sentences

JUDGED = 4000
"""Characters that are looked at; a line has room for a tenth of that."""

_PATTERNS: Mapping[str, re.Pattern[str]] = {
    "a sweep's own output": re.compile(
        r"<!--\s*(?:m:|nrem:|mem:|openclaw)|\[score=|_\(score|\bscore=\d|\brecalls=\d|\bstatus:\s*staged"
        r"|\bconfidence:\s*0?\.\d|^#+\s*(?:dreamed|dream diary|promoted from|light sleep|rem sleep"
        r"|deep sleep)\b"
        r"|^(?:promoted|demoted|superseded|kept|held) \d+ (?:lines?|memory|memories)\b"
        r"|^# dreams of \d{4}-|^## \d\d:\d\d sweep |[;(,] ?m:[\w-]{4,}\)|\bnumber \d+ of those that fit\b"
        r"|^\d+ lines? (?:stay|stays|stayed); the block\b|^nearest (?:of those )?without a line:"
        r"|^left out: \d+, because\b|^committed [0-9a-f]{7,}; sweep ",
        re.IGNORECASE | re.MULTILINE,
    ),
    "a heartbeat's acknowledgement": re.compile(
        r"\bHEARTBEAT(?:_OK|\.md)\b|\bNO_REPLY\b|^\W{0,8}heartbeat\s*(?:[:.!-]|$)"
        r"|^(?:all (?:systems|checks|services)\b.{0,40}(?:normal|ok|green|clear|passed|nominal)"
        r"|nothing (?:to report|new|needs attention|pending)\b.{0,40}"
        r"|no (?:pending|due|open) (?:tasks|reminders|items)\b.{0,40}|still (?:alive|running|here)"
        r"|no (?:new|unread) (?:messages|e?mails)(?:[.,;!].{0,40})?)\W{0,8}$",
        re.IGNORECASE | re.MULTILINE,
    ),
    "chatter of a schedule": re.compile(
        r"^\W{0,8}\[cron\b|^\W{0,8}cron:|^\W{0,8}(?:the )?(?:scheduled|nightly|daily|hourly|weekly"
        r"|recurring|cron)"
        r" (?:[\w-]+ ){0,3}(?:job|task|run|sync|backup|check|report|scan|tick)\b.{0,60}"
        r"\b(?:started|starting|finished|completed?|succeeded|failed|skipped|ran|ok|done)\b"
        r"|^\W{0,8}(?:job|task|run|tick) #?\d+\b.{0,60}\b(?:started|finished|completed?|succeeded|failed"
        r"|exited)\b"
        r"|\bexit(?:ed with)? code \d+",
        re.IGNORECASE | re.MULTILINE,
    ),
    "a prompt": re.compile(
        r"<\|(?:im_start|im_end|system|user|assistant|endoftext)\|>|\[/?INST\]|<</?SYS>>|\{\{\s*\w+[^}]*\}\}"
        r"|\byou are (?:an? |the )?(?:\w+[ -]){0,4}(?:assistant|agent|model|chatbot|AI|bot|expert)\b"
        r"|^[^\S\n]*(?:#+\s*)?(?:system prompt|system message|instructions?|response format"
        r"|output format)\s*:"
        r"|\b(?:respond|reply|answer|return) (?:only|strictly|exclusively) (?:with|in)\b"
        r"|\bin the following (?:JSON|format)"
        r"|\b(?:ignore|disregard|forget) (?:all |any )?(?:of )?(?:the |your )?(?:previous|prior|above"
        r"|earlier) (?:\w+ )?"
        r"(?:instructions?|prompts?|rules|messages)",
        re.IGNORECASE | re.MULTILINE,
    ),
    "a log": re.compile(
        r"^\W{0,2}\d{4}-\d\d-\d\d[T ]\d\d:\d\d|^\W{0,2}\d\d:\d\d:\d\d[.,\s]|^<\d{1,3}>"
        r"|Traceback \(most recent call last\)"
        r"|^[^\S\n]*at [\w$.<>]+\([\w.]*:?\d*\)|^\W{0,2}(?:ERROR|WARN(?:ING)?|INFO|DEBUG|TRACE|FATAL"
        r"|CRITICAL)\b\W"
        r"|\"\s*[1-5]\d\d\s+\d+\b|^(?:[A-Z][a-z]{2}\s+\d{1,2} \d\d:\d\d:\d\d)|\bgoroutine \d+|\bsegfault at\b"
        r"|^[^\S\n]*File \"[^\"]+\", line \d+|^\w+(?:Error|Exception): ",
        re.MULTILINE,
    ),
    "code": re.compile(
        r"```|~~~|^[^\S\n]*(?:def|class|async def|fn|func|function|import|from \S+ import|#include|package"
        r"|public|private"
        r"|const|let|var|return|export|struct|impl|namespace|using)\b[^.!?]*[({;:=]|^[^\S\n]*(?:import \w+"
        r"|from \S+ import)"
        r"|^[^\S\n]*(?:if|for|while|switch|try|else|elif)\b[^.!?]*[:{][^\S\n]*$"
        r"|^[^\S\n]*[})\]];?[^\S\n]*$|;[^\S\n]*$|=>|::"
        r"|\)\s*\{|^[^\S\n]*<\/?\w+[^>]*>"
        r"|^[^\S\n]*(?:SELECT\b.+\bFROM|INSERT INTO|UPDATE\b.+\bSET|DELETE FROM|CREATE (?:TABLE|INDEX)"
        r"|ALTER TABLE)\b"
        r"|^[^\S\n]*(?:@@ -\d|diff --git|\+\+\+ |--- [ab]/)",
        re.MULTILINE,
    ),
    "a command": re.compile(
        r"^[^\S\n]*(?!.*[.!?](?:\s|$))(?:[$#>%]\s+\S|sudo\s+\w|(?:git|cd|ls|cat|grep|rm|cp|mv|mkdir|chmod"
        r"|chown|npm|npx|pnpm|yarn|pip"
        r"|pip3|uv|python3?"
        r"|node|docker|docker-compose|kubectl|helm|terraform|curl|wget|ssh|scp|tar|systemctl|journalctl"
        r"|apt|apt-get|brew"
        r"|cargo|go|make|bash|sh|export|echo)\s+(?:-|\w+[./-]|[./~\"'$]|(?:install|run|build|push|pull"
        r"|commit|status|add"
        r"|checkout|clone|test|up|down|apply|get|start|stop|restart|exec|logs|ps|log|diff|init)\b))",
        re.MULTILINE,
    ),
    "configuration": re.compile(
        r"^[^\S\n]*\{\s*\"|^[^\S\n]*\[\s*[\{\"]|^[^\S\n]*\[[\w.-]+\][^\S\n]*$"
        r"|^[^\S\n]*[A-Z][A-Z0-9_]+=\S*[^\S\n]*$"
        r"|^[^\S\n]*[\w.-]+\s*=\s*[\w\"'\[{/.:-]+[^\S\n]*$"
        r"|^---[^\S\n]*$|^[^\S\n]*[\w-]+:\s*(?:true|false|null|\d+|\"[^\"]*\"|\[.*\])[^\S\n]*$"
        r"|(?:^[^\S\n]*-?[^\S\n]*[\w.-]+:(?: \S+)?[^\S\n]*\n){2,}",
        re.MULTILINE,
    ),
}  # fmt: skip
_SYMBOL = re.compile(r"[{}()\[\]<>=;|\\&^%$#@*~`]")
_LONG_RUN = re.compile(r"\S{80,}")


def noise(text: str) -> str | None:
    """Say what a text is that is not worth a line, judged by its beginning; None = it may be."""
    text = text[:JUDGED]
    for name, pattern in _PATTERNS.items():
        if pattern.search(text):
            return name
    if len(_SYMBOL.findall(text)) > 0.12 * max(len(text), 1) or _LONG_RUN.search(text):
        return "code"
    parts = sentences(text)
    if all(map(asks, parts)):
        return "only questions"
    if is_small_talk({word for part in parts if not asks(part) for word in split(part)}):
        return "small talk"
    return None
