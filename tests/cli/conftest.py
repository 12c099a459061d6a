from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.process.installed import Site, installed_site


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with installed_site(tmp_path_factory.mktemp("site")) as site:
        yield site
