"""In and out: what came over the wire as a checked record, and a record as what goes back."""

from __future__ import annotations

import difflib
import functools
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote

from pydantic import AliasChoices, TypeAdapter, ValidationError

from nrem.errors import InputError, InvalidField
from nrem.wire.common import Input
from nrem.wire.fields import DEPTH, Now
from nrem.wire.memories import Draft
from nrem.wire.operation import Operation


def read(model: type[Input], body: Mapping[str, Any], now: Now | None = None) -> Input:
    """Return the checked record of a request; raise InvalidField naming the first field that is wrong.

    Words for a time, such as "yesterday", are read only where it is said what they count from.
    """
    try:
        return model.model_validate(body, context=now)
    except ValidationError as error:
        raise _explain(model, error) from None


def write(operation: Operation, result: Any) -> dict[str, Any]:
    """Return an operation's result as JSON-ready values."""
    shown: dict[str, Any] = adapter(operation.gives).dump_python(result, mode="json")
    return shown


@functools.cache
def adapter(gives: type) -> TypeAdapter[Any]:
    return TypeAdapter(gives)


def write_json(operation: Operation, result: Any) -> bytes:
    """Return an operation's result as the text of its JSON."""
    return adapter(operation.gives).dump_json(result)


def read_answer(operation: Operation, text: bytes) -> Any:
    """Return the record that the text of an operation's answer stands for."""
    return adapter(operation.gives).validate_json(text)


def from_query(model: type[Input], pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the fields of a query string, each as the type that its field has; what is none stays text."""
    body: dict[str, Any] = {}
    kinds = _query_kinds(model)
    for name, text in pairs:
        kind = kinds.get(name, "text")
        if kind == "list":
            body.setdefault(name, []).append(text)
        else:
            body[name] = _QUERY[kind](text, name)
    return body


def to_query(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return fields as a query string that from_query reads; nothing for None."""
    pairs = []
    for name, value in body.items():
        for item in value if isinstance(value, list) else [value]:
            if item is not None:
                pairs.append((name, item if isinstance(item, str) else json.dumps(item)))
    return pairs


def path_part(value: object) -> str:
    """Return a value as one part of a path."""
    text = str(value)
    return quote(text, safe="") if text not in (".", "..") else quote(text).replace(".", "%2E")


_QUERY: Mapping[str, Callable[[str, str], Any]] = {
    "text": lambda text, name: text,
    "int": lambda text, name: int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else text,
    "float": lambda text, name: float(text) if re.fullmatch(r"-?[0-9.]{1,32}", text) else text,
    "bool": lambda text, name: {"true": True, "false": False}.get(text, text),
    "object": lambda text, name: parse_json(text, name),
}


@functools.cache
def _query_kinds(model: type[Input]) -> dict[str, str]:
    """Return what the text of each field in a query stands for, under all the names of the field."""
    schema = model.model_json_schema(by_alias=False)["properties"]
    kinds: dict[str, str] = {}
    for name, field in names_of(model).items():
        types = {part.get("type") for part in schema[field].get("anyOf", [schema[field]])}
        kinds[name] = next((kind for json_type, kind in _QUERY_TYPES if json_type in types), "text")
    return kinds


@functools.cache
def names_of(model: type[Input]) -> dict[str, str]:
    """Return every name that a record's fields are known by, with the field that it stands for."""
    names: dict[str, str] = {}
    for name, field in model.model_fields.items():
        alias = field.validation_alias
        others = alias.choices if isinstance(alias, AliasChoices) else []
        names |= {str(known): name for known in [name, *others]}
    return names


_QUERY_TYPES = (
    ("array", "list"),
    ("object", "object"),
    ("boolean", "bool"),
    ("integer", "int"),
    ("string", "text"),
    ("number", "float"),
    ("string", "text"),
)


def parse_json(text: str | bytes, field: str, *, hint: str = 'for example {"key": "value"}') -> Any:
    """Parse JSON from outside; raise InvalidField for what is not JSON or is nested too deep."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise InvalidField(field, f"is nested deeper than {DEPTH} levels") from None
    except ValueError as error:
        raise InvalidField(field, f"is not JSON: {error}", hint=hint) from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number in JSON")


PROBLEMS = {
    "missing": "is missing",
    "dict_type": "must be a JSON object",
    "model_type": "must be a JSON object",
    "list_type": "must be a list",
    "string_type": "must be a text",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "enum": "must be {expected}",
    "literal_error": "must be {expected}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must not be empty",
    "too_long": "must have at most {max_length} items",
}
"""What is wrong with a field, by what pydantic calls it; what a field says itself is said as it is."""


def _explain(model: type[Input], error: ValidationError) -> InputError:
    first = error.errors(include_url=False, include_input=False)[0]
    place = [
        part for part in first["loc"] if isinstance(part, int | str) and not str(part).startswith("function-")
    ]
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")
    hint = None
    problem = first["msg"].removeprefix("Value error, ")
    if first["type"] in PROBLEMS:
        problem = PROBLEMS[first["type"]].format(**first.get("ctx", {})).replace("'", "")
    elif first["type"] == "extra_forbidden":
        known = list(Draft.model_fields) if "memories[" in field else list(model.model_fields)
        near = difflib.get_close_matches(str(place[-1]), known, n=1)
        problem = "is not a field of this operation"
        hint = f"did you mean {near[0]}?" if near else f"its fields are {', '.join(known)}"
    return InvalidField(field or "body", problem, hint=hint)
