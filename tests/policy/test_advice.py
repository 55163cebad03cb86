"""What a model's proposals free in the block."""

from __future__ import annotations

from nrem.policy.advice import Standing, weigh
from nrem.policy.memory_doc import line_length
from nrem.policy.proposals import Proposal


def line(id: str, text: str) -> Standing:
    return Standing(
        id=id * 36, label=id * 4, text=text, created_at=0, pinned=False, settled=False, own=False,
        sources={id * 36: 1},
    )  # fmt: skip


def test_a_line_that_goes_frees_what_it_took_with_its_short_label() -> None:
    newer, older = line("b", "Ana moved to Lisbon"), line("a", "Ana lives in Berlin")
    proposal = Proposal(operation="supersede", sources=(newer.id, older.id), text="")
    [word], _ = weigh([proposal], {newer.id: newer, older.id: older}, left=0, zone="UTC")
    assert word.grows == -line_length(older.text, "aaaa")
