"""Keeps Arrow from importing pandas, which the gateway does not use."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

import pyarrow as pa


def keep_pandas_unloaded() -> None:
    """Let Arrow look for pandas now, without success.

    If pandas is installed, the first call of `pyarrow.array` imports it, to recognize its types. That
    takes longer than the entire rest of a first query. Conversions such as `to_pandas` still work,
    because they import pandas themselves.
    """
    if "pandas" in sys.modules:
        return
    finder = _WithoutPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(finder)


class _WithoutPandas(MetaPathFinder):
    """Hides pandas from the imports of the current thread."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == "pandas" and threading.get_ident() == self._thread:
            raise ModuleNotFoundError("hidden from Arrow", name=fullname)
        return None
