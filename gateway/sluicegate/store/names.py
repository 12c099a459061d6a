"""What shares, schemas, tables and recipients may be called.

Source: delta-sharing-protocol.md, "Names".
"""

from __future__ import annotations

import re
from typing import Literal

NamedKind = Literal["share", "schema", "table", "recipient"]

MAX_NAME_LENGTH = 255
_FORBIDDEN = re.compile(r"[ /\x00-\x1f\x7f]")
_SHOWN = {" ": "a space", "/": "a slash", "\x7f": "the DELETE character"}


def name_key(name: str) -> str:
    """What two spellings of one case-insensitive name have in common."""
    return name.casefold()


def check_name(kind: NamedKind, name: str) -> str:
    """The name itself, when it may be used.

    Raises:
        ValueError: It breaks a rule; the message says which.
    """
    problem = _broken_rule(kind, name)
    if problem:
        raise ValueError(f"a {kind}'s name {problem}")
    return name


def _broken_rule(kind: NamedKind, name: str) -> str | None:
    if not name:
        return "cannot be empty"
    if len(name) > MAX_NAME_LENGTH:
        return f"cannot be longer than {MAX_NAME_LENGTH} characters (this one has {len(name)})"
    found = _FORBIDDEN.search(name)
    if found:
        return f"cannot contain {_SHOWN.get(found[0], 'a control character')}"
    if any("\ud800" <= character <= "\udfff" for character in name):
        return "cannot contain half of a surrogate pair"
    if "." in name and kind in ("schema", "table"):
        return "cannot contain a period"
    if name in (".", ".."):
        return f"cannot be '{name}', which no URL can address"
    return None
