"""Visits all objects of a plan that Spark parsed, and refuses those that it doesn't know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sluicegate_spark.materialization.failures import unfit

_CATALYST: Final = "org.apache.spark.sql.catalyst."
_COLLECTIONS: Final = "scala.collection."
# Types of columns. They consist of other types only.
_TYPES: Final = "org.apache.spark.sql.types."
_PRODUCTS: Final = frozenset(
    {
        "org.apache.spark.sql.catalyst.AliasIdentifier",
        "org.apache.spark.sql.catalyst.expressions.ExprId",
        "org.apache.spark.sql.catalyst.expressions.NumericEvalContext",
        "org.apache.spark.sql.catalyst.plans.NaturalJoin",
        "org.apache.spark.sql.catalyst.plans.UsingJoin",
        "org.apache.spark.sql.catalyst.plans.logical.JoinHint",
        "scala.Some",
        "scala.Tuple2",
        "scala.Tuple3",
    }
)
_VALUES: Final = frozenset(
    {
        "java.util.UUID",
        "org.apache.spark.sql.catalyst.expressions.NullsFirst$",
        "org.apache.spark.sql.catalyst.expressions.NullsLast$",
        "org.apache.spark.sql.catalyst.expressions.RangeFrame$",
        "org.apache.spark.sql.catalyst.expressions.RowFrame$",
        "org.apache.spark.sql.catalyst.plans.Cross$",
        "org.apache.spark.sql.catalyst.plans.FullOuter$",
        "org.apache.spark.sql.catalyst.plans.Inner$",
        "org.apache.spark.sql.catalyst.plans.LeftAnti$",
        "org.apache.spark.sql.catalyst.plans.LeftOuter$",
        "org.apache.spark.sql.catalyst.plans.LeftSemi$",
        "org.apache.spark.sql.catalyst.plans.RightOuter$",
        "org.apache.spark.unsafe.types.CalendarInterval",
        "org.apache.spark.unsafe.types.UTF8String",
        "scala.Enumeration$Val",
        "scala.None$",
    }
)
_OPTIONS: Final = "org.apache.spark.sql.util.CaseInsensitiveStringMap"
# Java's primitive types, which py4j converts, and null.
_CONVERTED: Final = (bool, int, float, str, bytes, bytearray, type(None))


def plan_nodes(plan: Any, allowed: frozenset[str]) -> Iterator[tuple[str, Any]]:
    """Yield the nodes of a plan, with their names: plans and expressions, wherever they are.

    `TreeNode.toJSON` leaves out what it can't represent, for example maps. So this visits all arguments
    of all constructors.
    """
    waiting = [plan]
    while waiting:
        found = waiting.pop()
        if isinstance(found, _CONVERTED):
            continue
        name = str(found.getClass().getName())
        if name.startswith(_COLLECTIONS):
            waiting += reversed(list(elements(found)))
        elif name in _PRODUCTS:
            waiting += reversed(list(_arguments(found)))
        elif name == _OPTIONS:
            if not found.isEmpty():
                raise unfit("options of a table are not allowed in its query")
        elif name not in _VALUES and not name.startswith(_TYPES):
            node = name.rpartition(".")[2].removesuffix("$")
            if not name.startswith(_CATALYST) or node not in allowed:
                raise unfit(f"'{node}' is not allowed in its query")
            yield node, found
            waiting += reversed(list(_arguments(found)))


def elements(collection: Any) -> Iterator[Any]:
    """The elements of a collection of Scala. Those of a map are pairs."""
    return _drained(collection.iterator())


def _arguments(product: Any) -> Iterator[Any]:
    return _drained(product.productIterator())


def _drained(iterator: Any) -> Iterator[Any]:
    while iterator.hasNext():
        yield iterator.next()
