from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.content_door import Door, running_door


@pytest.fixture(scope="session")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    with running_door({name: tmp_path_factory.mktemp(name) for name in ("files", "others")}) as door:
        yield door
