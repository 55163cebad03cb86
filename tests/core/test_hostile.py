"""Hostile text goes in and comes out as it is, or is refused by name; it never breaks anything."""

from __future__ import annotations

import contextlib
import re
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest

from builders import Call
from core.hostile import HOSTILE
from nrem.errors import ConfigError, InputError, InvalidField, NotFound, NremError
from nrem.model import Event
from nrem.wire import OPERATIONS

Get = Callable[..., dict[str, Any]]
Chain = Callable[[str], list[Event]]

LABELS = ["session", "room", "user", "source", "trigger", "legacy_id"]
BESIDE_THE_ID: dict[str, dict[str, Any]] = {"edit_memory": {"category": "x"}, "bisect": {"query": "x"}}
BY_ID = [name for name, o in OPERATIONS.items() if {"agent", "id"} <= o.takes.model_fields.keys()]


def is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_label(text: str) -> bool:
    return is_unicode(text) and bool(text.strip()) and "\0" not in text and len(text) <= 512


def is_visible(text: str) -> bool:
    return any(unicodedata.category(c) not in ("Cc", "Cf", "Zs", "Zl", "Zp") for c in text)


LABEL_TEXTS = [text for text in HOSTILE if is_label(text)]

# How a text is put into a field, how it is found again, and which texts the field takes.
Put = Callable[[str], dict[str, Any]]
Find = Callable[[dict[str, Any]], Any]
FIELDS: dict[str, tuple[Put, Find, Callable[[str], bool]]] = {
    "content": (
        lambda s: {"content": s},
        lambda m: m["content"],
        lambda s: is_unicode(s) and is_visible(s),
    ),
    "context": (lambda s: {"context": s}, lambda m: m["context"], is_unicode),
    "tags": (lambda s: {"tags": ["first", s]}, lambda m: m["tags"][1], is_label),
    "data": (lambda s: {"data": {"k": [s]}}, lambda m: m["data"]["k"][0], is_unicode),
    "data key": (lambda s: {"data": {s: 1}}, lambda m: next(iter(m["data"])), is_unicode),
    "metadata": (lambda s: {"metadata": {"k": {"k": s}}}, lambda m: m["metadata"]["k"]["k"], is_unicode),
    "metadata key": (lambda s: {"metadata": {s: {}}}, lambda m: next(iter(m["metadata"])), is_unicode),
}


def label(name: str) -> tuple[Put, Find, Callable[[str], bool]]:
    def find(memory: dict[str, Any]) -> Any:
        return memory["provenance"][name] if name in ("source", "trigger") else memory[name]

    return lambda s: {name: s}, find, is_label


REMEMBERED = FIELDS | {name: label(name) for name in LABELS}


def test_there_are_more_than_a_hundred_hostile_texts() -> None:
    assert len(HOSTILE) == len(set(HOSTILE)) > 100


@pytest.mark.rows(102)
@pytest.mark.parametrize("field", REMEMBERED)
def test_a_memory_keeps_every_byte_or_the_field_is_named(
    call: Call, get: Get, chain: Chain, field: str
) -> None:
    put, find, takes = REMEMBERED[field]
    draft = {"content": "a text", "kind": "episodic"}
    for text in HOSTILE:
        if not takes(text):
            with pytest.raises(InvalidField) as caught:
                call("remember", agent="ana", **draft | put(text))
            assert (caught.value.field or "").startswith(field.split()[0])
    texts = [text for text in HOSTILE if takes(text)]
    stored = call("remember_many", agent="ana", memories=[draft | put(text) for text in texts])["memories"]
    assert not any(item["redacted"] for item in stored)
    listed = call("list_memories", agent="ana", limit=1000)["memories"]
    assert [find(memory) for memory in reversed(listed)] == texts
    exported = call("export_memories", agent="ana")["memories"]
    assert [find(memory) for memory in exported] == texts
    for item, text in list(zip(stored, texts, strict=True))[::5]:
        assert find(get(item["id"])) == text
        [version] = call("list_versions", agent="ana", id=item["id"])["versions"]
        assert find(version["memory"]) == text
    assert len(chain("ana")) == 1 + len(texts)


@pytest.mark.rows(102)
@pytest.mark.parametrize("field", FIELDS)
def test_an_edit_keeps_every_byte_or_the_field_is_named(call: Call, get: Get, field: str) -> None:
    put, find, takes = FIELDS[field]
    id = call("remember", agent="ana", content="a text", kind="episodic")["id"]
    for text in HOSTILE:
        if takes(text):
            call("edit_memory", agent="ana", id=id, **put(text))
            assert find(get(id)) == text
        else:
            with pytest.raises(InvalidField):
                call("edit_memory", agent="ana", id=id, **put(text))
    assert get(id)["version"] == 1 + sum(map(takes, HOSTILE))


@pytest.mark.rows(15, 102)
def test_a_category_of_any_text_is_found_by_it(call: Call) -> None:
    texts = [text for text in HOSTILE if is_unicode(text) and len(text) <= 512]
    for text in set(HOSTILE) - set(texts):
        with pytest.raises(InvalidField):
            call("remember", agent="ana", content="a text", category=text)
    drafts = [{"content": "a text", "kind": "episodic", "category": text} for text in texts]
    call("remember_many", agent="ana", memories=drafts)
    listed = call("list_memories", agent="ana", limit=1000)["memories"]
    slugs = [memory["category"] for memory in reversed(listed)]
    for text, slug in zip(texts, slugs, strict=True):
        assert unicodedata.is_normalized("NFC", slug)
        assert not re.search(r"__|^_|_$|[A-Z]", slug)
        assert set(re.findall(r"\W", slug)) == {c for c in slug if unicodedata.category(c)[0] == "M"}
        for spelling in (text, slug):
            page = call("list_memories", agent="ana", category=spelling, page=1, limit=1)
            assert (page["total"], page["memories"][0]["category"]) == (slugs.count(slug), slug)


FILTERS: dict[str, tuple[Put, Put]] = {
    "session": (lambda s: {"session": s}, lambda s: {"session": s}),
    "room": (lambda s: {"room": s}, lambda s: {"room": s}),
    "user": (lambda s: {"user": s}, lambda s: {"user": s}),
    "tags_any": (lambda s: {"tags": ["x", s]}, lambda s: {"tags_any": [s]}),
    "tags_all": (lambda s: {"tags": [s, "x"]}, lambda s: {"tags_all": [s]}),
    "metadata": (lambda s: {"metadata": {"k": [s]}}, lambda s: {"metadata": {"k": [s]}}),
    "metadata key": (lambda s: {"metadata": {"k": {s: 1}}}, lambda s: {"metadata": {"k": {s: 1}}}),
}


@pytest.mark.rows(18, 35, 102)
@pytest.mark.parametrize("field", FILTERS)
def test_a_filter_of_any_text_matches_that_text_and_no_other(call: Call, field: str) -> None:
    keep, ask = FILTERS[field]
    texts = [text for text in LABEL_TEXTS if text != "x"]
    drafts = [{"content": str(i), "kind": "episodic"} | keep(text) for i, text in enumerate(texts)]
    call("remember_many", agent="ana", memories=drafts)
    for i, text in enumerate(texts):
        page = call("list_memories", agent="ana", **ask(text))
        assert [memory["content"] for memory in page["memories"]] == [str(i)]
        assert call("clear_memories", agent="ana", dry_run=True, **ask(text))["count"] == 1
    for text in texts[::10]:
        assert call("clear_memories", agent="ana", **ask(text))["count"] == 1
        assert call("clear_memories", agent="ana", **ask(text))["count"] == 0
    assert call("show_agent", agent="ana")["memories"] == len(texts) - len(texts[::10])


@pytest.mark.rows(102)
@pytest.mark.parametrize("operation", ["list_memories", "clear_memories", "export_memories"])
@pytest.mark.parametrize("field", [*FILTERS, "category", "cursor", "after", "kinds", "trust"])
def test_a_filter_that_is_refused_is_refused_in_our_own_words(call: Call, operation: str, field: str) -> None:
    call("remember", agent="ana", content="a text")
    for text in HOSTILE if field not in FILTERS else set(HOSTILE) - set(LABEL_TEXTS):
        body = FILTERS[field][1](text) if field in FILTERS else {field: [text] if field == "kinds" else text}
        with contextlib.suppress(InputError):
            call(operation, agent="ana", **body)


@pytest.mark.rows(53, 102)
@pytest.mark.parametrize("operation", BY_ID)
def test_any_text_as_an_id_is_not_found_or_refused(call: Call, chain: Chain, operation: str) -> None:
    call("remember", agent="ana", content="a text")
    before = chain("ana")
    for text in HOSTILE:
        with pytest.raises(NotFound if is_label(text) else InvalidField):
            call(operation, agent="ana", id=text, **BESIDE_THE_ID.get(operation, {}))
    assert chain("ana") == before


@pytest.mark.rows(102)
def test_any_text_as_an_agents_name_is_taken_or_refused(call: Call) -> None:
    for text in HOSTILE:
        if re.fullmatch(r"[a-z0-9_-]{1,64}", text):
            assert call("add_agent", agent=text)["agent"] == text
            assert call("remember", agent=text, content="a text")["stored"]
        else:
            for operation in ("add_agent", "show_agent", "list_memories"):
                with pytest.raises(InvalidField) as caught:
                    call(operation, agent=text)
                assert caught.value.field == "agent"


@pytest.mark.rows(73, 102)
def test_any_text_in_a_config_is_kept_or_refused(call: Call) -> None:
    made = []
    for text in HOSTILE:
        configs: list[dict[str, Any]] = [
            {text: 1},
            {"memory": {text: {}}},
            {"limits": text},
            {"limits": {"content_bytes": text}},
            {"secrets": {"on_secret": text}},
        ]
        for config in configs:
            with pytest.raises((ConfigError, InvalidField)):
                call("set_agent_config", agent="ana", config=config, message="hostile")
        kept = {"secrets": {"exclude_rules": [text]}}
        if is_label(text):
            made.append(call("set_agent_config", agent="ana", config=kept, message=text))
            assert (made[-1]["config"], made[-1]["message"]) == (kept, text)
        else:
            with pytest.raises(InvalidField):
                call("set_agent_config", agent="ana", config=kept, message=text)
    assert call("list_agent_configs", agent="ana")["versions"] == made[::-1]


@pytest.mark.rows(102)
@pytest.mark.parametrize("name", OPERATIONS)
def test_any_text_as_the_name_of_a_field_is_refused(call: Call, name: str) -> None:
    for text in HOSTILE:
        with pytest.raises(InvalidField):
            call(name, **{"agent": "ana", text: "x"})


@pytest.mark.rows(102)
def test_any_text_as_the_name_of_an_operation_is_not_found(call: Call) -> None:
    for text in HOSTILE:
        with pytest.raises(NremError):
            call(text)
