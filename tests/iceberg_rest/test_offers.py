"""Which tables an Iceberg catalog has, and what is said of the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.iceberg_door import IcebergGateway

from sluicegate.api import CatalogTable, SharedTable
from sluicegate.doors.iceberg_offers import IcebergOffers

SHARED = SharedTable("1", "s", "2", "eu", "t", "lake", "t", access_modes=("url", "dir"))
LAKE = "{lake}"
SOURCE = {
    "id": "1",
    "format": "iceberg",
    "location": f"{LAKE}/t",
    "auxiliary_locations": (),
    "metadata_location": f"{LAKE}/t/metadata/v1.metadata.json",
}


def obstacle(catalog: IcebergGateway, shared: dict[str, Any], source: dict[str, Any]) -> str | None:
    """Of the table with these differences; locations are in the catalog's lake."""

    def placed(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(placed, value))
        return value.format(lake=catalog.vending.lake) if isinstance(value, str) else value

    said = {name: placed(value) for name, value in {**SOURCE, **source}.items()}
    offers = IcebergOffers(catalog.vending.served.gateway.instances)
    return offers.obstacle(replace(SHARED, **shared), CatalogTable(**said))


@pytest.mark.parametrize(
    ("shared", "source"),
    [
        ({}, {}),
        ({"access_modes": ("dir",)}, {}),
        ({"history": True}, {}),
        ({}, {"format": "delta"}),
        ({}, {"auxiliary_locations": (f"{LAKE}/data/t",)}),
    ],
)
def test_offered(catalog: IcebergGateway, shared: dict[str, Any], source: dict[str, Any]) -> None:
    assert obstacle(catalog, shared, source) is None


@pytest.mark.parametrize(
    ("shared", "source", "reason"),
    [
        ({}, {"metadata_location": None}, "no Iceberg metadata"),
        ({"access_modes": ("url",)}, {}, "not shared by directory access"),
        ({"partition_filter": "country = 'DE'"}, {}, "only a part of it is shared"),
        ({"start_version": 1}, {}, "only a part of it is shared"),
        ({}, {"metadata_location": f"{LAKE}/t2/metadata/v1.metadata.json"}, "outside of its directory"),
        ({}, {"metadata_location": f"{LAKE}/t/../t2/v1.metadata.json"}, "outside of its directory"),
        ({}, {"auxiliary_locations": (f"{LAKE}/sealed/t",)}, "no temporary credentials"),
        ({}, {"auxiliary_locations": ("s3://elsewhere/t",)}, "no temporary credentials"),
    ],
)
def test_not_offered(
    catalog: IcebergGateway, shared: dict[str, Any], source: dict[str, Any], reason: str
) -> None:
    assert reason in str(obstacle(catalog, shared, source))
