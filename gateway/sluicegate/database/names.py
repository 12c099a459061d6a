"""Rules for the names of shares, schemas, tables and other assets, and recipients.

Source: Delta Sharing protocol, "Names". Clients add more rules: they put names into the paths of URLs
without encoding them, and separate them by periods and number signs in the URL of a table.
"""

from __future__ import annotations

import re
from typing import Literal

NamedKind = Literal[
    "share", "schema", "table", "volume", "model", "skill", "alias", "recipient", "entry"
]
"""The kind `entry` is any of them that is stored already, maybe by a version with other rules."""

MAX_NAME_LENGTH = 255
_FORBIDDEN = re.compile(r"[ /\x00-\x1f\x7f]")
_FORBIDDEN_FOR_CLIENTS = re.compile(r"[ /.%?#\x00-\x1f\x7f]")
_SHOWN = {
    " ": "a space",
    "/": "a slash",
    ".": "a period",
    "%": "a percent sign",
    "?": "a question mark",
    "#": "a number sign",
    "\x7f": "the DELETE character",
}


def name_key(name: str) -> str:
    """Return the casefolded form of a name, which is the same for all of its spellings."""
    return name.casefold()


def aliased(kind: NamedKind, name: str, replacement: str) -> str:
    """Return a name with each character replaced that names of this kind cannot contain."""
    return _forbidden(kind).sub(replacement, name)


def check_name(kind: NamedKind, name: str) -> str:
    """Return the name if it is valid."""
    problem = _broken_rule(kind, name)
    if problem:
        raise ValueError(f"{'an' if kind in ('alias', 'entry') else 'a'} {kind}'s name {problem}")
    return name


def _broken_rule(kind: NamedKind, name: str) -> str | None:
    if not name:
        return "cannot be empty"
    if len(name) > MAX_NAME_LENGTH:
        return f"cannot be longer than {MAX_NAME_LENGTH} characters (this one has {len(name)})"
    found = _forbidden(kind).search(name)
    if found:
        return f"cannot contain {_SHOWN.get(found[0], 'a control character')}"
    if any("\ud800" <= character <= "\udfff" for character in name):
        return "cannot contain half of a surrogate pair"
    if name in (".", ".."):
        return f"cannot be '{name}', which no URL can address"
    return None


def _forbidden(kind: NamedKind) -> re.Pattern[str]:
    return _FORBIDDEN if kind in ("recipient", "entry") else _FORBIDDEN_FOR_CLIENTS
