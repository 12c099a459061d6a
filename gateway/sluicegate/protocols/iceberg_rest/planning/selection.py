"""Selects the files of a plan: partitions are decided exactly, the rest is pruned by statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sluicegate.api.conditions import (
    And,
    Column,
    Comparison,
    Expression,
    IsNull,
    Literal,
    Not,
    Operator,
    Or,
)
from sluicegate.api.conditions.expressions import UNKNOWN
from sluicegate.api.errors import InvalidRequest, UnsupportedOperation
from sluicegate.protocols.iceberg_rest.planning.candidates import PlanCandidates
from sluicegate.protocols.iceberg_rest.planning.dialects import Dialect
from sluicegate.protocols.iceberg_rest.planning.expressions import tree
from sluicegate.protocols.iceberg_rest.planning.expressions.columns import Columns
from sluicegate.protocols.iceberg_rest.planning.expressions.decisions import Decisions
from sluicegate.protocols.iceberg_rest.planning.expressions.tree import (
    Op,
    TermTest,
    column_tests,
    expression_json,
)
from sluicegate.protocols.iceberg_rest.planning.expressions.values import (
    date_text,
    kind_of,
    timestamp_text,
)
from sluicegate.protocols.iceberg_rest.planning.partitions import PartitionReader
from sluicegate.protocols.iceberg_rest.planning.request import PlanRequest
from sluicegate.protocols.iceberg_rest.view import TableView
from sluicegate.tables.predicates import Predicate
from sluicegate.tables.snapshot import FileSet

_ORDERS = {
    Op.LESS: Operator.LESS,
    Op.LESS_OR_EQUAL: Operator.LESS_OR_EQUAL,
    Op.GREATER: Operator.GREATER,
    Op.GREATER_OR_EQUAL: Operator.GREATER_OR_EQUAL,
}
_NEGATIONS = (Op.NOT_NULL, Op.NOT_EQUAL, Op.NOT_IN, Op.NOT_STARTS_WITH)
_SURROGATES = range(0xD800, 0xE000)
_LAST_CHARACTER = 0x10FFFF


def predicate_of(expression: tree.Expression, columns: Columns) -> Predicate | None:
    """The predicate by which files are pruned, or `None` if the filter leaves all of them."""
    if isinstance(expression, bool):
        return None
    translated = _condition(expression, columns)
    terms = translated.children if isinstance(translated, And) else (translated,)
    known = tuple(term for term in terms if term != UNKNOWN)
    return Predicate(known) if known else None


def _condition(expression: tree.Expression, columns: Columns) -> Expression:
    match expression:
        case tree.AllOf(children):
            return And(tuple(_condition(child, columns) for child in children))
        case tree.AnyOf(children):
            return Or(tuple(_condition(child, columns) for child in children))
        case TermTest():
            condition = _test(expression, columns)
            negated = expression.op in _NEGATIONS and condition != UNKNOWN
            return Not(condition) if negated else condition
    return UNKNOWN


def _test(test: TermTest, columns: Columns) -> Expression:
    """The condition of a test; of its opposite for those in `_NEGATIONS`."""
    column = columns.find(test.term.name, "filter")
    if test.term.transform is not None or not column.in_structs:
        return UNKNOWN
    named = Column(tuple(field.name for field in column.fields))
    if test.op in (Op.IS_NULL, Op.NOT_NULL):
        return IsNull(named)
    if test.op in (Op.IS_NAN, Op.NOT_NAN) or column.primitive is None:
        return UNKNOWN
    try:
        literals = tuple(_literals(column.primitive, test.literals))
    except ValueError:
        return UNKNOWN
    if not literals:
        return UNKNOWN
    if test.op in (Op.STARTS_WITH, Op.NOT_STARTS_WITH):
        return _starts_with(named, literals[0])
    return Comparison(_ORDERS.get(test.op, Operator.EQUAL), named, literals)


def _starts_with(column: Column, prefix: Literal) -> Expression:
    if prefix.type != "string":
        return UNKNOWN
    at_least = Comparison(Operator.GREATER_OR_EQUAL, column, (prefix,))
    end = _after_all_with(prefix.text)
    if end is None:
        return at_least
    return And((at_least, Comparison(Operator.LESS, column, (Literal(end, "string"),))))


def _after_all_with(prefix: str) -> str | None:
    """The first string after all strings with a prefix. `None` if there is none."""
    stem = prefix.rstrip(chr(_LAST_CHARACTER))
    if not stem:
        return None
    following = ord(stem[-1]) + 1
    return stem[:-1] + chr(_SURROGATES.stop if following in _SURROGATES else following)


def _literals(primitive: str, values: tuple[tree.Json, ...]) -> Iterator[Literal]:
    kind = kind_of(primitive)
    write = _WRITERS.get(primitive.partition("(")[0])
    if kind is None or write is None:
        return
    for value in values:
        yield write(kind.of_literal(value))


def _number(value: Any) -> Literal:
    return Literal(str(value), "long" if isinstance(value, int) else "double")


_WRITERS: dict[str, Callable[[Any], Literal]] = {
    "boolean": lambda value: Literal(str(value).lower(), "bool"),
    "int": _number,
    "long": _number,
    "float": lambda value: Literal(repr(value), "float"),
    "double": lambda value: Literal(repr(value), "double"),
    "decimal": lambda value: Literal(format(value, "f"), "decimal"),
    "string": lambda value: Literal(value, "string"),
    "date": lambda value: Literal(date_text(value), "date"),
    "timestamp": lambda value: Literal(timestamp_text(value, zone=False), "timestamp_ntz"),
    "timestamptz": lambda value: Literal(timestamp_text(value, zone=True), "timestamp"),
}


# About one second of work. Partitions must be decided exactly, so that larger filters are refused.
MAX_DECISIONS = 2_000_000
# JSON of all different residuals of a plan, which are in memory together.
MAX_RESIDUALS_BYTES = 64 << 20
NOTHING_LEFT = b"true"
_NO_PARTITIONS: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TaskSelection:
    """The files of a plan."""

    files: FileSet
    residuals: Mapping[str, bytes]
    default: bytes = NOTHING_LEFT

    def residual(self, partition: str) -> bytes:
        """What is left of the filter in a partition, as JSON."""
        return self.residuals.get(partition, self.default)

    def only(self, files: FileSet) -> TaskSelection:
        """The selection of some of its files."""
        return TaskSelection(files, self.residuals, self.default)

    @property
    def longest(self) -> int:
        """Bytes of the longest residual."""
        return max(map(len, self.residuals.values()), default=len(self.default))


def select(view: TableView, files: PlanCandidates, request: PlanRequest) -> TaskSelection:
    """Select the files that a request needs. Takes too long for the event loop if there is a filter."""
    if request.filter is True:
        return TaskSelection(files.selected(None, None), {})
    columns = Columns(view.shape, case_sensitive=request.case_sensitive)
    decisions = Decisions(request.filter, columns)
    if decisions.places:
        selection = _decided(view, files, decisions, columns, request.filter)
        if len(selection.files):
            _check_selected(view, request, columns)
        return selection
    partitions = _NO_PARTITIONS if request.filter is False else None
    left = files.selected(partitions, predicate_of(request.filter, columns))
    return TaskSelection(left, {}, expression_json(request.filter))


def _check_selected(view: TableView, request: PlanRequest, columns: Columns) -> None:
    """Refuse what PyIceberg reads wrongly: it takes partition columns that are not selected for null.

    Data files of Delta tables do not contain partition columns, those of Iceberg tables do.
    """
    whole = not request.select or view.table.source.format == "iceberg"
    if request.dialect is not Dialect.PYICEBERG or whole:
        return
    selected = {columns.find(name, "select").fields[0].id for name in request.select}
    for test in column_tests(request.filter):
        column = columns.find(test.term.name, "filter")
        if column.place is not None and column.field.id not in selected:
            raise UnsupportedOperation(
                f"PyIceberg cannot filter by {test.term.name!r} without reading it: add the column to "
                "selected_fields"
            )


def _decided(
    view: TableView,
    files: PlanCandidates,
    decisions: Decisions,
    columns: Columns,
    expression: tree.Expression,
) -> TaskSelection:
    """Decide each distinct partition of these files. Others are hidden, or have no files left."""
    texts = files.partitions()
    if decisions.work * len(texts) > MAX_DECISIONS:
        raise InvalidRequest(
            f"filter has {decisions.tests} tests of partition columns, too many for the table's "
            f"{len(texts)} partitions: use 'in' for many values"
        )
    reader = PartitionReader(view.shape)
    decided = {text: decisions.residual(reader.values(text, decisions.places)) for text in texts}
    left = {text: residual for text, residual in decided.items() if residual is not False}
    distinct = {id(residual): residual for residual in left.values()}
    written = _written(distinct)
    residuals = {text: written[id(each)] for text, each in left.items()}
    predicate = None
    if any(residual is not True for residual in distinct.values()):
        (only, *others) = distinct.values()
        predicate = predicate_of(expression if others else only, columns)
    return TaskSelection(files.selected(left.keys(), predicate), residuals)


def _written(residuals: Mapping[int, tree.Expression]) -> dict[int, bytes]:
    """The JSON of each residual."""
    written, left = {}, MAX_RESIDUALS_BYTES
    for key, residual in residuals.items():
        written[key] = expression_json(residual)
        left -= len(written[key])
        if left < 0:
            raise InvalidRequest(
                "filter has many values, and too many different parts of it are left in the table's "
                "partitions: use fewer values, or read fewer partitions"
            )
    return written
