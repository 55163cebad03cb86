"""Every sample key is built at run time: no text that looks like a secret stands in this file."""

import json
import random
import re
import string
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nrem.policy.secret_rules import RULES, Rule
from nrem.policy.secrets import CONFIGURED, Finding, lower, redact, scan, windows
from worthy import WORTHY

UPPER = string.ascii_uppercase + string.digits
LOWER = string.ascii_lowercase + string.digits
ALNUM = string.ascii_letters + string.digits
WORD = ALNUM + "_-"
HEX = "0123456789abcdef"
KIB_64 = 64 * 1024


def chars(count: int, alphabet: str = ALNUM, seed: int = 1) -> str:
    pick = random.Random(f"{seed}:{count}:{alphabet}")
    return "".join(pick.choice(alphabet) for _ in range(count))


def pem(kind: str, line_break: str = "\n") -> str:
    dashes = "-" * 5
    body = line_break.join(chars(64, ALNUM + "+/", seed) for seed in range(12))
    return line_break.join(
        (f"{dashes}BEGIN {kind}PRIVATE KEY{dashes}", body, f"{dashes}END {kind}PRIVATE KEY{dashes}")
    )


def uuid() -> str:
    return "-".join(chars(n, HEX) for n in (8, 4, 4, 4, 12))


# Rule id, what stands before the secret, the secret, what stands after it.
SAMPLES: list[tuple[str, str, str, str]] = [
    ("private-key", "", pem(""), ""),
    ("private-key", "", pem("RSA "), ""),
    ("private-key", "", pem("OPENSSH ", "\\n"), ""),
    ("private-key", "", pem("EC ").rsplit("\n", 1)[0], ""),
    ("private-key", "", pem("").replace("\n", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC\n\n", 1), ""),
    ("age-secret-key", "", "AGE-SECRET-KEY-1" + chars(58, UPPER), ""),
    ("nrem-token", "", "nrem_" + "_".join(chars(n, HEX) for n in (8, 64, 8)), ""),
    ("anthropic", "", "sk-ant-" + "api03-" + chars(95, WORD), ""),
    ("openrouter", "", "sk-or-" + "v1-" + chars(64, HEX), ""),
    ("openai", "", "sk-" + chars(48), ""),
    ("openai", "", "sk-" + "proj-" + chars(156, WORD), ""),
    ("openai", "", "sk-" + chars(32, HEX), ""),
    ("huggingface", "", "hf_" + chars(34, string.ascii_letters), ""),
    ("replicate", "", "r8_" + chars(37), ""),
    ("groq", "", "gsk_" + chars(52), ""),
    ("perplexity", "", "pplx-" + chars(48), ""),
    ("xai", "", "xai-" + chars(80), ""),
    ("aws-access-key-id", "", "AKIA" + chars(16, UPPER), ""),
    ("aws-access-key-id", "", "ASIA" + chars(16, UPPER), ""),
    ("aws-secret-key", "aws_secret_access_key = ", chars(40, ALNUM + "/+"), ""),
    ("aws-secret-key", "SecretAccessKey: ", chars(40, ALNUM + "/+"), ""),
    ("gcp-api-key", "", "AIza" + chars(35, WORD), ""),
    ("google-oauth-client-secret", "", "GOCSPX-" + chars(28, WORD), ""),
    ("google-oauth-token", "", "ya29." + chars(120, WORD), ""),
    ("azure-storage-key", "AccountName=a;AccountKey=", chars(86, ALNUM + "+/") + "==", ";Suffix=core"),
    ("azure-client-secret", "", chars(3) + "8Q~" + chars(34, ALNUM), ""),
    ("github-token", "", "ghp_" + chars(36), ""),
    ("github-token", "", "gho_" + chars(36), ""),
    ("github-token", "", "ghu_" + chars(36), ""),
    ("github-token", "", "ghs_" + chars(36), ""),
    ("github-token", "", "ghr_" + chars(76), ""),
    ("github-fine-grained-token", "", "github_pat_" + chars(22) + "_" + chars(59), ""),
    ("gitlab-token", "", "glpat-" + chars(20, ALNUM), ""),
    ("gitlab-token", "", "gldt-" + chars(20, ALNUM), ""),
    ("gitlab-token", "", "glrt-" + chars(20, ALNUM), ""),
    ("slack-token", "", "xoxb-" + chars(12, string.digits) + "-" + chars(24), ""),
    ("slack-token", "", "xoxp-" + chars(12, string.digits) + "-" + chars(32, HEX), ""),
    ("slack-token", "", "xapp-" + "1-A0-" + chars(64, HEX), ""),
    ("slack-webhook", "https://hooks.slack.com/services/", f"T{chars(8)}/B{chars(8)}/{chars(24)}", ""),
    ("stripe", "", "sk_" + "live_" + chars(24), ""),
    ("stripe", "", "rk_" + "live_" + chars(99), ""),
    ("stripe", "", "sk_" + "test_" + chars(24), ""),
    ("npm", "", "npm_" + chars(36), ""),
    ("pypi", "", "pypi-" + "AgEI" + chars(150, WORD), ""),
    ("rubygems", "", "rubygems_" + chars(48, HEX), ""),
    ("docker-hub", "", "dckr_pat_" + chars(27, WORD), ""),
    ("digitalocean", "", "dop_v1_" + chars(64, HEX), ""),
    ("digitalocean", "", "doo_v1_" + chars(64, HEX), ""),
    ("heroku", "", "HRKU-" + "AA" + chars(58, WORD), ""),
    ("heroku-uuid", "HEROKU_API_KEY=", uuid(), ""),
    ("twilio", "", "SK" + chars(32, HEX), ""),
    ("twilio", "", "AC" + chars(32, HEX), ""),
    ("sendgrid", "", "SG." + chars(22, WORD) + "." + chars(43, WORD), ""),
    ("mailgun", "", "key-" + chars(32, HEX), ""),
    ("mailchimp", "", chars(32, HEX) + "-us12", ""),
    ("telegram-bot-token", "", chars(10, "123456789") + ":AA" + chars(33), ""),
    (
        "telegram-bot-token",
        "https://api.telegram.org/bot",
        chars(9, "123456789") + ":AA" + chars(33),
        "/getMe",
    ),
    ("discord-bot-token", "", "M" + chars(25) + "." + chars(6) + "." + chars(38), ""),
    ("discord-webhook", "https://discord.com/api/webhooks/", f"{chars(18, '123456789')}/{chars(68)}", ""),
    ("shopify", "", "shpat_" + chars(32, HEX), ""),
    ("shopify", "", "shpss_" + chars(32, HEX), ""),
    ("square", "", "sq0atp-" + chars(22, WORD), ""),
    ("square", "", "sq0csp-" + chars(43, WORD), ""),
    ("databricks", "", "dapi" + chars(32, HEX), ""),
    ("grafana-service-account", "", "glsa_" + chars(32) + "_" + chars(8, HEX), ""),
    ("grafana-cloud", "", "glc_" + chars(120), ""),
    ("new-relic", "", "NRAK-" + chars(27, UPPER), ""),
    ("sentry", "", "sntrys_" + "eyJ" + chars(120) + "_" + chars(43), ""),
    ("linear", "", "lin_api_" + chars(40), ""),
    ("notion", "", "secret_" + chars(43), ""),
    ("notion", "", "ntn_" + chars(46), ""),
    ("airtable", "", "pat" + chars(14) + "." + chars(64, HEX), ""),
    ("atlassian", "", "ATATT3" + chars(180, WORD) + "=" + chars(8, UPPER), ""),
    ("figma", "", "figd_" + chars(40, WORD), ""),
    ("postman", "", "PMAK-" + chars(24, HEX) + "-" + chars(34, HEX), ""),
    ("doppler", "", "dp.pt." + chars(43), ""),
    ("doppler", "", "dp.st." + "dev." + chars(43), ""),
    ("vault", "", "hvs." + chars(90, WORD), ""),
    ("terraform", "", chars(14) + ".atlasv1." + chars(67, ALNUM), ""),
    ("planetscale", "", "pscale_tkn_" + chars(43, WORD), ""),
    ("supabase", "", "sbp_" + chars(40, HEX), ""),
    ("fly", "FlyV1 ", "fm2_" + chars(600, ALNUM + "+/"), ""),
    ("tailscale", "", "tskey-" + "auth-" + chars(17) + "-" + chars(32), ""),
    ("cloudflare-origin-ca", "", "v1.0-" + chars(24, HEX) + "-" + chars(146, HEX), ""),
    ("easypost", "", "EZAK" + chars(54), ""),
    ("pulumi", "", "pul-" + chars(40, HEX), ""),
    ("dynatrace", "", "dt0c01." + chars(24, UPPER) + "." + chars(64, UPPER), ""),
    ("onepassword-service-account", "", "ops_" + "eyJ" + chars(300), ""),
    ("langsmith", "", "lsv2_pt_" + chars(32, HEX) + "_" + chars(10, HEX), ""),
    ("jwt", "", "eyJ" + chars(33) + ".eyJ" + chars(200, WORD) + "." + chars(43, WORD), ""),
    ("url-password", "postgres://app:", chars(9), "@db.internal:5432/main"),
    ("url-password", "https://me:", "p@" + chars(20), "@example.org/x.git"),
    ("url-password", "redis://:", chars(12), "@localhost:6379"),
    ("authorization-header", "Authorization: Bearer ", chars(40, WORD), ""),
    ("authorization-header", "authorization: Basic ", chars(30) + "==", ""),
    ("authorization-header", "curl -H 'Authorization: token ", chars(40, HEX), "'"),
    ("assignment", "password = '", chars(16, ALNUM + "!#%&*("), "'"),
    ("assignment", "DB_PASSWORD=", chars(16), ""),
    ("assignment", "api_key: ", chars(32, HEX), ""),
    ("assignment", "client_secret=", chars(24), ""),
    ("assignment", "https://x.example.com/cb?token=", chars(20, LOWER), "&page=2"),
    ("assignment", "secret: https://docs.host.com/page?token=", chars(14), ""),
    ("assignment", 'passwd := "', "Summer" + "2024" + "Rocks", '"'),
    ("secret-in-words", "The staging DB password is ", chars(14), ", says Ben"),
    ("secret-in-words", "The password for the staging DB is now ", chars(14, seed=2), ""),
    ("secret-in-words", "the db pass is ", "hunter2-" + "Xy77!qq", ""),
    ("secret-in-words", "aws secret ", chars(40), ""),
    ("secret-in-words", "Das Passwort f\u00fcr db2 ist ", chars(16, seed=3), ""),
    ("secret-in-words", "La contrase\u00f1a de staging es ", chars(16, seed=4), ""),
    ("secret-in-words", "Le mot de passe de la base est ", chars(16, seed=5), ""),
    ("secret-in-words", "our API key is ", chars(32, seed=6), ""),
]

PROSE = """\
The password is changed every month.
token: see the docs
The token is stored in the keyring, not in the repository.
Password: ask the team lead
password: <your-password-here-123>
api_key = "YOUR_API_KEY_GOES_HERE_123"
api_key: xxxxxxxxxxxxxxxxxxxx1234
secret = ${VAULT_SECRET_V2_VALUE}
token = os.environ["SERVICE_TOKEN_V2"]
token = generate_token_v2(user, scope)
token = self.client2.fetch_token
password_file=/run/secrets/db1/password
token_url: https://auth.example.com/oauth2/v1/token
secret_name: projects/alpha/secrets/db1
The token expires: 2026-01-01T00:00:00Z
max_tokens: 4096
tokenizer: bert-base-v2-uncased12
secret: ****************
password = "changeme-please-123"
Authorization: Bearer <token>
Authorization: Basic authentication is required here.
Send "Authorization: Bearer $TOKEN" with each request.
The bearer certificates-of-deposit were sold in 1987.
A secret ballot was held; the secretary: Maria Gonzalez.
Ask-me-anything sessions run on Thursdays.
The task-list and the risk-register live in one sheet.
We use sk-learn-style-naming for the estimators.
Install it with pip install sk-learn-contrib-extras-for-models
The desk-side-support-team-for-the-office moved.
commit 9fceb02d0ae598e95dc970b74767f19372d61af8
See 3f2504e0-4f89-41d3-9a0c-0305e82c3301 for the run.
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
The md5 of the file is d41d8cd98f00b204e9800998ecf8427e.
https://example.com/path/to/page?x=1&y=2#part
http://localhost:8080/health and http://127.0.0.1:9090/metrics
ssh://git@github.com/someone/project.git
git@github.com:someone/project.git
http://host:8080?mail=someone@example.com
Write to someone@example.com or call +1 555 010 9999.
<img src="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk">
/usr/local/lib/python3.11/site-packages/nrem/policy/secrets.py
C:\\Users\\someone\\AppData\\Local\\Temp\\build-2024
def connect(host: str, password: str | None = None) -> Connection: ...
if token is None: raise ValueError("token required")
for token in tokens: counts[token] += 1
const apiKey = process.env.API_KEY;
Keys start with AKIA, ghp_, xoxb- or AIza; rotate them.
Look for -----BEGIN PRIVATE KEY----- in the file.
A JWT begins with eyJ and has three parts, header.payload.signature.
The header eyJhbGciOiJIUzI1NiJ9 alone is harmless.
The npm_config_registry variable and npm_lifecycle_event are set by npm.
hf_transfer and hf_hub_download_with_a_progress_bar are functions.
Version v1.0-rc2 replaced v0.9.13 on 2024-03-05.
Flight SK1425 lands at 10:45; seat AC12.
The Asiatic lion and the acacia tree; pathology of patterns.
Das Passwort wird jeden Monat geändert; der Schlüssel liegt beim Pförtner.
密码每个月更换一次，令牌在文档中。
パスワードは毎月変更されます。token は使いません。
Пароль меняется каждый месяц, а токен: смотри документацию.
İstanbul'da parola her ay değişir; İ İ İ token: belgelere bakın.
كلمة المرور تتغير كل شهر
Le mot de passe : voir la documentation interne
10.0.0.1:443, fe80::1, and 2001:db8::8a2e:370:7334
Chapter 3.14.15 of the manual. No. Not Mr. Olsen. OK.
The key-value store and the key-signing-party were fun.
Room -us12 is free; the e-us1 region is not.
my password is in the vault
the secret is patience
token is required
The password is the same as the one for GitHub2Go.
The token is valid for 30 days and 12 hours.
The secret is base64url-encoded, the token is ES256-signed.
The API key is kept in 1Password, vault Team-2.
The password policy is 14 characters, one digit.
The token is v2.14.3-beta1 of the parser.
A secret commit 9fceb02d0ae598e95dc970b74767f19372d61af8 was reverted.
The access key is on the ring of building B12.
Das Passwort ist im Tresor, Fach 12.
La clave es tener paciencia; la contraseña es secreta.
Secret Santa2026 is on 12 December; the pass is valid until 2027.
The token is AccessTokenV2Provider in the new module.
[redacted:openai] was here, and password=[redacted:assignment] too.
postgres://app:[redacted:url-password]@db/main
""".splitlines()

HOSTILE = sorted(
    {keyword for rule in RULES for keyword in rule.keywords}
    | {"a", "-", "eyJ", ".", ":", "=", "://a:", "token1=", "token='", "AKIA", "sk-a1 ", "MMMMM.", "é", "İ"}
    | {"eyJ" + "a" * 16 + ".", "-" * 5 + "BEGIN PRIVATE KEY" + "-" * 5, "Authorization: Bearer ", "aws_key"}
)


def sample_id(sample: tuple[str, str, str, str]) -> str:
    return f"{sample[0]}-{SAMPLES.index(sample)}"


def settings_around(before: str, after: str) -> Iterator[tuple[str, str]]:
    yield before, after
    yield f"Please remember that {before}", f"{after} is what the service wants, nothing else."
    yield f"第一行，{before}", f"{after}，最後。"
    yield f"İİİ ({before}", f"{after})\nnext line"
    yield f"# notes\n\n- one\n- {before}", f"{after}\n- three\n"


@pytest.mark.rows(103)
@pytest.mark.parametrize("sample", SAMPLES, ids=sample_id)
def test_a_key_is_found_and_only_the_key_is_taken_out(sample: tuple[str, str, str, str]) -> None:
    rule, before, secret, after = sample
    for left, right in settings_around(before, after):
        text = left + secret + right
        found = scan(text)
        assert found == [Finding(rule, len(left), len(left) + len(secret))]
        assert redact(text, found) == f"{left}[redacted:{rule}]{right}"
        assert scan(redact(text, found)) == []


@pytest.mark.rows(103)
@pytest.mark.parametrize("sample", SAMPLES, ids=sample_id)
def test_a_key_is_found_in_json(sample: tuple[str, str, str, str]) -> None:
    rule, before, secret, after = sample
    text = json.dumps({"n": 1, "note": f"first\n{before}{secret}{after}", "token": "none"})
    found = scan(text)
    assert [finding.rule for finding in found] == [rule]
    assert json.loads(redact(text, found)) == {
        "n": 1,
        "note": f"first\n{before}[redacted:{rule}]{after}",
        "token": "none",
    }


def test_every_rule_has_a_sample_and_a_name_of_its_own() -> None:
    ids = [rule.id for rule in RULES]
    assert len(ids) >= 45
    assert len(set(ids)) == len(ids)
    assert CONFIGURED not in ids
    assert set(ids) == {rule for rule, *_ in SAMPLES}


@pytest.mark.parametrize("line", [*PROSE, *WORTHY])
def test_ordinary_text_holds_no_secret(line: str) -> None:
    assert scan(line) == []


def test_ordinary_lines_together_hold_no_secret() -> None:
    assert len(PROSE) >= 60
    assert scan("\n".join(PROSE)) == []


def test_many_keys_in_one_text_are_each_found() -> None:
    text = "\n".join(before + secret + after for _, before, secret, after in SAMPLES)
    found = scan(text)
    assert [finding.rule for finding in found] == [rule for rule, *_ in SAMPLES]
    shown = redact(text, found)
    assert not [secret for _, _, secret, _ in SAMPLES if secret in shown]


def test_a_known_format_names_the_value_of_an_assignment() -> None:
    key = "ghp_" + chars(36)
    assert [finding.rule for finding in scan(f'token = "{key}"')] == ["github-token"]
    assert [finding.rule for finding in scan(f"Authorization: Bearer {key}")] == ["github-token"]


def test_a_key_longer_than_its_pattern_is_taken_whole() -> None:
    key = "hvs." + chars(3000, WORD) + "Z"
    assert redact(f"a {key} b", scan(f"a {key} b")) == "a [redacted:vault] b"


def test_a_key_glued_to_a_word_is_another_word() -> None:
    assert scan("x" + "AKIA" + chars(16, UPPER)) == []
    assert scan("AKIA" + chars(16, UPPER) + "x") == []


def test_a_key_after_an_escape_is_found() -> None:
    key = "ghp_" + chars(36)
    for left in ("\\n", "%20", "=", "/", '"', "密"):
        assert scan(left + key) == [Finding("github-token", len(left), len(left) + len(key))]


def test_configured_literals_are_exact_and_at_least_four_long() -> None:
    text = "Operation Bluebird, bluebird, abc"
    assert scan(text, literals=("Bluebird", "abc", "")) == [Finding(CONFIGURED, 10, 18)]
    assert scan(text, literals=("Bluebird",), exclude=frozenset({CONFIGURED})) == []
    assert scan("aaaaaa", literals=("aaaa",)) == [Finding(CONFIGURED, 0, 6)]


def test_a_literal_that_occurs_in_the_mark_does_not_loop() -> None:
    literals = ("redacted", "configured", "]tail")
    text = "redacted" + "tail and configured"
    found = scan(text, literals=literals)
    assert scan(redact(text, found), literals=literals) == []
    assert redact(text, found) == "[redacted:configured] and [redacted:configured]"


def test_taking_one_secret_out_uncovers_the_next() -> None:
    key = "AKIA" + chars(16, UPPER)
    text = f"bluebird{key}"
    found = scan(text, literals=("bluebird",))
    assert redact(text, found) == "[redacted:configured][redacted:aws-access-key-id]"


def test_an_excluded_rule_is_silent() -> None:
    key = "AKIA" + chars(16, UPPER)
    assert scan(key, exclude=frozenset({"aws-access-key-id"})) == []


def test_a_false_mark_hides_nothing() -> None:
    key = "ghp_" + chars(36)
    text = f"[redacted:{key}]"
    assert redact(text, scan(text)) == "[redacted:[redacted:github-token]]"


def test_a_finding_does_not_hold_the_text() -> None:
    key = "ghp_" + chars(36)
    assert key[4:] not in repr(scan(key))


def test_lower_case_keeps_every_offset() -> None:
    assert lower("İAB") == "İab"
    assert len(lower("İ" * 100 + "ß" + "ŉ")) == 102


pieces = st.one_of(
    st.text(max_size=30),
    st.sampled_from(HOSTILE),
    st.sampled_from(PROSE),
    st.sampled_from([before + secret + after for _, before, secret, after in SAMPLES]),
    st.sampled_from([secret for _, _, secret, _ in SAMPLES]),
    st.sampled_from(["[redacted:openai]", "[redacted:", "]", "@", ":", "=", '"', "\\n", "%20"]),
    st.text(alphabet=ALNUM + "_-./+=:@'\" ", max_size=60),
)
LITERALS = ("redacted", "configured", "]tail", "ghp_", "aaaa", "token", ":AA0", "sk-a")


@given(st.lists(pieces, max_size=8).map("".join), st.sets(st.sampled_from(LITERALS)).map(tuple))
@settings(max_examples=400, deadline=None)
def test_any_text_is_settled_by_one_redaction(text: str, literals: tuple[str, ...]) -> None:
    found = scan(text, literals=literals)
    end = 0
    for finding in found:
        assert end <= finding.start < finding.end <= len(text)
        end = finding.end
    assert scan(redact(text, found), literals=literals) == []


@pytest.mark.parametrize("unit", HOSTILE)
def test_the_regexes_see_each_character_at_most_once(unit: str) -> None:
    text = (unit * KIB_64)[:KIB_64]
    lowered = lower(text)
    for rule in RULES:
        spans = windows(lowered, rule)
        assert sum(end - start for start, end in spans) <= len(text)
        assert all(0 <= start < end <= len(text) for start, end in spans)
    found = scan(text)
    assert scan(redact(text, found)) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_quantifier_is_bounded_and_fits_the_window(rule: Rule) -> None:
    bare = re.sub(r"\\.", "e", rule.pattern.pattern)
    bare = re.sub(r"\[[^\]]*\]", "c", bare)
    assert not re.search(r"[*]|(?<!\})\+|\{[0-9]+,\}", bare)
    counts = [int(high or low) for low, high in re.findall(r"\{([0-9]+)(?:,([0-9]+))?\}", bare)]
    assert max(counts, default=0) <= rule.before + rule.after
    assert all(keyword == keyword.lower() for keyword in rule.keywords)
