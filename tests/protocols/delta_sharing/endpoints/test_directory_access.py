"""Delta Sharing protocol, "Access Modes"; directory access proposal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.gateways.in_process import Answer
from support.gateways.vending_files import VendingGateway, vending_gateway
from support.tables.deltalog import DeltaFolder, add, metadata, protocol, vector

BOTH: dict[str, Any] = {"history": True, "access_modes": ["url", "dir"]}
ONLY_DIR: dict[str, Any] = {"history": True, "access_modes": ["dir"]}
TABLES: dict[str, dict[str, Any]] = {
    "both": {**BOTH, "table": "orders"},
    "dir": {**ONLY_DIR, "table": "orders"},
    "url": {"history": True, "table": "orders"},
    "clone": BOTH,
    "strayed": BOTH,
    "sealed": BOTH,
    "own": BOTH,
    "climbing": BOTH,
    "dotted": BOTH,
    "down": {**BOTH, "catalog": "away", "table": "no/../location"},
}
# Paths below the lake that look like `sources`, which is allowed.
OUTSIDE = {"dots": "sources/../secret/a", "namesake": "sources2/a", "parent": "a"}
MEMBERS = ("accessModes", "location", "auxiliaryLocations")


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VendingGateway]:
    folder = tmp_path_factory.mktemp("vending")
    lake = f"file://{folder}/lake"
    for name, *paths in (
        ("orders", "a.parquet"),
        ("clone", f"{lake}/sources/orders/c=1/a.parquet", f"{lake}/sources/orders/c=2/b.parquet"),
        ("strayed", "a.parquet", f"{lake}/secret/b.parquet"),
        ("sealed", "a.parquet"),
        ("own", f"{lake}/own/a.parquet"),
        ("climbing", "../secret/a.parquet"),
        ("dotted", "a..b/c..parquet"),
        *((name, f"{lake}/{path}") for name, path in OUTSIDE.items()),
    ):
        table = DeltaFolder(folder / "lake" / name)
        table.commit(0, protocol(), metadata(partitioned_by=["c"]), *map(add, paths))
    for name, path in OUTSIDE.items():
        file = add("a.parquet", deletionVector={**vector(f"{lake}/{path}"), "storageType": "p"})
        table = DeltaFolder(folder / "lake" / f"{name}_vector")
        table.commit(0, protocol(3, "deletionVectors"), metadata(), file)
    outside = {name: BOTH for key in OUTSIDE for name in (key, f"{key}_vector")}
    with vending_gateway(
        folder,
        TABLES | outside,
        catalogs={"away": {"type": "paths"}},
        absolute_paths=("sources",),
    ) as served:
        yield served


def said(item: dict[str, Any]) -> dict[str, Any]:
    """What an answer says about access."""
    return {name: item[name] for name in MEMBERS if name in item}


def in_lake(gateway: VendingGateway, expected: dict[str, Any]) -> dict[str, Any]:
    """Locations of a case, which are named relative to the lake."""
    places = dict(expected)
    if "location" in places:
        places["location"] = f"{gateway.lake}/{places['location']}"
    if "auxiliaryLocations" in places:
        places["auxiliaryLocations"] = [
            f"{gateway.lake}/{place}" for place in places["auxiliaryLocations"]
        ]
    return places


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("both", {"accessModes": ["url", "dir"], "location": "orders"}),
        ("dir", {"accessModes": ["dir"], "location": "orders"}),
        ("url", {}),
        ("sealed", {}),
        # A listing does not read logs, so it does not know what they name elsewhere.
        ("clone", {"accessModes": ["url", "dir"], "location": "clone"}),
    ],
)
@pytest.mark.parametrize("path", ["all-tables", "schemas/eu/tables"])
def test_listings_say_how_a_table_can_be_read(
    gateway: VendingGateway, path: str, table: str, expected: dict[str, Any]
) -> None:
    wanted = in_lake(gateway, expected)
    assert said(gateway.listed(path)[table]) == wanted
    one = gateway.get(f"schemas/eu/tables/{table}")
    assert said(one.json) == wanted


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("both", {"accessModes": ["url", "dir"], "location": "orders"}),
        ("dir", {"accessModes": ["dir"], "location": "orders"}),
        ("url", {}),
        ("sealed", {}),
        (
            "clone",
            {
                "accessModes": ["url", "dir"],
                "location": "clone",
                "auxiliaryLocations": ["sources/orders"],
            },
        ),
        ("strayed", {}),
    ],
)
@pytest.mark.parametrize("response_format", ["parquet", "delta"])
def test_metadata_says_how_a_table_can_be_read(
    gateway: VendingGateway, table: str, expected: dict[str, Any], response_format: str
) -> None:
    capable = f"responseformat={response_format}"
    answer = gateway.get(f"schemas/eu/tables/{table}/metadata", delta_sharing_capabilities=capable)
    assert answer.status == 200, answer.body
    assert said(answer.lines[1]["metaData"]) == in_lake(gateway, expected)
    assert ("deltaMetadata" in answer.lines[1]["metaData"]) == (response_format == "delta")


@pytest.mark.parametrize("table", ["both", "url", "clone"])
def test_a_query_begins_with_the_same_metadata(gateway: VendingGateway, table: str) -> None:
    asked = gateway.get(f"schemas/eu/tables/{table}/metadata")
    queried = gateway.query(f"schemas/eu/tables/{table}")
    assert queried.lines[:2] == asked.lines


def test_a_query_of_a_table_without_urls_is_refused_with_the_way_to_go(
    gateway: VendingGateway,
) -> None:
    answer = gateway.query("schemas/eu/tables/dir")
    assert (answer.status, answer.json["errorCode"]) == (400, "UNSUPPORTED_OPERATION")
    assert "temporary-table-credentials" in answer.json["message"]


def test_files_elsewhere_are_read_by_url_where_the_storage_allows_it(gateway: VendingGateway) -> None:
    allowed = gateway.query("schemas/eu/tables/clone")
    assert allowed.status == 200, allowed.body
    assert len(allowed.lines) == 2 + 2


def test_files_elsewhere_are_refused_where_nobody_allowed_them(gateway: VendingGateway) -> None:
    answer = gateway.query("schemas/eu/tables/strayed")
    assert (answer.status, answer.json["errorCode"]) == (400, "UNSUPPORTED_OPERATION")
    assert "absolute_paths" in answer.json["message"]
    assert gateway.lake not in answer.json["message"]


@pytest.mark.parametrize("table", [*OUTSIDE, *(f"{name}_vector" for name in OUTSIDE)])
def test_no_path_leads_out_of_what_is_allowed(gateway: VendingGateway, table: str) -> None:
    capable = "responseformat=delta;readerfeatures=deletionvectors"
    told = gateway.get(f"schemas/eu/tables/{table}/metadata", delta_sharing_capabilities=capable)
    assert said(told.lines[1]["metaData"]) == {}
    answer = gateway.query(f"schemas/eu/tables/{table}", delta_sharing_capabilities=capable)
    assert (answer.status, answer.json["errorCode"]) == (400, "UNSUPPORTED_OPERATION")


@pytest.mark.parametrize(("table", "status"), [("climbing", 400), ("dotted", 200)])
def test_no_relative_path_leads_out_of_the_table(
    gateway: VendingGateway, table: str, status: int
) -> None:
    assert gateway.query(f"schemas/eu/tables/{table}").status == status


def test_paths_into_the_tables_own_directory_need_no_permission(gateway: VendingGateway) -> None:
    answer = gateway.query("schemas/eu/tables/own")
    assert (answer.status, len(answer.lines)) == (200, 3)
    assert "auxiliaryLocations" not in answer.lines[1]["metaData"]


def test_a_source_that_is_down_does_not_fail_a_listing(gateway: VendingGateway) -> None:
    listed = gateway.listed()
    assert listed["both"]["accessModes"] == ["url", "dir"]
    assert said(listed["down"]) == {}


def metadata_of(gateway: VendingGateway, table: str, capability: str | None) -> Answer:
    headers = {} if capability is None else {"delta_sharing_capabilities": f"accessMode={capability}"}
    return gateway.get(f"schemas/eu/tables/{table}/metadata", **headers)


@pytest.mark.parametrize(
    ("table", "capability", "header"),
    [
        ("both", None, "responseformat=parquet"),
        ("both", "DIR,URL", "responseformat=parquet;accessmode=url,dir"),
        ("both", "dir", "responseformat=parquet;accessmode=dir"),
        ("both", "url", "responseformat=parquet;accessmode=url"),
        ("dir", "url,dir", "responseformat=parquet;accessmode=dir"),
        ("url", "dir", "responseformat=parquet;accessmode=url"),
    ],
)
def test_the_capability_is_answered_in_the_header(
    gateway: VendingGateway, table: str, capability: str | None, header: str
) -> None:
    answer = metadata_of(gateway, table, capability)
    assert (answer.status, answer.headers["delta-sharing-capabilities"]) == (200, header)


def test_what_does_not_fit_is_refused_with_what_to_ask_for(gateway: VendingGateway) -> None:
    answer = metadata_of(gateway, "dir", "url")
    assert (answer.status, answer.json["errorCode"]) == (400, "UNSUPPORTED_OPERATION")
    assert "accessmode=dir" in answer.json["message"]
