from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from sluicegate.testing.servers.azurite import Azurite, AzuriteMissing


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azurite]:
    """A server that everything in this process trusts."""
    try:
        with (
            Azurite.start(tmp_path_factory.mktemp("azurite")) as running,
            pytest.MonkeyPatch.context() as patch,
        ):
            for name, value in running.trust.items():
                patch.setenv(name, value)
            yield running
    except AzuriteMissing as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))
