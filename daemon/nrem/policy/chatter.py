"""What is true only while it is said: acknowledgements, what somebody is about to do, the state of a moment.

Also what automated runs report of themselves: a run's name, that it ended, and its counts and times. A lesson
("the backup fails because ...") and a habit ("the backup runs at 02:30") are none of these.
"""

from __future__ import annotations

import re

from nrem.policy.prior import split
from nrem.policy.wordlists import ACKNOWLEDGEMENTS, TIME_WORDS, sentences

SHORT = 120
"""Characters up to which a text can be about the moment alone."""


_DATES = TIME_WORDS - {"today", "tonight", "tomorrow", "until", "ago", "since"}
_IDEOGRAPHIC = re.compile(
    r"(?:ありがとう(?:ございます|ございました)?|了解(?:です|しました)?|わかりました|承知しました|はい|お疲れ様です|よろしくお願いします"
    r"|好的|谢谢|收到|知道了|没问题|明白了?|可以|네|감사합니다|알겠습니다|확인했습니다|[\s。、，,！!~～])+$"
)  # fmt: skip

_OPENER = (
    r"(?:(?:ok(?:ay)?|sure(?: thing)?|great|done|alright|all right|got it|perfect|thanks?(?: you)?"
    r"|right|yes|yep|no problem"
    r"|of course|certainly|absolutely|understood|good|now|next|then|first|hmm|so|well|and|sounds good"
    r"|will do)\b[,.!:;\u2014 -]{1,3}){0,2}"
)
_WORK = (
    r"(?:run(?:ning)?|check(?:ing|ed)?|read(?:ing)?|look(?:ing|ed)?|updat(?:e|ed|ing)|edit(?:ed|ing)?"
    r"|fix(?:ed|ing)?|creat(?:e|ed|ing)"
    r"|add(?:ed|ing)?|test(?:ed|ing)?|try(?:ing)?|tried|verif(?:y|ied|ying)|search(?:ed|ing)?"
    r"|open(?:ed|ing)?|writ(?:e|ing|ten)"
    r"|implement(?:ed|ing)?|refactor(?:ed|ing)?|continu(?:e|ing)|proceed(?:ing)?|wait(?:ing)?"
    r"|investigat(?:e|ed|ing)|analy[sz](?:e|ed|ing)"
    r"|review(?:ed|ing)?|debug(?:ging|ged)?|find|found|grep|inspect(?:ed|ing)?|examin(?:e|ed|ing)"
    r"|install(?:ed|ing)?|renam(?:e|ed|ing)"
    r"|remov(?:e|ed|ing)|delet(?:e|ed|ing)|mov(?:e|ed|ing) (?:the|this|that|it)|summari[sz](?:e|ed"
    r"|ing)|apply|applied|commit(?:ted|ting)?"
    r"|push(?:ed|ing)?|get back|report back|circle back|do (?:that|this|it)|take (?:a|another) look"
    r"|see (?:if|whether|what)|think"
    r"|explain|make (?:the|that|this|sure)|start (?:by|with)|pull|merge|ping|send (?:it|that|you)"
    r"|handle|take care|restart(?:ed|ing)?)"
)
_NARRATED = re.compile(
    rf"{_OPENER}(?:let me|let's|let us|i(?:'ll| will| am going to|'m going to|'m now| am now"
    rf"|'m about to)(?: just| now| then| first| also| quickly)?"
    rf"|i (?:just|now|also))\s+{_WORK}\b|{_OPENER}i(?:'ve| have)(?: now| just| also| already"
    rf"| successfully)? {_WORK} (?:it|this|that|all"
    r"|(?:the|your) (?:\w+ )?(?:files?|code|logs?|docs?|readme|tests?|imports?|function|bug|issue"
    r"|error|script|config|changes?|page|module|class|branch))\b"
    rf"|{_OPENER}(?:now )?(?:looking|checking|searching|fetching|loading|downloading|installing"
    rf"|running|reading|working|investigating|waiting|trying) (?:at|into|on|for (?:files?|the|it|ci"
    rf"|you|your)|the|that|this|to|it)\b"
    r"(?!.*\b(?:is|are|was|were|needs?|requires?|takes?|costs?|means|has|can|may)\b)"
    r"|(?:will|gonna|going to) (?:look|check|do|fix|try|see|get|handle|take)\b|ich (?:schaue|prüfe"
    r"|sehe|teste|mache|kümmere|lese) "
    r"|(?:lass|lassen sie) mich |voy a (?:revisar|mirar|comprobar|ejecutar|probar|ver)\b|déjame "
    r"|je (?:vais|regarde|vérifie|lance) ",
    re.IGNORECASE,
)  # fmt: skip
_REPORTED = re.compile(
    r"(?:ran|re-?ran|opened|pushed|merged|committed|rebased|closed|reviewed|approved)(?: the| a| an"
    r"| your| my| all)? (?:prs?|mrs?|pull requests?|#\d"
    r"|commits?|changes|branch|tests?|test suite|linter|build)\b|.{0,80}\b(?:as (?:you )?(?:requested"
    r"|asked)|per your request)\b"
    r"|(?:done|all done|all set|erledigt|fertig|listo|hecho|terminé)[.!:]+ \S"
    r"|(?:the )?user (?:asked|requested|is asking)(?: me)? (?:to|for|about|if|whether) (?:help |to )*"
    r"(?:fix(?:ing)?|rename|refactor|update|add|remove|change|write|run|debug|explain|review"
    r"|summari[sz]e|look|check|help)\b",
    re.IGNORECASE,
)  # fmt: skip
_LASTS = re.compile(
    r"\b(?:because|so that|means|always|never|must|should|every|each|from now on|whenever|decided"
    r"|chose|agreed|prefer|instead|only"
    r"|(?:week|mon|tues|wednes|thurs|fri|satur|sun)days|weekends"
    r"|weil|immer|nie|muss|jeden?|wenn|ab sofort|porque|siempre|nunca|cada|debe|hay que|parce"
    r"|toujours|jamais|chaque|doit)\b",
    re.IGNORECASE,
)  # fmt: skip
_MOMENTARY = re.compile(
    r"\b(?:right now|at the moment|at this moment|just now|for a (?:sec|second|moment|minute)"
    r"|in a (?:sec|second|moment|minute|bit)"
    r"|as we speak|this very|hang on|hold on|one (?:sec|second|moment|minute)|be right back|brb|afk"
    r"|on my way|heading (?:out|home|off)"
    r"|stepping (?:out|away)|(?:going|off|out|gone) (?:for|to|at) (?:a )?(?:lunch|coffee|break|dinner"
    r"|walk|bed|sleep)|grabbing (?:a |some )?\w+"
    r"|back (?:at|in|by|around) (?:\d+|a|an|half)|(?<!take a )(?<!takes a )(?:lunch|coffee|tea|short) break"
    r"|good (?:morning"
    r"|night|evening)|talk (?:soon|later)|signing off|logging off|calling it a day"
    r"|gerade eben|jetzt gerade|im moment|im augenblick|gleich (?:zurück|wieder)|bin (?:kurz|gleich"
    r"|mal) |mittagspause|feierabend"
    r"|ahora mismo|en este momento|vuelvo (?:en|a las)|voy a (?:comer|almorzar|casa|dormir)|salgo a |me voy "
    r"|en ce moment|pour l'instant|je reviens|je pars (?:manger|déjeuner)|de retour (?:à|dans)"
    r"|pause déjeuner)\b"
    r"|\b(?:is|are|am|'s|'m|feels?|feeling|seems?) (?:\w+ )?(?:tired|busy|hungry|sick|ill|sleepy"
    r"|exhausted|stressed|annoyed|happy|sad|cold|hot"
    r"|late|stuck|blocked|offline|online|red|green|broken|slow|down|up|running|flaky|rainy|sunny"
    r"|raining) (?:today|now|again|this (?:morning|afternoon|evening))\b"
    r"|\b(?:heute|gerade|jetzt) (?:\w+ )?(?:müde|krank|beschäftigt|rot|kaputt|hungrig)\b|\b(?:cansad"
    r"|ocupad|enferm)[oa] (?:hoy|ahora)\b"
    r"|\b(?:fatigué|occupé|malade)e? aujourd'hui\b",
    re.IGNORECASE,
)  # fmt: skip

_RUN = (
    r"(?:jobs?|tasks?|runs?|builds?|back-?ups?|syncs?|synchroni[sz]ation|pipelines?|deploy(?:ment|s)?"
    r"|rollout|tests?|test suite|suite|checks?|health ?checks?"
    r"|scans?|imports?|exports?|crons?|cron ?jobs?|workflows?|digest|reports?|heartbeat|reminders?"
    r"|migrations?|index(?:ing|er)?|re-?index|uploads?|downloads?"
    r"|crawl(?:er)?|clean-?up|sweep|dream|poll(?:ing)?|ingest(?:ion)?|batch|worker|process(?:ing)?"
    r"|installation|compilation|lint(?:er|ing)?|execution|replication"
    r"|snapshots?|vacuum|rotation|renewal|verification|validation|agent|subagent|session|watchdog"
    r"|monitor|script|trigger|webhook|notification"
    r"|sicherung|lauf|aufgabe|auftrag|prüfung|abgleich|bericht|erinnerung|copia(?: de seguridad)?"
    r"|tarea|trabajo|proceso|prueba|recordatorio|informe"
    r"|sauvegarde|tâche|travail|vérification|rapport|rappel|synchronisation)"
)
_ENDED = (
    r"(?:finish(?:ed|es)?|complet(?:ed|es?)|succeed(?:ed|s)?|success(?:ful(?:ly)?)?|fail(?:ed|s|ure)?"
    r"|pass(?:ed|es)?|started|starting|skipped|aborted|cancell?ed"
    r"|timed out|exited|crashed|stopped|triggered|fired|tick|captured|delivered|sent|acknowledged"
    r"|queued|scheduled|done|ok|ran|ended|processed|updated|deployed|retried|retrying"
    r"|restarted|is (?:running|green|red|healthy|up|down)|abgeschlossen|fehlgeschlagen|erfolgreich"
    r"|beendet|gestartet|übersprungen|completad[oa]|finalizad[oa]"
    r"|terminad[oa]|falló|fallid[oa]|correctamente|terminée?|réussie?|échouée?|achevée?)"
)
_MEASURED = (
    r"(?:\b\d{1,2}:\d\d\b|\b\d+(?:[.,]\d+)? ?(?:ms|s|secs?|seconds?|m|mins?|minutes?|h|hours?"
    r"|[KMGT]i?B|bytes|%|sekunden|minuten|segundos|minutos|secondes)(?!\w)"
    r"|\b\d+ (?:\w+ ){0,2}(?:errors?|warnings?|files?|rows?|records?|items?|tests?|emails?|messages?"
    r"|events?|changes?|failures?|failed|passed|skipped|ok|fehler"
    r"|dateien|archivos|errores|fichiers|erreurs|contacts?|commits?|issues?|tasks?|pages?|documents?"
    r"|entries|updates?|attempts?|retries|checks?|memories|lines)\b"
    r"|#\d+|\bexit(?:ed)?\b|\battempt \d|\b\d+/\d+\b|\b\w+ed \d+\b|\bnothing\b|\bno (?:errors|issues"
    r"|changes|failures|problems)\b|\b0 \w+)"
)
_AUTOMATED = re.compile(
    rf"\W{{0,8}}(?:(?:the|a|your|last|der|die|das|el|la"
    rf"|le) )?(?:[\w'/.#@:-]+ ){{0,4}}?{_RUN}\b(?:\s[^.!?\n]{{0,60}}?|[:,-]\s*|\s*)\b{_ENDED}\b",
    re.IGNORECASE,
)
_JUST_ENDED = re.compile(
    rf"\W{{0,8}}(?:the )?(?:[\w-]+ ){{0,3}}?{_RUN}(?: [\w#'\"-]+)?(?: (?:has|was|is|wurde|ha|a été"
    rf"|se ha))? (?:{_ENDED}|successfully|without errors|with errors"
    r"|ohne fehler|sin errores|sans erreur|again| )+\W*$",
    re.IGNORECASE,
)
_DATED = re.compile(
    r"\b(?:on|in|since|until) (?:\d{1,2} )?(?:January|February|March|April|May|June|July|August|September"
    r"|October|November|December)\b"
)  # fmt: skip
"""A run gives its time as a clock does; who names a month writes for later."""
_IN_COMPANY = re.compile(r"\bwith [A-Z][a-z]")
"""A sync with somebody is a meeting."""
_MEASURE = re.compile(_MEASURED, re.IGNORECASE)
_SUMMARY = re.compile(
    r"\W{0,8}(?:(?:status|daily|weekly|hourly|nightly|monthly|morning|evening|progress|system|sprint"
    r"|ci|build|test|health|heartbeat|cron|run|sync|backup|tages|wochen)"
    r"[ -]?){1,3}(?:update|digest|report|summary|briefing|check|status|recap|results?|log|bericht"
    r"|stand)?(?: (?:for|of|on|vom|de|del|du) [^:\n]{1,30})?[\d\s:./#-]{0,24}:\s",
    re.IGNORECASE,
)
_PROGRESS = re.compile(
    r"\W{0,8}[A-Z]\w+ing\b[^.!?]{0,80}(?:\.{3}|\u2026|\b\d{1,3} ?%|\b\d+/\d+\b"
    r"|\bv?\d+\.\d+\.\d+\b.*\b(?:\d+(?:\.\d+)?m?s|done|ok)\b|: done\b)"
    r"|\W{0,8}(?:successfully|erfolgreich) \w+(?:ed|t) |\W{0,8}(?:added|removed|changed|audited"
    r"|collected|downloaded|resolved|processed|synced|updated|indexed|imported"
    r"|exported|deleted|scanned|fetched|uploaded|cleaned|generated|checked|found|loaded|written"
    r"|inserted) \d+ (?!.*(?:: | (?:per|each|every) | in (?:19|20)\d\d\b| (?-i:[A-Z][a-z])))"
    r"\w+.{0,60}(?:\bin \d|,|$)"
    r"|\W{0,8}(?:everything|all \d* ?(?:\w+ )?|no (?:new )?\w+|nothing)\b.{0,30}\b(?:up to date"
    r"|up-to-date|passed|green|healthy|reachable|in sync|synced|to do|clean|nominal|needs attention)\W*$",
    re.IGNORECASE,
)  # fmt: skip
_COUNT = re.compile(
    r"\b\d+/\d+\b|(?<![\w.-])\d+(?:[.,]\d+)?%? [a-z]+|\b(?:ok|green|healthy|normal)\b", re.IGNORECASE
)
_IDENTIFIER_ENDED = re.compile(rf"\W{{0,8}}[\w.-]*[-_\d][\w.-]* {_ENDED}\b.*{_MEASURED}", re.IGNORECASE)


def chatter(text: str) -> str | None:
    """Say what a text is if it is about the moment alone; None = it may be worth keeping."""
    if is_acknowledgement(text):
        return "small talk"
    if _LASTS.search(text):
        return None
    if _is_report(text):
        return "the report of a run"
    if len(text) > SHORT or len(sentences(text)) > 2:
        return None
    if _REPORTED.match(text) or (_NARRATED.match(text) and _DATES.isdisjoint(split(text))):
        return "somebody's next step"
    return "the state of a moment" if _MOMENTARY.search(text) else None


def is_acknowledgement(text: str) -> bool:
    """Tell whether a text says nothing but that another one was heard."""
    return _IDEOGRAPHIC.match(text.strip()) is not None or set(split(text)) <= ACKNOWLEDGEMENTS


def _is_report(text: str) -> bool:
    """Tell whether an automated run speaks of itself: what ran, that it ended, and what was counted."""
    line = text.strip().split("\n", 1)[0]
    if _JUST_ENDED.fullmatch(line) or _PROGRESS.match(line) or _IDENTIFIER_ENDED.match(line):
        return True
    if _SUMMARY.match(line):
        return len(_COUNT.findall(line)) > 1 and not _IN_COMPANY.search(line)
    return bool(_AUTOMATED.match(line) and _MEASURE.search(line) and not _DATED.search(line))
