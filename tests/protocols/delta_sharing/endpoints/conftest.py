"""One gateway over local files, with tables that can be served and tables that cannot."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration
from support.tables.protocol_tables import settings, shares, write_tables


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    folder = tmp_path_factory.mktemp("protocol")
    lake = folder / "lake"
    write_tables(lake)
    write_configuration(folder, settings(lake), shares(lake))
    with running_gateway(folder) as running:
        yield running


@pytest.fixture(scope="session")
def token(gateway: RunningGateway) -> str:
    return _token(gateway, "acme")


@pytest.fixture(scope="session")
def rival_token(gateway: RunningGateway) -> str:
    return _token(gateway, "rival")


@pytest.fixture(scope="session")
def far_token(gateway: RunningGateway) -> str:
    return _token(gateway, "far")


@pytest.fixture
def client(gateway: RunningGateway, token: str) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=gateway.endpoint, headers=headers, timeout=30) as made:
        yield made


def _token(gateway: RunningGateway, recipient: str) -> str:
    profile: dict[str, str] = json.loads(gateway.profile(recipient).read_text())
    return profile["bearerToken"]
