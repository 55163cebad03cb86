"""docs/recovery.md explains each finding of verify, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from nrem.core import doctor, verify

ROOT = Path(__file__).parents[2]
ROWS = re.findall(
    r"^\| (NR\d{3}) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$",
    (ROOT / "docs/recovery.md").read_text(),
    re.MULTILINE,
)


def test_the_page_has_each_finding_once_under_its_name() -> None:
    assert len(ROWS) == len(verify.IDS)
    assert {id: subject for id, subject, _, _ in ROWS} == verify.IDS
    assert all(meaning.strip() and remedy.strip() for _, _, meaning, remedy in ROWS)


def test_what_doctor_finds_too_has_the_same_name_there() -> None:
    shared = verify.IDS.keys() & doctor.IDS.keys()
    assert shared
    assert {id: verify.IDS[id] for id in shared} == {id: doctor.IDS[id] for id in shared}
