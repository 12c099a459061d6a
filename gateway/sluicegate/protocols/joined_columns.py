"""Joins columns of texts into lines or JSON, in which most of the text is the same for each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JoinedColumns:
    """Columns of texts, from which the lines of many files are joined at once."""

    between: tuple[bytes, ...]
    texts: tuple[Sequence[bytes], ...] = ()

    @classmethod
    def of(cls, *texts: Sequence[bytes]) -> JoinedColumns:
        """Columns with nothing between them."""
        return cls((b"",) * (len(texts) + 1), texts)

    def __add__(self, other: JoinedColumns) -> JoinedColumns:
        """These columns, and others after them."""
        seam = self.between[-1] + other.between[0]
        return JoinedColumns((*self.between[:-1], seam, *other.between[1:]), self.texts + other.texts)

    def joined(self) -> bytes:
        """The lines. There is at least one column."""
        width, rows = 2 * len(self.texts) + 1, len(self.texts[0])
        parts = [b""] * (width * rows)
        for place, text in enumerate(self.between):
            parts[2 * place :: width] = [text] * rows
        for place, column in enumerate(self.texts):
            parts[2 * place + 1 :: width] = column
        return b"".join(parts)
