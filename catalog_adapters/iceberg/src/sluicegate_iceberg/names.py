"""Names of namespaces and tables: one text in the gateway, path segments in the catalog's URLs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

_ESCAPED = {"%": "%25", ".": "%2E"}
_TO_ESCAPE = re.compile(r"[%.]")
_ESCAPE = re.compile(r"%(25|2[Ee])")
# Separators of levels (0x1F by default) and other control characters are in no name.
_UNSERVABLE = re.compile(r"[\x00-\x1f\x7f]")

Levels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableName:
    """A table in a catalog: the levels of its namespace, and its own name."""

    namespace: Levels
    name: str

    @classmethod
    def parse(cls, identifier: str) -> TableName:
        """The table that an identifier names, as `joined` writes it.

        Raises:
            ValueError: It names no table: there is no namespace, or an empty or impossible level.
        """
        *namespace, name = parse_levels(identifier)
        if not namespace:
            raise ValueError("the table's identifier needs a namespace: namespace.table")
        return cls(tuple(namespace), name)

    def __str__(self) -> str:
        """The identifier."""
        return joined((*self.namespace, self.name))


def joined(levels: Sequence[str]) -> str:
    """Levels with dots between them; a dot or percent sign of a level itself is percent-encoded."""
    return ".".join(_TO_ESCAPE.sub(lambda found: _ESCAPED[found[0]], level) for level in levels)


def parse_levels(text: str) -> Levels:
    """The levels that `joined` was given.

    Raises:
        ValueError: A level is empty, or none that a catalog could have.
    """
    levels = tuple(
        _ESCAPE.sub(lambda found: "%" if found[1] == "25" else ".", part) for part in text.split(".")
    )
    if not all(map(servable, levels)):
        raise ValueError("a name is empty, is '.' or '..', or holds control characters")
    return levels


def servable(level: str) -> bool:
    """Whether a level can be named in a URL's path."""
    return level not in ("", ".", "..") and not _UNSERVABLE.search(level)


def segment(levels: Sequence[str], separator: str) -> str:
    """Levels as one segment of a path, or value of a parameter.

    Args:
        levels: Of a namespace; a table's name is one level.
        separator: What the catalog puts between them, percent-encoded.
    """
    return separator.join(quote(level, safe="") for level in levels)
