"""Names between backticks in a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^ *(```|~~~).*?^ *\1|<!--.*?-->", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
# What an old name is now, or that nothing has it any longer, next to the old name.
_REPLACED = re.compile(r"\s(?:\(now\s`|\(no\slonger\sexists\b|is\snow\s(?:called\s)?`)")
# Options of a decision that were not chosen never existed.
_OPTIONS = re.compile(r"^\*\*Options\.\*\*.*?^(?=\*\*Decision)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Span:
    """A text between backticks."""

    text: str
    line: int


def spans(page: Path) -> Iterator[Span]:
    """Spans of a page outside of code blocks, except names that the page calls old.

    The options in a decision record are left out.
    """
    text = page.read_text(encoding="utf-8")
    for left_out in (_FENCE, _OPTIONS):
        text = left_out.sub(lambda found: "\n" * found[0].count("\n"), text)
    for found in _SPAN.finditer(text):
        if not _REPLACED.match(text, found.end()):
            yield Span(" ".join(found[2].split()), text.count("\n", 0, found.start()) + 1)
