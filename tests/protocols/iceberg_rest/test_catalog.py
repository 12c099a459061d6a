"""What is in the catalog of a share, and what it says of itself."""

from __future__ import annotations

from typing import Any

import pytest
from support.gateways.iceberg_gateway import ICEBERG, NAMESPACE, OFFERED, SHARE, IcebergGateway

ENDPOINTS = {
    "GET /v1/{prefix}/namespaces",
    "GET /v1/{prefix}/namespaces/{namespace}",
    "HEAD /v1/{prefix}/namespaces/{namespace}",
    "GET /v1/{prefix}/namespaces/{namespace}/tables",
    "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials",
    "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/metrics",
    "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/plan",
    "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/plan/{plan-id}",
    "DELETE /v1/{prefix}/namespaces/{namespace}/tables/{table}/plan/{plan-id}",
    "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/tasks",
    "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/sign",
}


@pytest.mark.parametrize("warehouse", ["sales", "SALES"])
def test_the_configuration_has_the_prefix_of_the_share_and_the_endpoints(
    catalog: IcebergGateway, warehouse: str
) -> None:
    answer = catalog.get(f"{ICEBERG}/config?warehouse={warehouse}")
    assert answer.status == 200
    assert answer.json["overrides"] == {"prefix": "shares/sales"}
    assert answer.json["defaults"] == {
        "header.X-Iceberg-Access-Delegation": "vended-credentials,remote-signing",
        "token-exchange-enabled": "false",
    }
    assert set(answer.json["endpoints"]) == ENDPOINTS


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (f"{SHARE}/namespaces", {"namespaces": [["eu"]], "next-page-token": None}),
        (f"{SHARE}/namespaces?parent=eu", {"namespaces": [], "next-page-token": None}),
        (NAMESPACE, {"namespace": ["eu"], "properties": {}}),
        (NAMESPACE.replace("eu", "EU"), {"namespace": ["eu"], "properties": {}}),
    ],
)
def test_namespaces_are_the_schemas(catalog: IcebergGateway, path: str, expected: Any) -> None:
    answer = catalog.get(path)
    assert (answer.status, answer.json) == (200, expected)


def identifiers(names: list[str]) -> list[dict[str, Any]]:
    return [{"namespace": ["eu"], "name": name} for name in names]


def test_tables_that_can_be_read_in_one_of_the_ways_are_listed(
    catalog: IcebergGateway,
) -> None:
    answer = catalog.get(f"{NAMESPACE}/tables")
    assert answer.json == {"identifiers": identifiers(OFFERED), "next-page-token": None}


@pytest.mark.parametrize("first", ["pageSize=3", "pageSize=3&pageToken="])
def test_pages_hold_every_table_once(catalog: IcebergGateway, first: str) -> None:
    found, query = [], first
    while True:
        answer = catalog.get(f"{NAMESPACE}/tables?{query}").json
        assert len(answer["identifiers"]) <= 3
        found += answer["identifiers"]
        if answer["next-page-token"] is None:
            break
        query = f"pageSize=3&pageToken={answer['next-page-token']}"
    assert found == identifiers(OFFERED)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (NAMESPACE, 204),
        (f"{SHARE}/namespaces/asia", 404),
        (f"{NAMESPACE}/tables/orders", 204),
        (f"{NAMESPACE}/tables/ORDERS", 204),
        (f"{NAMESPACE}/tables/plain", 404),
        (f"{NAMESPACE}/tables/nothing", 404),
    ],
)
def test_existence_is_answered_without_vending(catalog: IcebergGateway, path: str, status: int) -> None:
    before = len(catalog.vending.vendor.scopes)
    assert catalog.ask("HEAD", path).status == status
    assert len(catalog.vending.vendor.scopes) == before


@pytest.mark.parametrize("body", [b"{}", b'{"report-type": "scan-report", "table-name": "x"}'])
def test_reports_are_taken(catalog: IcebergGateway, body: bytes) -> None:
    answer = catalog.ask("POST", f"{NAMESPACE}/tables/orders/metrics", body)
    assert (answer.status, answer.body) == (204, b"")
