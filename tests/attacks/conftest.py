"""A gateway process for each module, with a bystander's table."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.gateways.attacked import LOW_BYTES, LOW_ROWS, Attacked
from support.gateways.shared_lake import shared_lake


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    """A gateway that serves the bystander; tables for the attacker are written by the tests."""
    with shared_lake(tmp_path_factory.mktemp("attacked"), tables=120) as lake:
        yield Attacked.over(lake)


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    """The same with low limits, so that what exceeds them need not be large."""
    limits = {"table": {"bytes": LOW_BYTES, "rows": LOW_ROWS, "time": "20s"}}
    folder = tmp_path_factory.mktemp("limited")
    with shared_lake(folder, tables=120, settings={"limits": limits}) as lake:
        yield Attacked.over(lake)
