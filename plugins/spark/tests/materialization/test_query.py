"""The check of plans, with objects that are like those of py4j. `tests/spark` checks queries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sluicegate.api import TaskFailed
from sluicegate_spark.materialization.query import check_plan

_CATALYST = "org.apache.spark.sql.catalyst"
_PLANS = f"{_CATALYST}.plans.logical"
_ANALYSIS = f"{_CATALYST}.analysis"
_LIST = "scala.collection.immutable.$colon$colon"
_MAP = "scala.collection.immutable.Map$Map1"


class Java:
    """An object of Java: its class, its constructor's arguments, and its methods."""

    def __init__(self, kind: str, *arguments: Any, **methods: Any) -> None:
        self.kind = kind
        self.arguments = arguments
        self.methods = methods

    def getClass(self) -> Java:  # noqa: N802 # as in Java
        return Java("java.lang.Class", getName=self.kind)

    def iterator(self) -> JavaIterator:
        assert self.kind.startswith("scala.collection."), self.kind
        return JavaIterator(iter(self.arguments))

    def productIterator(self) -> JavaIterator:  # noqa: N802 # as in Java
        return JavaIterator(iter(self.arguments))

    def __getattr__(self, name: str) -> Any:
        return lambda: self.methods[name]


class JavaIterator:
    def __init__(self, values: Iterator[Any]) -> None:
        self._values = list(values)

    def hasNext(self) -> bool:  # noqa: N802 # as in Java
        return bool(self._values)

    def next(self) -> Any:
        return self._values.pop(0)


def named(kind: str, method: str, *parts: str) -> Java:
    names = Java(_LIST, *parts)
    return Java(f"{_ANALYSIS}.{kind}", names, **{method: names})


def relation(*parts: str) -> Java:
    return named("UnresolvedRelation", "multipartIdentifier", *parts)


def project(*expressions: Any) -> Java:
    return Java(f"{_PLANS}.Project", Java(_LIST, *expressions), relation("orders"))


def common(name: str, plan: Java) -> Java:
    return Java("scala.Tuple3", name, plan, _1=name, _2=plan)


def with_common(plan: Java, *tables: Java) -> Java:
    listed = Java(_LIST, *tables)
    return Java(f"{_PLANS}.UnresolvedWith", plan, listed, False, child=plan, cteRelations=listed)


@pytest.mark.parametrize(
    "plan",
    [
        relation("orders"),
        relation("ORDERS"),
        project(1, "text", 1.5, True, None, b"bytes"),
        project(Java(f"{_CATALYST}.expressions.Literal", 1, Java("org.apache.spark.sql.types.X"))),
        project(Java("scala.Some", named("UnresolvedFunction", "nameParts", "Upper"))),
        with_common(relation("first"), common("First", relation("orders"))),
        with_common(relation("b"), common("a", relation("orders")), common("b", relation("A"))),
        Java(
            f"{_ANALYSIS}.UnresolvedRelation",
            Java("org.apache.spark.sql.util.CaseInsensitiveStringMap", isEmpty=True),
            multipartIdentifier=Java(_LIST, "orders"),
        ),
    ],
)
def test_a_source_is_allowed(plan: Java) -> None:
    check_plan(plan, frozenset({"orders"}))


OTHER = relation("other")
REFLECTION = named("UnresolvedFunction", "nameParts", "reflect")


@pytest.mark.parametrize(
    "plan",
    [
        OTHER,
        REFLECTION,
        relation("delta", "/etc"),
        relation("orders", "orders"),
        named("UnresolvedFunction", "nameParts", "x", "upper"),
        named("UnresolvedAttribute", "nameParts", "current_date"),
        Java(f"{_PLANS}.FileScanOfTomorrow"),
        Java(f"{_PLANS}.WithWindowDefinition", Java(_MAP), relation("orders"), False),
        Java("org.apache.spark.sql.execution.datasources.Project"),
        Java("com.example.Project"),
        Java("scala.Function1"),
        Java("java.util.ArrayList"),
        with_common(relation("a"), common("a", relation("b")), common("b", relation("orders"))),
        with_common(relation("a"), common("a", relation("a"))),
        Java(
            f"{_ANALYSIS}.UnresolvedRelation",
            Java("org.apache.spark.sql.util.CaseInsensitiveStringMap", isEmpty=False),
            multipartIdentifier=Java(_LIST, "orders"),
        ),
    ],
)
def test_anything_else_is_refused(plan: Java) -> None:
    with pytest.raises(TaskFailed):
        check_plan(plan, frozenset({"orders"}))
    with pytest.raises(TaskFailed):
        check_plan(project(plan), frozenset({"orders"}))


@pytest.mark.parametrize("hidden", [OTHER, REFLECTION, Java("scala.Function1")])
@pytest.mark.parametrize(
    "holder",
    [
        "scala.Some",
        "scala.Tuple2",
        "scala.collection.immutable.Vector1",
        "scala.collection.mutable.ArrayBuffer",
        f"{_CATALYST}.expressions.WindowSpecDefinition",
        f"{_CATALYST}.plans.UsingJoin",
    ],
)
def test_whatever_holds_it_is_looked_into(hidden: Java, holder: str) -> None:
    within_map = Java(_MAP, Java("scala.Tuple2", "w", Java(holder, 1, hidden)))
    for plan in (project(Java(holder, hidden)), project(within_map)):
        with pytest.raises(TaskFailed, match=r"not allowed|not one of"):
            check_plan(plan, frozenset({"orders"}))


def test_a_deep_plan_is_checked() -> None:
    plan = REFLECTION
    for _ in range(5_000):
        plan = Java(f"{_CATALYST}.expressions.Add", 1, plan)
    with pytest.raises(TaskFailed, match="'reflect' is not allowed"):
        check_plan(project(plan), frozenset({"orders"}))
