"""The formats of credentials. Every quantifier is bounded, and so is the time that a rule takes."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One key format. The secret is the last group the pattern matched, or else the whole match."""

    id: str
    keywords: tuple[str, ...]  # lower case; a match holds one of them
    pattern: re.Pattern[str]
    before: int = 0  # how far a match may begin before its keyword
    after: int = 640  # how far a match may reach past the start of its keyword
    entropy: float = 2.5  # bits per character; below it the value is a stand-in such as xxxx
    prose: bool = False  # the format alone proves little: refuse words, paths, dates and dummies
    digits: bool = False  # ask for both a digit and a letter


# A key may follow an escaped line break (`\nKEY` in JSON) or a percent escape, though these end in letters.
_B = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
_E = r"(?![A-Za-z0-9])"
_QUOTE = r"[\"'`\\]{0,3}"
_ASSIGN = _QUOTE + r"\s{0,4}(?::=|=>|[:=])\s{0,4}"
_HEX = "[0-9a-f]"
_ALNUM = "[A-Za-z0-9]"
_WORD = r"[A-Za-z0-9_-]"


def _key(id: str, prefix: str, body: str, *keywords: str, after: int = 640) -> Rule:
    """A format whose match begins with its keyword; common keywords want a narrow window."""
    return Rule(id=id, keywords=keywords, pattern=re.compile(_B + prefix + body, re.ASCII), after=after)


def _some(characters: str, least: int) -> str:
    """A body of open length. Possessive: nothing is gained by giving characters back."""
    return f"{characters}{{{least},512}}+"


# The most telling format first: on the same span the earlier rule gives its name.
RULES: tuple[Rule, ...] = (
    Rule(
        id="private-key",
        keywords=("-----begin",),
        # Either up to the end line, or, where the block was cut off, the run of base64 after the header.
        # The body cannot cross another header, so many headers without an end stay cheap.
        pattern=re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:(?:[^-]|-(?!----)){16,16384}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"|[A-Za-z0-9+/=\r\n\\]{63,16384}[A-Za-z0-9+/=])"
        ),
        after=16640,
        entropy=0.0,
    ),
    _key("age-secret-key", "AGE-SECRET-KEY-1", r"[0-9A-Z]{58}" + _E, "age-secret-key-1"),
    _key("nrem-token", "nrem_", r"[0-9a-f]{8}_[0-9a-f]{64}_[0-9a-f]{8}" + _E, "nrem_"),
    _key("anthropic", "sk-ant-", _some(_WORD, 24), "sk-ant-"),
    _key("openrouter", "sk-or-", _some(_WORD, 32), "sk-or-"),
    Rule(
        id="openai",
        keywords=("sk-",),
        pattern=re.compile(_B + r"sk-(?!ant-|or-)[A-Za-z0-9_-]{20,512}+"),
        prose=True,
        digits=True,
    ),
    _key("huggingface", "hf_", _some(_ALNUM, 30), "hf_"),
    _key("replicate", "r8_", _some(_ALNUM, 37), "r8_"),
    _key("groq", "gsk_", _some(_ALNUM, 40), "gsk_"),
    _key("perplexity", "pplx-", _some(_ALNUM, 40), "pplx-"),
    _key("xai", "xai-", _some(_ALNUM, 60), "xai-"),
    _key(
        "aws-access-key-id",
        "(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)",
        "[A-Z0-9]{16}" + _E,
        *("akia", "asia", "abia", "acca", "aroa", "aida"),
        after=24,
    ),
    Rule(
        id="aws-secret-key",
        keywords=("aws", "secretaccesskey", "secret_access_key"),
        pattern=re.compile(
            r"(?:aws[A-Za-z0-9_. -]{0,20}?(?:secret|key)|secret_?access_?key)[A-Za-z0-9_]{0,20}+"
            + _ASSIGN
            + _QUOTE
            + r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
            re.IGNORECASE | re.ASCII,
        ),
        entropy=3.5,
    ),
    _key("gcp-api-key", "AIza", r"[A-Za-z0-9_-]{35,40}+", "aiza"),
    _key("google-oauth-client-secret", "GOCSPX-", _some(_WORD, 24), "gocspx-"),
    _key("google-oauth-token", r"ya29\.", _some(r"[A-Za-z0-9_.-]", 24), "ya29."),
    Rule(
        id="azure-storage-key",
        keywords=("accountkey", "sharedaccesskey"),
        pattern=re.compile(
            r"(?:AccountKey|SharedAccessKey)\s{0,4}=\s{0,4}([A-Za-z0-9+/]{40,90}+={0,2})", re.IGNORECASE
        ),
    ),
    Rule(
        id="azure-client-secret",
        keywords=("q~",),
        pattern=re.compile(
            r"(?:(?<![A-Za-z0-9_~.-])|(?<=\\[nrt]))[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}" + _E
        ),
        before=4,
    ),
    _key("github-token", "gh[pousr]_", _some(_ALNUM, 36), "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _key("github-fine-grained-token", "github_pat_", _some("[A-Za-z0-9_]", 36), "github_pat_"),
    _key(
        "gitlab-token",
        "gl(?:pat|dt|rt|ptt|cbt|soat|ft|agent)-",
        _some(r"[A-Za-z0-9_.-]", 20),
        *("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-", "glft-", "glagent-"),
    ),
    _key("slack-token", "(?:xox[abeoprs]|xapp)-", _some("[A-Za-z0-9.-]", 20), "xox", "xapp-"),
    _key(
        "slack-webhook",
        r"hooks\.slack\.com/",
        r"(?:services|workflows|triggers)/([A-Za-z0-9/_+]{24,200}+)",
        "hooks.slack.com/",
    ),
    _key(
        "stripe",
        "(?:[sr]k_(?:live|test|prod)|whsec)_",
        _some("[A-Za-z0-9/+]", 16),
        *("sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_", "whsec_"),
    ),
    _key("npm", "npm_", _some(_ALNUM, 36), "npm_"),
    _key("pypi", "pypi-AgEI", _some(_WORD, 50), "pypi-agei"),
    _key("rubygems", "rubygems_", _HEX + "{48}" + _E, "rubygems_"),
    _key("docker-hub", "dckr_[po]at_", _some(_WORD, 24), "dckr_pat_", "dckr_oat_"),
    _key("digitalocean", "do[opr]_v1_", _HEX + "{64}" + _E, "dop_v1_", "doo_v1_", "dor_v1_"),
    _key("heroku", "HRKU-", _some(_WORD, 36), "hrku-"),
    Rule(
        id="heroku-uuid",
        keywords=("heroku",),
        pattern=re.compile(
            r"heroku[A-Za-z0-9_. -]{0,32}+"
            + _ASSIGN
            + _QUOTE
            + r"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
            + _E,
            re.IGNORECASE | re.ASCII,
        ),
    ),
    _key("twilio", "(?:SK|AC)", _HEX + "{32}" + _E, "sk", "ac", after=36),
    _key("sendgrid", r"SG\.", r"[A-Za-z0-9_-]{16,32}+\.[A-Za-z0-9_-]{32,64}+", "sg."),
    _key("mailgun", "key-", _HEX + "{32}" + _E, "key-", after=40),
    Rule(
        id="mailchimp",
        keywords=("-us",),
        pattern=re.compile(_B + _HEX + "{32}-us[0-9]{1,2}" + _E),
        before=32,
    ),
    Rule(
        id="telegram-bot-token",
        keywords=(":aa",),
        # `bot<token>` is how the token stands in the address of a request.
        pattern=re.compile(
            r"(?:(?<![A-Za-z0-9])|(?<=/bot)|(?<=\\[nrt]))[0-9]{8,10}:AA[A-Za-z0-9_-]{33}" + _E
        ),
        before=10,
    ),
    Rule(
        id="discord-bot-token",
        keywords=(".",),
        # The boundary is checked after the first letter, so that the search can skip to that letter.
        pattern=re.compile(
            r"[MNO](?:(?<![A-Za-z0-9_-].)|(?<=\\[nrt].))"
            r"[A-Za-z0-9_-]{23,27}+\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}+"
        ),
        before=28,
        after=64,
        entropy=3.5,
    ),
    _key(
        "discord-webhook",
        r"discord(?:app)?\.com/api/",
        r"(?:v[0-9]{1,2}/)?webhooks/([0-9]{17,20}/[A-Za-z0-9_-]{40,100}+)",
        *("discord.com/api/", "discordapp.com/api/"),
    ),
    _key("shopify", "shp(?:at|ca|pa|ss)_", "[0-9A-Fa-f]{32}" + _E, "shpat_", "shpca_", "shppa_", "shpss_"),
    _key("square", "sq0(?:atp|csp|idp)-", "[A-Za-z0-9_-]{22,64}+", "sq0atp-", "sq0csp-", "sq0idp-"),
    _key("databricks", "dapi", _HEX + "{32}(?:-[0-9])?" + _E, "dapi"),
    _key("grafana-service-account", "glsa_", "[A-Za-z0-9]{32}_[0-9A-Fa-f]{8}" + _E, "glsa_"),
    _key("grafana-cloud", "glc_", _some("[A-Za-z0-9+/=]", 32), "glc_"),
    _key("new-relic", "NR(?:AK|JS|AA|II)-", "[A-Za-z0-9_-]{19,40}+", "nrak-", "nrjs-", "nraa-", "nrii-"),
    _key("sentry", "sntry[su]_", _some("[A-Za-z0-9+/=_-]", 40), "sntrys_", "sntryu_"),
    _key("linear", "lin_(?:api|oauth)_", _some(_ALNUM, 32), "lin_api_", "lin_oauth_"),
    _key("notion", "(?:secret|ntn)_", r"[A-Za-z0-9]{40,64}+", "secret_", "ntn_"),
    _key("airtable", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}" + _E, "pat", after=84),
    _key("atlassian", "AT[AC]TT3", _some("[A-Za-z0-9_=-]", 60), "atatt3", "atctt3"),
    _key("figma", "fig[do]_", _some(_WORD, 32), "figd_", "figo_"),
    _key("postman", "PMAK-", "[0-9a-f]{24}-[0-9a-f]{34}" + _E, "pmak-"),
    _key(
        "doppler",
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.",
        r"(?:[A-Za-z0-9_-]{2,35}+\.)?[A-Za-z0-9]{40,44}+",
        *("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."),
    ),
    _key("vault", r"hv[sbr]\.", _some(_WORD, 24), "hvs.", "hvb.", "hvr."),
    Rule(
        id="terraform",
        keywords=(".atlasv1.",),
        pattern=re.compile(_B + r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,80}+", re.ASCII),
        before=14,
    ),
    _key("planetscale", "pscale_(?:tkn|pw|oauth)_", _some("[A-Za-z0-9_.=-]", 32), "pscale_"),
    _key("supabase", "(?:sbp_|sb_secret_)", _some(_WORD, 24), "sbp_", "sb_secret_"),
    Rule(
        id="fly",
        keywords=("fm1_", "fm2_", "fo1_"),
        pattern=re.compile(_B + r"(?:fm[12]|fo1)_[A-Za-z0-9+/=_-]{40,2048}+"),
        after=2200,
    ),
    _key("tailscale", "tskey-", r"[a-z]{2,12}+-[A-Za-z0-9]{8,32}+(?:-[A-Za-z0-9]{16,64}+)?", "tskey-"),
    _key("cloudflare-origin-ca", "v1\\.0-", "[0-9a-f]{24}-[0-9a-f]{146}" + _E, "v1.0-"),
    _key("easypost", "EZ[AT]K", "[A-Za-z0-9]{54}" + _E, "ezak", "eztk"),
    _key("pulumi", "pul-", _HEX + "{40}" + _E, "pul-"),
    _key("dynatrace", r"dt0[a-z][0-9]{2}\.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}" + _E, "dt0"),
    _key("onepassword-service-account", "ops_eyJ", _some("[A-Za-z0-9+/=_-]", 100), "ops_eyj"),
    _key("langsmith", "lsv2_(?:pt|sk)_", "[0-9a-f]{32}_[0-9a-f]{10}" + _E, "lsv2_"),
    Rule(
        id="jwt",
        keywords=("eyj",),
        # The boundary refuses what a segment may hold, so a long run is tried once, not from every `eyJ`.
        pattern=re.compile(
            r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
            r"eyJ[A-Za-z0-9_-]{8,4096}+\.eyJ[A-Za-z0-9_-]{6,8192}+\.[A-Za-z0-9_-]{16,2048}+"
        ),
        after=14400,
    ),
    Rule(
        id="url-password",
        keywords=("://",),
        pattern=re.compile(r"://[^\s/:@?#\"'<>\\]{0,128}+:([^\s/?#\"'<>\\]{3,256})@(?=[A-Za-z0-9_.\[-])"),
        entropy=0.0,
    ),
    Rule(
        id="authorization-header",
        keywords=("authorization", "bearer"),
        pattern=re.compile(
            r"(?:authorization"
            + _ASSIGN
            + _QUOTE
            + r"(?:bearer|basic|token)|(?<![A-Za-z0-9])bearer)\s{1,4}([A-Za-z0-9._~+/=-]{10,4096}+)",
            re.IGNORECASE | re.ASCII,
        ),
        after=4200,
        prose=True,
    ),
    Rule(
        id="assignment",
        keywords=(
            *("password", "passwd", "passphrase", "pwd", "secret", "token", "credential"),
            *("api_key", "api-key", "apikey", "access_key", "access-key", "accesskey"),
            *("private_key", "private-key", "privatekey", "signing_key", "encryption_key"),
        ),
        # A bare value that runs into a bracket is a call or an index, not a value; `&` ends it in a query.
        pattern=re.compile(
            r"(?:password|passwd|passphrase|pwd|secret|token(?!i[sz])|credential"
            r"|(?:api|access|private)[_-]?key|(?:signing|encryption)_key)"
            r"[A-Za-z0-9_.-]{0,32}+(?<!_url)(?<!_uri)(?<!_path)(?<!_file)(?<!_name)(?<!_type)"
            + _ASSIGN
            + r"(?:\\{0,2}[\"'`]([^\s\"'`\\<>]{12,256}+)"
            + r"|([A-Za-z0-9_+/=.~!@#$%^*?:-]{12,256}+)(?![(\[{]))",
            re.IGNORECASE | re.ASCII,
        ),
        entropy=3.0,
        prose=True,
        digits=True,
    ),
    Rule(
        id="secret-in-words",
        keywords=(
            *("password", "passwd", "passphrase", "pwd", "pass ", "secret", "token", "credential"),
            *("api key", "api-key", "apikey", "access key", "private key"),
            *("passwort", "kennwort", "contrase", "clave", "mot de passe"),
        ),
        # "The password of staging is ..."; without a verb only what is long and follows at once.
        # Names of versions and algorithms have no capital or sign among small letters.
        pattern=re.compile(
            r"(?<![A-Za-z])(?i:password|passwd|passphrase|pwd|pass|secret|token|credential"
            r"|(?:api|access|private)[ -]?key|passwort|kennwort|contrase[^\s]{1,6}a|clave|mot de passe)"
            r"(?:(?:\s{1,2}[^\s:=\"'`]{1,24}+){0,4}?\s{1,2}(?i:is|was|ist|lautet|es|est)(?i:\s{1,2}now)?\s{1,2}"
            r"[\"'`]?(?=[^\s]{0,255}[A-Z!@#$%^&*+~])(?=[^\s]{0,255}[a-z])([A-Za-z0-9_+/=.~!@#$%^&*?:-]{10,256}+)"
            r"|(?i:\s{1,2}key)?\s{1,2}[\"'`]?(?=[^\s]{0,255}[A-Z])(?=[^\s]{0,255}[a-z])"
            r"([A-Za-z0-9/+=_-]{20,256}+))"
        ),
        entropy=3.0,
        prose=True,
        digits=True,
    ),
)
