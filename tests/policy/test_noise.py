from __future__ import annotations

import pytest

from candidates import NOISE
from junk import HELD, JUNK, SEEN
from nrem.policy.machine import JUDGED
from nrem.policy.noise import noise
from worthy import WORTHY


def test_the_fixtures_are_broad_and_in_ten_families() -> None:
    assert SEEN.keys() == HELD.keys()
    assert (len(SEEN), len(JUNK) >= 150, len(set(WORTHY)) >= 150) == (10, True, True)


@pytest.mark.parametrize("text", [*NOISE, *JUNK])
def test_what_machines_say_and_what_says_nothing_gets_no_line(text: str) -> None:
    assert noise(text) is not None


@pytest.mark.parametrize("text", WORTHY)
def test_what_a_person_would_note_down_is_no_noise(text: str) -> None:
    assert noise(text) is None


def test_a_lesson_beside_what_a_machine_said_is_kept_and_a_word_in_a_long_log_is_not() -> None:
    lesson = "The importer dies with this because Redis is full: raise maxmemory, then restart it."
    line = "ERROR OOM command not allowed when used memory > 'maxmemory'"
    assert noise(f"{lesson}\n{line}") is None
    assert noise("\n".join([lesson, *[line] * 20])) == "an error message"


@pytest.mark.parametrize(
    "piece",
    [
        *("\n", " ", "a:\n", "you are a-a ", "- ", "nightly a a ", "[ ", "a=\n", '"', "a/", "job a ", "ok, "),
        *("a.b:1:", "\\", "\x1b[0m", "backup 1 ", "`a` ", "  a: b\n", "aing ", "A_B ", "at a(", "1 a, "),
    ],
)
def test_a_long_text_is_judged_by_its_beginning(piece: str) -> None:
    assert noise((piece * JUDGED)[:JUDGED]) == noise(piece * JUDGED)
