"""Slow and failing catalogs, and catalogs with invalid responses."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from sluicegate.api import NotFound, PermissionDenied, Principal, Scope, Unavailable
from sluicegate_iceberg.catalog import IcebergCatalog
from sluicegate_testing.servers.polaris import Polaris, Reply

Connect = Callable[..., IcebergCatalog]

LOCATION = "s3://lake/wh/ns0/t0"
LOAD = "/tables/t0"
GATEWAY_TIMEOUT = Reply(504, b"private words")


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_a_passing_failure_is_overcome(polaris: Polaris, connect: Connect, status: int) -> None:
    catalog = connect()
    good = await catalog.load_table("ns0.t0")
    loaded = {
        "metadata-location": good.metadata_location,
        "metadata": {"table-uuid": good.id, "location": LOCATION},
    }
    polaris.tell(LOAD, Reply(status, b""), Reply(status, b"", {"Retry-After": "0"}), Reply(200, loaded))
    assert await catalog.load_table("ns0.t0") == good


@pytest.mark.parametrize("suffix", ["/oauth/tokens", "/v1/config", LOAD])
@pytest.mark.parametrize(
    "reply",
    [
        Reply(500, {"error": {"message": "private words", "type": "RuntimeException", "code": 500}}),
        Reply(503, b"private words"),
        Reply(404, b"<html>private words</html>"),
        Reply(301, b"private words", {"Location": "http://127.0.0.1:9/"}),
        Reply(200, b"private words"),
        Reply(200, ["private words"]),
        Reply(200, {"metadata": {"location": 7}, "overrides": 7, "access_token": 7}),
        Reply(200, b"\x1f\x8b broken", {"Content-Encoding": "gzip"}),
    ],
    ids=["500", "503", "404", "301", "text", "list", "shape", "gzip"],
)
async def test_what_is_no_answer_is_unavailable(
    polaris: Polaris, connect: Connect, suffix: str, reply: Reply
) -> None:
    polaris.tell(suffix, reply)
    with pytest.raises(Unavailable) as raised:
        await connect().load_table("ns0.t0")
    assert "private words" not in raised.value.message
    assert raised.value.detail


AS_EXPECTED = "the catalog 'lake' does not respond to the gateway as expected"
SIGN_IN = "the gateway may not sign in to the catalog 'lake'; ask its operator"
MISSING = "has no table 'ns0.t0'"


@pytest.mark.parametrize(
    ("changed", "error", "message", "detail"),
    [
        ({"may_load": False}, NotFound, MISSING, "403 ForbiddenException"),
        ({"tables": {}}, NotFound, MISSING, "404 NoSuchTableException"),
        ({"warehouse": "pond"}, Unavailable, AS_EXPECTED, "404 NotFoundException"),
        ({"client_secret": "new"}, Unavailable, SIGN_IN, "401 unauthorized_client"),
        ({"scope": "other"}, Unavailable, SIGN_IN, "400 invalid_scope"),
        ({"realm": "eu"}, Unavailable, SIGN_IN, "401 unauthorized_client"),
        ({"requires_realm": True}, Unavailable, SIGN_IN, "404 MissingOrInvalidRealm"),
        (
            {"may_delegate": False},
            PermissionDenied,
            "the table's catalog denies the gateway credentials for this table",
            "403 ForbiddenException",
        ),
        ({"assumes_role": False}, Unavailable, AS_EXPECTED, "422 UnprocessableEntityException"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
async def test_each_failure_has_its_message(
    polaris: Polaris,
    connect: Connect,
    changed: dict[str, Any],
    error: type[Exception],
    message: str,
    detail: str,
) -> None:
    """The failures that docs/operators/iceberg-catalogs.md lists."""
    catalog = connect()
    for name, value in changed.items():
        setattr(polaris, name, value)
    with pytest.raises(error, match=message) as raised:
        await load_and_vend(catalog)
    assert detail in getattr(raised.value, "detail", "")


async def load_and_vend(catalog: IcebergCatalog) -> None:
    table = await catalog.load_table("ns0.t0")
    assert table.vendor is not None
    await table.vendor.vend(Scope((table.location,), 3600, Principal("1", "acme", "token")))


@pytest.mark.parametrize("suffix", ["/oauth/tokens", "/v1/config", LOAD])
async def test_a_slow_catalog_is_not_waited_for(
    polaris: Polaris, connect: Connect, suffix: str
) -> None:
    polaris.delay(suffix, 3)
    with pytest.raises(Unavailable) as raised:
        await connect(timeout=1).load_table("ns0.t0")
    assert "no response within 1 seconds" in (raised.value.detail or "")


async def test_a_catalog_that_is_not_there_is_unavailable(connect: Connect) -> None:
    with pytest.raises(Unavailable):
        await connect(uri="http://127.0.0.1:9").load_table("ns0.t0")


@pytest.mark.parametrize("tokens", [["a"], ["a", "b"], ["a", "b", "c"]])
async def test_pages_without_end_are_not_read_for_ever(
    polaris: Polaris, connect: Connect, tokens: list[str]
) -> None:
    pages = [Reply(200, {"identifiers": [], "next-page-token": token}) for token in [*tokens, "a"]]
    polaris.tell("/tables", *pages)
    with pytest.raises(Unavailable) as raised:
        await connect().list_tables("ns0")
    assert "never ends" in (raised.value.detail or "")


async def test_a_token_of_a_page_that_no_url_carries_ends_a_listing(
    polaris: Polaris, connect: Connect
) -> None:
    polaris.tell("/tables", Reply(200, {"identifiers": [], "next-page-token": "x" * 10_000}))
    with pytest.raises(Unavailable) as raised:
        await connect().list_tables("ns0")
    assert "never ends" in (raised.value.detail or "")


async def test_namespaces_without_end_are_not_listed_for_ever(
    polaris: Polaris, connect: Connect
) -> None:
    deeper = [Reply(200, {"namespaces": [["ns0"] * levels]}) for levels in range(1, 60)]
    polaris.tell("/namespaces", *deeper)
    with pytest.raises(
        Unavailable, match="the catalog 'lake' lists too many or too deeply nested namespaces"
    ):
        await connect().list_schemas()


async def test_an_error_of_very_many_bytes_is_not_parsed(polaris: Polaris, connect: Connect) -> None:
    error = {"error": {"message": "x" * 100_000, "type": "NoSuchTableException", "code": 404}}
    polaris.tell(LOAD, Reply(404, error))
    with pytest.raises(Unavailable) as raised:
        await connect().load_table("ns0.t0")
    assert "no Iceberg error" in (raised.value.detail or "")


async def test_a_large_answer_is_remembered_by_nobody(polaris: Polaris, connect: Connect) -> None:
    loaded = {
        "metadata-location": "s3://lake/m.json",
        "metadata": {"location": LOCATION + "x" * 20_000},
    }
    polaris.tell(LOAD, Reply(200, loaded, {"ETag": "x"}))
    catalog = connect()
    for _ in range(2):
        await catalog.load_table("ns0.t0")
    assert [asked.headers.get("if-none-match") for asked in polaris.requests_to(LOAD)] == [None, None]


@pytest.mark.parametrize(
    ("identifiers", "names"),
    [
        ([], []),
        (None, []),
        ([{"namespace": ["ns1"], "name": "of another namespace"}], []),
        ([{"namespace": ["ns0"], "name": "twice"}] * 2, ["twice"]),
        ([{"namespace": ["ns0"], "name": name} for name in ("", "..", "a\x1fb", "fine")], ["fine"]),
    ],
)
async def test_names_that_cannot_be_are_left_out(
    polaris: Polaris, connect: Connect, identifiers: object, names: list[str]
) -> None:
    polaris.tell("/tables", Reply(200, {"identifiers": identifiers}))
    assert await connect().list_tables("ns0") == names


async def test_the_log_names_what_no_url_can_name(
    polaris: Polaris, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    listed = [{"namespace": ["ns0"], "name": name} for name in ("", "a\x1fb", "fine", "a b", "a.b")]
    polaris.tell("/tables", Reply(200, {"identifiers": listed}))
    assert await connect().list_tables("ns0") == ["a b", "a.b", "fine"]
    warning = (
        "omitted 2 tables of the namespace ns0 from the listing, because no URL can contain their "
        "names: '', 'a\\x1fb'"
    )
    assert warning in caplog.text


async def test_namespaces_listed_again_and_again_are_listed_once(
    polaris: Polaris, connect: Connect
) -> None:
    everything = [["ns0"], ["ns0", "deep"], ["ns0", "deep"], ["ns1"], ["ns1", ""], []]
    polaris.tell("/namespaces", Reply(200, {"namespaces": everything}))
    assert await connect().list_schemas() == ["ns0", "ns0.deep", "ns1"]


async def test_an_unrequested_response_is_no_response(polaris: Polaris, connect: Connect) -> None:
    polaris.tell(LOAD, Reply(304, b"", {"ETag": "x"}))
    with pytest.raises(Unavailable):
        await connect().load_table("ns0.t0")


@pytest.mark.parametrize(
    ("override", "asked"),
    [("{uri}/moved", True), ("ftp://elsewhere", False), ("elsewhere", False)],
)
async def test_a_catalog_may_move_its_clients(
    polaris: Polaris, connect: Connect, override: str, asked: bool
) -> None:
    moved = {"prefix": "lake", "uri": override.format(uri=polaris.uri)}
    polaris.tell("/v1/config", Reply(200, {"overrides": moved}))
    polaris.tell("/moved/v1/lake/namespaces", Reply(200, {"namespaces": [["there"]]}))
    polaris.tell("/moved/v1/lake/namespaces?parent=there", Reply(200, {"namespaces": []}))
    listed = await connect().list_schemas()
    assert listed == (["there"] if asked else ["ns0", "ns0.deep"])


@pytest.mark.parametrize("separator", [".", "%2E"])
async def test_a_catalog_may_separate_levels_its_own_way(
    polaris: Polaris, connect: Connect, separator: str
) -> None:
    overrides = {"prefix": "lake", "namespace-separator": separator}
    polaris.tell("/v1/config", Reply(200, {"overrides": overrides}))
    loaded = {"metadata-location": "s3://lake/m.json", "metadata": {"location": LOCATION}}
    polaris.tell("/namespaces/ns0.deep/tables/t1", Reply(200, loaded))
    assert (await connect().load_table("ns0.deep.t1")).location == LOCATION


async def test_no_log_holds_a_token_or_a_secret(
    polaris: Polaris, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    polaris.tell(LOAD, Reply(500, b""))
    with pytest.raises(Unavailable):
        await connect().load_table("ns0.t0")
    sent = polaris.requests_to(LOAD)[0].headers["authorization"].removeprefix("Bearer ")
    assert sent not in caplog.text
    assert polaris.client_secret not in caplog.text
