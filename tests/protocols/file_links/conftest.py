from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.servers.file_link_server import FileLinkServer, running_file_links


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileLinkServer]:
    with running_file_links(
        {name: tmp_path_factory.mktemp(name) for name in ("files", "others")}
    ) as server:
        yield server
