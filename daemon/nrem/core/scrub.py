"""Take secrets out of what is about to be stored, or refuse it, before anything is written."""

from __future__ import annotations

from typing import Any

from nrem.errors import InvalidField
from nrem.policy import secrets
from nrem.sections import Config


class Scrubber:
    """Looks at one item's fields in turn and remembers which rules fired.

    `refuse` says what becomes of a secret, in place of the configuration.
    """

    def __init__(self, settings: Config, where: str = "", *, refuse: bool | None = None) -> None:
        self._settings = settings.secrets
        self._refuse = settings.secrets.on_secret == "refuse" if refuse is None else refuse
        self._literals = tuple(literal.get_secret_value() for literal in settings.secrets.literals)
        self._exclude = frozenset(settings.secrets.exclude_rules)
        self._where = where
        self._fired: dict[str, None] = {}

    @property
    def fired(self) -> tuple[str, ...]:
        """The rules that fired, each once, in order."""
        return tuple(self._fired)

    def text(self, field: str, value: str) -> str:
        """Return a text without its secrets; raise InvalidField when they are to be refused."""
        if not self._settings.enabled:
            return value
        findings = secrets.scan(value, literals=self._literals, exclude=self._exclude)
        if not findings:
            return value
        if self._refuse:
            raise InvalidField(
                self._where + field,
                f"holds a secret ({findings[0].rule})",
                hint="take it out; secrets are never stored (secrets.on_secret = 'redact' replaces them)",
                code="secret_found",
            )
        self._fired.update(dict.fromkeys(finding.rule for finding in findings))
        return secrets.redact(value, findings)

    def optional(self, field: str, value: str | None) -> str | None:
        return None if value is None else self.text(field, value)

    def json(self, field: str, value: Any, keys: tuple[str, ...] = ()) -> Any:
        """Return a JSON value with every string in it scrubbed, keys included.

        `{"api_key": "..."}` assigns as much as `api_key = ...` does, so a string is looked at beside the keys
        above it too.
        """
        if isinstance(value, str):
            return self._beside(field, value, keys)
        if isinstance(value, list):
            return [self.json(field, item, keys) for item in value]
        if isinstance(value, dict):
            scrubbed: dict[str, Any] = {}
            for key, item in value.items():
                name = self.text(field, key)
                while name in scrubbed:  # two keys with a secret look the same without it
                    name += "*"
                scrubbed[name] = self.json(field, item, (*keys, key))
            return scrubbed
        return value

    def _beside(self, field: str, value: str, keys: tuple[str, ...]) -> str:
        for key in reversed(keys):
            prefix = f"{key}: "
            scrubbed = self.text(field, prefix + value)
            if scrubbed.startswith(prefix) and scrubbed != prefix + value:
                return scrubbed.removeprefix(prefix)
        return self.text(field, value)
