"""Draws numbers as horizontal bars of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shutil import get_terminal_size
from typing import Final, TextIO

from sluicegate._util.printable import printable

_BLOCKS: Final = " ▏▎▍▌▋▊▉█"
_ASCII: Final = " #"
_SHORTEST: Final = 10
_LONGEST: Final = 100
_LONGEST_TITLE: Final = 60


def bar_chart(rows: Sequence[tuple[str, int]], width: int, steps: str = _BLOCKS) -> Iterator[str]:
    """A line for each row: its title, its bar, and its number. The largest number fills the width.

    Invisible characters of titles are escaped, and long titles are shortened.
    """
    titles = [_shortened(printable(title)) for title, _ in rows]
    numbers = [f"{number:,}" for _, number in rows]
    largest = max((number for _, number in rows), default=0)
    widest, digits = max(map(len, titles), default=0), max(map(len, numbers), default=0)
    cells = min(_LONGEST, max(_SHORTEST, width - widest - digits - 4))
    for title, (_, number), text in zip(titles, rows, numbers, strict=True):
        yield f"{title:<{widest}}  {_bar(number, largest, cells, steps):<{cells}}  {text:>{digits}}"


def steps_for(output: TextIO) -> str:
    """The characters that an output can show."""
    try:
        _BLOCKS.encode(output.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return _ASCII
    return _BLOCKS


def terminal_width() -> int:
    """Columns of the terminal; 80 without one."""
    return get_terminal_size().columns


def _bar(number: int, largest: int, cells: int, steps: str) -> str:
    parts = len(steps) - 1
    # A number above zero is never invisible.
    filled = max(1, number * cells * parts // largest) if number else 0
    full, rest = divmod(filled, parts)
    return steps[-1] * full + (steps[rest] if rest else "")


def _shortened(title: str) -> str:
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"
