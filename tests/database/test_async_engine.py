"""The asynchronous engine is loaded without the ORM, and the ORM can still be imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

WITHOUT = """
import sys
import {module}
assert "sqlalchemy.orm" not in sys.modules
"""
THEN = """
from sluicegate.database import async_engine
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, create_async_engine
assert AsyncConnection is async_engine.AsyncConnection
assert create_async_engine is async_engine.create_async_engine
"""
BEFORE = """
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
from sluicegate.database import async_engine
assert AsyncConnection is async_engine.AsyncConnection
"""


def run(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "module", ["sluicegate.database", "sluicegate.server.serve", "sluicegate.delegation.service"]
)
def test_the_orm_is_not_loaded(module: str) -> None:
    run(WITHOUT.format(module=module))


def test_plugins_can_use_sessions_afterwards() -> None:
    run(WITHOUT.format(module="sluicegate.database") + THEN)


def test_sessions_that_are_loaded_first_use_the_same_engine() -> None:
    run(BEFORE)
