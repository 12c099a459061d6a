from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from sluicegate.api import (
    CatalogTable,
    NotFound,
    PermissionDenied,
    Principal,
    Scope,
    StorageError,
    TemporaryCredentials,
    Unavailable,
    UnsupportedOperation,
)
from sluicegate_iceberg.catalog import IcebergCatalog
from sluicegate_testing.servers.polaris import Polaris, Reply

Connect = Callable[..., IcebergCatalog]

LOCATION = "s3://lake/wh/ns0/t0"
ENDPOINT = "/tables/t0/credentials"
LOAD = "/tables/t0"
CONNECTION = {"region": "eu-west-1", "endpoint": "http://127.0.0.1:9", "path_style": "true"}
KEYS = {"s3.access-key-id": "ASIA", "s3.secret-access-key": "shh", "s3.session-token": "token"}


async def vend(table: CatalogTable, binding: str | None = None) -> TemporaryCredentials:
    assert table.vendor is not None
    recipient = Principal("1", "acme", "token")
    return await table.vendor.vend(Scope((table.location,), 3600, recipient, binding))


LISTED = "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials"


def lists(polaris: Polaris, *endpoints: str) -> None:
    """Make the catalog list these endpoints."""
    config = {"overrides": {"prefix": polaris.warehouse}, "endpoints": endpoints}
    polaris.tell("/v1/config", Reply(200, config))


@pytest.mark.parametrize("stated", ["listed", "no list", "advertised"])
async def test_credentials_come_from_the_endpoint_that_the_catalog_states(
    polaris: Polaris, connect: Connect, stated: str
) -> None:
    """Polaris doesn't list the endpoint, but names it in a response with credentials."""
    if stated != "advertised":
        lists(polaris, *((LISTED,) if stated == "listed" else ()))
    table = await connect().load_table("ns0.t0")
    if stated == "advertised":
        await vend(table)
    assert not polaris.requests_to(ENDPOINT)
    before = time.time()
    made = await vend(table)
    assert len(polaris.requests_to(ENDPOINT)) == 1
    assert (made.location, made.kind) == (LOCATION, "aws")
    assert set(made.secret) == {"access_key_id", "secret_access_key", "session_token"}
    assert made.expires_at is not None
    assert before + 3590 < made.expires_at / 1000 < time.time() + 3610
    assert made.connection == CONNECTION


@pytest.mark.parametrize("missing", ["in the list", "without a list"])
async def test_an_endpoint_that_the_catalog_does_not_have_is_not_needed(
    polaris: Polaris, connect: Connect, missing: str
) -> None:
    """Iceberg's own catalog returns 400 for routes that it doesn't have."""
    polaris.tell(ENDPOINT, Reply.error(400, "BadRequestException", "No route for request: GET v1/…"))
    if missing == "without a list":
        lists(polaris)  # no endpoints at all, so it is tried
    made = await vend(await connect().load_table("ns0.t0"))
    assert made.location == LOCATION
    assert len(polaris.requests_to(ENDPOINT)) == (0 if missing == "in the list" else 1)


@pytest.mark.parametrize("status", [400, 405, 406, 501])
async def test_a_catalog_that_rejects_requests_for_credentials_vends_none(
    polaris: Polaris, connect: Connect, status: int
) -> None:
    table = await connect().load_table("ns0.t0")
    polaris.tell(LOAD, Reply.error(status, "UnsupportedOperationException", "no vending"))
    with pytest.raises(StorageError) as raised:
        await vend(table)
    assert "credentials: storage" in (raised.value.detail or "")


async def test_they_are_renewed_without_loading_the_whole_table(
    polaris: Polaris, connect: Connect
) -> None:
    lists(polaris, LISTED)
    table = await connect().load_table("ns0.t0")
    before = len(polaris.requests_to(LOAD))
    first, second = await vend(table), await vend(table)
    assert first.secret != second.secret
    assert len(polaris.requests_to(ENDPOINT)) == 2
    tags = {asked.headers.get("if-none-match") for asked in polaris.requests_to(LOAD)[before:]}
    assert tags == {polaris.tables[("ns0",), "t0"].etag}


async def test_a_table_is_loaded_without_asking_for_credentials(
    polaris: Polaris, connect: Connect
) -> None:
    await connect().load_table("ns0.t0")
    assert not [
        asked for asked in polaris.requests_to(LOAD) if "x-iceberg-access-delegation" in asked.headers
    ]


@pytest.mark.parametrize(
    "refusal",
    [
        Reply.error(404, "NotFound", "Path not found"),
        Reply(404, b""),
        Reply(404, b"<html>nothing here</html>"),
        Reply(405, b""),
        Reply.error(406, "UnsupportedOperationException", "not here"),
        Reply(501, b""),
        Reply(200, {"storage-credentials": []}),
    ],
    ids=["seaweedfs", "404", "html", "405", "406", "501", "empty"],
)
async def test_without_the_endpoint_they_come_with_the_table(
    polaris: Polaris, connect: Connect, refusal: Reply
) -> None:
    lists(polaris, LISTED)
    polaris.tell(ENDPOINT, refusal)
    made = await vend(await connect().load_table("ns0.t0"))
    assert (made.location, made.connection) == (LOCATION, CONNECTION)
    *plain, delegated = polaris.requests_to(LOAD)
    assert not [asked for asked in plain if "x-iceberg-access-delegation" in asked.headers]
    assert delegated.headers["x-iceberg-access-delegation"] == "vended-credentials"
    assert "if-none-match" not in delegated.headers


@pytest.mark.parametrize("has_etags", [True, False])
@pytest.mark.parametrize("has_endpoint", [True, False])
async def test_a_table_that_was_created_anew_gets_no_credentials_for_the_old_one(
    polaris: Polaris, connect: Connect, has_endpoint: bool, has_etags: bool
) -> None:
    lists(polaris, LISTED)
    polaris.has_endpoint, polaris.has_etags = has_endpoint, has_etags
    catalog = connect()
    old = await catalog.load_table("ns0.t0")
    polaris.add(("ns0",), "t0", LOCATION)
    with pytest.raises(StorageError) as raised:
        await vend(old)
    assert "dropped and created again" in (raised.value.detail or "")
    assert (await vend(await catalog.load_table("ns0.t0"))).location == LOCATION


async def test_a_missing_endpoint_is_not_requested_again_and_again(
    polaris: Polaris, connect: Connect
) -> None:
    lists(polaris, LISTED)
    polaris.has_endpoint = False
    catalog = connect()
    for name in ("ns0.t0", "ns0.deep.t1", "ns0.t0"):
        await vend(await catalog.load_table(name))
    assert len(polaris.requests_to("/credentials")) == 1


@pytest.mark.parametrize(
    ("advertised", "asked"),
    [
        ("v1/lake/elsewhere/credentials", 1),
        ("/v1/lake/elsewhere/credentials", 1),
        ("{uri}/v1/lake/elsewhere/credentials", 1),
        ("http://127.0.0.1:9/v1/lake/elsewhere/credentials", 0),
    ],
    ids=["relative", "rooted", "absolute", "of another host"],
)
async def test_the_endpoint_that_the_catalog_names_gets_the_request(
    polaris: Polaris, connect: Connect, advertised: str, asked: int
) -> None:
    given = {"prefix": LOCATION, "config": KEYS}
    polaris.tell("/elsewhere/credentials", Reply(200, {"storage-credentials": [given]}))
    polaris.properties["client.refresh-credentials-endpoint"] = advertised.format(uri=polaris.uri)
    made = await vend(await connect().load_table("ns0.t0"))
    assert len(polaris.requests_to("/elsewhere/credentials")) == asked
    assert (made.secret["access_key_id"] == "ASIA") == bool(asked)


@pytest.mark.parametrize("has_endpoint", [True, False])
async def test_who_may_load_a_table_may_be_refused_its_credentials(
    polaris: Polaris, connect: Connect, has_endpoint: bool
) -> None:
    lists(polaris, LISTED)
    polaris.may_delegate, polaris.has_endpoint = False, has_endpoint
    table = await connect().load_table("ns0.t0")
    with pytest.raises(PermissionDenied) as raised:
        await vend(table)
    assert polaris.private not in raised.value.message
    assert polaris.private in (raised.value.detail or "")


@pytest.mark.parametrize("has_endpoint", [True, False])
async def test_credentials_of_a_dropped_table_are_not_found(
    polaris: Polaris, connect: Connect, has_endpoint: bool
) -> None:
    lists(polaris, LISTED)
    polaris.has_endpoint = has_endpoint
    table = await connect().load_table("ns0.t0")
    del polaris.tables[("ns0",), "t0"]
    with pytest.raises(NotFound):
        await vend(table)


@pytest.mark.parametrize(
    "config",
    [{}, {"client.region": "eu"}, {**KEYS, "s3.access-key-id": None}, {"gcs.oauth2.token": "g"}],
)
async def test_an_answer_without_keys_is_no_credentials(
    polaris: Polaris, connect: Connect, config: Mapping[str, Any]
) -> None:
    table = await connect().load_table("ns0.t0")
    lied = {"prefix": LOCATION, "config": config}
    metadata = {"table-uuid": table.id, "location": LOCATION}
    loaded = {"metadata-location": "s3://m", "metadata": metadata, "config": config}
    lists(polaris, LISTED)
    polaris.tell(ENDPOINT, Reply(200, {"storage-credentials": [lied]}))
    polaris.tell(LOAD, Reply(200, loaded))
    with pytest.raises(StorageError) as raised:
        await vend(table)
    assert "credentials: storage" in (raised.value.detail or "")


async def test_a_catalog_that_vends_without_a_request_and_without_an_expiry(
    polaris: Polaris, connect: Connect
) -> None:
    """Nessie's format: keys in `config`, no `storage-credentials`, no expiry, no endpoint."""
    lists(polaris, LISTED)
    polaris.has_endpoint = False
    nessie = {
        "metadata-location": f"{LOCATION}/metadata/1.json",
        "metadata": {"table-uuid": "u-1", "location": f"{LOCATION}/"},
        "config": {**KEYS, "s3.endpoint": "http://127.0.0.1:9", "s3.path-style-access": True},
    }
    polaris.tell(LOAD, Reply(200, nessie))
    table = await connect().load_table("ns0.t0")
    assert "shh" not in repr(table)
    made = await vend(table)
    assert (made.location, made.expires_at, made.secret["session_token"]) == (LOCATION, None, "token")
    assert made.connection == {"endpoint": "http://127.0.0.1:9", "path_style": "true"}


@pytest.mark.parametrize(
    ("prefix", "config", "handed_on"),
    [
        (LOCATION, {"expiration-time": "4000000000000"}, True),
        (LOCATION, {}, False),
        ("s3://lake", {"expiration-time": "4000000000000"}, False),
    ],
    ids=["session", "endless", "wider"],
)
async def test_what_never_ends_or_opens_more_is_known_to_be_for_the_gateway_alone(
    polaris: Polaris, connect: Connect, prefix: str, config: dict[str, str], handed_on: bool
) -> None:
    offered = {"prefix": prefix, "config": KEYS | config}
    lists(polaris, LISTED)
    polaris.tell(ENDPOINT, Reply(200, {"storage-credentials": [offered]}))
    table = await connect().load_table("ns0.t0")
    assert table.vendor is not None
    assert table.vendor.can_delegate(LOCATION)  # nothing is known yet
    await vend(table)
    assert table.vendor.can_delegate(LOCATION) is handed_on
    assert table.vendor.vends(LOCATION)


async def test_the_longest_prefix_wins(polaris: Polaris, connect: Connect) -> None:
    lists(polaris, LISTED)
    offered = [
        {"prefix": prefix, "config": {**KEYS, "s3.access-key-id": prefix}}
        for prefix in ("s3://lake", LOCATION, "s3://lake/wh/ns0/t0-old", "s3")
    ]
    lists(polaris, LISTED)
    polaris.tell(ENDPOINT, Reply(200, {"storage-credentials": offered}))
    made = await vend(await connect().load_table("ns0.t0"))
    assert made.secret["access_key_id"] == LOCATION


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(200, b"<html>welcome</html>"), Unavailable),
        (Reply(200, {"storage-credentials": "none"}), Unavailable),
        (Reply(200, {"storage-credentials": [{"prefix": 7, "config": KEYS}]}), Unavailable),
        (Reply.error(500, "RuntimeException", "private words"), Unavailable),
        (Reply(302, b"", {"Location": "http://127.0.0.1:9/"}), Unavailable),
    ],
    ids=["html", "text", "number", "500", "redirect"],
)
async def test_nonsense_is_unavailable_and_shows_no_secret(
    polaris: Polaris, connect: Connect, reply: Reply, error: type[Exception]
) -> None:
    lists(polaris, LISTED)
    table = await connect().load_table("ns0.t0")
    polaris.tell(ENDPOINT, reply)
    with pytest.raises(error) as raised:
        await vend(table)
    assert "private words" not in str(raised.value)
    assert "shh" not in f"{raised.value} {getattr(raised.value, 'detail', '')}"


async def test_bindings_are_unknown(connect: Connect) -> None:
    table = await connect().load_table("ns0.t0")
    with pytest.raises(UnsupportedOperation):
        await vend(table, binding="role")


async def test_vendors_are_equal_as_long_as_the_table_is_the_same(
    polaris: Polaris, connect: Connect
) -> None:
    catalog = connect()
    first, other = [await catalog.load_table(name) for name in ("ns0.t0", "ns0.deep.t1")]
    polaris.properties["client.region"] = "eu-west-2"
    again = await catalog.load_table("ns0.t0")
    polaris.add(("ns0",), "t0", LOCATION)
    anew = await catalog.load_table("ns0.t0")
    assert first.vendor == again.vendor
    assert hash(first.vendor) == hash(again.vendor)
    assert len({first.vendor, other.vendor, anew.vendor}) == 3


async def test_a_catalog_can_be_configured_to_leave_credentials_to_the_storage(
    connect: Connect,
) -> None:
    assert (await connect(credentials="storage").load_table("ns0.t0")).vendor is None


async def test_many_recipients_are_served_at_once(polaris: Polaris, connect: Connect) -> None:
    table = await connect().load_table("ns0.t0")
    made = await asyncio.gather(*(vend(table) for _ in range(20)))
    assert {each.location for each in made} == {LOCATION}
    assert len(polaris.requests_to("/oauth/tokens")) == 1
