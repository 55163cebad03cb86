"""nrem dream and its commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from models.provider import running, status

Nrem = Callable[..., Result]
Answer = Callable[..., Any]
Refusal = Callable[..., dict[str, str]]
TEXT = "Luis prefers Spanish and short replies"


@pytest.fixture
def known(answer: Answer, ana: str) -> str:
    """The id of a memory that is worth a line."""
    return str(answer("remember", TEXT, "--category", "preferences")["id"])


@pytest.mark.rows(87)
def test_dream_alone_sweeps(nrem: Nrem, known: str, home: Path) -> None:
    swept = nrem("dream").stdout
    assert known in swept
    assert "Committed " in swept
    assert TEXT in (home / "workspaces/ana/MEMORY.md").read_text()
    assert nrem("dream", "run").stdout.startswith("No sweep: nothing has happened")
    assert "dream: +1 -0 ~0" in nrem("log").stdout


@pytest.mark.rows(110)
def test_a_dry_run_says_so(nrem: Nrem, known: str, home: Path) -> None:
    shown = nrem("dream", "--dry-run").stdout
    assert known in shown
    assert shown.endswith("Nothing was written.\n")
    assert TEXT not in (home / "workspaces/ana/MEMORY.md").read_text()


def test_status_tells_where_it_stands(nrem: Nrem, known: str) -> None:
    assert "there was no sweep yet" in nrem("dream", "status").stdout
    nrem("dream")
    said = nrem("dream", "status").stdout
    assert "1 line in MEMORY.md" in said
    assert "the last came today" in said


def test_what_people_changed_and_what_failed_is_said(nrem: Nrem, known: str, home: Path) -> None:
    nrem("dream")
    file = home / "workspaces/ana/MEMORY.md"
    text = file.read_text()
    file.write_text(text.replace("short", "long").replace("<!-- nrem:end -->", "---\n<!-- nrem:end -->"))
    swept = nrem("dream").stdout
    assert "Lines that people changed: 1 edited.\n" in swept
    assert "Line 8 of MEMORY.md is no line of a memory; it is below the block now, unchanged.\n" in swept
    assert "Committed " in swept
    file.unlink()
    file.mkdir()
    assert "MEMORY.md: is a folder" in nrem("dream", exits=5).stderr
    said = nrem("dream", "status").stdout
    assert "Mode auto: MEMORY.md: is a folder.\nLast sweep " in said
    assert ": MEMORY.md: is a folder\n  move it away; where there is none, a sweep writes a new one\n" in said


@pytest.mark.rows(110)
def test_explain_shows_terms_that_add_up(nrem: Nrem, answer: Answer, known: str) -> None:
    nrem("dream")
    said = nrem("dream", "explain", known).stdout.splitlines()
    assert said[0].startswith("It has a line; a sweep would now decide: keep")
    numbers = [float(line.split()[-1]) for line in said[2:] if line.split()[-1][0] in "+-"]
    assert sum(numbers[:-1]) == pytest.approx(numbers[-1], abs=0.01)
    assert answer("dream", "explain", known)["id"] == known


def test_sweeps_are_listed_shown_and_undone(
    nrem: Nrem, answer: Answer, refusal: Refusal, known: str, home: Path
) -> None:
    assert nrem("dream", "list").stdout == "No sweep yet.\n"
    sweep = answer("dream")["sweep"]
    assert sweep in nrem("dream", "list", "--limit", "1").stdout
    assert known in nrem("dream", "show", sweep).stdout
    assert nrem("dream", "undo", sweep).stdout == "1 line taken away, 0 lines put back.\n"
    assert TEXT not in (home / "workspaces/ana/MEMORY.md").read_text()
    assert "undone" in nrem("dream", "list").stdout
    assert refusal(5, "dream", "undo", sweep)["code"] == "sweep_undone"
    assert refusal(4, "dream", "show", "nothing")["code"] == "sweep_not_found"
    assert refusal(4, "dream", "accept", "nothing")["code"] == "proposal_not_found"


def test_proposals_are_accepted_and_rejected(
    nrem: Nrem, answer: Answer, known: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = answer("remember", "The contract with Globex ends on 31 December 2027")["id"]
    monkeypatch.setenv("NREM_DREAM__MODE", "propose")
    assert "2 proposals wait for your word" in nrem("dream").stdout
    waiting = {p["id"]: p["proposal"] for p in answer("dream", "status")["proposals"]}
    assert waiting[known] in nrem("dream", "status").stdout
    assert nrem("dream", "accept", waiting[known]).stdout == f"Accepted: {known}.\n"
    assert nrem("dream", "reject", waiting[other]).stdout == f"Rejected: {other}.\n"
    written = (home / "workspaces/ana/MEMORY.md").read_text()
    assert TEXT in written
    assert "Globex" not in written


def test_off_says_that_it_is_off(nrem: Nrem, known: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NREM_DREAM__MODE", "off")
    assert nrem("dream").stdout == "No sweep: dream.mode is off: nothing is read and nothing is written.\n"


def test_what_a_chat_model_said_and_how_it_goes_is_told(
    nrem: Nrem, known: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "Luis prefers short replies and Spanish"
    with running(monkeypatch) as provider:
        (home / "nrem.toml").write_text(f'[chat]\nmodel = "ollama:m"\nbase_url = "{provider.url}"\n')
        good, bad = {"op": "rewrite", "ids": [known], "text": words}, {"op": "rewrite", "ids": ["x"]}
        provider.text = json.dumps({"operations": [good, bad]})
        swept = nrem("dream").stdout
        assert f"In the words of ollama:m: rewrite {known}: {words}\n" in swept
        assert "Not taken of what ollama:m proposed: 1, because it cites a memory that it was not" in swept
        assert f"Its line is a sentence of ollama:m: {words}\n" in nrem("dream", "explain", known).stdout
        said = nrem("dream", "status").stdout
        assert "Chat model ollama:m: 1 line is a model's sentence; 18 of 200000 tokens used today.\n" in said
        provider.always = status(500)
        nrem("remember", "The staging server of Acme listens on port 8443")
        assert "No advice of a model: ollama:m: ollama did not answer (status 500).\n" in nrem("dream").stdout
        said = nrem("dream", "status").stdout
        assert "In a row, 1 call failed; the last time: ollama did not answer (status 500).\n" in said


def test_what_a_sweep_noticed_is_told(
    nrem: Nrem, ana: str, answer: Answer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tags = ("--tag", "pottery", "--tag", "class")
    ids = [
        answer("remember", f"The pottery class has {what}", *tags)["id"]
        for what in ("two wheels", "a kiln of 1240 degrees", "the blue bowls of Eva")
    ]
    old = answer("remember", "Luis lives in Madrid")["id"]
    new = answer("remember", "Luis lives in Lisbon")["id"]
    key = answer("remember", "The deploy key is in the grey safe")["id"]
    again = answer("remember", "The deploy key is in the grey safe!")["id"]
    assert "Theme: class and pottery, 3 memories on 1 day (m:" in nrem("dream", "--dry-run").stdout
    with running(monkeypatch) as provider:
        (home / "nrem.toml").write_text(f'[chat]\nmodel = "ollama:m"\nbase_url = "{provider.url}"\n')
        name = {"op": "theme", "ids": ids, "text": "bowls of Eva"}
        provider.text = json.dumps({"operations": [name]})
        swept = answer("dream")["sweep"]
    shown = nrem("dream", "show", swept).stdout
    assert "Theme: bowls of Eva (class and pottery), 3 memories on 1 day (m:" in shown
    both = "Luis lives in Madrid / Luis lives in Lisbon"
    assert f"One of two does not hold: {both} (m:{old}, m:{new})\n" in shown
    both = "The deploy key is in the grey safe / The deploy key is in the grey safe!"
    assert f"Said twice: {both} (m:{key}, m:{again})\n" in shown
