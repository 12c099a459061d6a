"""A gateway process for each module, with a bystander's table."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.attacked import Attacked
from support.shared_lake import shared_lake


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    """A gateway that serves the bystander; tables for the attacker are written by the tests."""
    with shared_lake(tmp_path_factory.mktemp("attacked"), tables=40) as lake:
        yield Attacked.over(lake)
