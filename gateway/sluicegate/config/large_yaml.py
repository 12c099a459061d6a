"""Reads large YAML files with libyaml, which is much faster than the reader of YAML 1.2.

libyaml reads YAML 1.1. A text is read only if both versions certainly agree about it, and only texts
without errors, whose messages come from the other reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

Position = tuple[int, int]
Path: TypeAlias = tuple[str, ...]

# Line breaks of YAML 1.1 that are none in YAML 1.2, tabs, whose rules differ, and what one of the
# readers refuses.
_DISPUTED = re.compile("[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]")
# Scalars without quotes that can be numbers, times, constants or a merge key. Others are strings.
_SPECIAL = re.compile(r"[-+.~<=\d]|([tT]rue|TRUE|[fF]alse|FALSE|[nN]ull|NULL)\Z")
_INTEGER = re.compile(r"-?(0|[1-9]\d*)", re.ASCII)
# Strings that begin like numbers: durations such as 30d, and texts with characters as in networks.
_STRING = re.compile(r"\d+[smhdw]\Z|[-+.\d].*[/@,()]")
_CONSTANTS = {"true": True, "false": False, "null": None, "~": None}
_BLOCKS = frozenset("|>")
_DEEPEST = 50


class _Disputed(Exception):  # never leaves this module
    """The text contains something that only the other reader reads."""


class Mark(NamedTuple):
    """Line and column, from 1, of a key and its value. An item of a list is its own key."""

    key: Position
    value: Position


class MarkedData(NamedTuple):
    """The content of a text.

    Attributes:
        data: Plain dictionaries, lists and scalars.
        marks: The positions by the paths of values.
    """

    data: Any
    marks: Mapping[Path, Mark]


def read_marked(text: str) -> MarkedData | None:
    """The content of a text; `None` if the other reader must read it."""
    import yaml

    if not yaml.__with_libyaml__ or _DISPUTED.search(text):
        return None
    try:
        return _Builder().build(yaml.parse(text, Loader=yaml.CLoader))
    except (_Disputed, yaml.YAMLError, ValueError):  # integers can be too long
        return None


@dataclass(slots=True)
class _Open:
    """A mapping or list whose end was not reached."""

    data: dict[str, Any] | list[Any]
    path: Path
    key: str | None = None
    key_at: Position = (1, 1)


@dataclass(slots=True)
class _Builder:
    """Builds data from events, without recursion."""

    marks: dict[Path, Mark] = field(default_factory=dict)
    around: list[_Open] = field(default_factory=list)
    roots: list[Any] = field(default_factory=list)

    def build(self, events: Iterator[Any]) -> MarkedData:
        for event in events:
            _HANDLERS[type(event).__name__](self, event)
        if len(self.roots) != 1:
            raise _Disputed
        return MarkedData(self.roots[0], self.marks)

    def ignore(self, event: Any) -> None:
        pass

    def refuse(self, event: Any) -> None:
        raise _Disputed

    def start_document(self, event: Any) -> None:
        if event.version or event.tags or self.roots:
            raise _Disputed

    def end_document(self, event: Any) -> None:
        if event.explicit:
            raise _Disputed

    def scalar(self, event: Any) -> None:
        # The versions end block scalars differently, and the readers place empty scalars differently.
        if event.anchor or event.tag or event.style in _BLOCKS or not (event.style or event.value):
            raise _Disputed
        inner = self.around[-1] if self.around else None
        value = event.value if event.style else _plain(event.value)
        if inner is not None and isinstance(inner.data, dict) and inner.key is None:
            if not isinstance(value, str) or value in inner.data:
                raise _Disputed
            inner.key, inner.key_at = value, _position(event)
        else:
            self._add(value, event)

    def start(self, event: Any) -> None:
        if event.anchor or event.tag or len(self.around) == _DEEPEST:
            raise _Disputed
        inner = self.around[-1] if self.around else None
        if inner is not None and isinstance(inner.data, dict) and inner.key is None:
            raise _Disputed  # a key that is not a scalar
        data: Any = {} if type(event).__name__ == "MappingStartEvent" else []
        self.around.append(_Open(data, self._add(data, event)))

    def end(self, event: Any) -> None:
        self.around.pop()

    def _add(self, value: Any, event: Any) -> Path:
        at = _position(event)
        if not self.around:
            self.roots.append(value)
            self.marks[()] = Mark(at, at)
            return ()
        inner = self.around[-1]
        if isinstance(inner.data, list):
            path, key_at = (*inner.path, str(len(inner.data))), at
            inner.data.append(value)
        else:
            assert inner.key is not None  # noqa: S101 # `scalar` has set it
            path, key_at = (*inner.path, inner.key), inner.key_at
            inner.data[inner.key] = value
            inner.key = None
        self.marks[path] = Mark(key_at, at)
        return path


_HANDLERS = {
    "StreamStartEvent": _Builder.ignore,
    "StreamEndEvent": _Builder.ignore,
    "DocumentStartEvent": _Builder.start_document,
    "DocumentEndEvent": _Builder.end_document,
    "ScalarEvent": _Builder.scalar,
    "MappingStartEvent": _Builder.start,
    "SequenceStartEvent": _Builder.start,
    "MappingEndEvent": _Builder.end,
    "SequenceEndEvent": _Builder.end,
    "AliasEvent": _Builder.refuse,
}


def _plain(text: str) -> Any:
    """The value of a scalar without quotes."""
    if not _SPECIAL.match(text):
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _STRING.match(text):
        return text
    raise _Disputed


def _position(event: Any) -> Position:
    return event.start_mark.line + 1, event.start_mark.column + 1
