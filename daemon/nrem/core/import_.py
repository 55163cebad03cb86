"""Take memories in from a file: read it whole, check every record, then hand it over in batches.

Each record keeps the id that it had as its `legacy_id`, by which a second import of the same file knows it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nrem.errors import InputError, InvalidField
from nrem.model import KIND_ALIASES
from nrem.store import foreign
from nrem.wire import Draft, is_blank, parse_json, read

BATCH_RECORDS = 500
BATCH_BYTES = 8 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a file holds: records ready to be remembered, and what stays behind."""

    records: tuple[dict[str, Any], ...]
    """A superseded one comes after its successor, whose `legacy_id` it names."""
    numbers: tuple[int, ...] = ()
    """Which place each record has in the file."""
    blank: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def read_source(path: Path, system: str | None, agent: str | None) -> Source:
    """Read and check a file: a JSON export, or with `system` the database of that system.

    `agent` says whose memories to take out of a database that has those of several.
    """
    if system == "initrunner":
        source = _from_initrunner(foreign.read_initrunner(path))
    elif system == "nexo":
        source = _from_nexo(foreign.read_nexo(path), agent)
    else:
        source = Source(records=tuple(_from_json(path)))
    return _checked(source)


def batches(records: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Part records into batches that one operation takes, none with a memory and its successor."""
    batch: list[dict[str, Any]] = []
    size = 0
    for record in records:
        weight = len(json.dumps(record))
        full = len(batch) == BATCH_RECORDS or size + weight > BATCH_BYTES
        if batch and (full or _waits(record, batch)):
            yield batch
            batch, size = [], 0
        batch.append(record)
        size += weight
    if batch:
        yield batch


def named(batch: Iterable[dict[str, Any]], ids: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return records with their successors' ids in this store, known by what they were elsewhere."""
    return [
        record | {"superseded_by": ids[record["superseded_by"]]} if "superseded_by" in record else record
        for record in batch
    ]


def _waits(record: dict[str, Any], batch: Iterable[dict[str, Any]]) -> bool:
    successor = record.get("superseded_by")
    return successor is not None and any(other["legacy_id"] == successor for other in batch)


def _checked(source: Source) -> Source:
    """Check every record before any is stored; the error names the record."""
    records, numbers = [], []
    blank = 0
    texts: dict[str, tuple[int, str]] = {}
    for i, record in enumerate(source.records):
        if isinstance(record.get("content"), str) and is_blank(record["content"]):
            blank += 1
            continue
        try:
            read(Draft, record)
        except InvalidField as error:
            problem = error.message.removeprefix(f"{error.field}: ")
            raise InvalidField(f"record {i}: {error.field}", problem, hint=error.hint) from None
        first, text = texts.setdefault(record["legacy_id"], (i, record["content"]))
        if text != record["content"]:
            raise InvalidField(
                f"record {i}: id",
                f"record {first} has the same id and another text",
                hint="give each record an id of its own, or none",
            )
        records.append(record)
        numbers.append(i)
    order = _successors_first(records)
    left_out = {LOST: len(records) - len(order)} if len(order) < len(records) else {}
    return replace(
        source,
        records=tuple(records[i] for i in order),
        numbers=tuple(numbers[i] for i in order),
        blank=blank,
        left_out=source.left_out | left_out,
    )


LOST = "superseded memories whose successor is not in the file"


def _successors_first(records: list[dict[str, Any]]) -> list[int]:
    """Return the places of records in the order in which they can be stored, without those that never can."""
    waiting: dict[str, list[int]] = {}
    order = []
    for i, record in enumerate(records):
        if (successor := record.get("superseded_by")) is None:
            order.append(i)
        else:
            waiting.setdefault(successor, []).append(i)
    for i in order:  # it grows meanwhile
        order += waiting.pop(records[i]["legacy_id"], [])
    return order


# JSON: our own export and InitRunner's


def _from_json(path: Path) -> Iterator[dict[str, Any]]:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", field="file") from error
    records = parse_json(text, "file", hint="as nrem export writes it")
    if not isinstance(records, list):
        raise InvalidField("file", "must hold a JSON array of memories", hint="as nrem export writes it")
    for i, record in enumerate(records):
        if not isinstance(record, dict):
            raise InvalidField(f"record {i}", "must be a JSON object")
    foreign_ids = {str(record["id"]): _legacy_id(record) for record in records if "id" in record}
    for record in records:
        yield _to_draft(record, foreign_ids)


def _to_draft(record: dict[str, Any], foreign_ids: Mapping[str, str]) -> dict[str, Any]:
    """Turn an exported record into what remember takes; unknown fields stay, and are refused there.

    `foreign_ids` says which legacy id the memory of each id in the file gets.
    """
    draft = {key: value for key, value in record.items() if key not in _NOT_TAKEN and value is not None}
    origin = record.get("provenance")
    if isinstance(origin, Mapping):
        draft |= {key: origin[key] for key in ("source", "trust", "trigger") if origin.get(key) is not None}
    given = record.get("kind_given")
    if isinstance(given, str) and KIND_ALIASES.get(given) == record.get("kind"):
        draft["kind"] = given
    draft["legacy_id"] = _legacy_id(record)
    successor = draft.get("superseded_by")
    if isinstance(successor, str):
        draft["superseded_by"] = foreign_ids.get(successor, successor)
    return draft


def _legacy_id(record: dict[str, Any]) -> str:
    id = record.get("legacy_id") or record.get("id")
    return _digest(record) if id is None else str(id)


_NOT_TAKEN = frozenset({"id", "legacy_id", "kind_given", "concept_tags", "provenance", "version"})
"""Fields of an export that are made anew, or found under another name."""


def _digest(record: dict[str, Any]) -> str:
    """Return an id for a record that has none: the same record, the same id."""
    return "sha256:" + hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


# Databases


def _from_initrunner(found: foreign.Found) -> Source:
    notes: Counter[str] = Counter()
    records = []
    for row in found.rows:
        record = {
            "content": row["content"],
            "created_at": row["created_at"],
            "legacy_id": str(row["id"]),
            "source": "initrunner",
            "kind": row.get("memory_type") or "semantic",
            "category": row.get("category") or "general",
            "consolidated_at": row.get("consolidated_at"),
            "metadata": _object(row.get("metadata_json", row.get("metadata")), notes),
        }
        if record["kind"] not in ("semantic", "episodic", "procedural"):
            record["kind"] = "semantic"
            notes["records of an unknown type were taken as semantic"] += 1
        records.append(record)
    return Source(records=tuple(records), left_out=found.others, warnings=_sentences(notes))


def _from_nexo(found: foreign.Found, agent: str | None) -> Source:
    owners = Counter(str(row["agent_id"]) for row in found.rows)
    if agent is None and len(owners) > 1:
        listed = ", ".join(f"{name} ({count})" for name, count in sorted(owners.items()))
        raise InputError(
            f"the file has the memories of several agents: {listed}",
            hint="choose one with --source-agent NAME",
            field="source_agent",
        )
    if agent is not None and agent not in owners:
        raise InputError(
            f"the file has no memories of an agent {agent}",
            hint=f"it has {', '.join(sorted(owners)) or 'none at all'}",
            field="source_agent",
        )
    notes: Counter[str] = Counter()
    records = tuple(
        {
            "content": row["content"],
            "created_at": row["created_at"],
            "legacy_id": row["id"],
            "source": "nexo",
            "tags": _list(row["tags"], notes),
            "category": _word(row.get("memory_type")),
        }
        for row in found.rows
        if agent is None or row["agent_id"] == agent
    )
    left_out = dict(found.others)
    if len(records) < len(found.rows):
        left_out["memories of other agents"] = len(found.rows) - len(records)
    return Source(records=records, left_out=left_out, warnings=_sentences(notes))


def _object(text: str | None, notes: Counter[str]) -> dict[str, Any] | None:
    value = _parsed(text)
    if value is not None and not isinstance(value, dict):
        notes["records came without their metadata, which is no JSON object"] += 1
        return None
    return value


def _list(text: str | None, notes: Counter[str]) -> list[Any]:
    value = _parsed(text)
    if value is not None and not isinstance(value, list):
        notes["records came without their tags, which are no JSON array"] += 1
        return []
    return value or []


def _parsed(text: str | None) -> Any:
    """Return the value of a JSON text; the text itself when it is none."""
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return text


def _word(quoted: str | None) -> str:
    """nexo keeps a memory's type with its JSON quotes."""
    return (quoted or "").strip('"') or "general"


def _sentences(notes: Counter[str]) -> tuple[str, ...]:
    return tuple(f"{count} {note}" for note, count in notes.items())
