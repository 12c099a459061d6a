"""Runs the query of a copy, which can read nothing but its sources.

The query is the operator's, but it is confined: a mistake in it must not share another table, and a
copy must depend on its sources alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from sluicegate_spark.cluster import is_connect
from sluicegate_spark.materialization.failures import unfit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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


# Names of Spark's classes are its own. A class that is not listed is refused, so that a new version of
# Spark cannot add a way to read something else.
_PLANS: Final = frozenset(
    {
        "Aggregate",
        "Distinct",
        "Except",
        "Filter",
        "GlobalLimit",
        "Intersect",
        "Join",
        "LocalLimit",
        "OneRowRelation",
        "Project",
        "Sort",
        "SubqueryAlias",
        "Union",
        "UnresolvedHaving",
        "UnresolvedInlineTable",
        "UnresolvedRelation",
        "UnresolvedSubqueryColumnAliases",
        "Window",
        "GroupingSets",
        "Qualify",
    }
)
_EXPRESSIONS: Final = frozenset(
    {
        "Add",
        "Alias",
        "And",
        "Between",
        "BitwiseAnd",
        "BitwiseNot",
        "BitwiseOr",
        "BitwiseXor",
        "CaseWhen",
        "Cast",
        "Ascending",
        "Descending",
        "Divide",
        "EqualNullSafe",
        "EqualTo",
        "Exists",
        "GreaterThan",
        "GreaterThanOrEqual",
        "If",
        "In",
        "InSubquery",
        "IntegralDivide",
        "IsFalse",
        "IsNotNull",
        "IsNull",
        "IsTrue",
        "LessThan",
        "LessThanOrEqual",
        "Like",
        "ListQuery",
        "Literal",
        "Multiply",
        "Not",
        "Or",
        "Remainder",
        "RLike",
        "ScalarSubquery",
        "SortOrder",
        "SpecifiedWindowFrame",
        "Subtract",
        "UnaryMinus",
        "UnaryPositive",
        "UnresolvedAlias",
        "UnresolvedAttribute",
        "UnresolvedExtractValue",
        "UnresolvedFunction",
        "UnresolvedNamedLambdaVariable",
        "UnresolvedOrdinal",
        "UnresolvedStar",
        "UnresolvedWindowExpression",
        "UnspecifiedFrame",
        "WindowExpression",
        "WindowSpecDefinition",
    }
)
# Deterministic functions that read only their arguments.
_NAMES: Final = """
    abs any array_contains avg between bool_and bool_or ceil ceiling char_length coalesce concat
    concat_ws contains count date date_add date_diff date_format date_sub date_trunc datediff day
    dayofmonth dayofweek dayofyear dense_rank endswith every extract floor greatest hour if ifnull
    initcap instr lag last_day lead least left length locate lower lpad ltrim make_date max max_by
    min min_by minute mod month months_between named_struct nullif nvl nvl2 position pow power
    quarter rank regexp_extract regexp_replace replace right round row_number rpad rtrim second
    sha2 sign some split sqrt startswith stddev struct substr substring sum to_date to_timestamp
    translate trim trunc try_cast try_divide upper weekofyear when year
"""
FUNCTIONS: Final = frozenset(_NAMES.split())
# Functions that Spark calls without parentheses, and that depend on the session.
_WITHOUT_PARENTHESES: Final = frozenset(
    (
        "current_catalog",
        "current_database",
        "current_date",
        "current_schema",
        "current_time",
        "current_timestamp",
        "current_user",
        "localtimestamp",
        "session_user",
        "user",
    )
)
_WITH: Final = "org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith"
_FILES: Final = "spark.sql.runSQLOnFiles"


def query_rows(spark: SparkSession, query: str, sources: Mapping[str, DataFrame]) -> DataFrame:
    """Return the result of a query."""
    from pyspark.errors import ParseException

    if is_connect(spark):
        raise unfit("queries are not possible with Spark Connect, which does not show their plan")
    jvm: Any = spark._jsparkSession
    try:
        plan = jvm.sessionState().sqlParser().parsePlan(query)
    except ParseException as error:
        raise unfit("Spark can't parse its query") from error
    check_plan(plan, frozenset(map(str.lower, sources)))
    for name, frame in sources.items():
        frame.createOrReplaceTempView(name)
    # Also names such as parquet.`/path` are no tables now.
    spark.conf.set(_FILES, "false")
    try:
        return spark.sql(query)
    finally:
        spark.conf.set(_FILES, "true")


def check_plan(plan: Any, sources: frozenset[str]) -> None:
    """Ensure that a plan, which Spark parsed but not resolved, reads only the sources."""
    named = sources
    if plan.getClass().getName() == _WITH:
        # A common table can name only earlier ones. Spark looks for others among its own tables.
        for each in elements(plan.cteRelations()):
            _check_part(each._2(), named)
            named |= {str(each._1()).lower()}
        plan = plan.child()
    _check_part(plan, named)


def _check_part(part: Any, named: frozenset[str]) -> None:
    for name, node in plan_nodes(part, _PLANS | _EXPRESSIONS):
        if name == "UnresolvedRelation":
            parts = _parts(node.multipartIdentifier())
            if len(parts) != 1 or parts[0].lower() not in named:
                known = ", ".join(sorted(named))
                raise unfit(f"'{'.'.join(parts)}' is not one of the sources of its query: {known}")
        if name == "UnresolvedAttribute" and _names_session(parts := _parts(node.nameParts())):
            raise unfit(f"'{parts[0]}' is not a column; put its table before its name")
        if name == "UnresolvedFunction":
            parts = _parts(node.nameParts())
            if len(parts) != 1 or parts[0].lower() not in FUNCTIONS:
                raise unfit(f"the function '{'.'.join(parts)}' is not allowed in its query")


def _names_session(parts: list[str]) -> bool:
    """Return whether Spark would take a name for a function, if no column has it."""
    return len(parts) == 1 and parts[0].lower() in _WITHOUT_PARENTHESES


def _parts(names: Any) -> list[str]:
    return [str(each) for each in elements(names)]
