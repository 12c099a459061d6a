from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from support.gateways.gateway import RunningGateway

Wait = Callable[[RunningGateway, str, int], None]
SECONDS = 30


@pytest.fixture
def until_logged() -> Wait:
    """Wait until a gateway has logged a text a number of times."""

    def wait(gateway: RunningGateway, text: str, times: int) -> None:
        until = time.monotonic() + SECONDS
        while gateway.log.count(text) < times:
            assert time.monotonic() < until, gateway.log
            time.sleep(0.02)

    return wait
