"""Thresholds: what a table must contain, so that a task does anything."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BeforeValidator

from sluicegate.api import TaskResult

_ROWS: Final = re.compile(r"([0-9]{1,18})|([0-9]{1,3}(?:\.[0-9]{1,6})?) ?%")


@dataclass(frozen=True, slots=True)
class RowThreshold:
    """A number of rows, or a percentage of a table's rows. Exactly one of them is set."""

    rows: int | None = None
    percent: float | None = None

    def reached_by(self, rows: int, total: int) -> bool:
        """Whether this many rows of a total are enough."""
        if self.percent is None:
            return rows >= (self.rows or 0)
        return rows > 0 and rows * 100 >= self.percent * total

    def __str__(self) -> str:
        return str(self.rows) if self.percent is None else f"{self.percent:g}%"


def _row_threshold(text: object) -> object:
    if not isinstance(text, str):
        return text
    found = _ROWS.fullmatch(text.strip())
    if found is not None and found[1] is not None and int(found[1]) > 0:
        return RowThreshold(rows=int(found[1]))
    if found is not None and found[2] is not None and 0 < float(found[2]) <= 100:
        return RowThreshold(percent=float(found[2]))
    raise ValueError("expected a number of rows, like 10000, or a part of all rows, like 5%")


Rows = Annotated[RowThreshold, BeforeValidator(_row_threshold)]
"""A `RowThreshold`, written as `10000` or `5%`."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What was found in a table.

    Attributes:
        threshold: How many are enough; `None` if there is no threshold.
    """

    name: str
    found: int
    threshold: object
    reached: bool


def files_measured(
    small: int, deleted: int, rows: int, small_files: int | None, deleted_rows: RowThreshold | None
) -> Sequence[Measured]:
    """Compare what a table's files contain with the thresholds of a compaction."""
    reached = deleted_rows is not None and deleted_rows.reached_by(deleted, rows)
    return (
        Measured("small_files", small, small_files, small >= (small_files or 0)),
        Measured("deleted_rows", deleted, deleted_rows, reached),
    )


def unneeded(measured: Sequence[Measured]) -> TaskResult | None:
    """Return the result of a task that has nothing to do; `None` if it has."""
    limited = [each for each in measured if each.threshold is not None]
    if not limited or any(each.reached for each in limited):
        return None
    found = ", ".join(f"{each.name} {each.found} of {each.threshold}" for each in limited)
    return TaskResult(
        f"the table does not need this task yet: {found}",
        further={each.name: each.found for each in measured},
    )
