"""A memory takes the place of others: these stay, marked, and are out of recall unless asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from builders import Call, ManualClock, caller_of
from nrem.core import rebuild
from nrem.errors import Conflict, Denied, InputError, InvalidField, NotFound
from nrem.model import Event
from nrem.runtime.app import App
from nrem.store import matrices, matrix, memories
from nrem.store.memory_rows import from_payload
from workspace.workshop import check_clean

Get = Callable[..., dict[str, Any]]
Chain = Callable[[str], list[Event]]
Vectors = Callable[[str], dict[str, bytes]]

BERLIN, LISBON, PORTO = (f"Ana lives in {city}" for city in ("Berlin", "Lisbon", "Porto"))


@pytest.fixture
def say(call: Call, clock: ManualClock) -> Callable[..., str]:
    """Remember a text, a second later than the one before, in the place of some others; return its id."""

    def remember(text: str, *supersedes: str, **given: Any) -> str:
        clock.advance(seconds=1)
        stored = call("remember", agent="ana", content=text, supersedes=list(supersedes), **given)
        return str(stored["id"])

    return remember


@pytest.fixture
def recalled(call: Call) -> Callable[..., list[str]]:
    """Return the texts that a question about Ana finds."""

    def ask(**given: Any) -> list[str]:
        found = call("recall", agent="ana", query="Where is it that Ana lives?", limit=100, **given)
        return sorted(hit["memory"]["content"] for hit in found["hits"])

    return ask


Say = Callable[..., str]
Recalled = Callable[..., list[str]]


def states(call: Call) -> dict[str, str | None]:
    """Return what each memory of ana's is superseded by."""
    page = call("list_memories", agent="ana", limit=1000)["memories"]
    return {memory["id"]: memory["superseded_by"] for memory in page}


def whole(app: App, call: Call, agent: str = "ana") -> None:
    """Check that rows, events, git and state agree."""
    with app.store.reading() as db:
        memories.verify_rows(db, app.scope(agent).number)
    call("checkpoint", agent=agent)
    found = call("verify", agent=agent)["findings"]
    assert [finding for finding in found if finding["level"] == "error"] == []


# What is written


def test_the_old_memory_is_marked_in_the_transaction_of_the_new_one(
    call: Call, app: App, say: Say, get: Get, chain: Chain, vectors: Vectors
) -> None:
    old = say(BERLIN, tags=["home"])
    before, had = get(old), vectors("ana")[old]
    new = say(LISBON, old)
    changed = {"version": 2, "updated_at": "2026-06-01T12:00:02+00:00", "superseded_by": new}
    assert get(old) == before | changed
    assert vectors("ana")[old] == had
    assert get(new)["superseded_by"] is None
    stored, superseded = chain("ana")[-2:]
    assert (stored.op, stored.subject) == ("memory.remember", new)
    assert (superseded.op, superseded.subject) == ("memory.supersede", old)
    assert (superseded.actor, superseded.cause) == ("owner", "test")
    assert from_payload(superseded.payload or "").superseded_by == new
    assert "superseded_by" not in (stored.payload or "")
    whole(app, call)


def test_several_at_once_and_one_after_the_other(call: Call, say: Say) -> None:
    a, b = say(BERLIN), say("Ana has a flat in Berlin")
    c = say(LISBON, a, b, a)
    d = say(PORTO, c)
    assert states(call) == {a: c, b: c, c: d, d: None}


def test_each_of_a_batch_supersedes_its_own(call: Call, say: Say) -> None:
    a, b = say(BERLIN), say("Ben lives in Rome")
    drafts = [{"content": LISBON, "supersedes": [a]}, {"content": "Ben lives in Oslo", "supersedes": [b]}]
    new = [one["id"] for one in call("remember_many", agent="ana", memories=drafts)["memories"]]
    assert states(call) == {a: new[0], b: new[1], new[0]: None, new[1]: None}


def test_a_text_that_is_known_already_is_the_successor(call: Call, say: Say, chain: Chain) -> None:
    known, old = say(LISBON), say(BERLIN)
    assert say(LISBON, old) == known
    assert states(call) == {known: None, old: known}
    assert chain("ana")[-1].op == "memory.supersede"


def test_a_known_legacy_id_is_the_successor_if_it_has_the_text(call: Call, say: Say) -> None:
    old, other = say(BERLIN), say("Ben lives in Rome")
    known = say(LISBON, legacy_id="7")
    assert say(LISBON, old, legacy_id="7") == known
    differs = call("remember", agent="ana", content=PORTO, supersedes=[other], legacy_id="7")
    assert differs["reason"] == "differs"
    assert states(call) == {old: known, other: None, known: None}


def test_saying_it_twice_changes_nothing(say: Say, chain: Chain) -> None:
    old = say(BERLIN)
    new = say(LISBON, old)
    before = chain("ana")
    assert say(LISBON, old) == new
    assert chain("ana") == before


# What is refused, without a trace


def refused(call: Call, chain: Chain, error: type[Exception], **body: Any) -> Any:
    before = chain("ana")
    with pytest.raises(error) as caught:
        call("remember", agent="ana", **body)
    assert chain("ana") == before
    return caught.value


def test_an_unknown_a_foreign_and_a_forgotten_id_are_not_found(call: Call, say: Say, chain: Chain) -> None:
    foreign = call("remember", agent="ben", content=BERLIN)["id"]
    there, gone = say(BERLIN), say("Ana lives in Rome")
    call("forget", agent="ana", id=gone)
    for id in (foreign, gone, "nobody"):
        error = refused(call, chain, NotFound, content=LISBON, supersedes=[there, id])
        assert (error.code, error.field) == ("memory_not_found", "supersedes[1]")
        assert id in error.message
    assert states(call) == {there: None}


def test_what_is_superseded_already_names_its_successor(call: Call, say: Say, chain: Chain) -> None:
    a = say(BERLIN)
    b = say(LISBON, a)
    error = refused(call, chain, Conflict, content=PORTO, supersedes=[a])
    assert (error.code, error.hint) == ("superseded", f"supersede {b} instead")
    assert error.details == {"id": a, "superseded_by": b}
    call("forget", agent="ana", id=b)
    assert "forgotten" in refused(call, chain, Conflict, content=PORTO, supersedes=[a]).hint


def test_two_of_a_batch_cannot_supersede_the_same(call: Call, say: Say, chain: Chain) -> None:
    old, before = say(BERLIN), chain("ana")
    drafts = [{"content": text, "supersedes": [old]} for text in (LISBON, PORTO)]
    with pytest.raises(Conflict) as caught:
        call("remember_many", agent="ana", memories=drafts)
    assert caught.value.field == "memories[1].supersedes[0]"
    assert chain("ana")[len(before) :] == []


def test_a_memory_cannot_supersede_itself(call: Call, say: Say, chain: Chain) -> None:
    id = say(BERLIN)
    error = refused(call, chain, InputError, content=BERLIN, supersedes=[id])
    assert error.field == "supersedes[0]"


def test_what_is_superseded_takes_nobodys_place(call: Call, say: Say, chain: Chain) -> None:
    old = say(BERLIN, legacy_id="7")
    say(LISBON, old)
    other = say("Ben lives in Rome")
    error = refused(call, chain, Conflict, content=BERLIN, legacy_id="7", supersedes=[other])
    assert error.details["id"] == old


@pytest.mark.rows(102)
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"supersedes": "x"}, "supersedes"),
        ({"supersedes": [1]}, "supersedes[0]"),
        ({"supersedes": [" "]}, "supersedes[0]"),
        ({"supersedes": ["x"] * 17}, "supersedes"),
        ({"supersedes": ["x"], "superseded_by": "y"}, "superseded_by"),
        ({"superseded_by": 1}, "superseded_by"),
    ],
)
def test_a_wrong_value_names_its_field(call: Call, chain: Chain, body: dict[str, Any], field: str) -> None:
    assert refused(call, chain, InvalidField, content=LISBON, **body).field == field


@pytest.mark.rows(112)
def test_untrusted_text_replaces_nothing_that_is_trusted(
    call: Call, visitor: Call, say: Say, chain: Chain
) -> None:
    mine = say(BERLIN)
    found = visitor("remember", agent="ana", content="Ben lives in Rome")["id"]
    before = chain("ana")
    for run, body in (
        (visitor, {"content": LISBON, "supersedes": [mine]}),
        (visitor, {"content": LISBON, "supersedes": [found, mine]}),
        (visitor, {"content": "Ana lives in Rome", "supersedes": [mine], "trust": "trusted"}),
        (call, {"content": LISBON, "supersedes": [mine], "trust": "untrusted"}),
        (call, {"content": "Ben lives in Rome", "supersedes": [mine]}),  # known, as untrusted text
    ):
        with pytest.raises(Denied, match=mine):
            run("remember", agent="ana", **body)
    assert chain("ana") == before
    known = say(LISBON)
    with pytest.raises(Denied):  # that the words are known as the owner's does not make the visitor the owner
        visitor("remember", agent="ana", content=LISBON, supersedes=[mine])
    new = visitor("remember", agent="ana", content="Ben lives in Oslo", supersedes=[found])["id"]
    assert states(call) == {mine: None, known: None, found: new, new: None}


# The same text again


@pytest.mark.rows(28)
@pytest.mark.parametrize("kind", ["semantic", "fact", "procedural", "conversation"])
def test_a_superseded_text_that_is_said_again_holds_again(
    call: Call, app: App, say: Say, recalled: Recalled, kind: str
) -> None:
    first = say(BERLIN, kind=kind)
    second = say(LISBON, first, kind=kind)
    third = say(BERLIN, second, kind=kind)
    assert states(call) == {first: second, second: third, third: None}
    assert recalled() == [BERLIN]
    assert say(BERLIN, kind=kind) == third
    whole(app, call)


@pytest.mark.rows(28)
def test_an_edit_collides_with_what_holds_only(call: Call, say: Say) -> None:
    old = say(BERLIN)
    new = say(LISBON, old)
    other = say("Ben lives in Rome")
    with pytest.raises(Conflict, match=new):
        call("edit_memory", agent="ana", id=other, content=LISBON)
    call("edit_memory", agent="ana", id=other, content=BERLIN)
    call("edit_memory", agent="ana", id=old, content=LISBON)  # what is superseded collides with nothing
    assert len(states(call)) == 3


# Recall


@pytest.mark.parametrize("mode", ["keyword", "vector", "hybrid"])
def test_superseded_memories_are_found_only_when_asked_for(
    call: Call, say: Say, recalled: Recalled, mode: str
) -> None:
    assert recalled(mode=mode) == []
    say("Ben lives in Rome")
    old = say(BERLIN)
    assert BERLIN in recalled(mode=mode)
    say(LISBON, old)
    found = recalled(mode=mode)
    assert LISBON in found
    assert BERLIN not in found
    assert recalled(mode=mode, superseded=True) == sorted([*found, BERLIN])
    listed = call("list_memories", agent="ana", page=1)
    assert listed["total"] == 3


def test_they_are_out_before_the_cut(call: Call, say: Say) -> None:
    for number in range(20):
        old = say(f"Ana lives in house {number}")
        say(f"Somebody has house {number} now", old)
    say("Ana lives where nobody knows, said her sister when she was asked for it")
    [hit] = call("recall", agent="ana", query="Ana lives", limit=1)["hits"]
    assert hit["memory"]["content"].startswith("Ana lives where")


def test_they_are_out_too_when_vectors_stay_on_disk(
    call: Call, app: App, say: Say, recalled: Recalled, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(LISBON, say(BERLIN))
    hot = [recalled(mode="vector"), recalled(mode="vector", superseded=True)]
    app.store.matrices = matrices.Matrices()
    monkeypatch.setattr(matrix, "MOST_VECTOR_BYTES", 0)
    assert [recalled(mode="vector"), recalled(mode="vector", superseded=True)] == hot
    assert hot == [[LISBON], [BERLIN, LISBON]]


@pytest.mark.rows(105)
def test_before_it_was_superseded_it_held(
    call: Call, say: Say, recalled: Recalled, clock: ManualClock
) -> None:
    old = say(BERLIN)
    asked = call("recall", agent="ana", query="Ana lives")
    new = say(LISBON, old)
    assert recalled(as_of=asked["recall_id"]) == [BERLIN]
    assert recalled(as_of="2026-06-01T12:00:01Z") == [BERLIN]
    then = call("recall", agent="ana", query="Ana lives", as_of=asked["recall_id"])
    assert then["hits"][0]["memory"]["superseded_by"] is None
    [replayed] = call("replay", agent="ana", of=asked["recall_id"])["recalls"]
    assert (replayed["outcome"], replayed["causes"]) == ("equal", [])
    clock.advance(seconds=1)
    call("forget", agent="ana", id=new)
    assert recalled() == []
    assert recalled(as_of="2026-06-01T12:00:02Z") == [LISBON]
    assert recalled(as_of="2026-06-01T12:00:02Z", superseded=True) == [BERLIN, LISBON]


# What becomes of it


def test_it_stays_superseded_when_its_successor_is_forgotten_or_erased(
    call: Call, app: App, say: Say, recalled: Recalled
) -> None:
    a, b = say(BERLIN), say("Ana lives by the sea")
    call("forget", agent="ana", id=say(LISBON, a))
    new = say(PORTO, b)
    receipt = call("erase_memory", agent="ana", id=new)
    assert receipt["memories"] == [b]  # it names the erased one's id
    assert recalled() == []
    assert states(call)[b] == new
    whole(app, call)


def test_a_restore_undoes_it(call: Call, app: App, say: Say, recalled: Recalled, clock: ManualClock) -> None:
    old = say(BERLIN)
    say(LISBON, old)
    clock.advance(seconds=60)
    done = call("restore", agent="ana", to="2026-06-01T12:00:01Z", only=old)
    assert (done["changed"], done["not_restored"]) == (1, 0)
    assert recalled() == [BERLIN, LISBON]
    call("restore", agent="ana", to="2026-06-01T12:00:02Z")
    assert recalled() == [LISBON]
    call("restore", agent="ana", to="2026-06-01T12:00:01Z")
    assert recalled() == [BERLIN]
    assert states(call) == {old: None}
    whole(app, call)


def test_a_restore_leaves_a_text_that_another_memory_has_now(call: Call, app: App, say: Say) -> None:
    old = say(BERLIN)
    again = say(BERLIN, say(LISBON, old))
    done = call("restore", agent="ana", to="2026-06-01T12:00:01Z", only=old)
    assert done["left"] == [{"id": old, "reason": "another memory has its text now", "other": again}]
    assert states(call)[old] is not None
    call("restore", agent="ana", to="2026-06-01T12:00:01Z")
    assert states(call) == {old: None}
    whole(app, call)


def test_of_two_memories_with_one_text_each_can_hold_again(
    call: Call, app: App, say: Say, vectors: Vectors, clock: ManualClock
) -> None:
    """Both have the text before and after; only which of them is superseded changes."""
    a = say(BERLIN)
    b = say(BERLIN, say(LISBON, a))
    second = states(call)
    say(PORTO, b)
    call("restore", agent="ana", to="2026-06-01T12:00:01Z", only=a)
    first = states(call)
    assert (first[a], second[b]) == (None, None)
    assert None not in (first[b], second[a])
    vectors_then = vectors("ana")
    for to, expected in (("03", second), ("04", first), ("03", second)):
        clock.advance(seconds=60)
        call("restore", agent="ana", to=f"2026-06-01T12:00:{to}Z")
        assert states(call) == expected
        assert vectors("ana") == {id: vectors_then[id] for id in expected}
    whole(app, call)


@pytest.mark.rows(36)
def test_a_cap_takes_superseded_ones_first(call: Call, say: Say) -> None:
    say("older")
    old = say(BERLIN)
    config = {"memory": {"semantic": {"max_memories": 2}}}
    call("set_agent_config", agent="ana", config=config, message="cap")
    new = say(LISBON, old)
    assert new in states(call)
    listed = call("list_memories", agent="ana")["memories"]
    assert [memory["content"] for memory in listed] == [LISBON, "older"]


@pytest.mark.rows(36)
def test_it_stays_superseded_when_a_cap_takes_its_successor(call: Call, say: Say, recalled: Recalled) -> None:
    config = {"memory": {"semantic": {"max_memories": 1}}}
    call("set_agent_config", agent="ana", config=config, message="cap")
    old = say(BERLIN, kind="episodic")
    drafts = [{"content": LISBON, "supersedes": [old], "created_at": 5}, {"content": "newer"}]
    first, second = call("remember_many", agent="ana", memories=drafts)["memories"]
    assert (first["stored"], first["reason"]) == (False, "evicted")
    assert states(call) == {old: first["id"], second["id"]: None}
    assert BERLIN not in recalled()


# History


@pytest.mark.rows(108)
def test_why_versions_and_diff_tell_it(call: Call, say: Say) -> None:
    old, other = say(BERLIN), say("Ana has a flat in Berlin")
    new = say(LISBON, old, other)
    told = call("why", agent="ana", id=old)
    assert (told["superseded_by"], told["supersedes"]) == (new, [])
    change = {"field": "superseded_by", "before": None, "after": new}
    assert (told["events"][-1]["operation"], told["events"][-1]["changes"]) == ("supersede", [change])
    told = call("why", agent="ana", id=new)
    assert (told["superseded_by"], told["supersedes"]) == (None, [old, other])
    versions = call("list_versions", agent="ana", id=old)["versions"]
    assert [(v["version"], v["operation"]) for v in versions] == [(1, "remember"), (2, "supersede")]
    assert [v["memory"]["superseded_by"] for v in versions] == [None, new]
    call("checkpoint", agent="ana")
    changed = call("diff", agent="ana", a="2026-06-01T12:00:02Z", b="now")["memories"]
    assert {one["id"]: one["fields"] for one in changed if one["change"] == "changed"} == {
        old: [change],
        other: [change],
    }


@pytest.mark.rows(106)
def test_a_rebuilt_store_has_it(app: App, call: Call, say: Say, clock: ManualClock) -> None:
    first = say(BERLIN)
    third = say(BERLIN, say(LISBON, first))
    before = call("list_memories", agent="ana")
    for agent in ("ana", "ben"):
        call("checkpoint", agent=agent)
    check_clean(app.home / "workspaces" / "ana")
    app.close()
    with rebuild.prepared(app.home, clock=clock) as new:
        new.put_in_place()
    with App.open(app.home, clock=clock) as again:
        run = caller_of(again)
        assert run("list_memories", agent="ana") == before
        assert run("remember", agent="ana", content=BERLIN)["id"] == third
        whole(again, run)


# Memories that come with their history


def test_a_memory_may_come_as_superseded(call: Call, say: Say, recalled: Recalled) -> None:
    holds = say(LISBON)
    same = say(BERLIN)
    old = say(BERLIN, superseded_by=holds, legacy_id="old")
    assert say(BERLIN, superseded_by=holds, legacy_id="old") == old
    assert states(call) == {holds: None, same: None, old: holds}
    assert recalled() == [BERLIN, LISBON]


def test_its_successor_is_or_was_a_memory_of_the_same_agent(call: Call, say: Say, chain: Chain) -> None:
    foreign = call("remember", agent="ben", content=LISBON)["id"]
    assert refused(call, chain, InvalidField, content=BERLIN, superseded_by=foreign).field == "superseded_by"
    error = refused(call, chain, NotFound, content=BERLIN, superseded_by=foreign, legacy_id="old")
    assert (error.code, error.field) == ("memory_not_found", "superseded_by")
    gone = say(LISBON)
    call("forget", agent="ana", id=gone)
    old = say(BERLIN, superseded_by=gone, legacy_id="old")
    assert states(call) == {old: gone}
