"""What official clients do when a gateway refuses them for a while."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

import pytest
from delta_sharing.protocol import DeltaSharingProfile
from delta_sharing.rest_client import DataSharingRestClient
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import TooManyRequestsError
from support.gateways.limited_lake import SCHEMA, SHARE, LimitedLake, limited_lake

# Five requests in a second: faster clients are refused, and not for long.
LIMITS = {"requests_per_minute": 300, "burst": 1}
_ATTEMPTS = 10_000


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LimitedLake]:
    with limited_lake(tmp_path_factory.mktemp("limited"), {"acme": LIMITS, "berg": LIMITS}) as running:
        yield running


def test_the_client_of_delta_sharing_waits_and_succeeds(lake: LimitedLake) -> None:
    waits: list[int] = []

    def wait(milliseconds: int) -> None:
        waits.append(milliseconds)
        time.sleep(milliseconds / 1000)

    profile = DeltaSharingProfile(1, f"{lake.gateway.address}/delta-sharing", lake.tokens["acme"])
    with closing(DataSharingRestClient(profile, num_retries=10)) as client:
        client._sleeper = wait
        for _ in range(_ATTEMPTS):
            assert [share.name for share in client.list_shares().shares] == [SHARE]
            if waits:
                break
    assert waits
    assert waits[0] == 100  # whatever `Retry-After` says


def test_pyiceberg_reports_the_refusal_and_a_later_attempt_succeeds(lake: LimitedLake) -> None:
    uri = f"{lake.gateway.address}/iceberg"
    catalog = RestCatalog("lake", uri=uri, warehouse=SHARE, token=lake.tokens["berg"])
    refusal = ""
    for _ in range(_ATTEMPTS):
        try:
            namespaces = catalog.list_namespaces()
        except TooManyRequestsError as error:
            refusal = str(error)
            time.sleep(0.05)
        else:
            if refusal:
                break
    assert "SlowDownException: this recipient can send 300 requests per minute" in refusal
    assert namespaces == [(SCHEMA,)]
