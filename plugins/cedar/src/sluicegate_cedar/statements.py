"""Finds where each policy of a text begins, because messages of Cedar contain no positions.

Source: Cedar, "Grammar". A policy ends with a semicolon, which occurs nowhere else but in strings and
comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_TOKEN: Final = re.compile(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"|;|[^\s";/]+|\S')


@dataclass(frozen=True, slots=True)
class Statement:
    """A policy in a text, and the number of its first line, from 1."""

    text: str
    line: int


def statements(text: str) -> Iterator[Statement]:
    """Yield the policies of a text, and what remains after the last semicolon."""
    start: int | None = None
    line, counted = 1, 0
    for token in _TOKEN.finditer(text):
        if token[0].startswith("//"):
            continue
        if start is None:
            start = token.start()
            line += text.count("\n", counted, start)
            counted = start
        if token[0] == ";":
            yield Statement(text[start : token.end()], line)
            start = None
    if start is not None:
        yield Statement(text[start:], line)
