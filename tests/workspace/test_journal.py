"""The files of the export: the same bytes for the same records, and no changed byte unnoticed."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nrem.errors import Conflict, Corrupt
from nrem.model import Event, StateRecord
from nrem.policy import chain
from nrem.workspace import journal
from nrem.workspace.journal import Message


def make_events(payloads: Sequence[object]) -> list[Event]:
    made: list[Event] = []
    previous = chain.GENESIS
    for seq, payload in enumerate(payloads, 1):
        text, salt = chain.canonical(payload), os.urandom(16)
        hashed = chain.hash_payload(salt, text)
        fields = (seq, 1000 + seq, "memory.remember", f"id-{seq}", "owner", "test")
        previous = chain.link(previous, *fields, hashed)
        made.append(
            Event(
                seq=seq,
                at=1000 + seq,
                op="memory.remember",
                subject=f"id-{seq}",
                actor="owner",
                cause="test",
                payload_hash=hashed,
                chain=previous,
                payload=text,
                salt=salt,
            )
        )
    return made


NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
PAYLOADS = st.lists(st.dictionaries(st.text(max_size=5), st.text() | NUMBERS), max_size=12)


@given(PAYLOADS)
def test_events_come_back_as_they_went(payloads: list[object]) -> None:
    made = make_events(payloads)
    files = journal.render_events(made)
    assert list(journal.parse_events(files)) == made
    assert journal.render_events(made) == files


def test_paths_are_by_number_in_folders_of_a_hundred() -> None:
    assert [journal.event_path(seq) for seq in (1, 255, 256, 25_599, 25_600)] == [
        ".nrem/events/000/00000.jsonl",
        ".nrem/events/000/00000.jsonl",
        ".nrem/events/000/00001.jsonl",
        ".nrem/events/000/00099.jsonl",
        ".nrem/events/001/00100.jsonl",
    ]
    assert journal.state_path(1_600) == ".nrem/state/000/00012.jsonl"
    assert journal.state_path(99_999 * 128 + 128) == ".nrem/state/1000/100000.jsonl"
    assert journal.ordinals(12) == range(1536, 1664)


@given(st.integers(0, 2000))
def test_from_any_watermark_on_the_files_are_the_same(exported: int) -> None:
    first = journal.first_seq(exported)
    assert first <= exported + 1
    assert first == 1 or journal.event_path(first) != journal.event_path(first - 1)
    assert journal.event_path(first) == journal.event_path(exported + 1)


def test_an_export_from_the_watermark_is_part_of_the_whole() -> None:
    made = make_events([{"n": n} for n in range(700)])
    whole = journal.render_events(made)
    later = journal.render_events(event for event in made if event.seq >= journal.first_seq(600))
    assert sorted(later) == [".nrem/events/000/00002.jsonl"]
    assert whole.items() >= later.items()
    assert len(list(journal.parse_events(whole))) == 700


@pytest.mark.parametrize("missing", [1, 300, 512])
def test_an_export_with_a_gap_or_from_the_middle_is_refused(missing: int) -> None:
    made = make_events([{}] * 600)
    with pytest.raises(Corrupt):
        journal.render_events(event for event in made if event.seq != missing)


def test_any_changed_byte_of_the_events_is_found() -> None:
    made = make_events([{"content": "Luis likes tea", "n": 1.5}, {}, {"content": "é"}])
    [(path, data)] = journal.render_events(made).items()
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 0x01
        with pytest.raises(Corrupt):
            list(journal.parse_events({path: bytes(changed)}))


def test_lost_moved_and_repeated_events_are_found() -> None:
    files = journal.render_events(make_events([{"n": n} for n in range(600)]))
    names = sorted(files)
    lines = files[names[0]].splitlines(keepends=True)
    broken: list[dict[str, bytes]] = [
        {name: files[name] for name in names[1:]},
        {name: files[name] for name in (names[0], names[2])},
        files | {names[0]: b"".join([lines[1], lines[0], *lines[2:]])},
        files | {names[0]: b"".join([lines[0], *lines])},
        files | {names[1]: files[names[0]]},
        files | {names[0]: files[names[0]][:-1]},
        files | {names[0]: b""},
        files | {".nrem/events/notes.txt": b"x\n"},
    ]
    for found in broken:
        with pytest.raises(Corrupt) as caught:
            list(journal.parse_events(found))
        assert caught.value.hint


def test_an_erased_event_still_verifies_and_half_erased_does_not() -> None:
    made = make_events([{"secret": 1}, {"n": 2}])
    made[0] = dataclasses.replace(made[0], payload=None, salt=None)
    assert list(journal.parse_events(journal.render_events(made))) == made
    made[0] = dataclasses.replace(made[0], payload="{}")
    with pytest.raises(Corrupt):
        list(journal.parse_events(journal.render_events(made)))


STATES = st.lists(
    st.builds(
        lambda ordinal, seq, payload: StateRecord(
            ordinal=ordinal, subject=f"id-{ordinal}", seq=seq, payload=chain.canonical(payload)
        ),
        st.integers(0, 1000),
        st.integers(1, 5000),
        st.dictionaries(st.text(max_size=4), st.text() | st.none() | st.booleans() | st.lists(st.integers())),
    ),
    unique_by=lambda record: record.ordinal,
)


@given(STATES)
def test_states_come_back_as_they_went(records: list[StateRecord]) -> None:
    files = journal.render_states(records)
    ordered = sorted(records, key=lambda record: record.ordinal)
    assert list(journal.parse_states(files)) == ordered
    assert files == journal.render_states(reversed(records))
    for data in files.values():
        for line in data.splitlines():
            assert chain.canonical(json.loads(line)).encode() == line


def test_a_state_out_of_place_or_of_another_shape_is_found() -> None:
    records = [StateRecord(ordinal=n, subject=str(n), seq=1, payload="{}") for n in (1, 2, 130)]
    files = journal.render_states(records)
    first, second = sorted(files)
    lines = files[first].splitlines(keepends=True)
    for found in (
        files | {first: b"".join(reversed(lines))},
        files | {first: files[second]},
        files | {first: lines[0] + lines[0]},
        files | {first: lines[0].replace(b"{}", b"[]")},
        files | {first: lines[0].replace(b":", b": ")},
        files | {first: lines[0].replace(b'"seq":1', b'"seq":true')},
        files | {first: b"{}\n"},
        files | {first: b"\n"},
    ):
        with pytest.raises(Corrupt):
            list(journal.parse_states(found))


def test_the_root_of_the_state_changes_with_each_file() -> None:
    digests = {".nrem/state/000/00000.jsonl": b"a" * 32, ".nrem/state/000/00001.jsonl": b"b" * 32}
    root = journal.state_root(digests)
    assert root == journal.state_root(dict(reversed(digests.items())))
    assert len({root, journal.state_root({}), journal.state_root(digests | {"x": b"c" * 32})}) == 3


def test_the_format_is_read_or_refused() -> None:
    journal.check_format(journal.render_format())
    with pytest.raises(Conflict):
        journal.check_format(json.dumps(json.loads(journal.render_format()) | {"format": 2}).encode())
    for data in (b"", b"[]", b"{}", b"\xff"):
        with pytest.raises(Corrupt):
            journal.check_format(data)


@given(
    st.text(),
    st.text(min_size=1).filter(lambda text: text.split()),
    st.none() | st.tuples(st.integers(1), st.integers(1)),
)
def test_a_message_comes_back_and_forges_no_trailer(
    subject: str, cause: str, events: tuple[int, int] | None
) -> None:
    message = Message(subject=subject, cause=cause, events=events, chain=b"c" * 32, state=b"s" * 32, schema=7)
    first, blank, *rest = journal.render_message(message).split("\n")
    assert blank == ""
    trailers = dict(line.split(": ", 1) for line in rest if line)
    found = journal.parse_message(first, trailers)
    assert found is not None
    assert (found.events, found.chain, found.state, found.schema) == (events, b"c" * 32, b"s" * 32, 7)
    assert found.cause == " ".join(cause.split())


def test_a_message_as_people_see_it() -> None:
    message = Message(
        subject="checkpoint: before\nNrem-Cause: forged", cause="checkpoint", events=(10, 12),
        chain=b"\x01" * 32, state=b"\x02" * 32, run="r1", schema=3,
    )  # fmt: skip
    assert journal.render_message(message) == (
        "checkpoint: before Nrem-Cause: forged\n\nNrem-Cause: checkpoint\nNrem-Events: 10-12\n"
        f"Nrem-Chain: sha256:{'01' * 32}\nNrem-State: sha256:{'02' * 32}\nNrem-Run: r1\nNrem-Schema: 3\n"
    )
    assert journal.parse_message("by hand", {}) is None
    assert journal.parse_message("x", {"Nrem-Cause": "template"}) is None
