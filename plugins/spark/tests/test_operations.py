"""The operations of the executor are found, whatever was imported before."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import importlib, pkgutil
import sluicegate_spark

for module in pkgutil.walk_packages(sluicegate_spark.__path__, "sluicegate_spark."):
    if module.name.count(".") > 1:  # the modules of packages; others import the operations
        importlib.import_module(module.name)

from sluicegate_spark.operations import OPERATIONS

print([name for name, operation in OPERATIONS.items() if not callable(operation)])
"""


def test_no_module_replaces_an_operation() -> None:
    ran = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
