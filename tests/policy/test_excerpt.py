from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nrem.policy.excerpt import SHORT, excerpt
from nrem.policy.wordlists import sentences


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "Hey Tim! Good to see you again. Last week I scored 40 points against Chicago, my highest ever.",
            "Last week I scored 40 points against Chicago, my highest ever.",
        ),
        (
            "Wow, that sounds great! I signed up for a pottery class in Lisbon yesterday. How are you?",
            "I signed up for a pottery class in Lisbon yesterday.",
        ),
        (
            "Good morning! My new dentist is Dr. Brown, who works with J. Smith in St. Gallen on Mondays.",
            "My new dentist is Dr. Brown, who works with J. Smith in St. Gallen on Mondays.",
        ),
        (
            "Hey Gina, I had to close the bank account of the studio in Lisbon last week. It was sad!",
            "I had to close the bank account of the studio in Lisbon last week.",
        ),
        (
            "Oh, and by the way, the Lisbon office moved to the third floor in March. Nice, isn't it so?",
            "the Lisbon office moved to the third floor in March. Nice, isn't it so?",
        ),
    ],
)
def test_greetings_and_questions_around_a_fact_are_left_out(text: str, shown: str) -> None:
    assert excerpt(text) == shown


@pytest.mark.parametrize("sentence", ["It is not so.", "Never there.", "At 5.", "We don't."])
def test_a_sentence_with_a_number_or_a_negation_is_never_left_out(sentence: str) -> None:
    text = f"The payments team deploys the Lisbon cluster on Friday evenings with Ana and Bob. {sentence}"
    assert excerpt(text) == text


def test_a_sentence_that_the_next_one_points_back_to_is_never_left_out() -> None:
    text = (
        "Thanks! Have you ever been to Italy? I had a blast there last month with Ana and Bob. How are you?"
    )
    assert excerpt(text) == "Have you ever been to Italy? I had a blast there last month with Ana and Bob."


def test_a_name_stays_where_it_may_be_the_one_who_is_told_and_a_yes_or_no_always() -> None:
    for opening in ("Hey Gina, you", "Yes, we", "No, they", "So Berlin, which we"):
        text = f"{opening} move the Lisbon cluster to the new provider in March, with Ana and with Bob."
        assert excerpt(text) == text


def test_a_short_text_and_a_text_without_any_telling_sentence_are_shown_whole() -> None:
    short = "Hello! Ana lives in Lisbon."
    assert len(short) <= SHORT
    assert excerpt(short) == short
    question = "Would anybody of you know where the old harbour of the town might have been? " * 2
    assert excerpt(question) == question


@pytest.mark.parametrize(
    "text",
    [
        "Please look first at the runbook [wiki/Deploy/Frankfurt] of Marta Ruiz before touching payments",
        "The AWS key of the staging account of the team in Frankfurt is [redacted:aws-access-key-id]",
        "Deploys need the approval of Marta and of the security team [see the handbook], before Friday noon",
    ],
)
def test_a_bracket_does_not_end_a_sentence(text: str) -> None:
    assert excerpt(text) == text


def test_what_somebody_does_besides_speaking_is_a_part_of_its_own() -> None:
    said = "We moved the Lisbon cluster to Frankfurt with Ana and Bob on Friday"
    assert sentences(f"{said} [shares a photo of a server]") == [said, "[shares a photo of a server]"]


@given(st.text(max_size=400))
def test_it_is_made_of_sentences_in_order_but_for_their_openings(text: str) -> None:
    shown = excerpt(text)
    if shown != text:
        rest = iter(sentences(text))
        assert all(any(other.endswith(part) for other in rest) for part in sentences(shown))
        assert excerpt(shown) == shown or len(excerpt(shown)) < len(shown)
    assert bool(shown.strip()) == bool(text.strip())
