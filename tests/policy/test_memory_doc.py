"""MEMORY.md as a document: nothing of people's is touched, and no text leaves its line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nrem.policy import memory_doc
from nrem.policy.block import Line
from nrem.policy.memory_doc import BEGIN, END, Edits, Parts

ID = "01a1ee9a-7011-7327-b380-c452b838b615"
OTHER = "01a1ee9a-7011-7327-b380-c452b838b616"
EMPTY = f"{BEGIN}\n{END}".encode()
PIECES = (
    *(
        "<!--",
        "-->",
        "--!>",
        "<!",
        "--",
        ">",
        "\n",
        "\r",
        "\u2028",
        "\x00",
        "\u202e",
        "- ",
        "#",
        "`",
        "m:" + ID,
    ),
    *(BEGIN, END, " ", "word", "\ufeff", "<", "!", "-", "<!-", "\u200b"),
)
HOSTILE = st.lists(st.sampled_from(PIECES)).map("".join) | st.text(max_size=80)


def text_of(content: str) -> str:
    return memory_doc.line_text(content, created_at=0, zone="UTC")


def block_of(*lines: tuple[str, str], section: str = "Notes", like: bytes = b"") -> bytes:
    found = [Line(label=id, text=text, section=section) for id, text in lines]
    return memory_doc.render(found, like=memory_doc.split(like))


# The file


@pytest.mark.parametrize(
    ("data", "before", "block", "after"),
    [
        (b"a\n" + EMPTY + b"\nb", b"a\n", EMPTY, b"\nb"),
        (EMPTY, b"", EMPTY, b""),
        (b"\xef\xbb\xbf" + EMPTY + b"\n", b"\xef\xbb\xbf", EMPTY, b"\n"),
        (EMPTY + b"\n" + EMPTY, b"", EMPTY, b"\n" + EMPTY),
        (f"{BEGIN}\nmine\n".encode() + EMPTY, f"{BEGIN}\nmine\n".encode(), EMPTY, b""),
        (f"{END}\n".encode() + EMPTY, f"{END}\n".encode(), EMPTY, b""),
        (f"see {BEGIN}\n{END}\n".encode(), f"see {BEGIN}\n{END}\n".encode(), None, b"\n"),
        (f"{BEGIN}\nno end".encode(), f"{BEGIN}\nno end\n".encode(), None, b"\n"),
        (b"a\r\nb", b"a\r\nb\r\n", None, b"\r\n"),
        (b"", b"", None, b"\n"),
    ],
)
def test_a_file_has_three_parts(data: bytes, before: bytes, block: bytes | None, after: bytes) -> None:
    assert memory_doc.split(data) == Parts(before, block, after)


@given(st.binary(max_size=60), st.binary(max_size=60), st.lists(HOSTILE, max_size=4))
def test_what_is_outside_stays_byte_for_byte(before: bytes, after: bytes, texts: list[str]) -> None:
    parts = memory_doc.split(before + b"\n" + EMPTY + b"\n" + after)
    lines = [Line(label=ID, text=text, section="Notes") for text in map(text_of, texts) if text]
    again = memory_doc.split(parts.with_block(memory_doc.render(lines, like=parts)))
    assert (again.before, again.after) == (parts.before, parts.after)


def test_the_block_has_the_line_ends_of_the_file() -> None:
    block = block_of((ID, "one"), like=b"mine\r\n" + EMPTY + b"\r\n")
    assert block == f"{BEGIN}\r\n## Notes\r\n- one <!-- m:{ID} -->\r\n{END}".encode()


def test_the_view_for_an_agent_has_no_comments() -> None:
    file = b"Mine <!-- a note -->\n" + block_of((ID, "Luis lives in Madrid"))
    assert memory_doc.injected(file.decode()) == "Mine\n\n## Notes\n- Luis lives in Madrid\n"


# Lines


@pytest.mark.rows(112)
@given(HOSTILE)
def test_no_text_leaves_its_line_or_ends_a_comment(content: str) -> None:
    text = text_of(content)
    assert not any(mark in text for mark in ("<!--", "-->", "--!>", "\n", "\r", "\u2028", "\x00", "\u202e"))
    if text:
        block = block_of((ID, text), (OTHER, "next"))
        assert memory_doc.parse(block) == [
            Line(label=ID, text=text, section="Notes"),
            Line(label=OTHER, text="next", section="Notes"),
        ]
        assert memory_doc.split(b"mine\n" + block + b"\n").block == block
        assert memory_doc.injected(block.decode()).count("\n- ") == 2
        assert memory_doc.one_line(text) == text


@given(st.lists(HOSTILE, max_size=6), st.sampled_from([b"", b"a\r\n"]))
def test_a_block_is_never_longer_than_its_parts_say(contents: list[str], like: bytes) -> None:
    lines = [
        Line(label=f"{ID[:-2]}{i:02}", text=text, section=list(memory_doc.SECTIONS)[i % 3])
        for i, text in enumerate(map(text_of, contents))
        if text
    ]
    block = memory_doc.render(lines, like=memory_doc.split(like + EMPTY))
    told = memory_doc.MARKERS_LENGTH + 1
    told += sum(memory_doc.line_length(line.text, line.label or "") for line in lines)
    told += sum(memory_doc.heading_lengths()[section] for section in {line.section for line in lines})
    assert len(block.decode()) <= told


def test_a_relative_date_gets_the_day_on_which_it_was_said() -> None:
    noon = 1_780_315_200_000
    assert memory_doc.line_text("He moved yesterday", created_at=noon, zone="UTC") == (
        "He moved yesterday (said 2026-06-01)"
    )
    assert memory_doc.line_text("He moved in May", created_at=noon, zone="UTC") == "He moved in May"
    tokyo = memory_doc.line_text("He moved yesterday", created_at=noon + 4 * 3_600_000, zone="Asia/Tokyo")
    assert tokyo.endswith("(said 2026-06-02)")


def test_categories_have_their_headings() -> None:
    assert memory_doc.section_of("preferences") == "Preferences"
    assert memory_doc.section_of("decision") == memory_doc.section_of("adr") == "Decisions"
    assert memory_doc.section_of("anything") == "Notes"
    for section in memory_doc.SECTIONS:
        assert memory_doc.section_of(memory_doc.category_of(section)) == section


# Labels


def test_a_label_is_the_end_of_the_id() -> None:
    assert memory_doc.labels([ID]) == {ID: ID[-8:]}


@given(st.lists(st.text("ab", min_size=12, max_size=12), max_size=60))
def test_no_two_memories_share_a_label_and_later_ones_change_none(ids: list[str]) -> None:
    found = memory_doc.labels(ids)
    assert found.keys() == set(ids)
    assert len(set(found.values())) == len(found)
    assert all(len(label) >= 8 and id.endswith(label) for id, label in found.items())
    before = memory_doc.labels(ids[: len(ids) // 2])
    assert {id: found[id] for id in before} == before


# People's edits


def test_edits_are_seen_line_by_line() -> None:
    base = block_of((ID, "Luis lives in Madrid"), (OTHER, "Marta is a nurse"))
    text = base.decode()
    assert memory_doc.compare(base, base) == Edits(changed={})
    removed = "\n".join(line for line in text.split("\n") if OTHER not in line)
    assert memory_doc.compare(base, removed.encode()) == Edits(removed=(OTHER,), changed={})
    changed = text.replace("a nurse", "a doctor")
    said = Line(label=OTHER, text="Marta is a doctor", section="Notes")
    assert memory_doc.compare(base, changed.encode()) == Edits(changed={OTHER: said})
    added = text.replace(END, f"* Tea, never coffee\n{END}")
    new = Line(label=None, text="Tea, never coffee", section="Notes")
    assert memory_doc.compare(base, added.encode()) == Edits(changed={}, added=(new,))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f" <!-- m:{ID} -->", ""),  # only the comment is gone
        ("## Notes\n", ""),
        ("- Luis", "*   Luis"),
        ("\n", "\r\n"),
    ],
)
def test_what_changes_no_text_is_no_edit(old: str, new: str) -> None:
    base = block_of((ID, "Luis lives in Madrid"), (OTHER, "Marta is a nurse"))
    assert not memory_doc.compare(base, base.decode().replace(old, new).encode())


def test_a_line_emptied_is_a_line_removed() -> None:
    base = block_of((ID, "Luis lives in Madrid"))
    emptied = base.decode().replace("Luis lives in Madrid ", "").encode()
    assert memory_doc.compare(base, emptied) == Edits(removed=(ID,), changed={})


def test_a_broken_block_says_nothing_of_its_lines() -> None:
    assert not memory_doc.compare(block_of((ID, "Luis lives in Madrid")), None)


@given(st.binary(max_size=40), st.lists(st.binary(max_size=20), max_size=6), st.sets(st.integers(1, 6)))
def test_rows_that_move_out_keep_their_bytes(after: bytes, inside: list[bytes], rows: set[int]) -> None:
    block = b"\n".join([BEGIN.encode(), *(b"x".join(text.split()) for text in inside), END.encode()])
    parts = memory_doc.split(b"mine\n" + block + b"\n" + after)
    all_rows = (parts.block or b"").splitlines()
    rows = {row for row in rows if row < len(all_rows) - 1}
    moved = memory_doc.split(memory_doc.move_out(parts, rows))
    assert moved.before == parts.before
    assert (moved.block or b"").splitlines() == [row for n, row in enumerate(all_rows) if n not in rows]
    below = b"".join(b"\n" + row for n, row in enumerate(all_rows) if n in rows)
    assert moved.after == below + parts.after


def test_only_untouched_lines_are_brought_up_to_date() -> None:
    base = block_of((ID, "Luis lives in Madrid"), (OTHER, "Marta is a nurse"))
    edited = base.decode().replace("a nurse", "a doctor").encode()
    new_base, block = memory_doc.refresh(base, edited, {})
    assert block == f"{BEGIN}\n## Notes\n- Marta is a doctor <!-- m:{OTHER} -->\n{END}".encode()
    assert new_base == EMPTY
    _, block = memory_doc.refresh(base, base, {ID: "Luis lives in Valencia"})
    assert block == block_of((ID, "Luis lives in Valencia"))
