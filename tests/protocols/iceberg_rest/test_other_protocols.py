"""What Delta Sharing answers about tables that the Iceberg catalog has."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from support.gateways.iceberg_gateway import IcebergGateway

from sluicegate.api.errors import UnsupportedOperation
from sluicegate.api.models import AccessMode
from sluicegate.protocols.delta_sharing.negotiation import negotiate, parse
from sluicegate.tables.features import FeatureNeeds

ICEBERG = "read it from the Iceberg catalog of this server (icebergEndpoint in the profile)"
URLS = "by presigned URLs (url)"


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ("orders", [ICEBERG, f"or {URLS}"]),
        ("scattered", [ICEBERG, f"or {URLS}"]),
        ("outside", [f"read it {URLS}"]),
    ],
)
def test_a_refusal_of_credentials_names_the_ways_that_work(
    catalog: IcebergGateway, table: str, named: Sequence[str]
) -> None:
    answer = catalog.vending.credentials(table)
    assert (answer.status, answer.json["errorCode"]) == (400, "UNSUPPORTED_OPERATION")
    message = answer.json["message"]
    assert [way for way in (ICEBERG, f"read it {URLS}", f"or {URLS}") if way in message] == named


def test_the_named_way_works(catalog: IcebergGateway) -> None:
    assert catalog.load("orders").json["storage-credentials"]


@pytest.mark.parametrize("metadata", [False, True])
@pytest.mark.parametrize("offered", [(), ("dir",)])
@pytest.mark.parametrize("asked", ["", "accessmode=dir", "accessmode=url,dir"])
def test_a_table_for_iceberg_clients_alone_says_so(
    offered: tuple[AccessMode, ...], asked: str, metadata: bool
) -> None:
    client = parse(asked)
    with pytest.raises(UnsupportedOperation) as raised:
        negotiate(client, FeatureNeeds((), (), ()), offered=offered, metadata=metadata, iceberg=True)
    assert ICEBERG in raised.value.message
