from __future__ import annotations

import pytest

from candidates import NOISE
from nrem.policy.noise import JUDGED, noise

FACTS = [
    "User prefers pnpm, not npm",
    "Deploys happen on Fridays at 5pm; never before a holiday",
    "The API key lives in the vault (ask Bob)",
    "Ana's email is ana@example.com",
    "The config file is at /etc/app/config.toml",
    "Use `uv run pytest` to run the tests",
    "Remember: the release branch is release/2.4",
    "Postgres runs on port 5433 in staging; version 16.2",
    "Go to the gym on Mondays",
    "No new messages to customers after 22:00",
    "Export to Germany needs form A38",
    "Node 20 is required for the frontend",
    "Class starts at 9:00 on Mondays",
    "Let Ana know: the meeting moved to Friday",
    "Return policy: 30 days for all goods",
    "The cron job for backups runs at 03:00 on host db2",
    "Job interview at Acme on 2026-03-04",
    "2026-03-04: moved to Berlin",
    "Error budget for the API is 0.1 percent",
    "Ana is a real estate agent in Lisbon",
    "Ana vive en Lisboa desde marzo",
    "アナは2024年からリスボンに住んでいます。",
]


@pytest.mark.parametrize("text", NOISE)
def test_what_machines_say_and_what_says_nothing_gets_no_line(text: str) -> None:
    assert noise(text) is not None


@pytest.mark.parametrize("text", FACTS)
def test_what_a_person_would_note_down_is_no_noise(text: str) -> None:
    assert noise(text) is None


@pytest.mark.parametrize(
    "piece", ["\n", " ", "a:\n", "you are a-a ", "- ", "nightly a a ", "[ ", "a=\n", '"']
)
def test_a_long_text_is_judged_by_its_beginning(piece: str) -> None:
    assert noise((piece * JUDGED)[:JUDGED]) == noise(piece * JUDGED)
