"""What is refused, in the words that Iceberg's clients branch on."""

from __future__ import annotations

from typing import Any

import pytest
from support.gateways.iceberg_gateway import ICEBERG, NAMESPACE, SHARE, IcebergGateway
from support.gateways.in_process import Answer, Request

TABLE = f"{NAMESPACE}/tables"


def refused(answer: Answer) -> tuple[int, str]:
    """Status and type, of an error in Iceberg's shape."""
    error: dict[str, Any] = answer.json["error"]
    assert error.keys() == {"message", "type", "code"}
    assert error["code"] == answer.status
    return answer.status, error["type"]


@pytest.mark.parametrize(
    ("path", "status", "kind"),
    [
        (f"{ICEBERG}/config", 400, "BadRequestException"),
        (f"{ICEBERG}/config?warehouse=other", 404, "NoSuchWarehouseException"),
        (f"{ICEBERG}/shares/other/namespaces", 404, "NoSuchNamespaceException"),
        (f"{SHARE}/namespaces?parent=asia", 404, "NoSuchNamespaceException"),
        (f"{SHARE}/namespaces/asia", 404, "NoSuchNamespaceException"),
        (f"{SHARE}/namespaces/eu%1Fnorth", 404, "NoSuchNamespaceException"),
        (f"{SHARE}/namespaces/asia/tables", 404, "NoSuchNamespaceException"),
        (f"{SHARE}/namespaces/asia/tables/orders", 404, "NoSuchTableException"),
        (f"{TABLE}/nothing", 404, "NoSuchTableException"),
        (f"{TABLE}/nothing/credentials", 404, "NoSuchTableException"),
        (f"{TABLE}/plain", 404, "NoSuchTableException"),
        (f"{TABLE}/by_url", 404, "NoSuchTableException"),
        (f"{TABLE}/by_url/credentials", 404, "NoSuchTableException"),
        (f"{TABLE}/sealed", 404, "NoSuchTableException"),
        (f"{TABLE}/outside", 404, "NoSuchTableException"),
        (f"{TABLE}/gone", 404, "NoSuchTableException"),
        (f"{TABLE}/broken", 400, "BadRequestException"),
        (f"{TABLE}/empty", 400, "BadRequestException"),
        (f"{TABLE}/missing", 400, "BadRequestException"),
        (f"{TABLE}/orders?snapshots=some", 400, "BadRequestException"),
        (f"{TABLE}?pageSize=0", 400, "BadRequestException"),
        (f"{TABLE}?pageToken=forged", 400, "BadRequestException"),
        (f"{SHARE}/namespaces/asia/views", 404, "NoSuchNamespaceException"),
        ("/iceberg/v2/config", 404, "NotFoundException"),
        ("/iceberg/a%0Ab", 404, "NotFoundException"),
    ],
)
def test_what_cannot_be_read(catalog: IcebergGateway, path: str, status: int, kind: str) -> None:
    assert refused(catalog.get(path)) == (status, kind)


def test_a_page_token_is_of_its_listing(catalog: IcebergGateway) -> None:
    token = catalog.get(f"{TABLE}?pageSize=1").json["next-page-token"]
    answer = catalog.get(f"{SHARE}/namespaces?pageToken={token}")
    assert refused(answer) == (400, "BadRequestException")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", f"{SHARE}/namespaces"),
        ("DELETE", NAMESPACE),
        ("POST", f"{NAMESPACE}/properties"),
        ("POST", TABLE),
        ("POST", f"{NAMESPACE}/register"),
        ("POST", f"{TABLE}/orders"),
        ("DELETE", f"{TABLE}/orders?purgeRequested=true"),
        ("POST", f"{SHARE}/tables/rename"),
        ("POST", f"{SHARE}/transactions/commit"),
        ("PUT", "/iceberg/v1/whatever"),
    ],
)
def test_writes_are_forbidden(catalog: IcebergGateway, method: str, path: str) -> None:
    assert refused(catalog.ask(method, path, b"{}")) == (403, "ForbiddenException")


@pytest.mark.parametrize(
    ("authorization", "challenge"),
    [(None, "Bearer"), ("Bearer nonsense", 'Bearer error="invalid_token"')],
)
@pytest.mark.parametrize(
    "path", [f"{ICEBERG}/config?warehouse=sales", f"{TABLE}/orders", "/iceberg/v1/x"]
)
def test_nobody_receives_anything_without_a_token(
    catalog: IcebergGateway, path: str, authorization: str | None, challenge: str
) -> None:
    headers = [] if authorization is None else [("authorization", authorization)]
    answer = catalog.vending.served.send(Request("GET", path, headers))
    assert refused(answer) == (401, "NotAuthorizedException")
    assert answer.headers["www-authenticate"] == challenge


def test_remote_signing_alone_is_refused(catalog: IcebergGateway) -> None:
    answer = catalog.load("orders", x_iceberg_access_delegation="remote-signing")
    assert refused(answer) == (400, "BadRequestException")


def test_a_failing_vendor_returns_a_retry_time(catalog: IcebergGateway) -> None:
    vendor = catalog.vending.vendor
    vendor.failure = RuntimeError("with a secret of the upstream")
    try:
        answer = catalog.load("unlucky")
    finally:
        vendor.failure = None
    assert refused(answer) == (503, "ServiceUnavailableException")
    assert answer.headers["retry-after"]
    assert b"upstream" not in answer.body
