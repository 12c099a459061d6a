"""The earlier path of the conformance kit, which is `sluicegate_testing` in `sluicegate-testing` now.

Each module of the kit can still be imported, with a warning that names its path:
`sluicegate.testing.fakes` is the module `sluicegate_testing.fakes`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

_KIT = "sluicegate_testing"
__path__: list[str] = []  # a package, whose modules `_EarlierPaths` finds


class _EarlierPaths(MetaPathFinder, InspectLoader):
    """Finds the kit's modules by their earlier paths."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(f"{__name__}.") or find_spec(_renamed(fullname)) is None:
            return None
        message = f"{fullname} is deprecated: import {_renamed(fullname)} instead"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return ModuleSpec(fullname, self)

    def exec_module(self, module: ModuleType) -> None:
        # The import system returns what is registered, so both paths have the same classes.
        sys.modules[module.__name__] = import_module(_renamed(module.__name__))

    def get_source(self, fullname: str) -> str:
        """What `python -m` runs."""
        return f"import runpy\nrunpy.run_module({_renamed(fullname)!r}, run_name='__main__')\n"


def _renamed(name: str) -> str:
    return _KIT + name.removeprefix(__name__)


if find_spec(_KIT) is None:
    raise ModuleNotFoundError(
        "the conformance kit is not installed: pip install sluicegate-testing, or in a clone of the "
        "gateway's repository, pip install ./plugins/testing",
        name=_KIT,
    )
sys.meta_path.insert(0, _EarlierPaths())
