"""Truth values of a condition for many files at once.

A file has many rows. A condition therefore has two values: whether it can be true for some row, and
whether it can be false for some row. For rows where it is null, it is neither. This makes `NOT`
correct.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api.conditions.expressions import Constant, Operator
from sluicegate.tables.derived_columns import DerivedColumns
from sluicegate.tables.predicates.bounds import Bounds, file_bounds, partition_bounds
from sluicegate.tables.predicates.columns import TableColumn
from sluicegate.tables.predicates.values import Span
from sluicegate.tables.snapshot import FileChunk

_Mask: TypeAlias = Any  # pa.BooleanArray, or a pa.BooleanScalar if all files have the same value

# From this many literals on, searching each file's bounds among them is cheaper than comparing.
SEARCHED_LITERALS = 64


@dataclass(frozen=True, slots=True)
class Truth:
    """The possible truth values of a condition, for each file."""

    can_be_true: _Mask
    can_be_false: _Mask

    @classmethod
    def of(cls, constant: Constant) -> Truth:
        """The same value for all files."""
        return cls(pa.scalar(constant.can_be_true), pa.scalar(constant.can_be_false))

    def __and__(self, other: Truth) -> Truth:
        return Truth(
            pc.and_(self.can_be_true, other.can_be_true),
            pc.or_(self.can_be_false, other.can_be_false),
        )

    def __or__(self, other: Truth) -> Truth:
        return Truth(
            pc.or_(self.can_be_true, other.can_be_true),
            pc.and_(self.can_be_false, other.can_be_false),
        )

    def __invert__(self) -> Truth:
        return Truth(self.can_be_false, self.can_be_true)

    def taken(self, rows: pa.Array) -> Truth:
        """Expand values per partition to values per file."""
        return Truth(self.can_be_true.take(rows), self.can_be_false.take(rows))

    def unless(self, unclear: _Mask) -> Truth:
        """The same, but unknown for the files in a mask."""
        return Truth(pc.or_(self.can_be_true, unclear), pc.or_(self.can_be_false, unclear))


def is_null(bounds: Bounds) -> Truth:
    """Whether values are null."""
    return Truth(bounds.has_null, bounds.has_value)


def compare(operator: Operator, bounds: Bounds, literals: Sequence[Span]) -> Truth:
    """Whether values compare to a literal in this way, or for `EQUAL` to one of several."""
    if operator is Operator.EQUAL:
        can_be_true, can_be_false = _equal(bounds, literals)
    else:
        can_be_true, can_be_false = _ORDERS[operator](bounds, literals[0])
    if bounds.has_nan:
        # For Spark, NaN is larger than all numbers. For others, no comparison with it is true.
        can_be_false = pa.scalar(True)
        if operator in (Operator.GREATER, Operator.GREATER_OR_EQUAL):
            can_be_true = pa.scalar(True)
    return Truth(pc.and_(can_be_true, bounds.has_value), pc.and_(can_be_false, bounds.has_value))


def outside(bounds: Bounds, values: range) -> pa.BooleanArray:
    """Whether values can be outside a range."""
    inside = pc.and_kleene(
        pc.greater_equal(bounds.low, values.start), pc.less(bounds.high, values.stop)
    )
    return pc.invert(pc.fill_null(inside, False))


def _less(bounds: Bounds, literal: Span) -> tuple[_Mask, _Mask]:
    low, high = _scalars(bounds, literal)
    return _maybe(pc.less(bounds.low, high)), _maybe(pc.greater_equal(bounds.high, low))


def _less_or_equal(bounds: Bounds, literal: Span) -> tuple[_Mask, _Mask]:
    low, high = _scalars(bounds, literal)
    return _maybe(pc.less_equal(bounds.low, high)), _maybe(pc.greater(bounds.high, low))


def _greater(bounds: Bounds, literal: Span) -> tuple[_Mask, _Mask]:
    return _less_or_equal(bounds, literal)[::-1]


def _greater_or_equal(bounds: Bounds, literal: Span) -> tuple[_Mask, _Mask]:
    return _less(bounds, literal)[::-1]


_ORDERS: Mapping[Operator, Callable[[Bounds, Span], tuple[_Mask, _Mask]]] = {
    Operator.LESS: _less,
    Operator.LESS_OR_EQUAL: _less_or_equal,
    Operator.GREATER: _greater,
    Operator.GREATER_OR_EQUAL: _greater_or_equal,
}


def _equal(bounds: Bounds, literals: Sequence[Span]) -> tuple[_Mask, _Mask]:
    if len(literals) >= SEARCHED_LITERALS:
        return _equal_by_search(bounds, literals)
    can_be_true: _Mask = pa.scalar(False)
    can_be_false: _Mask = pa.scalar(True)
    for literal in literals:
        low, high = _scalars(bounds, literal)
        overlaps = pc.and_(
            _maybe(pc.less_equal(bounds.low, high)), _maybe(pc.greater_equal(bounds.high, low))
        )
        can_be_true = pc.or_(can_be_true, overlaps)
        if literal[0] == literal[1]:
            is_it = pc.and_(pc.equal(bounds.low, low), pc.equal(bounds.high, low))
            can_be_false = pc.and_not(can_be_false, pc.fill_null(is_it, False))
    return can_be_true, can_be_false


def _equal_by_search(bounds: Bounds, literals: Sequence[Span]) -> tuple[_Mask, _Mask]:
    """The same result as comparing each, from the first literal that a file's bounds can reach."""
    lows, highs = zip(*_disjoint(literals), strict=True)
    can_be_true, can_be_false = [], []
    for low, high in zip(bounds.low.to_pylist(), bounds.high.to_pylist(), strict=True):
        first = 0 if low is None else bisect_left(highs, low)
        reached = first < len(highs) and (high is None or lows[first] <= high)
        can_be_true.append(reached)
        can_be_false.append(not (reached and low == high == lows[first] == highs[first]))
    return pa.array(can_be_true, pa.bool_()), pa.array(can_be_false, pa.bool_())


def _disjoint(spans: Sequence[Span]) -> list[Span]:
    """The spans in order, with overlapping ones merged."""
    joined: list[Span] = []
    for low, high in sorted(spans):
        if joined and low <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(high, joined[-1][1])
        else:
            joined.append((low, high))
    return joined


def _scalars(bounds: Bounds, literal: Span) -> tuple[pa.Scalar, pa.Scalar]:
    domain = bounds.low.type
    return pa.scalar(literal[0], domain), pa.scalar(literal[1], domain)


def _maybe(mask: pa.BooleanArray) -> pa.BooleanArray:
    return pc.fill_null(mask, True)


class Evidence(ABC):
    """Bounds of the columns that a predicate refers to, for files or for groups of files."""

    @abstractmethod
    def truth(self, column: TableColumn, test: Callable[[Bounds], Truth]) -> Truth:
        """The result of a test of a column's values, for each file or group."""


class FileEvidence(Evidence):
    """Bounds of one chunk of files. Statistics are read on demand.

    Args:
        known: Bounds of some of the columns, which are not read from the statistics again.
    """

    def __init__(
        self,
        chunk: FileChunk,
        derived: DerivedColumns,
        columns: Collection[TableColumn],
        known: Mapping[TableColumn, Bounds] | None = None,
    ) -> None:
        self._partitions = chunk.plain.column("partition_values")
        self._stats = chunk.stats
        self._derived = derived
        self._bounds: dict[TableColumn, Bounds] = dict(known or {})
        self._columns = [column for column in columns if column not in self._bounds]

    def truth(self, column: TableColumn, test: Callable[[Bounds], Truth]) -> Truth:
        """The result of a test of a column's values for each file; partitions are tested once."""
        if column not in self._bounds:
            self._bounds |= self._read(column.is_partition)
        truth = test(self._bounds[column])
        return truth.taken(self._partitions.indices) if column.is_partition else truth

    def _read(self, partitions: bool) -> Mapping[TableColumn, Bounds]:
        """Bounds of all columns of one kind, because each text is then parsed only once."""
        columns = [column for column in self._columns if column.is_partition is partitions]
        if partitions:
            bounds = partition_bounds(self._derived, self._partitions.dictionary, columns)
        else:
            bounds = file_bounds(self._derived, self._stats, columns)
        return dict(zip(columns, bounds, strict=True))
