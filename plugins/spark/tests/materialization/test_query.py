"""The check of plans, without Spark. `tests/spark` checks queries."""

from __future__ import annotations

from typing import Any

import pytest

from sluicegate.api import TaskFailed
from sluicegate_spark.materialization.query import check_plan

_PLANS = "org.apache.spark.sql.catalyst.plans.logical"
_ANALYSIS = "org.apache.spark.sql.catalyst.analysis"


def relation(name: str) -> dict[str, Any]:
    return {"class": f"{_ANALYSIS}.UnresolvedRelation", "multipartIdentifier": name}


@pytest.mark.parametrize("name", ["[orders]", "[ORDERS]"])
def test_a_source_is_allowed(name: str) -> None:
    check_plan([relation(name)], frozenset({"orders"}))


@pytest.mark.parametrize(
    "node",
    [
        relation("[other]"),
        relation("[delta, /etc]"),
        relation("[orders, orders]"),
        {"class": f"{_PLANS}.Project", "child": 0, "list": [[{"plan": [relation("[other]")]}]]},
        {"class": f"{_PLANS}.FileScanOfTomorrow"},
        {"class": "org.apache.spark.sql.execution.datasources.Project"},
        {"class": "com.example.Project"},
        {"class": f"{_ANALYSIS}.UnresolvedFunction", "nameParts": "[reflect]"},
        {"class": f"{_ANALYSIS}.UnresolvedFunction", "nameParts": "[x, upper]"},
        {"class": f"{_ANALYSIS}.UnresolvedAttribute", "nameParts": "[current_date]"},
    ],
)
def test_anything_else_is_refused(node: dict[str, Any]) -> None:
    with pytest.raises(TaskFailed):
        check_plan([node], frozenset({"orders"}))
