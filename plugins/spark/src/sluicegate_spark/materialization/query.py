"""Runs the query of a copy, which can read nothing but its sources.

The query is the operator's, but it is confined: a mistake in it must not share another table, and a
copy must depend on its sources alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from sluicegate_spark.cluster.cores import is_connect
from sluicegate_spark.materialization.failures import unfit
from sluicegate_spark.materialization.plan_walk import elements, plan_nodes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
