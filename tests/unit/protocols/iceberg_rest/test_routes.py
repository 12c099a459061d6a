"""The routes of the Iceberg catalog: what each returns, and which errors clients branch on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from starlette.applications import Starlette
from support.clients.asgi import Answer, ask
from support.gateways.iceberg_in_memory import METADATA, SCHEMA, IcebergInMemory
from support.gateways.in_memory import Restricted, by_name

from sluicegate._util.background_jobs import BackgroundJobs
from sluicegate.api import Unavailable
from sluicegate.http.compression import Compression
from sluicegate.protocols.iceberg_rest.file_routes import FileEndpoints
from sluicegate.protocols.iceberg_rest.list_tables import TableListing
from sluicegate.protocols.iceberg_rest.resolve import PathResolver
from sluicegate.protocols.iceberg_rest.routes import IcebergEndpoints
from sluicegate.signing.keyring import KeyRing
from sluicegate.signing.opaque_tokens import TokenSigner

KNOWN = {"authorization": "Bearer acme"}
VENDED = KNOWN | {"x-iceberg-access-delegation": "vended-credentials"}
NAMESPACES = "/v1/shares/sales/namespaces"
TABLES = f"{NAMESPACES}/eu/tables"
ORDERS = f"{TABLES}/orders"
LARGEST_BODY = 100


class Catalog:
    """The Iceberg catalog of the share `sales`, below `/base`."""

    def __init__(self, iceberg: IcebergInMemory) -> None:
        self.iceberg = iceberg
        resolver, loader = iceberg.made.resolver, iceberg.loader
        requested = PathResolver(resolver)
        endpoints = IcebergEndpoints(
            authentication=by_name(),
            grants=iceberg.grants,
            resolver=resolver,
            listed=TableListing(resolver, iceberg.offers, loader.check_files, BackgroundJobs()),
            requested=requested,
            loader=loader,
            files=FileEndpoints(requested, loader, iceberg.files.get, LARGEST_BODY),
            tokens=TokenSigner(KeyRing((b"a key",)), lifetime=60),
            max_body=LARGEST_BODY,
        )
        self.app = Starlette(routes=endpoints.routes("/base"))

    async def get(self, path: str, headers: dict[str, str] | None = None, **more: Any) -> Answer:
        return await ask(self.app, f"/base{path}", KNOWN if headers is None else headers, **more)

    async def json(self, path: str) -> Any:
        answer = await self.get(path)
        assert answer.status == 200, answer.body
        return answer.json


@pytest.fixture
async def catalog() -> Catalog:
    schemas = [SCHEMA, replace(SCHEMA, id="u", name="US", comment="all states")]
    made = IcebergInMemory(schemas)
    await made.put("orders")
    return Catalog(made)


def refused(answer: Answer) -> tuple[int, str]:
    """Status and type, of an error in Iceberg's format."""
    error: dict[str, Any] = answer.json["error"]
    assert error.keys() == {"message", "type", "code"}
    assert error["code"] == answer.status
    return answer.status, error["type"]


@pytest.mark.parametrize("warehouse", ["sales", "SALES"])
async def test_the_configuration_names_the_share_and_the_endpoints(
    catalog: Catalog, warehouse: str
) -> None:
    config = await catalog.json(f"/v1/config?warehouse={warehouse}")
    assert config["overrides"] == {"prefix": "shares/sales"}
    assert config["defaults"] == {
        "header.X-Iceberg-Access-Delegation": "vended-credentials,remote-signing",
        "token-exchange-enabled": "false",
    }
    for endpoint in config["endpoints"]:
        method, _, path = endpoint.partition(" ")
        values = {"prefix": "shares/sales", "namespace": "eu", "table": "orders", "plan-id": "p"}
        signing = KNOWN | {"x-iceberg-access-delegation": "remote-signing"}
        answer = await catalog.get(path.format(**values), signing, method=method, body=b"{}")
        assert answer.status in (200, 204), endpoint


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (NAMESPACES, {"namespaces": [["eu"], ["US"]], "next-page-token": None}),
        (f"{NAMESPACES}?parent=", {"namespaces": [["eu"], ["US"]], "next-page-token": None}),
        (f"{NAMESPACES}?parent=EU", {"namespaces": [], "next-page-token": None}),
        (f"{NAMESPACES}/EU", {"namespace": ["eu"], "properties": {}}),
        (f"{NAMESPACES}/us", {"namespace": ["US"], "properties": {"comment": "all states"}}),
    ],
)
async def test_namespaces_are_the_schemas(catalog: Catalog, path: str, expected: Any) -> None:
    assert await catalog.json(path) == expected


async def test_only_tables_that_are_offered_are_listed(catalog: Catalog) -> None:
    catalog.iceberg.files.obstacles["plain"] = "Iceberg has no intervals"
    tables = [{"namespace": ["eu"], "name": name} for name in ("by_url", "orders", "visits")]
    for _ in range(2):
        assert await catalog.json(TABLES) == {"identifiers": tables, "next-page-token": None}
    assert catalog.iceberg.files.asked == [("check", "by_url"), ("check", "plain")]
    assert await catalog.json(f"{NAMESPACES}/us/tables") == {
        **{"identifiers": [], "next-page-token": None}
    }


@pytest.mark.parametrize("first", ["pageSize=1", "pageSize=1&pageToken="])
async def test_pages_together_are_the_listing(catalog: Catalog, first: str) -> None:
    pages, query = [], first
    while query:
        page = await catalog.json(f"{TABLES}?{query}")
        pages.append([each["name"] for each in page["identifiers"]])
        token = page["next-page-token"]
        query = f"pageSize=1&pageToken={token}" if token else ""
    assert pages == [[], ["by_url"], [], ["orders"], ["plain"], ["visits"]]


async def test_a_page_token_is_valid_for_its_listing_only(catalog: Catalog) -> None:
    token = (await catalog.json(f"{TABLES}?pageSize=1"))["next-page-token"]
    for other in (NAMESPACES, f"{NAMESPACES}/us/tables"):
        answer = await catalog.get(f"{other}?pageToken={token}")
        assert refused(answer) == (400, "BadRequestException")


async def test_a_page_has_at_most_1000_items(catalog: Catalog) -> None:
    many = [replace(SCHEMA, id=str(number), name=f"n{number:04}") for number in range(1001)]
    catalog.iceberg.schemas[:] = many
    assert len((await catalog.json(NAMESPACES))["namespaces"]) == 1001
    page = await catalog.json(f"{NAMESPACES}?pageSize=5000")
    assert (len(page["namespaces"]), bool(page["next-page-token"])) == (1000, True)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"{NAMESPACES}/eu", 204),
        (f"{NAMESPACES}/asia", 404),
        (ORDERS, 204),
        (f"{TABLES}/ORDERS", 204),
        (f"{TABLES}/by_dir", 404),
        (f"{TABLES}/nothing", 404),
    ],
)
async def test_head_only_says_what_exists(catalog: Catalog, path: str, status: int) -> None:
    answer = await catalog.get(path, VENDED, method="HEAD")
    assert answer.status == status
    assert catalog.iceberg.made.ledger.written == []


async def test_a_load_is_not_stored_and_has_credentials_if_requested(catalog: Catalog) -> None:
    plain, vended = await catalog.get(ORDERS), await catalog.get(ORDERS, VENDED)
    assert (plain.json["metadata"], plain.json["config"]) == (METADATA, {})
    assert vended.json["storage-credentials"]
    assert vended.headers["cache-control"] == "private, no-store"
    again = await catalog.get(f"{ORDERS}/credentials")
    assert again.json == {"storage-credentials": vended.json["storage-credentials"]}
    assert again.headers["cache-control"] == "private, no-store"


async def test_an_etag_is_of_the_metadata_and_the_credentials(catalog: Catalog) -> None:
    plain, vended = await catalog.get(ORDERS), await catalog.get(ORDERS, VENDED)
    assert plain.headers["etag"] != vended.headers["etag"]
    other = await catalog.get(ORDERS, VENDED | {"if-none-match": plain.headers["etag"]})
    assert other.status == 200
    matches = KNOWN | {"if-none-match": f'"other", {plain.headers["etag"]}'}
    same = await catalog.get(ORDERS, matches)
    assert (same.status, same.body, same.headers["etag"]) == (304, b"", plain.headers["etag"])


@pytest.mark.parametrize(
    ("condition", "status"),
    [("*", 304), ("W/{etag}", 304), ('"x{bare}"', 200), ("{bare}", 200), ("", 200)],
)
async def test_only_entire_tags_match(catalog: Catalog, condition: str, status: int) -> None:
    etag = (await catalog.get(ORDERS)).headers["etag"]
    sent = condition.format(etag=etag, bare=etag.strip('"'))
    assert (await catalog.get(ORDERS, KNOWN | {"if-none-match": sent})).status == status


async def test_a_large_load_is_compressed(catalog: Catalog) -> None:
    properties = {str(number): "x" for number in range(1000)}
    await catalog.iceberg.put("orders", {**METADATA, "properties": properties})
    app, path = Compression(catalog.app), f"/base{ORDERS}"
    plain = await ask(app, path, KNOWN)
    packed = await ask(app, path, KNOWN | {"accept-encoding": "gzip"})
    assert (packed.headers["content-encoding"], packed.body) == ("gzip", plain.body)
    again = await ask(app, path, KNOWN | {"if-none-match": packed.headers["etag"]})
    assert again.status == 304


async def test_policies_can_deny_credentials_but_not_metadata() -> None:
    made = IcebergInMemory(policies=(Restricted(),))
    await made.put("orders")
    catalog = Catalog(made)
    assert (await catalog.get(ORDERS)).status == 200
    keys = await catalog.get(f"{ORDERS}/credentials")  # of the gateway, for single files
    assert keys.json == {"storage-credentials": [{"prefix": "orders", "config": {}}]}
    assert (await catalog.get(ORDERS, VENDED)).json["config"]["by"] == "file"
    assert made.made.ledger.written == []


async def test_policies_can_deny_the_only_way() -> None:
    made = IcebergInMemory(policies=(Restricted(),))
    answer = await Catalog(made).get(f"{TABLES}/by_dir", VENDED)
    assert refused(answer) == (403, "ForbiddenException")
    answer = await Catalog(made).get(f"{TABLES}/by_dir/credentials")
    assert refused(answer) == (403, "ForbiddenException")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 204),
        (b'{"report-type": "scan-report"}', 204),
        (b"[]", 400),
        (b"{", 400),
        (b"{}".ljust(LARGEST_BODY), 204),
        (b"{}".ljust(LARGEST_BODY + 1), 413),
    ],
)
async def test_reports_are_accepted_up_to_a_limit(catalog: Catalog, body: bytes, status: int) -> None:
    answer = await catalog.get(f"{ORDERS}/metrics", method="POST", body=body)
    assert answer.status == status


@pytest.mark.parametrize(
    ("path", "status", "kind"),
    [
        ("/v1/config", 400, "BadRequestException"),
        ("/v1/config?warehouse=", 400, "BadRequestException"),
        ("/v1/config?warehouse=other", 404, "NoSuchWarehouseException"),
        ("/v1/shares/other/namespaces", 404, "NoSuchNamespaceException"),
        (f"{NAMESPACES}?parent=asia", 404, "NoSuchNamespaceException"),
        (f"{NAMESPACES}/asia", 404, "NoSuchNamespaceException"),
        (f"{NAMESPACES}/eu%1Fnorth", 404, "NoSuchNamespaceException"),
        (f"{NAMESPACES}/asia/tables/orders", 404, "NoSuchTableException"),
        (f"{TABLES}/nothing", 404, "NoSuchTableException"),
        (f"{TABLES}/by_dir", 404, "NoSuchTableException"),
        (f"{TABLES}/gone/credentials", 404, "NoSuchTableException"),
        (f"{TABLES}/visits", 400, "BadRequestException"),  # its metadata file is missing
        (f"{ORDERS}?snapshots=some", 400, "BadRequestException"),
        (f"{TABLES}?pageSize=0", 400, "BadRequestException"),
        (f"{TABLES}?pageSize=many", 400, "BadRequestException"),
        (f"{TABLES}?pageToken=forged", 400, "BadRequestException"),
        (f"{NAMESPACES}/asia/views", 404, "NoSuchNamespaceException"),
        (f"{NAMESPACES}/eu/views/report", 404, "NotFoundException"),
        ("/v2/config", 404, "NotFoundException"),
        ("/a%0Ab", 404, "NotFoundException"),
    ],
)
async def test_what_cannot_be_read(catalog: Catalog, path: str, status: int, kind: str) -> None:
    assert refused(await catalog.get(path)) == (status, kind)


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", TABLES), ("DELETE", ORDERS), ("POST", ORDERS), ("PUT", "/v1/any"), ("PATCH", "/a%0Ab")],
)
async def test_writes_are_forbidden(catalog: Catalog, method: str, path: str) -> None:
    answer = await catalog.get(path, method=method, body=b"{}")
    assert refused(answer) == (403, "ForbiddenException")


async def test_head_of_an_unknown_path_is_not_a_write(catalog: Catalog) -> None:
    assert (await catalog.get(f"{NAMESPACES}/eu/views/report", method="HEAD")).status == 404


async def test_a_schema_has_no_views(catalog: Catalog) -> None:
    listed = await catalog.json(f"{NAMESPACES}/eu/views")
    assert listed == {"identifiers": [], "next-page-token": None}


@pytest.mark.parametrize("path", ["/v1/config", ORDERS, f"{NAMESPACES}/eu/views", "/v1/any"])
async def test_options_are_refused_in_the_catalogs_format(catalog: Catalog, path: str) -> None:
    answer = await catalog.get(path, method="OPTIONS")
    assert refused(answer) == (405, "MethodNotAllowedException")
    assert answer.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize("path", ["/v1/config?warehouse=sales", ORDERS, "/v1/any"])
async def test_nothing_is_shown_without_credentials(catalog: Catalog, path: str) -> None:
    answer = await catalog.get(path, {})
    assert refused(answer) == (401, "NotAuthorizedException")
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_a_catalog_that_is_down_hides_its_tables_but_refuses_loads(catalog: Catalog) -> None:
    catalog.iceberg.catalog.failure = Unavailable("down", detail="db-7")
    assert (await catalog.json(TABLES))["identifiers"] == []
    answer = await catalog.get(ORDERS)
    assert refused(answer) == (503, "ServiceUnavailableException")
    assert answer.headers["retry-after"]
    assert b"db-7" not in answer.body
