"""What can go wrong, in six families named by what the caller should do.

NremError             code, message, hint, field, details
├─ InputError         change the request
├─ Denied             not allowed
├─ NotFound           no such thing
├─ Conflict           someone was first
├─ Unavailable        try again later
└─ Corrupt            an operator must look

`code` is the stable name of the exact case. Exit codes and HTTP statuses belong to the surfaces.
"""

from __future__ import annotations


class NremError(Exception):
    """An error that nrem raises on purpose; never carries memory text or a secret."""

    code = "error"

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        code: str | None = None,
        field: str | None = None,
        details: dict[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.field = field
        self.details = details or {}
        if code is not None:
            self.code = code

    def as_json(self) -> dict[str, object]:
        """Return what callers on the other side of a surface are told: only what there is."""
        told = {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "field": self.field,
            "details": self.details or None,
        }
        return {name: value for name, value in told.items() if value is not None}


class InputError(NremError):
    """Change the request."""

    code = "invalid_input"


class InvalidField(InputError):
    """One named field of the request is wrong."""

    code = "invalid_field"

    def __init__(self, field: str, problem: str, *, hint: str | None = None, code: str | None = None) -> None:
        super().__init__(f"{field}: {problem}", hint=hint, code=code, field=field)


class ConfigError(InputError):
    """The configuration is wrong."""

    code = "invalid_config"


class Denied(NremError):
    """Not allowed."""

    code = "denied"


class NotFound(NremError):
    """No such thing, or not yours."""

    code = "not_found"


class Conflict(NremError):
    """Someone was first."""

    code = "conflict"


class Unavailable(NremError):
    """Try again later."""

    code = "unavailable"


class Corrupt(NremError):
    """An operator must look."""

    code = "corrupt"
