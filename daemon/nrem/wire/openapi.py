"""The description of all operations as OpenAPI 3.1."""

from __future__ import annotations

import re
from typing import Any

from nrem.wire.codec import adapter
from nrem.wire.operation import Operation
from nrem.wire.table import OPERATIONS


def openapi(version: str) -> dict[str, Any]:
    """Return the description of all operations as OpenAPI 3.1."""
    paths: dict[str, dict[str, Any]] = {}
    schemas: dict[str, Any] = {}
    for operation in OPERATIONS.values():
        takes = operation.takes.model_json_schema(ref_template=_REF, by_alias=False)
        gives = adapter(operation.gives).json_schema(ref_template=_REF, mode="serialization")
        for schema in (takes, gives):
            schemas |= schema.pop("$defs", {})
        described: dict[str, Any] = {
            "operationId": operation.name,
            "summary": operation.summary,
            "parameters": _parameters(operation, takes),
            "responses": {
                str(operation.status): {
                    "description": "It went well.",
                    "content": {"application/json": {"schema": gives}},
                },
                "default": {
                    "description": "It was refused; the code says why, the hint what to do.",
                    "content": {"application/json": {"schema": {"$ref": _REF.format(model="Error")}}},
                },
            },
        }
        if operation.method not in ("GET", "DELETE"):
            for name in re.findall(r"{(\w+)}", operation.path):
                takes["properties"].pop(name)
                takes["required"] = [field for field in takes.get("required", []) if field != name]
            described["requestBody"] = {"content": {"application/json": {"schema": takes}}}
        paths.setdefault(operation.path, {})[operation.method.lower()] = described
    schemas["Error"] = _ERROR
    return {
        "openapi": "3.1.0",
        "info": {"title": "nrem", "version": version},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _parameters(operation: Operation, takes: dict[str, Any]) -> list[dict[str, Any]]:
    in_path = re.findall(r"{(\w+)}", operation.path)
    places = dict.fromkeys(in_path, "path")
    if operation.method in ("GET", "DELETE"):
        places |= {name: "query" for name in takes["properties"] if name not in in_path}
    return [
        {
            "name": name,
            "in": place,
            "required": place == "path" or name in takes.get("required", []),
            "schema": takes["properties"][name],
        }
        for name, place in places.items()
    ]


_REF = "#/components/schemas/{model}"
_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "hint": {"type": "string"},
                "field": {"type": "string"},
                "details": {"type": "object"},
            },
        }
    },
}
