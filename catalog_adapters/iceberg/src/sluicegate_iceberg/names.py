"""Parses names of namespaces and tables: strings in the gateway, path segments in URLs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

_ESCAPED = {"%": "%25", ".": "%2E"}
_TO_ESCAPE = re.compile(r"[%.]")
_ESCAPE = re.compile(r"%(25|2[Ee])")
# Names can't contain separators of levels (0x1F by default) or other control characters.
_UNSERVABLE = re.compile(r"[\x00-\x1f\x7f]")

Levels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableName:
    """A table in a catalog: the levels of its namespace, and its own name."""

    namespace: Levels
    name: str

    @classmethod
    def parse(cls, identifier: str) -> TableName:
        """Parse an identifier in the form that `joined` returns."""
        *namespace, name = parse_levels(identifier)
        if not namespace:
            raise ValueError("the table's identifier must contain a namespace: namespace.table")
        return cls(tuple(namespace), name)

    def __str__(self) -> str:
        """Return the identifier."""
        return joined((*self.namespace, self.name))


def joined(levels: Sequence[str]) -> str:
    """Join levels with dots. Dots and percent signs in a level are percent-encoded."""
    return ".".join(_TO_ESCAPE.sub(lambda found: _ESCAPED[found[0]], level) for level in levels)


def parse_levels(text: str) -> Levels:
    """Return the levels that were passed to `joined`."""
    levels = tuple(map(decoded, text.split(".")))
    if not all(map(servable, levels)):
        raise ValueError("a name is empty, is '.' or '..', or contains control characters")
    return levels


def decoded(text: str) -> str:
    """Return a level, or joined levels, without percent-encoding."""
    return _ESCAPE.sub(lambda found: "%" if found[1] == "25" else ".", text)


def servable(level: str) -> bool:
    """Return whether a level can be part of a URL's path."""
    return level not in ("", ".", "..") and not _UNSERVABLE.search(level)


def segment(levels: Sequence[str], separator: str) -> str:
    """Return levels as one segment of a path, or as the value of a parameter."""
    return separator.join(quote(level, safe="") for level in levels)
