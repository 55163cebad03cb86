"""What machines write, by the form of its lines: logs, traces, output, code, commands, configuration.

A line is judged by how it begins and what stands where. Quoted code counts as one word of the sentence around
it, so that a rule may name a command; a line that says what to make of an error is no error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

JUDGED = 4000
"""Characters that are looked at; a line has room for a tenth of that."""
LEAST_PROSE = 6
"""Words beside a fence of code that make a text more than the code."""
SHARE = 0.5
SHARE_BESIDE_LESSON = 0.8
"""Of a text's lines, how many may be a machine's: more where another line says what to make of them."""

_FENCE = re.compile(r"(?:```|~~~).*?(?:```|~~~|\Z)", re.DOTALL)
_CODE_SPAN = re.compile(r"`[^`\n]{1,200}`")
_QUOTED = re.compile(r"'[^'\n]{1,400}'|\"[^\"\n]{1,400}\"|`[^`\n]{1,400}`")
_LESSON = re.compile(
    r"\b(?:means?|meant|because|due to|happens|comes? from|came from|(?:is|was|are) caused|indicates?"
    r"|fix(?:es|ed)?"
    r"(?: is| by| with|:)|solution|workaround|solved|go(?:es)? away|disappears|harmless"
    r"|can be ignored|ignore it"
    r"|bedeutet|hei(?:ß|ss)t|weil|behebt|l(?:ö|oe)sung|significa|porque|se arregla|soluci(?:ó|o)n"
    r"|signifie|parce qu"
    r"|corrig)",
    re.IGNORECASE,
)  # fmt: skip
_RULE = re.compile(
    r"\b(?:always|never|must(?:n't)?|should(?:n't)?|do not|don't|avoid|prefers?|remember|please|only"
    r"|needs?|immer|nie"
    r"|niemals|muss|siempre|nunca|hay que|toujours|jamais|il faut)\b",
    re.IGNORECASE,
)  # fmt: skip
_PROSE = frozenset(
    """
    the a an is are was were be to of for with when must should always never not no needs need needed uses use
    used has have had by via because means before after if our we i you my it its their his her on in and or
    than over lives runs takes works requires version stays only preferred style messages message workflow
    instead without from at as that this which but so do does don't can can't will der die das ist sind
    nicht und für mit auf im el la los las es son para con del en le les est sont pour avec dans
    """.split()
)
"""Words of sentences, which commands and code have only within quotes."""

_TIME = r"\d{1,2}:\d\d(?::\d\d)?"
_LEVEL = r"(?:ERROR|WARN(?:ING)?|INFO|DEBUG|TRACE|FATAL|CRITICAL|NOTICE|PANIC|SEVERE)"

_CERTAIN: Mapping[str, re.Pattern[str]] = {
    "a log": re.compile(
        rf"\W{{0,3}}\d{{4}}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d|Z|[^\n]{{0,40}}\b{_LEVEL}\b)"
        r"|\W{0,3}\d\d:\d\d:\d\d\b|<\d{1,3}>|[A-Z][a-z]{2}\s+\d{1,2} \d\d:\d\d:\d\d"
        r"|[IWEF]\d{4} \d\d:\d\d:\d\d|\[\s*\d+\.\d{3,6}\] |[\w./-]{1,60}\[\d+\]: "
        r"|.{0,200}\" [1-5]\d\d \d+(?:\s|$)|(?:level|ts|time|msg|lvl)=\S+ \w+="
        r"|\w+=\S+ \w+=\S+ \w+=\S+|[\w.-]+\s*\| +[A-Z]+:|[\w./-]+: \[\w+\] |\[[^\]]{3,60}\] ?\["
        r"|[VDIWEF]/\w+ ?\("
        r"|(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) /\S* (?:HTTP/|[1-5]\d\d\b|->|\u2192)|[<>] HTTP/"
        r"|HTTP/[\d.]+ \d{3}\b"
    ),
    "a stack trace": re.compile(
        r"Traceback \(most recent call last\)|\s*at [\w$.<>/\[\]]{2,200}(?: \[as \w+\])? ?\("
        r"|\s*at \S+:\d+(?::\d+)?\s*$"
        r"|\s*File \"[^\"]+\", line \d+|\s*from \S+:\d+:in |goroutine \d+"
        r"|thread '[^']*' (?:\(\d+\) )?panicked|\s*#\d+ +(?:0x)?\w+ "
        r"|\s*\.{3} \d+ more$|.*\bsegfault at\b|(?:Segmentation fault|Aborted|Killed"
        r"|Bus error)(?: \(core dumped\))?\W*$"
        r"|E {2,}\S|\S+:\d+:\d+: |\S+\(\d+,\d+\): (?:error|warning)|\s*--> \S+:\d+|\s*\d* \| .*|\s*[~^]{3,}"
    ),
    "output of a tool": re.compile(
        r"(?i:tool|function|command|shell|bash|terminal|api|mcp)[ _-](?:results?|outputs?|calls?"
        r"|responses?|use|returned)\s*[:=(]"
        r"|std(?:out|err)\s*[:=>]|(?:exit(?:ed)?(?: with)?(?: code| status)?"
        r"|return code)\s*[:=]?\s*(?:\d+\W*$|\S+:)|[dl-](?:[r-][w-][xsStT-]){3}\S? |total \d+\s*$"
        r"|[^{}\n]{0,40}(?::|^)\s*[{\[]\s*(?:[\"{\[\]}].*)?$|\s*\"[\w.$ -]{1,60}\"\s*:\s*\S"
        r"|On branch \S+$|Your branch is |nothing (?:added )?to commit|Already up.to.date"
        r"|Untracked files|Changes (?:not staged|to be)"
        r"|Requirement already |Successfully installed |Collecting \S+$"
        r"|\W{0,2}[\u2713\u2714\u2717\u2718\u2716\u25cf] "
        r"|<\?php|\s*</?[a-zA-Z][\w:-]*(?:\s[^>]*)?/?>|<\?xml|\s*%PDF-|data:\w+/\w+;base64,"
        r"|\w+(?:[ ./-]\w+)? (?:ERR!|WARN) |\w+: \*\*\* |(?:make|ninja|ld|gcc|cc1)\b[^ ]*: "
        r"|\W{0,3}(?:=== (?:RUN|PAUSE|CONT)\b|--- (?:PASS|FAIL|SKIP)\b|(?:not )?ok \d+\b"
        r"|test result: |Ran \d+ tests? in )"
        r"|\W{0,3}(?:PASS(?:ED)?|FAIL(?:ED)?|SKIP(?:PED)?|XFAIL|ok|FAILURES?"
        r"|RUNS?)\b:?\s+[\w@.-]*[/.:][\w/.:@\[\]-]*"
        r"|\W{0,3}\d+ (?:tests? |specs? |examples?,? )?(?:passed|failed|skipped|failing|passing"
        r"|pending|failures?|xfailed)\b|\W{0,3}\d+ \w+, \d+ (?:failures?|errors?|failed|passed|skipped)\b"
        r"|(?:Tests?|Test Suites?|Snapshots?|Suites?):\s+\d+ \w+|={3,}|-{5,}|[*_#]{5,}"
        r"|.*(?:\d{1,3}%\s*\||\[[#=>. -]{6,}\]|\d+/\d+ \[\d\d:\d\d|\bETA:? \d)"
    ),
    "code": re.compile(
        r"\s*(?:@@ -\d|diff --git|\+\+\+ \S|--- [ab]/|index [0-9a-f]{7,}\.\.)|\s*#include\b|\s*if __name__ =="
        r"|\s*(?:async )?def \w+\s*\(|\s*class \w+\s*[({:]|\s*(?:pub )?fn \w+\s*[(<]|\s*func (?:\(|\w+\()"
        r"|\s*(?:async )?function\s*\w*\s*\(|\s*import (?:[\w.]+(?: as \w+)?$|.* from ['\"]|[\"'{(*])"
        r"|\s*from \S+ import\b"
        r"|\s*(?:const|let|var|val) [\w{\[][\w, {}\[\]:<>]* ?=|\s*export (?:default|const|function|class|\{)"
        r"|\s*[})\]]+[;,)]*\s*$|\s*(?:SELECT\b.+\bFROM|INSERT INTO|UPDATE\b.+\bSET|DELETE FROM"
        r"|(?:CREATE|DROP|ALTER) (?:TABLE|INDEX|DATABASE|VIEW))\b|\s*package \w+(?:[.;]|$)"
    ),
    "a command": re.compile(
        r"\s*(?:\$|%|\u276f|\u279c|>>>|In \[\d+\]:|PS [A-Z]:[^>]*>|\w[\w.-]*@[\w.-]+:[^$#]{0,80}[$#]) ?\S"
        r"|\s*#!/|\s*sudo\s+\S|\s*(?:for \w+ in|while|if) .*;\s*(?:do|then)\b"
    ),
    "configuration": re.compile(
        r"\s*\[[\w.:\"-]+\]\s*$|\s*(?:export )?[A-Z][A-Z0-9_]+=\S*\s*$|\s*-{3}\s*$"
        r"|\s*FROM \S+:\S+\s*$|\s*(?:CMD|ENTRYPOINT) \["
        r"|\s*[\w.-]+\s*=\s*(?:[\w\"'\[{/.:-]+|\"[^\"]*\"|'[^']*')\s*$|\s*(?:-\s*)?[\w-]+:\s*(?:true"
        r"|false|null)\s*$"
    ),
}  # fmt: skip
"""What one line begins with where no person writes so."""

_WITHOUT_LESSON: Mapping[str, re.Pattern[str]] = {
    "an error message": re.compile(
        r"\W{0,3}(?:[\w$]+\.)*\w*(?:Error|Exception|Warning|Fault)\b(?:\[\w+\])?(?:: | at |$)|(?:E"
        r"|ERR)[A-Z]{4,}\b"
        r"|\W{0,3}(?:[\w./-]+: )?(?i:error|fatal|panic|(?:php )?fatal error"
        r"|internal compiler error)(?:\[\w+\]| [A-Z]+\d+)?: "
        r"|\W{0,3}(?:[\w./-]+: ){1,2}.*(?:No such file or directory|Permission denied"
        r"|command not found|not found$)"
        r"|curl: \(\d+\)|Caused by: |(?:Unhandled|Uncaught) |ERROR \d+ |Command failed|(?:Process"
        r"|Command|Script|Container|Program)\b"
        r".{0,80}\b(?:exit(?:ed)?|terminated|killed)\b.{0,20}\b(?:code|status|signal)\b"
        r"|exit status \d|.*\(\w+(?:Error|Exception)\)\W*$"
    ),
}  # fmt: skip
_WITHOUT_RULE = re.compile(
    rf"\W{{0,2}}{_LEVEL}\b\W|\W{{0,2}}(?:warning|warn|note|hint|info|debug)(?:\[\w+\])?: "
    rf"|.*\bDeprecationWarning\b"
)

_PROGRAMS = frozenset(
    """
    git npm npx pnpm yarn pip pip3 pipx uv uvx python python3 docker docker-compose podman kubectl helm
    terraform tofu curl wget ssh scp rsync systemctl journalctl service apt apt-get dnf yum apk pacman
    brew cargo rustup rustc psql mysql sqlite3 mongosh redis-cli aws gcloud az gh glab chmod chown mkdir
    rmdir grep rg awk sed tar unzip gzip ansible ansible-playbook poetry pytest tox bundle rails rake
    composer php artisan mvn gradle gradlew dotnet flutter adb ffmpeg openssl nc dig ping netstat lsof ps
    crontab tmux nvm conda jq xargs nohup deno bun bunx tsc eslint prettier vite make cmake ninja go node
    ruby perl java javac sh bash zsh cd ls cat rm cp mv ln touch echo export source find sort head tail
    less kill killall nrem vault consul nomad argocd flux k9s minikube kind alembic flask django-admin
    gunicorn uvicorn celery supervisorctl nginx certbot ufw iptables mount df du top htop
    """.split()
)
_SUBCOMMANDS = frozenset(
    """
    install uninstall add remove rm run build push pull commit status checkout switch clone test up down
    apply get describe delete logs log exec start stop restart reload enable disable ps diff init rollout
    scale upgrade update list ls create login deploy plan destroy fmt lint check publish merge rebase
    reset stash fetch tag cherry-pick show blame bisect compose prune inspect s3 ec2 ecs iam sts rds ssm
    ci dev serve watch sync venv migrate dump restore info outdated audit set mod generate vet clippy doc
    clean dream recall remember all bench
    """.split()
)
_SHELL = re.compile(r"\s(?:\|\|?|&&|>>?|<|2>&1)\s|\s--?[A-Za-z][\w-]*|\$\(|\$\w|;\s*(?:do|then|done|fi)\b")
_FIRST = re.compile(r"(?:\./|~/|/)?[a-z][\w./+-]*$")
_SCRIPT = re.compile(r"\w\.(?:py|js|mjs|ts|sh|rb|pl|sql|php|go|jar|ya?ml|toml|json|txt|log|tar|gz|zip)$")
_SENTENCE = re.compile(r"[.!?:](?:\s|$)")

_CODE = re.compile(
    r".*;\s*$|.*[)\]\w]\s*=>\s*\S|.*\)\s*(?:->\s*\w+\s*)?\{\s*$|.*\b\w+::\w+|[\w.]+\(.*\)\s*;?\s*$"
    r"|\s*return\b.*"
    r"|\s*(?:if|for|while|switch|try|else|elif|catch|finally|with)\b.*[:{]\s*$|\s*[\w.\[\]]+ ?[-+*/"
    r"|]?= ?.*[(){}\[\];\"']"
    r"|\s*(?:public|private|protected|static|struct|impl|namespace|using|interface|enum)\b.*[({;=]"
    r"|\s*@\w+(?:\(|\s*$)|\s*(?://|/\*)"
)  # fmt: skip
_TABLE = re.compile(r"(?:\S(?<![.!?:,;])(?:[ ]{2,}|\t)\S.*){2}")
_COLUMNS = re.compile(r"[A-Z][A-Z_()%/-]+(?:\s+[A-Z][A-Z_()%/-]+){2,}\s*$")
_KEY = re.compile(r"\s*(?:-\s*)?[\w./-]+:(?:\s+(?:\S+|\[.*\]|\"[^\"]*\"))?\s*$")
_LIST = re.compile(r"\s+-\s+\S+\s*$")
_NESTED = re.compile(r"^[\w./-]+:[^\S\n]*\n[^\S\n]+\S|^(?:[^\S\n]+[\w./-]+: \S+\s*?$\n?){2}", re.MULTILINE)
_DIFF = re.compile(r"^(?:diff --git|@@ -\d+(?:,\d+)? \+\d)", re.MULTILINE)
_SYMBOL = re.compile(r"[{}()\[\]<>=;\\&^%$#@*~]")
_NUMBERED = re.compile(r"(?<=\w) \(\d{1,4}\)")
"""A number beside a word, as people write ages and counts."""
_LONG_RUN = re.compile(r"(?<![!-~])(?!\S*://)(?![/~.])[!-~]{80}")


def machine(text: str) -> str | None:
    """Say what a text is if a machine wrote it, or if it is written for one; None = it may be a person's."""
    text = text[:JUDGED]
    if _DIFF.search(text):
        return "code"
    fenced = _FENCE.search(text) is not None
    text = _FENCE.sub("\n", text)
    if fenced and len(text.split()) < LEAST_PROSE:
        return "code"
    text = _CODE_SPAN.sub("code", text)
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    nested = _NESTED.search(text) is not None
    shapes = [_shape(line, nested=nested) for line in lines]
    found = [shape for shape in shapes if shape is not None]
    told = any(
        shape is None and (_LESSON.search(line) or _RULE.search(line))
        for line, shape in zip(lines, shapes, strict=True)
    )
    if found and len(found) >= (SHARE_BESIDE_LESSON if told else SHARE) * len(lines):
        return found[0]
    symbols = len(_SYMBOL.findall(_NUMBERED.sub("", text)))
    if (symbols >= 4 and symbols > 0.12 * len(text)) or _LONG_RUN.search(text):
        return "code"
    return None


def _shape(line: str, *, nested: bool) -> str | None:
    """Say what one line is; None = a sentence, or what could be one."""
    for name, pattern in _CERTAIN.items():
        if pattern.match(line):
            return name
    for name, pattern in _WITHOUT_LESSON.items():
        if pattern.match(line) and not _LESSON.search(line):
            return name
    if _WITHOUT_RULE.match(line) and not (_LESSON.search(line) or _RULE.search(line)):
        return "a log"
    bare = _QUOTED.sub(" ", line)
    if _PROSE.isdisjoint(bare.lower().split()):
        if _is_command(bare, line):
            return "a command"
        if _CODE.match(line):
            return "code"
    if _TABLE.match(line.strip()) or _COLUMNS.match(line):
        return "output of a tool"
    if nested and (_KEY.match(line) or _LIST.match(line)):
        return "configuration"
    return None


def _is_command(bare: str, line: str) -> bool:
    """Tell whether a line without words of sentences is one of a shell."""
    words = bare.split()
    if not words or _FIRST.match(words[0]) is None or _SENTENCE.search(bare):
        return False
    if words[0].rsplit("/")[-1] in _PROGRAMS or words[0].startswith("./"):
        after = words[1] if len(words) > 1 else ""
        return (
            after in _SUBCOMMANDS
            or after.startswith(("-", "+", ".", "/", "~", "$", "http"))
            or bare.count("'") + bare.count('"') < line.count("'") + line.count('"')
            or _SCRIPT.search(after) is not None
            or not {"/", "@"}.isdisjoint(after)
            or _SHELL.search(bare) is not None
        )
    return _SHELL.search(bare) is not None
