"""Embedders that ask a server: what they send, and what becomes of each answer."""

from __future__ import annotations

import gzip
import json
import math
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from models.provider import DROP, HANG, Answer, Provider, refusing_url, shaped, status, texts_of
from nrem.errors import ConfigError, NremError, Unavailable
from nrem.models import embeddings, transport
from nrem.models.embeddings import (
    NEEDED,
    PATIENT,
    PROBE,
    Embedder,
    Patience,
    embed_all,
    embed_soon,
    hurried,
    make,
    pack,
)
from nrem.models.providers import PROVIDERS, Google, Ollama, OpenAI
from nrem.sections import Embeddings

IDENTITIES = {"openai": "openai:m", "google": "google:m", "ollama": "ollama:m"}
PATHS = {"openai": "/embeddings", "google": "/models/m:batchEmbedContents", "ollama": "/api/embed"}
KEY = "sk-veryverysecret"
SINGLE = pytest.mark.parametrize("name", IDENTITIES)


def embedder_of(provider: Provider, name: str = "openai", **wanted: str) -> Embedder:
    return make(IDENTITIES[name], Embeddings.model_validate({"base_url": provider.url} | wanted))


def answer_of(name: str, *vectors: object) -> Answer:
    """Return the answer of a provider with these vectors; json writes NaN and infinity as Python does."""
    return Answer(body=json.dumps(shaped(PATHS[name], vectors)).encode())


# What is asked


@pytest.mark.rows(92)
def test_openai_is_asked_as_it_wants_to_be(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    embedder = make("openai:text-embedding-3-small", Embeddings(base_url=provider.url + "/v1"))
    assert embedder.embed(["one", "zwei"]) == [provider.vector("one"), provider.vector("zwei")]
    [asked] = provider.asked
    assert asked.path == "/v1/embeddings"
    assert asked.body == {"model": "text-embedding-3-small", "input": ["one", "zwei"]}
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["content-type"] == "application/json"


@pytest.mark.rows(92)
def test_google_is_asked_as_it_wants_to_be(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    embedder = make("google:text-embedding-004", Embeddings(base_url=provider.url + "/v1beta/"))
    assert embedder.embed(["one", "zwei"]) == [provider.vector("one"), provider.vector("zwei")]
    [asked] = provider.asked
    assert asked.path == "/v1beta/models/text-embedding-004:batchEmbedContents"
    assert asked.body == {
        "requests": [
            {"model": "models/text-embedding-004", "content": {"parts": [{"text": text}]}}
            for text in ("one", "zwei")
        ]
    }
    assert asked.headers["x-goog-api-key"] == KEY
    assert "authorization" not in asked.headers


@pytest.mark.rows(92)
def test_ollama_is_asked_as_it_wants_to_be_and_needs_no_key(provider: Provider) -> None:
    embedder = make("ollama:nomic-embed-text:v1.5", Embeddings(base_url=provider.url))
    assert embedder.embed(["one", "zwei"]) == [provider.vector("one"), provider.vector("zwei")]
    [asked] = provider.asked
    assert asked.path == "/api/embed"
    assert asked.body == {"model": "nomic-embed-text:v1.5", "input": ["one", "zwei"]}
    assert "authorization" not in asked.headers


@pytest.mark.rows(92)
def test_each_has_its_usual_address() -> None:
    assert {kind: kind.usual_url for kind in (OpenAI, Google, Ollama)} == {
        OpenAI: "https://api.openai.com/v1",
        Google: "https://generativelanguage.googleapis.com/v1beta",
        Ollama: "http://127.0.0.1:11434",
    }
    assert set(PROVIDERS) == set(IDENTITIES)


@SINGLE
def test_texts_of_any_kind_arrive_as_they_are(provider: Provider, name: str) -> None:
    texts = ["ünïcödé 漢字 🦊", 'quotes " and \\', "line\nbreak\x00", "x" * 100_000]
    embedder_of(provider, name).embed(texts)
    assert provider.texts == [texts]


@SINGLE
def test_many_texts_go_in_batches_and_keep_their_order(provider: Provider, name: str) -> None:
    texts = [f"text number {i}" for i in range(130)]
    packed = embed_all(embedder_of(provider, name), texts)
    assert [len(batch) for batch in provider.texts] == [64, 64, 2]
    assert [text for batch in provider.texts for text in batch] == texts
    assert packed == [pack([float(str(value)) for value in provider.vector(text)]) for text in texts]


def test_no_text_is_no_request(provider: Provider) -> None:
    assert embed_all(embedder_of(provider), []) == []
    assert provider.asked == []


# Keys


@pytest.fixture
def usual(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Provider:
    """The provider at what the embedders take for the usual addresses, so that a key is needed."""
    for kind in (OpenAI, Google, Ollama):
        monkeypatch.setattr(kind, "usual_url", provider.url)
    return provider


def sent(provider: Provider) -> str | None:
    """Return the key of the last request."""
    headers = provider.asked[-1].headers
    return headers.get("x-goog-api-key") or headers.get("authorization", "").removeprefix("Bearer ") or None


@pytest.mark.rows(92)
@pytest.mark.parametrize(("name", "variable"), [("openai", "OPENAI_API_KEY"), ("google", "GOOGLE_API_KEY")])
def test_the_key_comes_from_the_variable_of_the_provider(
    usual: Provider, monkeypatch: pytest.MonkeyPatch, name: str, variable: str
) -> None:
    monkeypatch.setenv(variable, KEY)
    make(IDENTITIES[name], Embeddings()).embed(["x"])
    assert sent(usual) == KEY


@pytest.mark.rows(92)
@pytest.mark.parametrize("base_url", [True, False])
@SINGLE
def test_a_variable_that_is_named_goes_before_it(
    usual: Provider, monkeypatch: pytest.MonkeyPatch, name: str, base_url: bool
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "another")
    monkeypatch.setenv("GOOGLE_API_KEY", "another")
    monkeypatch.setenv("MY_KEY", KEY)
    wanted = Embeddings(api_key_env="MY_KEY", base_url=usual.url if base_url else "")
    make(IDENTITIES[name], wanted).embed(["x"])
    assert sent(usual) == KEY


@pytest.mark.rows(92)
@SINGLE
def test_a_file_goes_before_every_variable(
    usual: Provider, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.setenv("MY_KEY", "another")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "key").write_text(f"{KEY}\n")
    for file in (str(tmp_path / "key"), "~/key"):
        make(IDENTITIES[name], Embeddings(api_key_file=file, api_key_env="MY_KEY")).embed(["x"])
        assert sent(usual) == KEY


@pytest.mark.rows(92)
@pytest.mark.parametrize("value", [None, ""])
@pytest.mark.parametrize(
    ("name", "wanted", "variable"),
    [
        ("openai", {}, "OPENAI_API_KEY"),
        ("google", {}, "GOOGLE_API_KEY"),
        ("openai", {"api_key_env": "MY_KEY"}, "MY_KEY"),
        ("google", {"api_key_env": "MY_KEY"}, "MY_KEY"),
        ("ollama", {"api_key_env": "MY_KEY"}, "MY_KEY"),
    ],
)
def test_a_missing_key_names_the_variable_and_nothing_is_sent(
    usual: Provider,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    wanted: dict[str, str],
    variable: str,
    value: str | None,
) -> None:
    if value is not None:
        monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError, match=f"{name} needs an API key, and {variable} is not set") as caught:
        make(IDENTITIES[name], Embeddings(**wanted)).embed(["x"])
    assert variable in str(caught.value.hint)
    assert caught.value.field == "memory.embeddings.api_key_env"
    assert usual.asked == []


@pytest.mark.rows(92)
def test_a_key_that_comes_later_is_used_without_a_restart(
    usual: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = make("openai:m", Embeddings())
    with pytest.raises(ConfigError):
        embedder.embed(["x"])
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    embedder.embed(["x"])
    assert sent(usual) == KEY


@pytest.mark.rows(92)
@SINGLE
def test_an_address_of_ones_own_needs_no_key(provider: Provider, name: str) -> None:
    embedder_of(provider, name).embed(["x"])
    assert sent(provider) is None


@pytest.mark.rows(92)
def test_an_address_of_ones_own_needs_the_key_that_it_is_said_to_have(provider: Provider) -> None:
    with pytest.raises(ConfigError, match="MY_KEY is not set"):
        embedder_of(provider, api_key_env="MY_KEY").embed(["x"])
    assert provider.asked == []


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_key_file_that_cannot_be_read_is_a_config_error(
    provider: Provider, tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "key"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match="cannot be read") as caught:
        embedder_of(provider, api_key_file=str(file)).embed(["x"])
    assert caught.value.field == "memory.embeddings.api_key_file"
    assert provider.asked == []


# Tries


def test_calls_are_counted_by_how_they_end(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    monkeypatch.setattr(transport, "CALLS", counts)
    embedder = make("ollama:m", Embeddings(base_url=provider.url))
    embedder.embed(["x"])
    for problem, error in (
        (status(401), ConfigError),
        (status(400), Unavailable),
        (status(500), Unavailable),
    ):
        provider.always = problem
        with pytest.raises(error):
            embedder.embed(["x"])
    assert counts == {("ollama", "ok"): 1, ("ollama", "refused"): 2, ("ollama", "failed"): 1}


@SINGLE
def test_what_may_pass_is_tried_again(provider: Provider, name: str) -> None:
    embedder = embedder_of(provider, name)
    for problem in (status(429), status(500), status(503), status(599), DROP):
        provider.asked.clear()
        provider.script.extend([problem, problem])
        assert embedder.embed(["x"]) == [provider.vector("x")]
        assert len(provider.asked) == PATIENT.tries == 3
        assert len({json.dumps(asked.body) for asked in provider.asked}) == 1


@pytest.mark.parametrize(
    ("problem", "said"),
    [(status(429), "status 429"), (status(502), "status 502"), (DROP, "RemoteProtocolError")],
)
@SINGLE
def test_after_three_tries_it_is_unavailable(
    provider: Provider, name: str, problem: Answer, said: str
) -> None:
    provider.always = problem
    with pytest.raises(Unavailable, match=rf"{name} did not answer \({said}\)") as caught:
        embedder_of(provider, name).embed(["x"])
    assert caught.value.code == "provider_unavailable"
    assert "memory.embeddings.base_url" in str(caught.value.hint)
    assert len(provider.asked) == 3


@SINGLE
def test_where_nobody_listens_it_is_unavailable(provider: Provider, name: str) -> None:
    with pytest.raises(Unavailable, match=rf"{name} did not answer \(ConnectError\)") as caught:
        embedder_of(provider, name, base_url=refusing_url()).embed(["x"])
    assert caught.value.code == "provider_unavailable"


def test_one_that_never_answers_is_not_waited_for(provider: Provider) -> None:
    provider.always = HANG
    with pytest.raises(Unavailable, match=r"did not answer \(ReadTimeout\)") as caught:
        embedder_of(provider).embed(["x"], Patience(3, 0.05))
    assert caught.value.code == "provider_unavailable"


def test_one_that_was_slow_once_is_tried_again(provider: Provider) -> None:
    provider.script.append(HANG)
    assert embedder_of(provider).embed(["x"], Patience(3, 0.5)) == [provider.vector("x")]


def test_a_probe_is_tried_once(provider: Provider) -> None:
    provider.always = status(503)
    with pytest.raises(Unavailable, match="status 503"):
        embedder_of(provider).embed(["x"], PROBE)
    assert len(provider.asked) == 1


def test_it_is_bounded_in_time_by_itself() -> None:
    assert PROBE.seconds <= NEEDED.seconds <= PATIENT.seconds <= 30
    assert hurried(Embeddings()) == Patience(1, 3.0)
    assert transport.CONNECT_SECONDS <= 30


@pytest.mark.parametrize("code", [401, 403])
@SINGLE
def test_a_refused_key_is_a_config_error_and_not_tried_again(
    provider: Provider, name: str, code: int
) -> None:
    provider.always = status(code)
    with pytest.raises(ConfigError, match=rf"{name} refused the API key \(status {code}\)") as caught:
        embedder_of(provider, name).embed(["x"])
    assert caught.value.field == "memory.embeddings.api_key_env"
    assert len(provider.asked) == 1


@SINGLE
def test_a_refused_request_is_not_tried_again(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(transport, "BREAK_SECONDS", 0.0)
    embedder = embedder_of(provider, name)
    for count, code in enumerate((400, 404, 413, 422), start=1):
        provider.always = status(code)
        with pytest.raises(Unavailable, match=rf"{name} refused the request \(status {code}\)") as caught:
            embedder.embed(["x"])
        assert caught.value.code == "provider_refused"
        assert "memory.embeddings.model" in str(caught.value.hint)
        assert len(provider.asked) == count


# The breaker


def fail(embedder: Embedder, times: int) -> None:
    for _ in range(times):
        with pytest.raises(Unavailable):
            embedder.embed(["x"])


def test_after_five_failed_calls_it_is_left_alone(provider: Provider) -> None:
    provider.always = status(500)
    embedder = embedder_of(provider)
    fail(embedder, 5)
    asked = len(provider.asked)
    assert asked == 15
    provider.always = None
    with pytest.raises(Unavailable, match="left alone for a while") as caught:
        embedder.embed(["x"])
    assert caught.value.code == "provider_unavailable"
    assert len(provider.asked) == asked


def test_four_failed_calls_leave_it_open_and_a_good_one_starts_the_count_anew(provider: Provider) -> None:
    embedder = embedder_of(provider)
    for _ in range(2):
        provider.always = status(500)
        fail(embedder, 4)
        provider.always = None
        assert embedder.embed(["x"]) == [provider.vector("x")]


def test_when_the_while_is_over_it_is_asked_again(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "BREAK_SECONDS", 0.0)
    provider.always = status(500)
    embedder = embedder_of(provider)
    fail(embedder, 5)
    provider.always = None
    assert embedder.embed(["x"]) == [provider.vector("x")]
    # All is forgotten: it takes five failures again.
    monkeypatch.setattr(transport, "BREAK_SECONDS", 3600.0)
    provider.always = status(500)
    fail(embedder, 4)
    provider.always = None
    assert embedder.embed(["x"]) == [provider.vector("x")]


def test_one_failure_after_the_while_and_it_is_left_alone_again(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "BREAK_SECONDS", 0.0)
    provider.always = status(500)
    embedder = embedder_of(provider)
    fail(embedder, 5)
    monkeypatch.setattr(transport, "BREAK_SECONDS", 3600.0)
    fail(embedder, 1)
    asked = len(provider.asked)
    with pytest.raises(Unavailable, match="left alone"):
        embedder.embed(["x"])
    assert len(provider.asked) == asked


def test_who_waits_longer_is_not_kept_away_by_who_waited_less(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "BREAK_SECONDS", 3600.0)
    embedder, hasty = embedder_of(provider), Patience(1, 0.05)
    provider.script.extend([HANG] * 5)
    for _ in range(5):
        with pytest.raises(Unavailable, match="ReadTimeout"):
            embedder.embed(["x"], hasty)
    with pytest.raises(Unavailable, match="left alone for a while"):
        embedder.embed(["x"], hasty)
    assert embedder.embed(["x"]) == [provider.vector("x")]
    assert len(provider.asked) == 6


def test_after_the_while_one_finds_out_and_the_others_are_spared(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "BREAK_SECONDS", 0.0)
    provider.always = status(500)
    embedder = embedder_of(provider)
    fail(embedder, 5)
    provider.asked.clear()
    monkeypatch.setattr(transport, "BREAK_SECONDS", 3600.0)
    spared: list[str] = []

    def vector(text: str) -> Sequence[object]:
        with pytest.raises(Unavailable, match="left alone") as caught:
            embedder.embed(["another"])
        spared.append(caught.value.message)
        return [1.0, 0.0]

    provider.always, provider.vector = None, vector
    assert embedder.embed(["x"]) == [[1.0, 0.0]]
    assert spared == ["openai did not answer (status 500), and is left alone for a while"]
    provider.vector = lambda text: [1.0, 0.0]
    assert embedder.embed(["another"]) == [[1.0, 0.0]]


def test_a_request_that_is_refused_shows_that_it_is_there(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "BREAK_SECONDS", 0.0)
    provider.always = status(500)
    embedder = embedder_of(provider)
    fail(embedder, 5)
    monkeypatch.setattr(transport, "BREAK_SECONDS", 3600.0)
    provider.always = status(400)
    fail(embedder, 1)
    provider.always = None
    assert embedder.embed(["x"]) == [provider.vector("x")]


def test_each_embedder_is_left_alone_by_itself(provider: Provider) -> None:
    provider.always = status(500)
    fail(embedder_of(provider), 3)
    provider.always = None
    assert embedder_of(provider).embed(["x"]) == [provider.vector("x")]


# What is wanted while somebody waits


def test_what_was_made_before_it_failed_is_kept(provider: Provider) -> None:
    texts = [f"text number {i}" for i in range(130)]
    usual = provider.answer
    provider.answer = lambda asked: (  # type: ignore[method-assign]
        status(500) if "text number 64" in texts_of(asked.body) else usual(asked)
    )
    made = embed_soon(embedder_of(provider), texts, Embeddings())
    assert [vector is not None for vector in made] == [True] * 64 + [False] * 66


def test_one_text_is_asked_for_once_and_not_longer_than_is_said(provider: Provider) -> None:
    provider.always = HANG
    embedder = embedder_of(provider)
    assert embed_soon(embedder, ["x"], Embeddings(timeout=0.1)) == [None]
    assert len(provider.asked) == 1


def test_a_batch_may_take_longer_than_one_text(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "BATCH_SECONDS", 30.0)
    seen: list[float] = []
    usual = provider.vector

    def vector(text: str) -> Sequence[object]:
        if not seen:
            time.sleep(0.3)
        seen.append(1)
        return usual(text)

    provider.vector = vector
    made = embed_soon(embedder_of(provider), ["x", "y"], Embeddings(timeout=0.1))
    assert None not in made


def test_no_more_of_a_batch_is_asked_for_when_the_time_is_over(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embeddings, "ALL_BATCHES_SECONDS", -1.0)
    assert embed_soon(embedder_of(provider), ["x", "y"], Embeddings()) == [None, None]
    assert provider.asked == []


def test_a_missing_key_costs_only_the_vectors(usual: Provider) -> None:
    assert embed_soon(make("openai:m", Embeddings()), ["x"], Embeddings()) == [None]


# Answers


NOT_JSON = [
    Answer(body=b""),
    Answer(body=b"<html>hello</html>"),
    Answer(body=b'{"data": ['),
    Answer(body=b"\xff\xfe\x80"),
    Answer(302, headers={"Location": "/elsewhere"}, body=b"moved"),
]


@SINGLE
def test_an_answer_that_is_not_json_is_unavailable(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(transport, "BREAK_SECONDS", 0.0)
    embedder = embedder_of(provider, name)
    for answer in NOT_JSON:
        provider.always = answer
        with pytest.raises(Unavailable, match=f"{name} answered with something that is not JSON") as caught:
            embedder.embed(["x"])
        assert caught.value.code == "provider_unavailable"


WRONG_SHAPES: list[object] = [
    None,
    7,
    "text",
    [],
    [[1.0]],
    {},
    {"data": None, "embeddings": None},
    {"data": {}, "embeddings": {}},
    {"data": "ab", "embeddings": "ab"},
    {"data": [1, 2], "embeddings": [1, 2]},
    {"data": [{}, {}], "embeddings": [{}, {}]},
    {"data": [None, None], "embeddings": [None, None]},
    {"error": {"message": "no"}},
]


@SINGLE
def test_an_answer_of_another_shape_is_unavailable(provider: Provider, name: str) -> None:
    embedder = embedder_of(provider, name)
    for shape in WRONG_SHAPES:
        provider.always = Answer(body=json.dumps(shape).encode())
        with pytest.raises(Unavailable, match=f"{name} did not give 2 vectors") as caught:
            embedder.embed(["x", "y"])
        assert caught.value.code == "provider_unavailable"


WRONG_VECTORS: list[list[object]] = [
    [],
    [[1.0, 2.0]],
    [[1.0, 2.0]] * 3,
    [[1.0], None],
    [[1.0], "1.0"],
    [[1.0], ["1.0"]],
    [[1.0], [None]],
    [[1.0], [True]],
    [[1.0], [[1.0]]],
    [[1.0], {"0": 1.0}],
    [[1.0], 1.0],
]


@SINGLE
def test_too_few_too_many_or_no_numbers_are_unavailable(provider: Provider, name: str) -> None:
    embedder = embedder_of(provider, name)
    for vectors in WRONG_VECTORS:
        provider.always = answer_of(name, *vectors)
        with pytest.raises(Unavailable, match=f"{name} did not give 2 vectors") as caught:
            embedder.embed(["x", "y"])
        assert caught.value.code == "provider_unavailable"


NO_DIRECTION: list[list[float]] = [
    [math.nan, 1.0],
    [math.inf, 1.0],
    [-math.inf],
    [0.0, 0.0],
    [0, 0],
    [],
    [1e200, 1e200],
]


@SINGLE
def test_a_vector_without_a_direction_is_none_and_the_others_count(provider: Provider, name: str) -> None:
    embedder = embedder_of(provider, name)
    for vector in NO_DIRECTION:
        provider.always = answer_of(name, [3.0, 4.0], vector, [5, 0])
        assert embed_all(embedder, ["x", "y", "z"]) == [pack([3.0, 4.0]), None, pack([5, 0])]


def test_a_compressed_answer_is_read(provider: Provider) -> None:
    usual = answer_of("openai", [1.0, 2.0])
    provider.always = Answer(body=gzip.compress(usual.body), headers={"Content-Encoding": "gzip"})
    assert embedder_of(provider).embed(["x"]) == [[1.0, 2.0]]


def test_a_batch_that_fails_in_the_middle_fails_as_a_whole(provider: Provider) -> None:
    provider.script.append(answer_of("openai", *[[1.0]] * 64))
    provider.script.extend([status(500)] * 3)
    with pytest.raises(Unavailable):
        embed_all(embedder_of(provider), ["x"] * 130)


# Secrets


PROBLEMS = {
    "refused key": status(401),
    "refused request": Answer(400, f"your key {KEY} is no good".encode()),
    "down": status(500),
    "dropped": DROP,
    "not JSON": Answer(body=f"key {KEY}".encode()),
    "no vectors": Answer(body=json.dumps({"key": KEY}).encode()),
}


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", ["openai", "google"])
def test_no_error_shows_the_key(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, name: str, problem: str
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    provider.always = PROBLEMS[problem]
    embedder = embedder_of(provider, name, api_key_env="MY_KEY")
    for _ in range(4):  # the last of which may be the breaker's
        with pytest.raises(NremError) as caught:
            embedder.embed(["x"])
        shown = "".join(traceback.format_exception(caught.value))
        assert KEY not in shown + repr(vars(caught.value))
    assert sent(provider) == KEY


@pytest.mark.parametrize("name", ["openai", "google"])
def test_a_key_that_no_header_can_carry_is_not_shown(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("MY_KEY", f"{KEY}\n")
    with pytest.raises(NremError) as caught:
        embedder_of(provider, name, api_key_env="MY_KEY").embed(["x"])
    assert KEY not in "".join(traceback.format_exception(caught.value)) + repr(vars(caught.value))


@pytest.mark.parametrize(
    "answer",
    [
        Answer(body=b"[" * 200_000),
        Answer(body=b"xx", headers={"Content-Encoding": "gzip"}),
    ],
)
def test_an_answer_that_cannot_be_read_is_unavailable(provider: Provider, answer: Answer) -> None:
    provider.always = answer
    with pytest.raises(Unavailable):
        embed_all(embedder_of(provider), ["x"])


def test_a_number_that_no_float_holds_makes_no_vector(provider: Provider) -> None:
    provider.always = Answer(body=b'{"data": [{"embedding": [1' + b"0" * 400 + b"]}]}")
    assert embed_all(embedder_of(provider), ["x"]) == [None]


def test_vectors_are_taken_by_their_index(provider: Provider) -> None:
    items = [{"index": 1, "embedding": [0.0, 1.0]}, {"index": 0, "embedding": [1.0, 0.0]}]
    provider.always = Answer(body=json.dumps({"data": items}).encode())
    assert embedder_of(provider).embed(["x", "y"]) == [[1.0, 0.0], [0.0, 1.0]]


def test_a_key_that_is_not_ascii_is_a_config_error(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "ключ")
    with pytest.raises(ConfigError):
        embedder_of(provider, api_key_env="MY_KEY").embed(["x"])


@pytest.mark.parametrize("content", ["", "\n"])
def test_an_empty_key_file_is_a_config_error(usual: Provider, tmp_path: Path, content: str) -> None:
    (tmp_path / "key").write_text(content)
    with pytest.raises(ConfigError):
        make("openai:m", Embeddings(api_key_file=str(tmp_path / "key"))).embed(["x"])
    assert usual.asked == []


@pytest.mark.rows(92)
def test_an_address_alone_means_an_openai_compatible_server(provider: Provider) -> None:
    from nrem.models.embeddings import choose
    from nrem.sections import Config

    for given in ({}, {"model": "bge-m3"}):
        wanted = {"base_url": provider.url, **given}
        embedder = choose(Config.model_validate({"memory": {"embeddings": wanted}}))
        assert embedder is not None
        assert embedder.identity.startswith("openai:")


@pytest.mark.parametrize("identity", ["test:hash-16", "caller", ""])
def test_an_identity_that_there_is_no_embedder_for_is_a_config_error(identity: str) -> None:
    with pytest.raises(ConfigError):
        make(identity, Embeddings())
