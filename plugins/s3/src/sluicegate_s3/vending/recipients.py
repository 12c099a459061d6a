"""Identifies recipients in sessions: session name, source identity and tags."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

from sluicegate.api import Principal, UnsupportedOperation

PROPERTY: Final = "properties."
"""Prefix of a session tag's source if it is a property of the recipient."""

_PLAIN = re.compile(r"[A-Za-z0-9_+,.@-]{2,64}")
_FOREIGN = re.compile(r"[^A-Za-z0-9_+,.@-]")
_TEXT_LENGTH = 47
_DIGEST_LENGTH = 16
_TAG_VALUE = re.compile(r"[\w\s.:/=+\-@]{0,256}")


def session_name(principal: Principal, taken: str | None = None) -> str:
    """Return a unique name for a recipient's sessions, with 2 to 64 characters.

    A recipient's name is used unchanged if it is valid. Any other is sanitized, truncated, and ends
    with `=` and a digest, which can't occur in a valid name.

    Args:
        principal: The recipient.
        taken: The name of the gateway's own sessions, which must not end together with a recipient's.
    """
    name = principal.name
    if name != taken and _PLAIN.fullmatch(name):
        return name
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]
    return f"{_FOREIGN.sub('_', name)[:_TEXT_LENGTH]}={digest}"


def session_tags(principal: Principal, sources: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the session's tags, in the form of `AssumeRole`.

    Args:
        principal: The recipient.
        sources: The source of each tag: `name`, `id`, or `properties.` and a property. If the
            recipient lacks the property, the tag is omitted.

    Raises:
        UnsupportedOperation: A value is not valid for a tag. Altering it could bypass access rules.
    """
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
