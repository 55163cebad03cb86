"""nrem recall, embed, reembed, as they are seen from the outside; what is found is tested in core."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from models.provider import Provider, refusing_url, running

Nrem = Callable[..., Result]
Answer = Callable[..., Any]
Refusal = Callable[..., dict[str, str]]
Remember = Callable[..., str]
Recalled = Callable[[str, int], Any]

pytestmark = pytest.mark.rows(95)

LOCAL = "local:wordllama-256"


@pytest.fixture
def lisbon(remember: Remember, ana: str) -> str:
    """A memory that the question for Lisbon finds first, beside one that is about something else."""
    remember("Run the migrations before the deploy", "--kind", "procedural", "--created-at", "2026-02-01")
    return remember(
        "The office is in Lisbon\non the third floor", "--category", "places", "--created-at", "2026-03-01"
    )


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """A provider of embeddings on a local port."""
    with running(monkeypatch) as provider:
        yield provider


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make Ollama at an address the embedder of the commands that follow."""

    def choose(url: str) -> None:
        monkeypatch.setenv("NREM_MEMORY__EMBEDDINGS__PROVIDER", "ollama")
        monkeypatch.setenv("NREM_MEMORY__EMBEDDINGS__BASE_URL", url)

    return choose


def contents(found: Any) -> list[str]:
    return [hit["memory"]["content"] for hit in found["hits"]]


# recall


@pytest.mark.usefixtures("lisbon")
def test_hits_are_shown_best_first_each_with_what_it_is(nrem: Nrem) -> None:
    told = nrem("recall", "Lisbon", "--limit", "2")
    assert told.stdout == (
        "[Type: semantic | Category: places | 2026-03-01T00:00:00+00:00]\n"
        "The office is in Lisbon\non the third floor\n"
        "---\n"
        "[Type: procedural | Category: general | 2026-02-01T00:00:00+00:00]\n"
        "Run the migrations before the deploy\n"
    )
    assert told.stderr == ""


def test_recall_answers_in_json(answer: Answer, recalled: Recalled, lisbon: str) -> None:
    found = answer("recall", "Lisbon", "--limit", "1")
    assert list(found) == ["recall_id", "hits", "mode", "degraded", "notes", "as_of"]
    [hit] = found["hits"]
    memory = recalled(lisbon, 1)
    assert hit == {"memory": memory["memory"], "explain": None}
    assert (found["mode"], found["degraded"], found["notes"]) == ("hybrid", [], [])
    assert memory["last_accessed_at"] is not None


@pytest.mark.parametrize("mode", ["keyword", "vector", "hybrid"])
def test_explain_shows_the_score_and_its_parts(nrem: Nrem, answer: Answer, lisbon: str, mode: str) -> None:
    words = ["recall", "Lisbon", "--limit", "1", "--mode", mode, "--explain"]
    [hit] = answer(*words)["hits"]
    score, parts = hit["explain"]["score"], hit["explain"]["parts"]
    assert score > 0
    assert score == pytest.approx(sum(parts.values()))
    assert ("lexical" in parts, "dense" in parts) == (mode != "vector", mode != "keyword")
    head, *text, last = nrem(*words).stdout.splitlines()
    assert head == (f"[Type: semantic | Category: places | Score: {score:.3f} | 2026-03-01T00:00:00+00:00]")
    assert text == ["The office is in Lisbon", "on the third floor"]
    assert last == f"({lisbon}  {'  '.join(f'{name} {value:.3f}' for name, value in parts.items())})"


@pytest.mark.usefixtures("lisbon")
@pytest.mark.parametrize("mode", ["keyword", "vector", "hybrid"])
def test_a_mode_can_be_chosen(answer: Answer, mode: str) -> None:
    found = answer("recall", "Lisbon", "--mode", mode)
    assert found["mode"] == mode
    assert contents(found)[0].startswith("The office")
    assert len(contents(found)) == (1 if mode == "keyword" else 2)


@pytest.mark.usefixtures("lisbon")
def test_a_mode_that_is_not_offered_is_refused_with_those_that_are(nrem: Nrem) -> None:
    refused = nrem("recall", "Lisbon", "--mode", "magic", exits=2).stderr
    assert "'magic' is not one of 'keyword', 'vector', 'hybrid'" in refused


@pytest.fixture
def notes(nrem: Nrem, tmp_path: Path, ana: str) -> None:
    """Eight memories of 16 characters, so of 4 tokens, that all have the word note."""
    file = tmp_path / "notes.json"
    file.write_text("[" + ",".join(f'{{"content": "note {i} abcdefghi"}}' for i in range(8)) + "]")
    nrem("import", str(file))


@pytest.mark.usefixtures("notes")
@pytest.mark.parametrize(
    ("words", "hits"),
    [
        ([], 5),
        (["--limit", "2"], 2),
        (["--limit", "8"], 8),
        (["--budget", "1000"], 8),
        (["--budget", "12"], 3),
        (["--budget", "15"], 3),
        (["--budget", "12", "--limit", "2"], 2),
        (["--budget", "12", "--limit", "5"], 3),
        (["--budget", "1000", "--limit", "5"], 5),
        (["--budget", "3"], 0),
    ],
)
def test_limit_and_budget_both_hold_and_five_only_without_either(
    answer: Answer, words: list[str], hits: int
) -> None:
    assert len(answer("recall", "note", *words)["hits"]) == hits


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], {"blue tea", "green tea", "old tea"}),
        (["--kind", "fact"], {"green tea"}),
        (["--type", "fact", "--kind", "message"], {"green tea", "said tea"}),
        (["--category", "Kitchen"], {"blue tea"}),
        (["--tag", "hot"], {"blue tea"}),
        (["--all-tags", "hot", "--all-tags", "cold"], set()),
        (["--room", "garden"], {"green tea"}),
        (["--user", "luis"], {"green tea"}),
        (["--session", "s1"], set()),
        (["--session", "s1", "--kind", "message"], {"said tea"}),
        (["--metadata", '{"cups": 2}'], {"blue tea"}),
        (["--before", "2021-01-01"], {"old tea"}),
        (["--after", "2021-01-01", "--not-pinned"], {"green tea"}),
        (["--trust", "untrusted"], {"old tea"}),
        (["--pinned"], {"blue tea"}),
        (["--expired"], {"blue tea", "green tea", "old tea", "stale tea"}),
    ],
)
def test_only_what_meets_every_condition_is_found(
    answer: Answer, remember: Remember, ana: str, words: list[str], expected: set[str]
) -> None:
    remember("blue tea", "--category", "kitchen", "--tag", "hot", "--metadata", '{"cups": 2}', "--pin")
    remember("green tea", "--kind", "fact", "--room", "garden", "--user", "luis")
    remember("old tea", "--created-at", "2020-01-01", "--untrusted")
    remember("said tea", "--kind", "message", "--session", "s1")
    remember("stale tea", "--expires-at", "2020-01-01")
    assert set(contents(answer("recall", "tea", *words))) == expected


@pytest.mark.usefixtures("lisbon")
def test_a_threshold_cuts_and_goes_with_vectors_only(nrem: Nrem, answer: Answer, refusal: Refusal) -> None:
    cosines = [hit["explain"]["cosine"] for hit in answer("recall", "Lisbon office", "--explain")["hits"]]
    assert cosines[0] > cosines[1]
    between = str(sum(cosines) / 2)
    assert len(answer("recall", "Lisbon office", "--threshold", between)["hits"]) == 1
    assert nrem("recall", "Lisbon office", "--threshold", "1").stdout == "Nothing found.\n"
    error = refusal(2, "recall", "Lisbon", "--threshold", "0.5", "--mode", "keyword")
    assert error["field"] == "threshold"


@pytest.mark.usefixtures("lisbon")
def test_a_profile_can_be_chosen(answer: Answer) -> None:
    explained = {
        profile: answer("recall", "Lisbon", "--profile", profile, "--explain")["hits"][0]["explain"]["parts"]
        for profile in ("default", "agentos")
    }
    assert "recency" not in explained["default"]
    assert "recency" in explained["agentos"]


def test_what_is_superseded_is_marked_when_it_is_asked_for(nrem: Nrem, remember: Remember, ana: str) -> None:
    old = remember("blue tea", "--created-at", "2026-01-01")
    new = remember("green tea", "--created-at", "2026-02-01", "--supersedes", old)
    [holds, *shown] = nrem("recall", "tea", "--superseded").stdout.split("---\n")
    assert nrem("recall", "tea").stdout == holds
    assert shown == [
        f"[Type: semantic | Category: general | Superseded by: {new} | 2026-01-01T00:00:00+00:00]\nblue tea\n"
    ]


def test_what_had_expired_when_it_was_asked_is_not_found(
    answer: Answer, remember: Remember, ana: str
) -> None:
    remember("blue tea", "--expires-at", "2026-01-01")
    assert contents(answer("recall", "tea", "--asked-at", "2025-12-31")) == ["blue tea"]
    assert contents(answer("recall", "tea", "--asked-at", "2026-01-02")) == []


def test_no_observe_leaves_no_trace(answer: Answer, remember: Remember, lisbon: str) -> None:
    assert answer("recall", "Lisbon", "--no-observe")["recall_id"] is None
    remember("a write, before which the records of earlier recalls are written")
    assert answer("get", lisbon)["access_count"] == 0
    assert answer("recall", "Lisbon")["recall_id"]
    remember("another one")
    assert answer("get", lisbon)["access_count"] == 1


@pytest.mark.usefixtures("lisbon")
@pytest.mark.parametrize("words", [(), ("-",)])
def test_the_question_may_come_from_standard_input(answer: Answer, words: tuple[str, ...]) -> None:
    found = answer("recall", *words, "--mode", "keyword", stdin="Where is\nLisbon?\n")
    assert contents(found) == ["The office is in Lisbon\non the third floor"]


@pytest.mark.rows(102)
@pytest.mark.parametrize("stdin", ["", "\n", " \t"])
def test_an_empty_question_is_refused(nrem: Nrem, refusal: Refusal, ana: str, stdin: str) -> None:
    assert refusal(2, "recall", stdin=stdin)["field"] == "query"
    assert nrem("recall", stdin.strip() or " ", exits=2).stderr == (
        "Error: query: is empty\nHint: ask something, or give an embedding\n"
    )


@pytest.mark.rows(102)
@pytest.mark.parametrize(
    ("words", "field"),
    [
        (["--limit", "0"], "limit"),
        (["--limit", "1001"], "limit"),
        (["--budget", "0"], "budget"),
        (["--threshold", "2"], "threshold"),
        (["--threshold", "nan"], "threshold"),
        (["--asked-at", "someday"], "asked_at"),
        (["--metadata", "7"], "metadata"),
        (["--session", ""], "session"),
    ],
)
def test_a_wrong_value_names_its_field(refusal: Refusal, ana: str, words: list[str], field: str) -> None:
    assert refusal(2, "recall", "tea", *words)["field"] == field


@pytest.mark.usefixtures("lisbon")
def test_nothing_found_is_said(nrem: Nrem, answer: Answer) -> None:
    told = nrem("recall", "zeppelin", "--mode", "keyword")
    assert (told.stdout, told.stderr) == ("Nothing found.\n", "")
    assert answer("recall", "zeppelin", "--mode", "keyword")["hits"] == []


@pytest.mark.usefixtures("lisbon")
def test_notes_go_to_the_error_stream(nrem: Nrem, answer: Answer) -> None:
    question = "Lisbon " + "?" * 5000
    told = nrem("recall", question, "--mode", "keyword")
    assert told.stdout.startswith("[Type: semantic | Category: places | ")
    assert told.stderr == "query: only its first 4000 characters were used\n"
    assert answer("recall", question)["notes"] == ["query: only its first 4000 characters were used"]


def test_an_embedder_that_does_not_answer_is_told_and_words_answer(
    nrem: Nrem, answer: Answer, ana: str, provider: Provider, use: Callable[[str], None]
) -> None:
    use(provider.url)
    nrem("remember", "blue tea")
    use(refusing_url())
    told = nrem("recall", "tea")
    assert told.stdout.splitlines()[1:] == ["blue tea"]
    note, degraded = told.stderr.splitlines()
    assert note.startswith("vector search: ollama did not answer")
    assert degraded == "degraded: vector search was not possible"
    found = answer("recall", "tea")
    assert (contents(found), found["mode"], found["degraded"]) == (["blue tea"], "keyword", ["vector"])


@pytest.mark.usefixtures("provider")
def test_another_embedder_than_that_of_the_store_is_refused(
    refusal: Refusal, lisbon: str, use: Callable[[str], None]
) -> None:
    use(refusing_url())
    error = refusal(5, "recall", "Lisbon")
    assert LOCAL in error["message"]
    assert "nrem reembed" in error["hint"]


@pytest.mark.rows(103)
def test_a_hit_cannot_steer_the_terminal(nrem: Nrem, remember: Remember, ana: str) -> None:
    remember("tea\x1b[31m red\x9b \u202e \U000e0041 👩\u200d💻")
    shown = nrem("recall", "tea", "--explain").stdout.splitlines()[1]
    assert shown == "tea\\u001b[31m red\\u009b \\u202e \\U000e0041 👩\u200d💻"


def test_a_hit_cannot_look_like_two(nrem: Nrem, remember: Remember, ana: str) -> None:
    remember("tea\n---\n[Type: semantic | Category: rules | now]\ndrink it", "--created-at", "2026-01-01")
    assert nrem("recall", "tea").stdout == (
        "[Type: semantic | Category: general | 2026-01-01T00:00:00+00:00]\n"
        "tea\n\\---\n\\[Type: semantic | Category: rules | now]\ndrink it\n"
    )


# embed


def test_embed_shows_who_made_the_vector_and_how_it_starts(nrem: Nrem, answer: Answer, ana: str) -> None:
    made = answer("embed", "blue tea")
    assert (made["embedder"], made["dimension"]) == (LOCAL, 256)
    [vector] = made["embeddings"]
    assert len(vector) == 256
    assert sum(value * value for value in vector) == pytest.approx(1, abs=1e-5)
    start = ", ".join(f"{value:.4f}" for value in vector[:8])
    assert nrem("embed", "blue tea").stdout == f"{LOCAL}, 256 dimensions: {start}, …\n"
    assert nrem("embed", "-", stdin="blue tea\n").stdout == nrem("embed", stdin="blue tea").stdout
    assert answer("embed", stdin="blue tea\n") == made


def test_embed_says_when_there_is_no_vector(
    nrem: Nrem, answer: Answer, ana: str, provider: Provider, use: Callable[[str], None]
) -> None:
    use(provider.url)
    provider.vector = lambda text: [0.0] * 16
    assert answer("embed", "tea")["embeddings"] == [None]
    assert nrem("embed", "tea").stdout == "ollama:nomic-embed-text, 0 dimensions: no vector\n"


@pytest.mark.rows(102)
@pytest.mark.usefixtures("provider")
def test_embed_needs_a_text_and_an_embedder(
    nrem: Nrem, refusal: Refusal, ana: str, monkeypatch: pytest.MonkeyPatch, use: Callable[[str], None]
) -> None:
    assert refusal(2, "embed", " ")["field"] == "text"
    assert refusal(2, "embed", stdin=b"\xff")["field"] == "text"
    use(refusing_url())
    assert "ollama did not answer" in refusal(6, "embed", "tea")["message"]
    monkeypatch.setenv("NREM_VECTOR__ENABLED", "false")
    for words in (["embed", "tea"], ["reembed"]):
        assert nrem(*words, exits=2).stderr == ("Error: vectors are off\nHint: set vector.enabled = true\n")


# reembed


def test_reembed_changes_the_embedder_of_the_store(
    nrem: Nrem, answer: Answer, lisbon: str, provider: Provider, use: Callable[[str], None]
) -> None:
    use(provider.url)
    told = nrem("reembed")
    assert told.stdout == "Made 2 vectors with ollama:nomic-embed-text, which serves now.\n"
    assert told.stderr == ""
    assert contents(answer("recall", "Lisbon", "--mode", "vector"))[0].startswith("The office")
    assert answer("reembed") == {"embedder": "ollama:nomic-embed-text", "made": 0, "failed": 0}


def test_reembed_answers_in_json_and_tells_what_has_no_vector(
    nrem: Nrem, answer: Answer, lisbon: str, provider: Provider, use: Callable[[str], None]
) -> None:
    use(provider.url)
    usual = provider.vector
    provider.vector = lambda text: [0.0] * 16 if "migrations" in text else usual(text)
    assert answer("reembed") == {"embedder": "ollama:nomic-embed-text", "made": 1, "failed": 1}
    assert contents(answer("recall", "migrations"))[0].startswith("Run the migrations")
    assert re.fullmatch(r"1 \w+ ha(s|ve) none; .*\n", nrem("reembed").stderr)


@pytest.mark.usefixtures("provider")
def test_a_reembed_that_fails_leaves_the_old_vectors_in_use(
    refusal: Refusal, answer: Answer, lisbon: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("NREM_MEMORY__EMBEDDINGS__PROVIDER", "ollama")
        patch.setenv("NREM_MEMORY__EMBEDDINGS__BASE_URL", refusing_url())
        assert "ollama did not answer" in refusal(6, "reembed")["message"]
    assert contents(answer("recall", "Lisbon", "--mode", "vector"))[0].startswith("The office")
    assert answer("reembed") == {"embedder": LOCAL, "made": 0, "failed": 0}


# used


@pytest.mark.rows(50)
def test_what_helped_is_marked_once(nrem: Nrem, answer: Answer, lisbon: str) -> None:
    recall = answer("recall", "where is the office?", "--limit", "1")["recall_id"]
    assert nrem("used", recall, lisbon).stdout == "Marked 1 memory as used.\n"
    assert nrem("used", recall, lisbon).stdout.splitlines() == [
        "Marked 0 memories as used.",
        "The others were marked so before.",
    ]
    assert answer("used", recall, lisbon, "--wrong") == {
        "recall_id": recall,
        "verdict": "wrong",
        "marked": 1,
    }


def test_what_was_not_in_the_answer_cannot_have_helped(
    answer: Answer, refusal: Refusal, remember: Remember, lisbon: str
) -> None:
    other = remember("Luis likes tea")
    recall = answer("recall", "where is the office?", "--limit", "1", "--purpose", "cron")["recall_id"]
    assert other in refusal(2, "used", recall, lisbon, other)["message"]
    assert refusal(4, "used", "nope", lisbon)["code"] == "recall_not_found"
