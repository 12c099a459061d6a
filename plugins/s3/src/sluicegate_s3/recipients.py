"""How recipients appear in sessions: the session's name, its source identity and its tags."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

from sluicegate.api import Principal, UnsupportedOperation

PROPERTY: Final = "properties."
"""What a session tag's source begins with where it is a property of the recipient."""

_PLAIN = re.compile(r"[A-Za-z0-9_+,.@-]{2,64}")
_FOREIGN = re.compile(r"[^A-Za-z0-9_+,.@-]")
_TEXT_LENGTH = 47
_DIGEST_LENGTH = 16
_TAG_VALUE = re.compile(r"[\w\s.:/=+\-@]{0,256}")


def session_name(principal: Principal, taken: str | None = None) -> str:
    """A name for the recipient's sessions: 2 to 64 characters, and no two recipients' the same.

    A recipient's name that fits is the name itself; any other is sanitised, cut, and ends with `=` and
    a digest, which no fitting name does.

    Args:
        principal: The recipient.
        taken: The name of the gateway's own sessions, which ending a recipient's must not end.
    """
    name = principal.name
    if name != taken and _PLAIN.fullmatch(name):
        return name
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]
    return f"{_FOREIGN.sub('_', name)[:_TEXT_LENGTH]}={digest}"


def session_tags(principal: Principal, sources: Mapping[str, str]) -> list[dict[str, Any]]:
    """The session's tags, in the form of `AssumeRole`.

    Args:
        principal: The recipient.
        sources: What each tag says: `name`, `id`, or `properties.` and a property. A recipient
            without that property has no such tag.

    Raises:
        UnsupportedOperation: A value cannot be a tag's; altering it could open what rules close.
    """
    found = {key: _said(principal, source) for key, source in sources.items()}
    tags = {key: value for key, value in found.items() if value is not None}
    for key, value in tags.items():
        if not _TAG_VALUE.fullmatch(value):
            raise UnsupportedOperation(
                f"the recipient's '{sources[key]}' cannot be the session tag '{key}': tags hold at "
                "most 256 letters, digits, spaces and any of . : / = + - @ _; ask its operator"
            )
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def _said(principal: Principal, source: str) -> str | None:
    if source.startswith(PROPERTY):
        return principal.properties.get(source.removeprefix(PROPERTY))
    return principal.id if source == "id" else principal.name
