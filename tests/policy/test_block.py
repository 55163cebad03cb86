"""The managed block as people left it: what is a line, and what stays people's text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nrem.policy import block
from nrem.policy.block import Aside, Line
from nrem.policy.memory_doc import BEGIN, END

PIECES = ("- ", "  ", "word", "<!--", "-->", "<!-- m:b838b615 -->", "```", "|", "#", "---", "1. ", "", "\t")


def read(*rows: str) -> list[Line | Aside]:
    return block.read("\n".join((BEGIN, *rows, END)).encode())


def texts(*rows: str) -> list[str]:
    return [found.text for found in read(*rows) if isinstance(found, Line)]


def asides(*rows: str) -> list[str]:
    found = [found.rows for found in read(*rows) if isinstance(found, Aside)]
    return ["\n".join(rows[place - 1] for place in where) for where in found]


def line(text: str, label: str | None = None, section: str = "") -> Line:
    return Line(label=label, text=text, section=section)


def test_a_line_stands_under_its_heading() -> None:
    found = read("- one", "## Rules ", "* two <!-- m:b838b615 -->", "", "#hashtag three", "#", "12) four")
    assert found == [
        line("one"), line("two", "b838b615", "Rules"), line("#hashtag three", section="Rules"), line("four")
    ]  # fmt: skip


@pytest.mark.parametrize(
    "rows",
    [
        ("- Marta studies", "  medicine in Granada <!-- m:b838b615 -->"),
        ("- Marta studies", "\tmedicine", "  in Granada", "  <!-- m:b838b615 -->"),
        ("- Marta studies medicine in Granada <!--", "  m:b838b615 -->"),
        ("- Marta studies medicine in Granada", "  <!--", "  m:b838b615 -->"),
        ("- Marta studies <!-- m:b838b615 -->", "  medicine in Granada"),
    ],
)
def test_an_editor_may_wrap_a_line(rows: tuple[str, ...]) -> None:
    found = read("- before <!-- m:00000001 -->", *rows, "- after", "  - below it")
    wrapped = line("Marta studies medicine in Granada", "b838b615")
    assert found == [line("before", "00000001"), wrapped, line("after"), line("below it")]


def test_a_row_goes_on_only_with_the_line_right_above_it() -> None:
    assert texts("- one", "", "  two", "three", "## Rules", "  four") == ["one", "two", "three", "four"]
    assert texts("- since", "  2024. Then more") == ["since 2024. Then more"]


@pytest.mark.parametrize(
    "aside",
    [
        "<!-- my remark -->",
        "<!-- a\nb\n\nc -->",
        "- <!-- - Luis lives here <!-- m:b838b615 --> -->",
        "```sh\nmake deploy\n\n## no heading\n```",
        "~~~\n- no line\n~~~",
        "| a | b |\n|---|:-:|\n| 1 | 2 |",
        "---",
        "* * *",
        "=====",
        "<!-- never closed",
        "```never closed",
    ],
)
def test_asides_are_no_lines(aside: str) -> None:
    rows = ("- one", *aside.split("\n"), "- two <!-- m:00000001 -->")
    assert asides(*rows) == [aside]
    assert texts(*rows) == ["one", "two"]


def test_a_labelled_row_is_a_line_whatever_stands_around_it() -> None:
    rows = (
        "```",
        "- one <!-- m:00000001 -->",
        "<!-- todo",
        "- ``` <!-- m:00000002 -->",
        "| a",
        "| b <!-- m:00000003 -->",
    )
    assert texts(*rows) == ["one", "```", "| b"]
    assert asides(*rows) == ["```", "<!-- todo", "| a"]
    assert read("- <!-- m:b838b615 -->") == [line("", "b838b615")]
    assert read("- \u200b <!-- m:b838b615 -->") == [line("", "b838b615")]


def test_empty_items_are_nothing() -> None:
    assert read("-", "  ", "*", "##", "1.") == []


@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=5).map("".join), max_size=8))
def test_each_row_is_in_one_thing_at_most_and_no_word_is_lost(rows: list[str]) -> None:
    found = read(*rows)
    taken = [row for thing in found for row in thing.rows]
    assert taken == sorted(set(taken))
    assert {
        row for row, text in enumerate(rows, 1) if "word" in text and not text.lstrip().startswith("#")
    } <= set(taken)


def test_the_label_of_a_line_is_read_back() -> None:
    assert block.label_of("- tea <!-- m:b838b615 -->\r\n") == "b838b615"
    assert block.label_of("- tea") is None
