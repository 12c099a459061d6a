"""A server with the policies of the tests: `opa` of SLUICEGATE_OPA or the PATH, or else a stand-in."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from sluicegate_opa.config import OpaConfig
from sluicegate_opa.policy import OpaPolicy
from sluicegate_testing.fakes import FakeContext
from sluicegate_testing.leaks import no_secret_leaks

from .real import real_server
from .stand_in import TOKEN, stand_in

__all__ = ["no_secret_leaks"]

Connected = Callable[..., OpaPolicy]


@pytest.fixture(scope="session")
def opa(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of the server."""
    binary = os.environ.get("SLUICEGATE_OPA") or shutil.which("opa")
    serving: AbstractContextManager[str] = (
        real_server(Path(binary), tmp_path_factory.mktemp("opa")) if binary else stand_in()
    )
    with serving as url:
        yield url


@pytest_asyncio.fixture
async def connected(opa: str) -> AsyncIterator[Connected]:
    """Creates policies that use the server, and closes them."""
    made: list[OpaPolicy] = []

    def connected(**settings: Any) -> OpaPolicy:
        config = OpaConfig.model_validate({"url": opa, "token": TOKEN, **settings})
        made.append(OpaPolicy.configured(config, FakeContext("opa-1")))
        return made[-1]

    yield connected
    for policy in made:
        await policy.aclose()


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry immediately: the pauses of the client are random, up to a maximum."""
    monkeypatch.setattr(random, "uniform", lambda shortest, _: shortest)
