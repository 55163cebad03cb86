"""No secret reaches the disk. Every sample is built at run time: none stands in this file."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable
from typing import Any

import pytest

from builders import Call, HashEmbedder
from nrem.errors import InvalidField, NotFound, NremError
from nrem.model import Event
from nrem.runtime.app import App

Get = Callable[..., dict[str, Any]]
Chain = Callable[[str], list[Event]]
OnDisk = Callable[[], bytes]

ALNUM = string.ascii_letters + string.digits


def chars(count: int, alphabet: str = ALNUM, *, seed: int = 0) -> str:
    return "".join(random.Random(seed or count).choices(alphabet, k=count))


KEY = "ghp_" + chars(36)
MARK = "[redacted:github-token]"

# Each field of a memory that takes text, with a key in it, and what is stored instead.
FIELDS: dict[str, tuple[Any, Any]] = {
    "content": (f"push with {KEY} now", f"push with {MARK} now"),
    "context": (f"said: {KEY}", f"said: {MARK}"),
    "tags": (["a", f"t {KEY}", KEY], ["a", f"t {MARK}", MARK]),
    "data": ({"a": [{"b": KEY}, 1, None]}, {"a": [{"b": MARK}, 1, None]}),
    "metadata": ({"a": {"b": {"c": f"x {KEY}"}}}, {"a": {"b": {"c": f"x {MARK}"}}}),
    "session": (f"s {KEY}", f"s {MARK}"),
    "room": (KEY, MARK),
    "user": (f"u/{KEY}", f"u/{MARK}"),
    "source": (f"https://example.org/?q={KEY}", f"https://example.org/?q={MARK}"),
    "trigger": (KEY, MARK),
    "legacy_id": (f"{KEY} 1", None),
}
KEYS_OF_OBJECTS: dict[str, tuple[Any, Any]] = {
    "data": ({KEY: 1, "deep": [{f"k {KEY}": {}}]}, {MARK: 1, "deep": [{f"k {MARK}": {}}]}),
    "metadata": ({"a": {KEY: KEY}}, {"a": {MARK: MARK}}),
}
EVERYWHERE = [*FIELDS.items(), *KEYS_OF_OBJECTS.items()]
EDITABLE = ["content", "context", "tags", "data", "metadata"]


def stored_in(memory: dict[str, Any], field: str) -> Any:
    return memory["provenance"][field] if field in ("source", "trigger") else memory[field]


def absent(on_disk: OnDisk, secret: str = KEY) -> bool:
    return secret.lower().encode() not in on_disk().lower()


@pytest.mark.rows(103)
@pytest.mark.parametrize(("field", "values"), EVERYWHERE)
def test_a_secret_in_any_field_is_replaced_before_it_reaches_the_disk(
    call: Call, get: Get, on_disk: OnDisk, embedder: HashEmbedder, field: str, values: tuple[Any, Any]
) -> None:
    given, kept = values
    answer = call("remember", agent="ana", **{"content": "a text", field: given})
    assert (answer["stored"], answer["redacted"]) == (True, ["github-token"])
    memory = get(answer["id"])
    assert stored_in(memory, field) == kept
    shown = [
        memory,
        call("list_versions", agent="ana", id=answer["id"]),
        call("export_memories", agent="ana"),
    ]
    assert KEY.lower() not in json.dumps(shown).lower()
    assert KEY not in str(embedder.calls)
    assert absent(on_disk)


UPPER = string.ascii_uppercase + string.digits
# Secrets that a category would hide if it were made a slug first, and the category that is stored.
CATEGORIES: dict[str, tuple[str, str]] = {
    KEY: ("github-token", "redacted_github_token"),
    KEY.lower(): ("github-token", "redacted_github_token"),
    f"The Key {KEY}": ("github-token", "the_key_redacted_github_token"),
    "AKIA" + chars(16, UPPER): ("aws-access-key-id", "redacted_aws_access_key_id"),
    "glpat-" + chars(20): ("gitlab-token", "redacted_gitlab_token"),
    "Blue Heron 42": ("configured", "redacted_configured"),
}


@pytest.mark.rows(15, 103)
@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize("key", CATEGORIES, ids=lambda key: CATEGORIES[key][1])
def test_a_secret_in_a_category_is_replaced_and_the_category_is_a_slug_still(
    app: App, call: Call, get: Get, on_disk: OnDisk, monkeypatch: pytest.MonkeyPatch, key: str, edited: bool
) -> None:
    monkeypatch.setenv("NREM_SECRETS__LITERALS", '["Blue Heron 42"]')
    app.reload()
    rule, slug = CATEGORIES[key]
    answer = call("remember", agent="ana", content="a text", **({} if edited else {"category": key}))
    if edited:
        answer = call("edit_memory", agent="ana", id=answer["id"], category=key)
    assert answer["redacted"] == [rule]
    assert get(answer["id"])["category"] == slug
    assert call("list_memories", agent="ana", category=slug, page=1)["total"] == 1
    bytes = on_disk().lower()
    assert key.lower().encode() not in bytes
    assert key.lower().replace(" ", "_").replace("-", "_").encode() not in bytes


@pytest.mark.rows(103)
@pytest.mark.parametrize(
    ("field", "values"), [(field, values) for field, values in EVERYWHERE if field in EDITABLE]
)
def test_a_secret_brought_by_an_edit_is_replaced(
    call: Call, get: Get, on_disk: OnDisk, embedder: HashEmbedder, field: str, values: tuple[Any, Any]
) -> None:
    id = call("remember", agent="ana", content="a text")["id"]
    changed = call("edit_memory", agent="ana", id=id, **{field: values[0]})
    assert changed == {"id": id, "version": 2, "redacted": ["github-token"]}
    assert get(id)[field] == values[1]
    assert KEY not in str(embedder.calls)
    assert absent(on_disk)


def refuse(call: Call, **secrets: Any) -> None:
    config = {"secrets": {"on_secret": "refuse"} | secrets}
    call("set_agent_config", agent="ana", config=config, message="stricter")


def told(error: NremError) -> str:
    return f"{error!r} {error.message} {error.hint} {error.field} {error.details} {error.__cause__!r}"


@pytest.mark.rows(102, 103)
@pytest.mark.parametrize(("field", "values"), [*EVERYWHERE, ("category", (KEY, ""))])
def test_where_secrets_are_refused_the_field_is_named_and_nothing_is_written(
    call: Call, chain: Chain, on_disk: OnDisk, embedder: HashEmbedder, field: str, values: tuple[Any, Any]
) -> None:
    refuse(call)
    before = chain("ana")
    with pytest.raises(InvalidField) as caught:
        call("remember", agent="ana", **{"content": "a text", field: values[0]})
    assert (caught.value.field, caught.value.code) == (field, "secret_found")
    assert "github-token" in caught.value.message
    assert KEY.lower() not in told(caught.value).lower()
    assert chain("ana") == before
    assert embedder.calls == []
    assert absent(on_disk)


@pytest.mark.rows(103)
@pytest.mark.parametrize("field", EDITABLE)
def test_where_secrets_are_refused_an_edit_changes_nothing(call: Call, chain: Chain, field: str) -> None:
    refuse(call)
    id = call("remember", agent="ana", content="a text")["id"]
    before = chain("ana")
    with pytest.raises(InvalidField) as caught:
        call("edit_memory", agent="ana", id=id, **{field: FIELDS[field][0]})
    assert (caught.value.field, caught.value.code) == (field, "secret_found")
    assert chain("ana") == before


def pem() -> str:
    dashes = "-" * 5
    lines = "\n".join(chars(64 + i)[:64] for i in range(4))
    return f"{dashes}BEGIN PRIVATE KEY{dashes}\n{lines}\n{dashes}END PRIVATE KEY{dashes}"


SAMPLES: dict[str, tuple[str, list[str]]] = {
    "private-key": (f"the key:\n{pem()}\nkeep it", pem().splitlines()[1:-1]),
    "anthropic": ("use sk-" + "ant-" + "api03-" + chars(95), [chars(95)]),
    "aws-access-key-id": ("id AKIA" + chars(16, string.ascii_uppercase + string.digits), ["akia"]),
    "jwt": (".".join(("eyJ" + chars(30), "eyJ" + chars(60), chars(43))), [chars(30), chars(60), chars(43)]),
    "url-password": (f"postgres://app:{chars(20)}@db.internal/main", [chars(20)]),
    "assignment": (f"the password = {chars(24)}", [chars(24)]),
}


@pytest.mark.rows(103)
@pytest.mark.parametrize("rule", SAMPLES)
@pytest.mark.parametrize("field", ["content", "context", "tags", "data"])
def test_every_sort_of_secret_stays_off_the_disk(call: Call, on_disk: OnDisk, rule: str, field: str) -> None:
    text, parts = SAMPLES[rule]
    value: Any = {"tags": [text], "data": {"note": text}}.get(field, text)
    assert call("remember", agent="ana", **{"content": "a text", field: value})["redacted"] == [rule]
    bytes = on_disk().lower()
    assert not [part for part in parts if part.lower().encode() in bytes]


@pytest.mark.rows(103)
@pytest.mark.parametrize("field", ["data", "metadata"])
def test_a_value_beside_the_name_of_a_secret_is_one(
    call: Call, get: Get, on_disk: OnDisk, field: str
) -> None:
    value = {"db": {"password": chars(24), "user": "app", "port": 5432}}
    answer = call("remember", agent="ana", content="a text", **{field: value})
    assert answer["redacted"] == ["assignment"]
    shown = {"db": {"password": "[redacted:assignment]", "user": "app", "port": 5432}}
    assert get(answer["id"])[field] == shown
    assert absent(on_disk, chars(24))


NESTED: list[tuple[Any, Any]] = [
    ({"password": [chars(24), 7]}, {"password": ["[redacted:assignment]", 7]}),
    ({"api_key": {"value": chars(24)}}, {"api_key": {"value": "[redacted:assignment]"}}),
    (
        {"api_key": {"values": [{"v": chars(24)}, None]}},
        {"api_key": {"values": [{"v": "[redacted:assignment]"}, None]}},
    ),
    (
        {"a": [{"password": {"b": {"c": chars(24)}}}]},
        {"a": [{"password": {"b": {"c": "[redacted:assignment]"}}}]},
    ),
]


@pytest.mark.rows(103)
@pytest.mark.parametrize(("value", "kept"), NESTED)
@pytest.mark.parametrize("field", ["data", "metadata"])
def test_a_value_anywhere_below_the_name_of_a_secret_is_one(
    call: Call, get: Get, on_disk: OnDisk, field: str, value: Any, kept: Any
) -> None:
    answer = call("remember", agent="ana", content="a text", **{field: value})
    assert answer["redacted"] == ["assignment"]
    assert get(answer["id"])[field] == kept
    assert absent(on_disk, chars(24))


@pytest.mark.rows(103)
def test_keys_that_are_secrets_keep_all_of_their_values(call: Call, get: Get, on_disk: OnDisk) -> None:
    keys = ["ghp_" + chars(36, seed=seed) for seed in (1, 2, 3)]
    data = {"a": dict(zip(keys, (1, 2, 3), strict=True))}
    answer = call("remember", agent="ana", content="a text", data=data)
    assert answer["redacted"] == ["github-token"]
    assert get(answer["id"])["data"] == {"a": {MARK: 1, f"{MARK}*": 2, f"{MARK}**": 3}}
    bytes = on_disk()
    assert not [key for key in keys if key.encode() in bytes]


@pytest.mark.rows(102, 103)
def test_a_text_that_grows_past_the_limit_without_its_secret_is_refused(call: Call, chain: Chain) -> None:
    """What is stored can be stored again elsewhere."""
    address, shown = "http://a:bcd@h/x", "http://a:[redacted:url-password]@h/x"
    config = {"limits": {"content_bytes": len(shown)}}
    call("set_agent_config", agent="ana", config=config, message="just enough")
    assert call("remember", agent="ana", content=address)["redacted"] == ["url-password"]
    before = chain("ana")
    with pytest.raises(InvalidField) as caught:
        call("remember", agent="ana", content=f"{address}y")
    assert (caught.value.field, caught.value.code) == ("content", "too_large")
    assert chain("ana") == before


@pytest.mark.rows(32, 103)
def test_a_secret_in_a_batch_concerns_its_item_only(call: Call, get: Get, on_disk: OnDisk) -> None:
    drafts = [{"content": "one"}, {"content": f"two {KEY}", "room": KEY}, {"content": "three"}]
    stored = call("remember_many", agent="ana", memories=drafts)["memories"]
    assert [item["redacted"] for item in stored] == [[], ["github-token"], []]
    assert [get(item["id"])["content"] for item in stored] == ["one", f"two {MARK}", "three"]
    assert absent(on_disk)


@pytest.mark.rows(32, 103)
def test_a_refused_secret_in_a_batch_names_its_item_and_nothing_is_written(call: Call, chain: Chain) -> None:
    refuse(call)
    before = chain("ana")
    with pytest.raises(InvalidField) as caught:
        call("remember_many", agent="ana", memories=[{"content": "one"}, {"content": "two", "room": KEY}])
    assert caught.value.field == "memories[1].room"
    assert chain("ana") == before


@pytest.mark.rows(103)
@pytest.mark.parametrize("field", FIELDS)
def test_a_configured_text_is_a_secret_in_every_field(
    app: App, call: Call, get: Get, on_disk: OnDisk, monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    literal = "Blue Heron 42"
    monkeypatch.setenv("NREM_SECRETS__LITERALS", json.dumps([literal]))
    app.reload()
    given, kept = (
        json.loads(json.dumps(value).replace(old, new))
        for value, old, new in zip(
            FIELDS[field], (KEY, MARK), (literal, "[redacted:configured]"), strict=True
        )
    )
    answer = call("remember", agent="ana", **{"content": "a text", field: given})
    assert answer["redacted"] == ["configured"]
    assert stored_in(get(answer["id"]), field) == kept
    assert absent(on_disk, literal)


@pytest.mark.rows(103)
@pytest.mark.parametrize("secrets", [{"enabled": False}, {"exclude_rules": ["github-token"]}])
def test_a_rule_that_is_switched_off_replaces_nothing(call: Call, get: Get, secrets: dict[str, Any]) -> None:
    call("set_agent_config", agent="ana", config={"secrets": secrets}, message="looser")
    answer = call("remember", agent="ana", content=KEY, tags=[KEY])
    assert answer["redacted"] == []
    assert (get(answer["id"])["content"], get(answer["id"])["tags"]) == (KEY, [KEY])


@pytest.mark.rows(103)
def test_an_excluded_rule_leaves_the_others_on(call: Call, get: Get) -> None:
    refuse(call, exclude_rules=["github-token"])
    assert call("remember", agent="ana", content=KEY)["stored"]
    with pytest.raises(InvalidField, match="anthropic"):
        call("remember", agent="ana", content=SAMPLES["anthropic"][0])


@pytest.mark.rows(102, 103)
@pytest.mark.parametrize(
    "field",
    [
        "agent",
        "kind",
        "role",
        "trust",
        "importance",
        "pinned",
        "created_at",
        "expires_at",
        "tags",
        "data",
        "content",
    ],
)
def test_the_error_of_a_wrong_value_does_not_repeat_it(call: Call, field: str) -> None:
    value: Any = {"content": [KEY], "data": {"a": float("nan"), "b": KEY}}.get(field, KEY)
    with pytest.raises(InvalidField) as caught:
        call("remember", **{"agent": "ana", "content": "a text", field: value})
    assert caught.value.field == field
    assert KEY not in told(caught.value)


@pytest.mark.rows(96, 103)
def test_memories_whose_legacy_ids_are_secrets_are_not_taken_for_one(call: Call, get: Get) -> None:
    keys = ["ghp_" + chars(36, seed=seed) for seed in (1, 2)]
    drafts = [{"content": f"note {i}", "legacy_id": key} for i, key in enumerate(keys)]
    stored = call("remember_many", agent="ana", memories=drafts)["memories"]
    assert [(item["stored"], item["redacted"]) for item in stored] == [(True, ["github-token"])] * 2
    assert [get(item["id"])["legacy_id"] for item in stored] == [None, None]


@pytest.mark.rows(53, 103)
@pytest.mark.parametrize("operation", ["get_memory", "edit_memory", "forget", "list_versions"])
def test_the_error_of_an_unknown_id_does_not_show_the_secret(call: Call, operation: str) -> None:
    with pytest.raises(NotFound) as caught:
        call(operation, agent="ana", id=KEY, **({"category": "x"} if operation == "edit_memory" else {}))
    assert caught.value.message == f"there is no memory {MARK}"
    assert KEY not in told(caught.value)
