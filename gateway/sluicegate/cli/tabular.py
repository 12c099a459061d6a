"""Aligns text in columns for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sluicegate._util.printable import printable


def columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The header and rows as lines with aligned columns. The last column is not padded.

    Invisible characters are escaped.
    """
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[index]) for row in (header, *rows)) for index in range(len(header) - 1)]
    for row in (header, *rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  ".join((*cells, row[-1])).rstrip()
