from __future__ import annotations

from collections.abc import Iterator

import pytest

from sluicegate.testing.servers.fake_gcs import FakeGCS


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeGCS]:
    with FakeGCS.start(tmp_path_factory.mktemp("fake-gcs")) as running:
        yield running
