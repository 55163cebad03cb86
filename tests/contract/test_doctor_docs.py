"""docs/doctor.md explains each finding, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nrem.core import doctor, surroundings

ROOT = Path(__file__).parents[2]
ROWS = re.findall(
    r"^\| (NR\d{3}) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$",
    (ROOT / "docs/doctor.md").read_text(),
    re.MULTILINE,
)


def test_the_page_has_each_finding_once_under_its_name() -> None:
    assert len(ROWS) == len(doctor.IDS)
    assert {id: subject for id, subject, _, _ in ROWS} == doctor.IDS


@pytest.mark.parametrize(("id", "meaning", "remedy"), [(id, told, todo) for id, _, told, todo in ROWS])
def test_each_is_explained_and_says_what_to_do(id: str, meaning: str, remedy: str) -> None:
    assert meaning.strip()
    assert remedy.strip()


def test_the_code_has_no_finding_without_an_id_of_the_list() -> None:
    code = "".join(Path(str(module.__file__)).read_text() for module in (doctor, surroundings))
    assert set(re.findall(r'"(NR\d+)"', code)) == doctor.IDS.keys()
    assert list(doctor.IDS) == sorted(doctor.IDS)
