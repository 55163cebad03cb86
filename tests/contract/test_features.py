"""docs/features.md and the `rows` marks of the tests say the same."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
FEATURES = (ROOT / "docs" / "features.md").read_text()
STATUS = {
    int(number): status
    for number, status in re.findall(r"^\| (\d+) \|.*\| ([^|]+) \|$", FEATURES, flags=re.MULTILINE)
}


def marks() -> dict[int, list[str]]:
    """Return each number that a test file marks, with where it does so."""
    found: defaultdict[int, list[str]] = defaultdict(list)
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.rows":
                where = f"{file.relative_to(ROOT)}:{node.lineno}"
                assert node.args, f"{where} marks no row"
                for argument in node.args:
                    number = ast.literal_eval(argument)
                    assert isinstance(number, int), f"{where} marks {number!r}, which is no number"
                    found[number].append(where)
    return found


def test_the_table_has_each_row_once_with_a_known_status() -> None:
    numbers = [int(number) for number in re.findall(r"^\| (\d+) \|", FEATURES, flags=re.MULTILINE)]
    assert numbers == list(range(1, 117))
    assert sorted(STATUS) == numbers
    assert set(STATUS.values()) <= {"shown", "part", "open"}


def test_each_mark_names_a_row() -> None:
    assert {number: places for number, places in marks().items() if number not in STATUS} == {}


def test_each_row_that_is_shown_is_carried_by_a_test() -> None:
    carried = marks()
    assert [row for row, status in STATUS.items() if status != "open" and row not in carried] == []


def test_no_open_row_is_carried_by_a_test() -> None:
    assert {row: places for row, places in marks().items() if STATUS.get(row) == "open"} == {}


def test_each_part_says_what_it_lacks() -> None:
    explained = [int(number) for number in re.findall(r"^- (\d+): ", FEATURES, flags=re.MULTILINE)]
    assert explained == [row for row, status in STATUS.items() if status == "part"]
