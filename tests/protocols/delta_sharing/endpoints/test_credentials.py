"""Delta Sharing protocol, "Generate Temporary Table Credential", on fakes that open nothing."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.gateways.gateway import sluicegate
from support.gateways.in_process import Answer, Request
from support.gateways.vending_files import SHARE, VendingGateway, vending_gateway
from support.tables.deltalog import DeltaFolder, add, metadata, protocol

_TIMEOUT_SECONDS = 15
DIR: dict[str, Any] = {"history": True, "access_modes": ["url", "dir"]}
TABLES: dict[str, dict[str, Any]] = {
    "orders": DIR,
    "only_dir": {"history": True, "access_modes": ["dir"], "table": "orders"},
    "url": {"history": True, "table": "orders"},
    "clone": DIR,
    "strayed": DIR,
    "failing": DIR,
    "sealed": {"history": True, "access_modes": ["dir"]},
}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VendingGateway]:
    folder = tmp_path_factory.mktemp("credentials")
    lake = f"file://{folder}/lake"
    for name, path in (
        ("orders", "a.parquet"),
        ("clone", f"{lake}/sources/orders/a.parquet"),
        ("strayed", f"{lake}/secret/a.parquet"),
        ("failing", "a.parquet"),
        ("sealed", "a.parquet"),
    ):
        DeltaFolder(folder / "lake" / name).commit(0, protocol(), metadata(), add(path))
    with vending_gateway(folder, TABLES, absolute_paths=("sources",)) as served:
        yield served


def ask(gateway: VendingGateway, table: str = "orders", location: str | None = None) -> Answer:
    body = b"" if location is None else json.dumps({"location": location}).encode()
    return gateway.credentials(table, body)


@pytest.mark.parametrize("body", [b"", b"{}", b'{"location": null}', b'{"x": 1}'])
def test_by_default_the_root_is_meant(gateway: VendingGateway, body: bytes) -> None:
    answer = gateway.credentials("orders", body)
    assert answer.status == 200, answer.body
    given = gateway.vendor.answered[-1]
    assert answer.json == {
        "credentials": {
            "location": f"{gateway.lake}/orders",
            "awsTempCredentials": {
                "accessKeyId": given.secret["access_key_id"],
                "secretAccessKey": given.secret["secret_access_key"],
                "sessionToken": given.secret["session_token"],
            },
            "expirationTime": given.expires_at,
        }
    }


def test_no_cache_on_the_way_keeps_them(gateway: VendingGateway) -> None:
    answer = ask(gateway)
    assert answer.headers["cache-control"] == "private, no-store"
    assert answer.headers["content-type"] == "application/json; charset=utf-8"


@pytest.mark.parametrize("spelled", ["{lake}/orders", "{lake}/orders/", "FILE{rest}/orders"])
def test_the_root_in_any_spelling(gateway: VendingGateway, spelled: str) -> None:
    rest = gateway.lake.removeprefix("file")
    answer = ask(gateway, location=spelled.format(lake=gateway.lake, rest=rest))
    assert answer.status == 200, answer.body
    assert answer.json["credentials"]["location"] == f"{gateway.lake}/orders"


def test_an_auxiliary_location_has_credentials_of_its_own(gateway: VendingGateway) -> None:
    told = gateway.get("schemas/eu/tables/clone/metadata").lines[1]["metaData"]
    [auxiliary] = told["auxiliaryLocations"]
    found = ask(gateway, "clone", auxiliary).json["credentials"]
    root = ask(gateway, "clone", told["location"]).json["credentials"]
    assert (root["location"], found["location"]) == (told["location"], auxiliary)
    assert root["awsTempCredentials"] != found["awsTempCredentials"]


@pytest.mark.parametrize(
    "location",
    [
        "{lake}",
        "{lake}/order",
        "{lake}/orders2",
        "{lake}/orders/_delta_log",
        "{lake}/orders//",
        "{lake}/orders/../secret",
        "{lake}/sources/orders",
        "s3://elsewhere/orders",
        "orders",
        "/",
        "\x00",
    ],
)
def test_nothing_else_is_given(gateway: VendingGateway, location: str) -> None:
    before = len(gateway.vendor.scopes)
    answer = ask(gateway, location=location.format(lake=gateway.lake))
    assert (answer.status, answer.json["errorCode"]) == (400, "INVALID_PARAMETER_VALUE")
    assert "location is not a directory of the table sales.eu.orders" in answer.json["message"]
    assert len(gateway.vendor.scopes) == before


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "MALFORMED_REQUEST"),
        (b"[]", "MALFORMED_REQUEST"),
        (b"null", "MALFORMED_REQUEST"),
        (b"\xff", "MALFORMED_REQUEST"),
        (b'{"location": ""}', "INVALID_PARAMETER_VALUE"),
        (b'{"location": 7}', "INVALID_PARAMETER_VALUE"),
        (b'{"location": ["a"]}', "INVALID_PARAMETER_VALUE"),
    ],
)
def test_a_malformed_body_is_refused(gateway: VendingGateway, body: bytes, code: str) -> None:
    answer = gateway.credentials("orders", body)
    assert (answer.status, answer.json["errorCode"]) == (400, code)


@pytest.mark.parametrize(
    ("table", "instead"),
    [
        ("url", "does not offer directory access (dir); read it by presigned URLs (url)"),
        ("sealed", "sales.eu.sealed does not offer directory access (dir)"),
    ],
)
def test_a_table_that_offers_no_directory_is_refused(
    gateway: VendingGateway, table: str, instead: str
) -> None:
    answer = ask(gateway, table)
    assert (answer.status, answer.json["errorCode"]) == (400, "UNSUPPORTED_OPERATION")
    assert instead in answer.json["message"]


def test_a_directory_that_was_allowed_to_nobody_is_refused(gateway: VendingGateway) -> None:
    answer = ask(gateway, "strayed", f"{gateway.lake}/secret")
    assert (answer.status, answer.json["errorCode"]) == (400, "UNSUPPORTED_OPERATION")


def test_what_was_not_granted_does_not_exist(gateway: VendingGateway) -> None:
    answer = ask(gateway, "nothing")
    assert (answer.status, answer.json["errorCode"]) == (404, "RESOURCE_DOES_NOT_EXIST")


def test_who_does_not_say_who_it_is_gets_nothing(gateway: VendingGateway) -> None:
    path = f"{SHARE}/schemas/eu/tables/orders/temporary-table-credentials"
    assert gateway.served.send(Request("POST", path)).status == 401


def test_a_vendor_that_fails_is_unavailable_and_private(
    gateway: VendingGateway, caplog: pytest.LogCaptureFixture
) -> None:
    gateway.vendor.failure = RuntimeError("https://internal.example said token=TOP-SECRET")
    try:
        with caplog.at_level(logging.INFO):
            answer = ask(gateway, "failing")
    finally:
        gateway.vendor.failure = None
    assert (answer.status, answer.json["errorCode"]) == (503, "TEMPORARILY_UNAVAILABLE")
    assert answer.json["message"] == "credentials for this table are not available now; try again later"
    assert "retry-after" in answer.headers
    assert "TOP-SECRET" not in caplog.text
    assert "the vendor failed: RuntimeError" in caplog.text


def test_warm_requests_ask_the_vendor_no_more(gateway: VendingGateway) -> None:
    ask(gateway, "only_dir")
    before = len(gateway.vendor.scopes)
    first, second = ask(gateway, "only_dir"), ask(gateway, "orders")
    assert first.json == second.json  # two names of one directory
    assert len(gateway.vendor.scopes) == before


def test_a_revoked_recipient_gets_nothing_any_more(tmp_path: Path) -> None:
    DeltaFolder(tmp_path / "lake" / "orders").commit(0, protocol(), metadata())
    with vending_gateway(tmp_path, {"orders": DIR}) as gateway:
        assert ask(gateway).status == 200
        sluicegate(tmp_path, "recipient", "revoke", "acme")
        assert _until_refused(gateway).status == 401


def _until_refused(gateway: VendingGateway) -> Answer:
    answer = ask(gateway)
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while answer.status == 200 and time.monotonic() < deadline:
        time.sleep(0.05)  # another process revoked it: that is seen within a second
        answer = ask(gateway)
    return answer
