"""What leads back to a state of the past."""

from __future__ import annotations

import dataclasses

from nrem.model import Kind, Memory, Provenance, Trust
from nrem.policy.restoring import Known, decide

ORIGIN = Provenance(source=None, ingress="test", trust=Trust.TRUSTED, actor="owner")


def memory(content: str, **fields: object) -> Memory:
    made = Memory(
        id="m", kind=Kind.SEMANTIC, kind_given="semantic", content=content, category="general",
        importance=0.5, confidence=1.0, provenance=ORIGIN, created_at=1, updated_at=1,
    )  # fmt: skip
    return dataclasses.replace(made, **fields)  # type: ignore[arg-type]


def test_what_is_equal_is_left_alone() -> None:
    same = Known(id="a", then=memory("tea"), now=memory("tea", version=5, updated_at=9))
    never = Known(id="b", then=None, now=None)
    plan = decide([same, never])
    assert (plan.back, plan.gone, plan.taken, plan.erased) == ((), (), (), ())


def test_each_goes_where_it_was() -> None:
    changed = Known(id="a", then=memory("tea"), now=memory("tea", pinned=True))
    forgotten = Known(id="b", then=memory("milk"), now=None)
    new = Known(id="c", then=None, now=memory("coffee"))
    erased = Known(id="d", then=None, now=None, erased=True)
    plan = decide([changed, forgotten, new, erased])
    assert plan.back == (changed, forgotten)
    assert (plan.gone, plan.taken, plan.erased) == (("c",), (), ("d",))


def test_a_text_is_free_when_its_holder_goes_or_changes() -> None:
    back = Known(id="a", then=memory("tea"), now=None, taken_by=frozenset({"b"}))
    other = Known(id="b", then=memory("milk"), now=memory("tea"), taken_by=frozenset({"c"}))
    new = Known(id="c", then=None, now=memory("milk"))
    plan = decide([back, other, new])
    assert (plan.back, plan.gone, plan.taken) == ((back, other), ("c",), ())


def test_one_that_cannot_come_back_holds_up_whoever_needs_its_text() -> None:
    first = Known(id="a", then=memory("tea"), now=memory("milk"), taken_by=frozenset({"x"}))
    second = Known(id="b", then=memory("milk"), now=memory("juice"), taken_by=frozenset({"a"}))
    third = Known(id="c", then=memory("juice"), now=None, taken_by=frozenset({"b"}))
    plan = decide([third, second, first])
    assert plan.back == ()
    assert dict(plan.taken) == {"a": "x", "b": "a", "c": "b"}
