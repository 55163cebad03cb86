from __future__ import annotations

import pytest

from nrem import errors
from nrem.errors import (
    ConfigError,
    Conflict,
    Corrupt,
    Denied,
    InputError,
    InvalidField,
    NotFound,
    NremError,
    Unavailable,
)

FAMILIES: dict[type[NremError], str] = {
    InputError: "invalid_input",
    Denied: "denied",
    NotFound: "not_found",
    Conflict: "conflict",
    Unavailable: "unavailable",
    Corrupt: "corrupt",
}


def test_there_are_six_families() -> None:
    direct = {cls for cls in NremError.__subclasses__() if cls.__module__ == errors.__name__}
    assert direct == set(FAMILIES)


@pytest.mark.parametrize(("family", "code"), FAMILIES.items())
def test_each_family_has_a_code_that_an_error_may_sharpen(family: type[NremError], code: str) -> None:
    plain = family("it went wrong")
    assert (plain.code, plain.message, str(plain)) == (code, "it went wrong", "it went wrong")
    assert (plain.hint, plain.field, plain.details) == (None, None, {})
    sharp = family("x", code="exact_case", hint="do this", field="content", details={"id": "1"})
    assert (sharp.code, sharp.hint, sharp.field, sharp.details) == (
        "exact_case",
        "do this",
        "content",
        {"id": "1"},
    )
    assert (family.code, family("y").code, family("y").details) == (code, code, {})


@pytest.mark.rows(102)
def test_an_invalid_field_is_named_in_the_message() -> None:
    error = InvalidField("memories[3].content", "must not be blank", hint="write something")
    assert error.message == str(error) == "memories[3].content: must not be blank"
    assert (error.field, error.code, error.hint) == (
        "memories[3].content",
        "invalid_field",
        "write something",
    )
    assert InvalidField("content", "has 5 bytes", code="too_large").code == "too_large"


@pytest.mark.parametrize(
    ("error", "code"), [(InvalidField("a", "b"), "invalid_field"), (ConfigError("a"), "invalid_config")]
)
def test_a_wrong_field_and_a_wrong_config_ask_to_change_the_request(error: NremError, code: str) -> None:
    assert isinstance(error, InputError)
    assert error.code == code


def test_every_error_of_ours_is_caught_as_one() -> None:
    for family in FAMILIES:
        with pytest.raises(NremError):
            raise family("it went wrong")
