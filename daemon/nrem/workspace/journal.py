"""What the exporter writes and a rebuild reads: events, state, recalls and format, and the commit's message.

Pure: records in, bytes out, and back. A line is the one JSON text of its record, so that equal records are
equal bytes and a changed byte is found.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from nrem.errors import Conflict, Corrupt
from nrem.model import AskedBy, Event, RecallLine, StateRecord
from nrem.policy import chain
from nrem.policy.chain import GENESIS, canonical

FORMAT = 1
EVENTS_PER_FILE = 256
STATES_PER_FILE = 128
RECALLS_PER_FILE = 256
FORMAT_PATH = ".nrem/format.json"
EVENTS = ".nrem/events"
RECALLS = ".nrem/recalls"
STATE = ".nrem/state"
_PER_FOLDER = 100
_SUBJECT = 120

_FORMAT: Mapping[str, object] = {
    "events_per_file": EVENTS_PER_FILE,
    "format": FORMAT,
    "hash": "sha256",
    "states_per_file": STATES_PER_FILE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What a commit says of itself: never text of a memory."""

    subject: str
    cause: str
    events: tuple[int, int] | None
    """The first and the last event that it publishes; None when it publishes only files."""
    chain: bytes
    state: bytes
    run: str | None = None
    schema: int


# Paths


def event_path(seq: int) -> str:
    """Return the file that holds an event."""
    return _path(EVENTS, seq // EVENTS_PER_FILE)


def state_path(ordinal: int) -> str:
    """Return the file that holds a record of the state."""
    return _path(STATE, ordinal // STATES_PER_FILE)


def recall_path(number: int) -> str:
    """Return the file that holds a recall."""
    return _path(RECALLS, number // RECALLS_PER_FILE)


def ordinals(number: int) -> range:
    """Return the ordinals of the state file with this number."""
    return range(number * STATES_PER_FILE, (number + 1) * STATES_PER_FILE)


def first_seq(exported: int) -> int:
    """Return the event from which on files must be rendered, when those up to `exported` are in git."""
    return max(1, (exported + 1) // EVENTS_PER_FILE * EVENTS_PER_FILE)


def _path(folder: str, number: int) -> str:
    return f"{folder}/{number // _PER_FOLDER:03d}/{number:05d}.jsonl"


# Events


def render_event(event: Event) -> bytes:
    """Return the line of an event: everything its hashes were made of."""
    fields = {field.name: getattr(event, field.name) for field in dataclasses.fields(event)}
    known = {name: value.hex() if isinstance(value, bytes) else value for name, value in fields.items()}
    return canonical(known).encode() + b"\n"


def render_events(events: Iterable[Event]) -> dict[str, bytes]:
    """Return the files of a run of events that begins where a file begins; see first_seq()."""
    files: dict[str, bytes] = {}
    expected = None
    for path, group in groupby(events, key=lambda event: event_path(event.seq)):
        lines = []
        for event in group:
            if event.seq != (first_seq(event.seq - 1) if expected is None else expected):
                raise Corrupt(f"event {event.seq} does not follow in the export", code="chain_broken")
            expected = event.seq + 1
            lines.append(render_event(event))
        files[path] = b"".join(lines)
    return files


def parse_events(files: Mapping[str, bytes]) -> Iterator[Event]:
    """Yield the events of all event files in order; raise Corrupt at the first that does not fit."""
    previous, seq = GENESIS, 0
    for path in sorted(files, key=_number):
        for number, line in enumerate(_lines(files[path], path), 1):
            event = _event(line, f"{path}:{number}")
            seq += 1
            if event.seq != seq or event_path(seq) != path or not chain.fits(event, previous):
                raise _broken(f"{path}:{number}", "does not fit its chain", "chain_broken")
            previous = event.chain
            yield event


def _event(line: bytes, where: str) -> Event:
    fields = _record(line, where, _EVENT)
    try:
        for name in ("payload_hash", "chain", "salt"):
            fields[name] = bytes.fromhex(fields[name]) if fields[name] is not None else None
    except ValueError:
        raise _broken(where, "has a hash that is none") from None
    return Event(**fields)


# State


def render_state(record: StateRecord) -> bytes:
    """Return the line of a record; its payload stands in it as the JSON that it is."""
    head = canonical({"ordinal": record.ordinal})[:-1]
    tail = canonical({"seq": record.seq, "subject": record.subject})[1:]
    return f'{head},"payload":{record.payload},{tail}\n'.encode()


def render_states(records: Iterable[StateRecord]) -> dict[str, bytes]:
    """Return the files of records; give all live records of each file. One without any is to be removed."""
    ordered = sorted(records, key=lambda record: record.ordinal)
    return {
        path: b"".join(map(render_state, group))
        for path, group in groupby(ordered, key=lambda record: state_path(record.ordinal))
    }


def parse_states(files: Mapping[str, bytes]) -> Iterator[StateRecord]:
    """Yield the records of state files in order; raise Corrupt at the first that is not in its place."""
    last = -1
    for path in sorted(files, key=_number):
        for number, line in enumerate(_lines(files[path], path), 1):
            where = f"{path}:{number}"
            fields = _record(line, where, _STATE)
            if not isinstance(fields["payload"], dict):
                raise _broken(where, "has no object as its payload")
            record = StateRecord(**fields | {"payload": canonical(fields["payload"])})
            if record.ordinal <= last or state_path(record.ordinal) != path:
                raise _broken(where, "is not in its place")
            last = record.ordinal
            yield record


def state_root(digests: Mapping[str, bytes]) -> bytes:
    """Return one hash of the whole state, from the sha256 of every state file by its path."""
    lines = "".join(f"{digests[path].hex()} {path}\n" for path in sorted(digests))
    return hashlib.sha256(lines.encode()).digest()


# Recalls


def render_recall(recall: RecallLine) -> bytes:
    """Return the line of a recall: all that decided the answer, and the answer."""
    fields = {field.name: getattr(recall, field.name) for field in dataclasses.fields(recall)}
    return canonical(fields).encode() + b"\n"


def render_recalls(recalls: Iterable[RecallLine]) -> dict[str, bytes]:
    """Return the files of recalls that come in order. There may be gaps: what is old may be pruned."""
    return {
        path: b"".join(map(render_recall, group))
        for path, group in groupby(recalls, key=lambda recall: recall_path(recall.number))
    }


def parse_recalls(files: Mapping[str, bytes]) -> Iterator[RecallLine]:
    """Yield the recalls of all recall files in order; raise Corrupt at the first that is not in its place."""
    last = 0
    for path in sorted(files, key=_number):
        for number, line in enumerate(_lines(files[path], path), 1):
            recall = _recall(line, f"{path}:{number}")
            if recall.number <= last or recall_path(recall.number) != path:
                raise _broken(f"{path}:{number}", "is not in its place")
            last = recall.number
            yield recall


def salvage_recalls(files: Mapping[str, bytes]) -> list[RecallLine]:
    """Return the recalls of files that somebody may have changed, in order, without what is none of ours."""
    found = {}
    for path, content in files.items():
        for line in content.split(b"\n"):
            with contextlib.suppress(Corrupt):
                recall = _recall(line, path)
                if recall.number > 0 and recall_path(recall.number) == path:
                    found[recall.number] = recall
    return [found[number] for number in sorted(found)]


def _recall(line: bytes, where: str) -> RecallLine:
    fields = _record(line, where, _RECALL)
    hits = tuple(tuple(hit) if isinstance(hit, list) else () for hit in fields["hits"])
    if any(tuple(map(type, hit)) != (str, float, float) for hit in hits):
        raise _broken(where, "has a hit that is none")
    if fields["asked_by"] not in set(AskedBy):
        raise _broken(where, "was asked by nobody that there is")
    return RecallLine(**fields | {"hits": hits, "asked_by": AskedBy(fields["asked_by"])})


# Format


def render_format() -> bytes:
    """Return the file that says how the others are to be read."""
    return json.dumps(_FORMAT, indent=2, sort_keys=True).encode() + b"\n"


def check_format(data: bytes) -> None:
    """Raise unless the files are of the format that this nrem reads."""
    try:
        found = json.loads(data)
        version = found["format"]
    except (ValueError, KeyError, TypeError):
        raise _broken(FORMAT_PATH, "cannot be read") from None
    if found != _FORMAT:
        raise Conflict(
            f"the workspace has format {version}, and this nrem reads format {FORMAT}",
            hint="use the nrem that wrote it, or a newer one",
            code="format_unknown",
        )


# The message


def render_message(message: Message) -> str:
    """Return the text of a commit: one line, and the trailers."""
    subject = " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", message.subject).split())
    trailers = {
        "Nrem-Cause": message.cause,
        "Nrem-Events": "-".join(map(str, message.events)) if message.events else None,
        "Nrem-Chain": f"sha256:{message.chain.hex()}",
        "Nrem-State": f"sha256:{message.state.hex()}",
        "Nrem-Run": message.run,
        "Nrem-Schema": str(message.schema),
    }
    lines = [f"{name}: {' '.join(value.split())}" for name, value in trailers.items() if value is not None]
    return "\n".join([subject[:_SUBJECT] or " ".join(message.cause.split()), "", *lines, ""])


def parse_message(subject: str, trailers: Mapping[str, str]) -> Message | None:
    """Return what a commit of ours says of itself; None for a commit that is not ours."""
    try:
        first, _, last = trailers["Nrem-Events"].partition("-") if "Nrem-Events" in trailers else ("", "", "")
        return Message(
            subject=subject,
            cause=trailers["Nrem-Cause"],
            events=(int(first), int(last)) if first else None,
            chain=_digest(trailers["Nrem-Chain"]),
            state=_digest(trailers["Nrem-State"]),
            run=trailers.get("Nrem-Run"),
            schema=int(trailers["Nrem-Schema"]),
        )
    except (KeyError, ValueError):
        return None


# Lines


_EVENT: Mapping[str, tuple[type, ...]] = {
    "seq": (int,),
    "at": (int,),
    "op": (str,),
    "subject": (str,),
    "actor": (str,),
    "cause": (str,),
    "payload_hash": (str,),
    "chain": (str,),
    "payload": (str, type(None)),
    "salt": (str, type(None)),
}
_STATE: Mapping[str, tuple[type, ...]] = {
    "ordinal": (int,),
    "payload": (dict,),
    "seq": (int,),
    "subject": (str,),
}
_RECALL: Mapping[str, tuple[type, ...]] = {
    "number": (int,),
    "id": (str,),
    "at": (int,),
    "now": (int,),
    "actor": (str,),
    "ingress": (str,),
    "asked_by": (str,),
    "day": (int,),
    "query": (str, type(None)),
    "query_hash": (str, type(None)),
    "question": (int,),
    "request": (str,),
    "seq": (int,),
    "config_hash": (str,),
    "ranker": (str,),
    "embedder": (str, type(None)),
    "degraded": (str,),
    "hits": (list,),
}


def _record(line: bytes, where: str, fields: Mapping[str, tuple[type, ...]]) -> dict[str, Any]:
    """Return a line's object, if it has exactly these fields and is their one text."""
    try:
        found = json.loads(line)
        whole = isinstance(found, dict) and canonical(found).encode() == line
    except ValueError:
        whole = False
    if not whole or found.keys() != fields.keys():
        raise _broken(where, "is not a line of nrem's")
    if any(type(found[name]) not in types for name, types in fields.items()):
        raise _broken(where, "has a field of the wrong type")
    return found  # type: ignore[no-any-return]


def _lines(data: bytes, path: str) -> list[bytes]:
    if not data.endswith(b"\n"):
        raise _broken(path, "ends in the middle of a line")
    return data[:-1].split(b"\n")


def _number(path: str) -> int:
    folders = "|".join(map(re.escape, (EVENTS, STATE, RECALLS)))
    found = re.fullmatch(rf"(?:{folders})/\d+/(\d+)\.jsonl", path)
    if found is None:
        raise _broken(path, "is not a file of nrem's")
    return int(found[1])


def _digest(text: str) -> bytes:
    algorithm, _, digits = text.partition(":")
    if algorithm != "sha256" or len(digits) != 64:
        raise ValueError(text)
    return bytes.fromhex(digits)


def _broken(where: str, problem: str, code: str = "journal_damaged") -> Corrupt:
    return Corrupt(
        f"{where} {problem}",
        hint="the file was changed by something else than nrem; compare with `git log -p` of it",
        code=code,
        details={"where": where},
    )
