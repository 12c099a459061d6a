from __future__ import annotations

import re

from sluicegate_spark.plugin import sluicegate_register_task_executors


def test_the_plugin_registers_one_executor_with_operations_of_its_own() -> None:
    (kind,) = sluicegate_register_task_executors()
    assert kind.name == "spark"
    assert all(re.fullmatch(r"[A-Z][A-Z0-9_]*", operation) for operation in kind.operations)
