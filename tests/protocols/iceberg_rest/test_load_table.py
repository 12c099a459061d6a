"""What a loaded table carries: its metadata as it is written, and credentials where they are wanted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.gateways.iceberg_gateway import METADATA, NAMESPACE, IcebergGateway

KEYS = {
    "s3.access-key-id",
    "s3.secret-access-key",
    "s3.session-token",
    "s3.session-token-expires-at-ms",
    "client.region",
    "s3.region",
}


@pytest.mark.parametrize("name", ["orders", "packed", "uniform"])
def test_metadata_is_handed_on_as_it_is_written(catalog: IcebergGateway, name: str) -> None:
    loaded = catalog.load(name).json
    assert loaded["metadata"] == METADATA
    assert (
        loaded["metadata-location"]
        == json.loads(catalog.listing.read_text())[name]["metadata_location"]
    )


def test_a_table_created_anew_has_its_own_metadata_by_the_old_name(catalog: IcebergGateway) -> None:
    listing = json.loads(catalog.listing.read_text())
    file = Path(listing["orders"]["metadata_location"].removeprefix("file://"))
    other = METADATA | {"table-uuid": "0b9c1f9e-6d1c-4a2f-9b55-3f1f5a4f8a11"}
    for tag, metadata in (("a", METADATA), ("b", other), ("c", METADATA)):
        listing["orders"]["metadata_tag"] = tag
        catalog.listing.write_text(json.dumps(listing))
        file.write_text(json.dumps(metadata))
        assert catalog.load("orders").json["metadata"] == metadata


def test_a_load_carries_credentials_and_where_new_ones_are(catalog: IcebergGateway) -> None:
    answer = catalog.load("ORDERS")
    config = answer.json["config"]
    refresh = config.pop("client.refresh-credentials-endpoint")
    assert refresh == "v1/shares/sales/namespaces/eu/tables/orders/credentials"
    assert config.keys() == KEYS
    location = f"{catalog.vending.lake}/orders"
    assert answer.json["storage-credentials"] == [{"prefix": location, "config": config}]
    assert answer.headers["cache-control"] == "private, no-store"
    assert catalog.get(f"/iceberg/{refresh}").json == {
        "storage-credentials": answer.json["storage-credentials"]
    }


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("vended-credentials", True),
        ("remote-signing, vended-credentials", True),
        ("something-new", False),
        ("", False),
    ],
)
def test_credentials_are_given_where_they_are_wanted(
    catalog: IcebergGateway, asked: str, given: bool
) -> None:
    loaded = catalog.load("orders", x_iceberg_access_delegation=asked).json
    assert ("storage-credentials" in loaded) is given
    assert bool(loaded["config"]) is given


def test_one_set_of_credentials_opens_all_directories_of_a_table(catalog: IcebergGateway) -> None:
    loaded = catalog.load("scattered").json
    lake = catalog.vending.lake
    scope = catalog.vending.vendor.scopes[-1]
    assert scope.locations == (f"{lake}/scattered", f"{lake}/data/scattered")
    assert [each["prefix"] for each in loaded["storage-credentials"]] == [lake]


def test_snapshots_can_be_left_out_that_no_reference_names(catalog: IcebergGateway) -> None:
    def snapshots(query: str) -> list[int]:
        metadata: dict[str, Any] = catalog.load("orders", query).json["metadata"]
        return [each["snapshot-id"] for each in metadata["snapshots"]]

    assert snapshots("?snapshots=all") == [1, 2, 3]
    assert snapshots("?snapshots=refs") == [1, 3]


def test_etags_tell_loads_with_credentials_from_those_without(catalog: IcebergGateway) -> None:
    path = f"{NAMESPACE}/tables/orders"
    plain, opened = catalog.get(path), catalog.load("orders")
    assert plain.headers["etag"] != opened.headers["etag"]
    for headers in ({}, {"if_none_match": opened.headers["etag"]}):
        assert catalog.get(path, **headers).status == 200
    unchanged = catalog.get(path, if_none_match=f'"other", {plain.headers["etag"]}')
    assert (unchanged.status, unchanged.body) == (304, b"")
    assert catalog.load("orders", if_none_match=plain.headers["etag"]).status == 200
