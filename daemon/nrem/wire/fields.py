"""The types of fields: what each takes, and what it says to what it refuses."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    AliasChoices,
    BeforeValidator,
    Field,
    ValidationInfo,
    WithJsonSchema,
)

from nrem.model import KIND_ALIASES, Right, Role, Trust
from nrem.policy import moments

DEPTH = 64
BATCH = 1000
TEXT_BYTES = 64 << 10
LABEL = 512
TAGS = 64
PAGE = 1000
LAST_MOMENT = 253_402_300_799_999  # the end of the year 9999, the last that ISO-8601 writes with four digits


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("is not valid Unicode (it has a lone surrogate)") from None
    return value


def _label(value: str) -> str:
    if "\0" in value:
        raise ValueError("must not contain a NUL character")
    if not value.strip():
        raise ValueError("must not be blank")
    return _text(value)


def _content(value: str) -> str:
    if is_blank(value):
        raise ValueError("must not be blank")
    return _text(value)


def is_blank(value: str) -> bool:
    """Tell whether a text has nothing to see: white space, controls, zero-width characters."""
    return all(c.isspace() or unicodedata.category(c) in ("Cc", "Cf") for c in value)


def _json_object(value: Any) -> Any:
    """Refuse what JSON cannot carry or what is nested too deep, without recursion."""
    level = [value]
    for _ in range(DEPTH + 1):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below += [*item.keys(), *item.values()]
            elif isinstance(item, list | tuple):
                below += item
            elif isinstance(item, str):
                _text(item)
            elif isinstance(item, float) and not math.isfinite(item):
                raise ValueError("must not contain NaN or infinity")
            elif not isinstance(item, int | float | bool | None):
                raise ValueError(f"must be JSON, not {type(item).__name__}")
            if isinstance(item, dict) and not all(isinstance(key, str) for key in item):
                raise ValueError("must have texts as keys")
        if not below:
            break
        level = below
    else:
        raise ValueError(f"is nested deeper than {DEPTH} levels")
    if len(json.dumps(value, ensure_ascii=False).encode()) > TEXT_BYTES:
        raise ValueError(f"is larger than {TEXT_BYTES} bytes as JSON")
    return value


def is_agent_name(value: str) -> bool:
    """Tell whether an agent can be called this."""
    return re.fullmatch(r"[a-z0-9_-]{1,64}(\.[a-z0-9_-]{1,64})?", value) is not None


def _agent_name(value: str) -> str:
    if not is_agent_name(value):
        raise ValueError(
            "must be of lower-case letters, digits, _ and - (at most 64), with an organisation and a dot"
            " before it if you like: ana, or acme.ana"
        )
    return value


def _org_name(value: str) -> str:
    if not re.fullmatch(r"[a-z0-9_-]{1,64}", value):
        raise ValueError("must be of lower-case letters, digits, _ and - (at most 64)")
    return value


def _kind(value: Any) -> Any:
    if value == "relationship":
        raise ValueError("a relationship is not a memory; relationships have an operation of their own")
    if not isinstance(value, str) or value not in KIND_ALIASES:
        raise ValueError(f"must be one of {', '.join(KIND_ALIASES)}")
    return value


@dataclass(frozen=True, slots=True)
class Now:
    """What words such as "yesterday" count from."""

    at: int
    zone: tzinfo


def _moment(value: Any, info: ValidationInfo) -> Any:
    """Read ISO-8601 (no offset means UTC; a date means its first moment), words, or epoch milliseconds."""
    if isinstance(value, str):
        _text(value)
        value = _read_time(value, info.context)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"must be a time such as {moments.TIMES}")
    if not 0 <= value <= LAST_MOMENT:
        raise ValueError("must lie between the years 1970 and 9999")
    return value


def _read_time(text: str, now: Now | None) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None if now is None else moments.read_time(text, now=now.at, zone=now.zone)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)


def slug(value: str) -> str:
    """Return the one spelling of a category: lower case, runs of anything but letters and digits as `_`."""
    spelled = unicodedata.normalize("NFC", unicodedata.normalize("NFC", value).lower())
    kept = (c if unicodedata.category(c)[0] in "LMN" else "_" for c in spelled)
    return re.sub("_+", "_", "".join(kept)).strip("_") or "general"


def choices(*names: str) -> Any:
    return Field(validation_alias=AliasChoices(*names))


AgentName = Annotated[str, Field(examples=["ana"]), AfterValidator(_agent_name)]
OrgName = Annotated[str, Field(examples=["acme"]), AfterValidator(_org_name)]
Content = Annotated[str, AfterValidator(_content)]
Text = Annotated[str, AfterValidator(_text)]
Label = Annotated[str, Field(max_length=LABEL), AfterValidator(_label)]
Session = Annotated[
    Label | None,
    choices("session", "session_id", "chat_session_id", "sessionId"),
    Field(description="The session it belongs to."),
]
Room = Annotated[
    Label | None,
    choices("room", "room_id", "roomId"),
    Field(description="The room or channel it belongs to."),
]
User = Annotated[
    Label | None, choices("user", "user_id", "userId"), Field(description="The user it is about.")
]
Category = Annotated[str, Field(max_length=LABEL), AfterValidator(_text)]
"""Not a slug yet: a secret must be found before its spelling changes."""
Tags = Annotated[list[Label], Field(max_length=TAGS)]
Embedding = Annotated[
    list[Annotated[float, Field(allow_inf_nan=False)]], Field(min_length=1, max_length=65_536)
]
Unit = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Json = Annotated[dict[str, Any], BeforeValidator(_json_object)]
KindWord = Annotated[
    str, BeforeValidator(_kind), WithJsonSchema({"type": "string", "enum": list(KIND_ALIASES)})
]
Time = Annotated[
    int,
    BeforeValidator(_moment),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "examples": ["2026-06-01T10:30:00Z", "2026-06-01", "3d ago", "in 20m"]},
                {"type": "integer", "minimum": 0, "maximum": LAST_MOMENT},
            ]
        }
    ),
]
"""ISO-8601, words in the zone `time.zone`, or epoch milliseconds."""
Parsed = Annotated[Role, Field(strict=False)]
RightWord = Annotated[Right, Field(strict=False)]
TrustWord = Annotated[
    Trust, Field(strict=False), WithJsonSchema({"type": "string", "enum": [word.value for word in Trust]})
]
