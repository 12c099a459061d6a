from __future__ import annotations

import pytest

from sluicegate.testing.leaks import no_secret_leaks

__all__ = ["no_secret_leaks"]


def pytest_configure(config: pytest.Config) -> None:
    """PySpark leaves the sockets that it reads rows from to the garbage collector."""
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")
