"""Identifies recipients in sessions: session name, source identity and tags."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from sluicegate.api import Principal, UnsupportedOperation, session_names

PROPERTY: Final = "properties."
"""Prefix of a session tag's source if it is a property of the recipient."""

_TAG_VALUE = re.compile(r"[\w\s.:/=+\-@]{0,256}")


def session_name(principal: Principal, taken: str | None = None) -> str:
    """Return a unique name for a recipient's sessions; see `session_names`.

    Args:
        taken: The name of the gateway's own sessions, which must not end together with a recipient's.
    """
    return next(name for name in session_names(principal.name) if name != taken)


def session_tags(principal: Principal, sources: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the session's tags, in the form of `AssumeRole`."""
    found = {key: _value_of(principal, source) for key, source in sources.items()}
    tags = {key: value for key, value in found.items() if value is not None}
    for key, value in tags.items():
        if not _TAG_VALUE.fullmatch(value):
            raise UnsupportedOperation(
                f"the recipient's '{sources[key]}' is not a valid value of the session tag '{key}', "
                "which permits at most 256 letters, digits, spaces and . : / = + - @ _; ask the "
                "gateway's operator"
            )
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def _value_of(principal: Principal, source: str) -> str | None:
    if source.startswith(PROPERTY):
        return principal.properties.get(source.removeprefix(PROPERTY))
    return principal.id if source == "id" else principal.name
