"""SQLAlchemy's asynchronous engine, without its ORM.

`sqlalchemy.ext.asyncio` also imports sessions, and with them the entire ORM. The gateway uses neither,
and importing both would noticeably delay its start.
"""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import TYPE_CHECKING

__all__ = ["AsyncConnection", "AsyncEngine", "create_async_engine"]

_PACKAGE = "sqlalchemy.ext.asyncio"


def _engine() -> ModuleType:
    """Import the module `engine` of the package without executing the package's `__init__`.

    Afterwards, the package can be imported as usual. It then uses the same module `engine`.
    """
    spec = find_spec(_PACKAGE)
    if spec is None or _PACKAGE in sys.modules:
        return importlib.import_module(f"{_PACKAGE}.engine")
    sys.modules[_PACKAGE] = module_from_spec(spec)  # has a path, so that its modules are found
    try:
        return importlib.import_module(f"{_PACKAGE}.engine")
    finally:
        del sys.modules[_PACKAGE]


if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
else:
    _module = _engine()
    AsyncConnection = _module.AsyncConnection
    AsyncEngine = _module.AsyncEngine
    create_async_engine = _module.create_async_engine
