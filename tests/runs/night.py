"""A pytest plugin that leaves tests to the night which repeat what others check for each change."""

from __future__ import annotations

import pytest
from support.process.random_cases import times


def pytest_configure(config: pytest.Config) -> None:
    """Define the marker."""
    config.addinivalue_line(
        "markers",
        "night(*instead): runs only at night: for each change, these other tests check its behavior",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked, except at night."""
    if times() > 1:
        return
    left_out = [item for item in items if item.get_closest_marker("night")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not item.get_closest_marker("night")]
