"""Take secrets out of what is about to be stored, or refuse it, before anything is written."""

from __future__ import annotations

from typing import Any

from nrem.config import Config
from nrem.errors import InvalidField
from nrem.policy import secrets


class Scrubber:
    """Looks at one item's fields in turn and remembers which rules fired."""

    def __init__(self, settings: Config, where: str = "") -> None:
        self._settings = settings.secrets
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
        if self._settings.on_secret == "refuse":
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

    def json(self, field: str, value: Any) -> Any:
        """Return a JSON value with every string in it scrubbed, keys included."""
        if isinstance(value, str):
            return self.text(field, value)
        if isinstance(value, list):
            return [self.json(field, item) for item in value]
        if isinstance(value, dict):
            return {self.text(field, key): self._pair(field, key, item) for key, item in value.items()}
        return value

    def _pair(self, field: str, key: str, value: Any) -> Any:
        """Scrub a value beside its key: `{"api_key": "..."}` assigns as much as `api_key = ...` does."""
        if not isinstance(value, str):
            return self.json(field, value)
        prefix = f"{key}: "
        scrubbed = self.text(field, prefix + value)
        return scrubbed.removeprefix(prefix) if scrubbed.startswith(prefix) else self.text(field, value)
