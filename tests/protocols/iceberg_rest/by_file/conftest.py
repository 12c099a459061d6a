"""One gateway over local files, whose Iceberg catalog offers all of its tables file by file."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration
from support.tables.protocol_tables import settings, shares, write_tables


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    folder = tmp_path_factory.mktemp("by-file")
    lake = folder / "lake"
    write_tables(lake)
    write_configuration(folder, settings(lake), shares(lake))
    with running_gateway(folder) as running:
        yield running


@pytest.fixture(scope="session")
def tokens(gateway: RunningGateway) -> dict[str, str]:
    """Bearer tokens by recipient."""
    return {
        name: json.loads(gateway.profile(name).read_text())["bearerToken"] for name in ("acme", "rival")
    }


@pytest.fixture
def client(gateway: RunningGateway, tokens: dict[str, str]) -> Iterator[httpx.Client]:
    with httpx.Client(
        base_url=f"{gateway.address}/iceberg/v1",
        headers={
            "Authorization": f"Bearer {tokens['acme']}",
            "X-Iceberg-Access-Delegation": "remote-signing",
        },
        timeout=30,
    ) as made:
        yield made
