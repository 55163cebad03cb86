"""Write daemon/nrem/methods.py: a typed method of the client for every operation in `nrem.wire`."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from nrem import wire

TARGET = Path(__file__).parents[1] / "daemon/nrem/methods.py"
HEAD = '''"""Every operation as a method. Made from `wire` by scripts/generate_client.py; do not edit."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, Literal

from nrem import model, wire


class Methods(abc.ABC):
    """What a client can ask for. A field that is not given, or None, is left to the daemon."""

    @abc.abstractmethod
    def _run(self, name: str, body: Mapping[str, Any]) -> Any:
        """Run an operation by name; return the record that it gives."""
'''
FIRST = {"recall": "query"}
"""What may be given without its name although it may be left out."""

TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "object": "dict[str, Any]"}


def text() -> str:
    """Return the module's text."""
    source = HEAD + "".join(map(_method, wire.OPERATIONS.values()))
    formatted = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TARGET), "-"],
        input=source,
        capture_output=True,
        text=True,
        check=True,
    )
    return formatted.stdout


def _method(operation: wire.Operation) -> str:
    schema = operation.takes.model_json_schema(by_alias=False)
    names = list(operation.takes.model_fields)
    fields = operation.takes.model_fields
    required = [name for name in names if fields[name].is_required() and name != "agent"]
    optional = [name for name in names if name not in required]
    signature = ["self", *(f"{name}: {_type(schema, name)}" for name in required)]
    if operation.name in FIRST:
        optional.remove(FIRST[operation.name])
        signature.append(f"{FIRST[operation.name]}: str | None = None")
    if optional:
        signature += ["*", *(f"{name}: {_type(schema, name)} | None = None" for name in optional)]
    module = "model" if operation.gives.__module__ == "nrem.model" else "wire"
    record = f"{module}.{operation.gives.__name__}"
    body = ", ".join(f"{name!r}: {name}" for name in names)
    return f"""
    def {operation.name}({", ".join(signature)}) -> {record}:
        \"\"\"{_docstring(operation, [*required, *(name for name in names if name not in required)])}\"\"\"
        found: {record} = self._run({operation.name!r}, {{{body}}})
        return found
"""


def _docstring(operation: wire.Operation, names: list[str]) -> str:
    """Return what a method does, and what its arguments are."""
    lines = [operation.summary, ""]
    for name in names:
        said = operation.takes.model_fields[name].description
        if name == "agent" and "{agent}" in operation.path:
            said = "Whose memory; the client's agent if not given."
        if said is not None:
            lines += textwrap.wrap(f"{name}: {said}", 98, initial_indent=" " * 8, subsequent_indent=" " * 12)
    return operation.summary if len(lines) == 2 else "\n".join([*lines, " " * 8])


def _type(schema: dict[str, Any], name: str) -> str:
    return " | ".join(dict.fromkeys(_types(schema, schema["properties"][name])))


def _types(schema: dict[str, Any], field: dict[str, Any]) -> list[str]:
    if "$ref" in field:
        field = schema["$defs"][field["$ref"].rpartition("/")[2]]
    if "anyOf" in field:
        return [
            kind for part in field["anyOf"] if part.get("type") != "null" for kind in _types(schema, part)
        ]
    if "enum" in field:
        return [f"Literal[{', '.join(map(repr, field['enum']))}]"]
    if field["type"] == "array":
        return [f"list[{' | '.join(_types(schema, field['items']))}]"]
    return [TYPES[field["type"]]]


if __name__ == "__main__":
    TARGET.write_text(text())
