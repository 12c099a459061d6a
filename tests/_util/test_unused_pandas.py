"""Arrow does not import pandas in the gateway, and works with it for those who import it."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from sluicegate._util.unused_pandas import keep_pandas_unloaded

WITHOUT = """
import sys
from sluicegate._util.unused_pandas import keep_pandas_unloaded
keep_pandas_unloaded()
import pyarrow as pa
pa.array(["a"]), pa.array([[1]]), pa.scalar(1)
assert "pandas" not in sys.modules
"""
THEN = """
assert pa.table({"a": [1]}).to_pandas().shape == (1, 1)
import pandas as pd
assert pa.array(pd.Series([1, None], dtype="Int64")).null_count == 1
assert pa.array(pd.array(["a"], dtype="category")).type == pa.dictionary(pa.int8(), pa.string())
"""
READERS = """
import sys
import {module}
import pyarrow as pa
pa.array(["a"])
assert "pandas" not in sys.modules
"""


def run(code: str) -> None:
    pytest.importorskip("pandas")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_arrays_do_not_import_pandas() -> None:
    run(WITHOUT)


def test_whoever_imports_pandas_can_convert_to_it_and_from_it() -> None:
    run(WITHOUT + THEN)


@pytest.mark.parametrize(
    "module",
    ["sluicegate.formats", "sluicegate.tables.delta", "sluicegate.protocols.delta_sharing.pipeline"],
)
def test_reading_tables_does_not_import_pandas(module: str) -> None:
    run(READERS.format(module=module))


def test_pandas_stays_loaded_where_it_is_loaded() -> None:
    pandas = import_module("pandas")
    keep_pandas_unloaded()
    assert sys.modules["pandas"] is pandas
    assert import_module("pandas") is pandas
