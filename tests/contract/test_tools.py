"""The tools agree with the operations behind them and with docs/mcp.md."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from nrem import wire
from nrem.model import Kind
from nrem.surface import mcp
from nrem.wire.tools import RESOURCES, TOOLSETS, TYPED, ActionTool, AnyTool, Tool

PAGE = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text()
EVERY = [tool for toolset in TOOLSETS.values() for tool in toolset]


@pytest.mark.rows(65)
@pytest.mark.parametrize(
    "tool", [tool for tool in EVERY if isinstance(tool, Tool)], ids=lambda tool: tool.name
)
def test_a_tool_is_a_view_of_an_operation(tool: Tool) -> None:
    fields = set(wire.OPERATIONS[tool.operation].takes.model_fields)
    assert {*tool.fields, *tool.required, *tool.preset} <= fields
    assert set(tool.required) <= set(tool.fields)
    assert not set(tool.fields) & {"agent", *tool.preset}
    assert tool.kind is None or tool.preset.get("kind", Kind.SEMANTIC) == tool.kind


@pytest.mark.parametrize(
    "tool", [tool for tool in EVERY if isinstance(tool, ActionTool)], ids=lambda tool: tool.name
)
def test_an_action_is_an_operation(tool: ActionTool) -> None:
    assert set(tool.actions) == set(tool.input_schema()["properties"]["action"]["enum"])
    for action, fields in tool.actions.items():
        assert set(fields) <= set(wire.OPERATIONS[action].takes.model_fields) - {"agent"}


@pytest.mark.parametrize("tool", EVERY, ids=lambda tool: tool.name)
def test_a_schema_stands_for_itself_and_explains_every_argument(tool: AnyTool) -> None:
    schema = tool.input_schema()
    assert "$ref" not in str(schema)
    assert schema["additionalProperties"] is False
    assert all(field["description"] for field in schema["properties"].values())
    assert "agent" not in schema["properties"]


def test_no_two_tools_of_a_set_have_the_same_name_and_all_of_a_set_answer_alike() -> None:
    for toolset, tools in TOOLSETS.items():
        names = [tool.name for tool in tools]
        assert len(set(names)) == len(names)
        assert all(re.fullmatch(r"[a-z_]{1,64}", name) for name in names)
        assert {tool.unified for tool in tools} == {toolset == "unified"}


def test_every_tool_and_resource_is_documented_and_nothing_else_is() -> None:
    documented = re.findall(r"^\| `([^`]+)` \|", PAGE, re.MULTILINE)
    assert documented == [tool.name for tool in EVERY] + [resource.uri for resource in RESOURCES]


def test_only_operations_that_tools_use_have_an_answer_for_people() -> None:
    assert set(mcp.RENDERED) <= {tool.operation for tool in TYPED}


def test_resources_list_memories_or_read_a_file() -> None:
    for resource in RESOURCES:
        operation = wire.OPERATIONS[resource.operation]
        assert set(resource.preset) <= set(operation.takes.model_fields)
        assert {"memories", "content"} & inspect.get_annotations(operation.gives).keys()
