from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from sluicegate.api import NotFound, TableUnreadable, Unavailable, UnsupportedOperation
from sluicegate_iceberg.catalog import IcebergCatalog
from sluicegate_iceberg.vendor import TableVendor
from sluicegate_testing.servers.polaris import Polaris, PolarisVersion, Reply

Connect = Callable[..., IcebergCatalog]

LOCATION = "s3://lake/wh/ns0/t0"
LOAD = "/tables/t0"


async def test_nested_namespaces_are_schemas(polaris: Polaris, connect: Connect) -> None:
    polaris.add(("a.b", "c"), "t", "s3://lake/abc")
    catalog = connect()
    assert await catalog.list_schemas() == ["a%2Eb", "a%2Eb.c", "ns0", "ns0.deep"]
    assert catalog.readable_schema("a%2Eb.c") == "a.b.c"
    assert await catalog.list_tables("a%2Eb.c") == ["t"]
    assert (await catalog.load_table("a%2Eb.c.t")).location == "s3://lake/abc"
    assert polaris.requests_to("/namespaces/a.b%1Fc/tables/t")


@pytest.mark.parametrize("page_size", [None, 1, 2, 7, 100])
async def test_every_page_is_read(polaris: Polaris, connect: Connect, page_size: int | None) -> None:
    polaris.page_size = page_size
    names = {f"t{number:02}" for number in range(7)}
    for name in names:
        polaris.add(("many",), name, f"s3://lake/{name}")
        polaris.add((name,), "t", f"s3://lake/{name}/t")
    catalog = connect()
    assert await catalog.list_tables("many") == sorted(names)
    assert await catalog.list_schemas() == sorted(names | {"many", "ns0", "ns0.deep"})


async def test_delta_tables_among_the_generic_ones_are_tables(
    polaris: Polaris, connect: Connect
) -> None:
    for name, kind in (("clicks", "delta"), ("views", "DELTA"), ("images", "lance")):
        polaris.add_generic(("ns0",), name, kind, f"s3://lake/generic/{name}/")
    catalog = connect()
    assert await catalog.list_tables("ns0") == ["clicks", "t0", "views"]
    table = await catalog.load_table("ns0.clicks")
    assert (table.format, table.location, table.vendor) == ("delta", "s3://lake/generic/clicks", None)
    with pytest.raises(UnsupportedOperation, match="neither an Iceberg nor a Delta table"):
        await catalog.load_table("ns0.images")


async def test_a_catalog_without_generic_tables_gets_no_requests_for_them(
    polaris: Polaris, connect: Connect
) -> None:
    polaris.tell("/v1/config", Reply(200, {"overrides": {"prefix": "lake"}, "defaults": {}}))
    catalog = connect()
    assert await catalog.list_tables("ns0") == ["t0"]
    with pytest.raises(NotFound):
        await catalog.load_table("ns0.clicks")
    assert not [request for request in polaris.requests if "generic" in request.path]


@pytest.mark.parametrize("status", [403, 404, 405, 501])
async def test_generic_tables_that_may_not_be_listed_hide_no_others(
    polaris: Polaris, connect: Connect, status: int
) -> None:
    polaris.tell("/generic-tables", Reply.error(status, "SomeException", "private words"))
    assert await connect().list_tables("ns0") == ["t0"]


async def test_a_warehouse_that_is_gone_is_no_reason_to_say_that_tables_are(
    polaris: Polaris, connect: Connect
) -> None:
    catalog = connect(warehouse="elsewhere")
    for question in (catalog.list_schemas(), catalog.list_tables("ns0"), catalog.load_table("ns0.t0")):
        with pytest.raises(Unavailable) as raised:
            await question
        assert polaris.private in (raised.value.detail or "")
        assert polaris.private not in raised.value.message


VERSIONS: tuple[PolarisVersion, ...] = ("1.4", "1.7")


@pytest.mark.parametrize("has_etags", [True, False])
@pytest.mark.parametrize("snapshots", [0, 1, 2, 40])
@pytest.mark.parametrize("version", VERSIONS)
async def test_the_current_metadata_is_known_after_each_commit(
    polaris: Polaris, connect: Connect, version: PolarisVersion, snapshots: int, has_etags: bool
) -> None:
    polaris.version, polaris.has_etags = version, has_etags
    polaris.add(("ns0",), "t0", LOCATION, snapshots)
    catalog = connect()
    for _ in range(3):
        for _ in range(2):
            loaded = await catalog.load_table("ns0.t0")
            table = polaris.tables[("ns0",), "t0"]
            assert (loaded.id, loaded.metadata_location) == (table.id, table.metadata_location)
        polaris.commit(("ns0",), "t0")


@pytest.mark.parametrize(
    ("version", "snapshots", "has_etags", "asked"),
    [
        ("1.4", 1, True, ["refs", "refs 304"]),
        ("1.7", 40, True, ["refs", "refs 304"]),
        ("1.7", 40, False, ["refs", "refs"]),
        # The response without history lacks the location of the metadata.
        ("1.4", 40, True, ["refs", "all", "all 304"]),
        ("1.4", 40, False, ["refs", "all", "refs"]),
    ],
)
async def test_an_unchanged_table_is_not_sent_again_with_its_history(
    polaris: Polaris,
    connect: Connect,
    version: PolarisVersion,
    snapshots: int,
    has_etags: bool,
    asked: list[str],
) -> None:
    polaris.version, polaris.has_etags = version, has_etags
    polaris.add(("ns0",), "t0", LOCATION, snapshots)
    catalog = connect()
    first = await catalog.load_table("ns0.t0")
    assert await catalog.load_table("ns0.t0") == first
    etag = polaris.tables[("ns0",), "t0"].etag
    assert asked == [
        request.query.get("snapshots", "all")
        + (" 304" if request.headers.get("if-none-match") == etag else "")
        for request in polaris.requests_to(LOAD)
    ]


async def test_a_changed_table_is_sent_once_where_answers_have_tags(
    polaris: Polaris, connect: Connect
) -> None:
    catalog = connect()
    await catalog.load_table("ns0.t0")
    polaris.commit(("ns0",), "t0")
    before = len(polaris.requests_to(LOAD))
    await catalog.load_table("ns0.t0")
    assert len(polaris.requests_to(LOAD)) == before + 1


async def test_a_moved_table_is_read_with_what_its_catalog_says_now(
    polaris: Polaris, connect: Connect
) -> None:
    """A response without history can contain other storage properties than the cached one."""
    polaris.has_etags = False
    catalog = connect()
    await catalog.load_table("ns0.t0")
    polaris.properties["client.region"] = "eu-west-9"
    table = await catalog.load_table("ns0.t0")
    assert isinstance(table.vendor, TableVendor)
    assert table.vendor.properties["client.region"] == "eu-west-9"


async def test_a_table_dropped_and_created_anew_has_another_id(
    polaris: Polaris, connect: Connect
) -> None:
    catalog = connect()
    before = await catalog.load_table("ns0.t0")
    polaris.add(("ns0",), "t0", LOCATION)
    after = await catalog.load_table("ns0.t0")
    assert before.id != after.id == polaris.tables[("ns0",), "t0"].id


async def test_a_table_without_metadata_gets_that_reason(polaris: Polaris, connect: Connect) -> None:
    polaris.tell(LOAD, Reply(200, {"metadata": {"table-uuid": "u", "location": LOCATION}}))
    with pytest.raises(TableUnreadable, match="does not report the location"):
        await connect().load_table("ns0.t0")


@pytest.mark.parametrize(
    "refusal",
    [
        Reply.error(404, "NoSuchTableException", "private words"),
        Reply.error(404, "NoSuchNamespaceException", "private words"),
        Reply.error(403, "ForbiddenException", "private words"),
        Reply.error(400, "BadRequestException", "private words"),
    ],
    ids=lambda refusal: str(refusal.document["error"]["type"]),
)
async def test_what_the_gateway_may_not_see_is_not_there(
    polaris: Polaris, connect: Connect, refusal: Reply
) -> None:
    polaris.tell("/tables", refusal)
    polaris.tell(LOAD, refusal)
    catalog = connect()
    for question in (catalog.list_tables("ns0"), catalog.load_table("ns0.t0")):
        with pytest.raises(NotFound) as raised:
            await question
        assert "private words" not in raised.value.message
        assert "private words" in (raised.value.detail or "")


async def test_a_namespace_that_may_not_be_listed_hides_nothing_else(
    polaris: Polaris, connect: Connect
) -> None:
    polaris.add(("ns1", "deep"), "t", "s3://lake/ns1/t")
    polaris.closed.add(("ns0",))
    catalog = connect()
    assert await catalog.list_schemas() == ["ns0", "ns1", "ns1.deep"]
    with pytest.raises(NotFound):
        await catalog.list_tables("ns0")


async def test_two_catalogs_stand_side_by_side(polaris: Polaris, connect: Connect) -> None:
    with Polaris.start() as elsewhere:
        elsewhere.add(("ns0",), "t0", "s3://pond/t0")
        other = connect(
            uri=elsewhere.uri,
            oauth2={
                "client_id": elsewhere.client_id,
                "client_secret": elsewhere.client_secret,
                "scope": elsewhere.scope,
            },
        )
        catalogs = (connect(), other)
        tables = await asyncio.gather(*(each.load_table("ns0.t0") for each in catalogs))
    assert [table.location for table in tables] == [LOCATION, "s3://pond/t0"]
    assert tables[0].vendor != tables[1].vendor


@pytest.mark.parametrize("version", ["1.4", "1.7"])
async def test_branches_and_tags_are_those_of_the_last_commit(
    polaris: Polaris, connect: Connect, version: PolarisVersion
) -> None:
    polaris.version = version
    polaris.add(("ns0",), "tagged", "s3://lake/tagged", tags=("v1",))
    polaris.add(("ns0",), "empty", "s3://lake/empty", snapshots=0)
    catalog = connect()
    for _ in range(2):
        assert (await catalog.load_table("ns0.tagged")).refs == frozenset(("main", "v1"))
    assert (await catalog.load_table("ns0.empty")).refs == frozenset(("main",))
    polaris.add(("ns0",), "tagged", "s3://lake/tagged", tags=("v1", "v2"))
    polaris.commit(("ns0",), "tagged")
    assert (await catalog.load_table("ns0.tagged")).refs == frozenset(("main", "v1", "v2"))


async def test_very_many_branches_are_left_to_the_metadata(polaris: Polaris, connect: Connect) -> None:
    tags = tuple(f"nightly-{number:05}" for number in range(1000))
    polaris.add(("ns0",), "tagged", "s3://lake/tagged", tags=tags)
    catalog = connect()
    first, second = [await catalog.load_table("ns0.tagged") for _ in range(2)]
    assert first == second
    assert first.refs is None
    # The second response is short, because the first one is cached.
    assert len(polaris.requests_to("/tables/tagged")) == 3


async def test_a_catalog_need_not_report_branches(polaris: Polaris, connect: Connect) -> None:
    metadata = {"location": "s3://lake/wh/ns0/t0"}
    reply = {"metadata-location": "s3://lake/wh/ns0/t0/metadata/1.json", "metadata": metadata}
    polaris.tell(LOAD, Reply(200, reply))
    assert (await connect().load_table("ns0.t0")).refs is None


async def test_views_are_not_listed_and_loading_one_says_what_it_is(
    polaris: Polaris, connect: Connect
) -> None:
    polaris.add_view(("ns0",), "report")
    catalog = connect()
    assert await catalog.list_tables("ns0") == ["t0"]
    with pytest.raises(UnsupportedOperation, match="it is a view in its catalog") as refused:
        await catalog.load_table("ns0.report")
    assert (refused.value.detail, "ns0" in refused.value.message) == ("ns0.report", False)
    with pytest.raises(NotFound, match=r"has no table 'ns0\.gone'"):
        await catalog.load_table("ns0.gone")


@pytest.mark.parametrize(
    "reply",
    [Reply(404, b""), Reply.error(403, "ForbiddenException", "no"), Reply.error(500, "Error", "no")],
)
async def test_a_view_that_cannot_be_loaded_is_a_missing_table(
    polaris: Polaris, connect: Connect, reply: Reply
) -> None:
    polaris.add_view(("ns0",), "report")
    polaris.tell("/views/report", reply)
    with pytest.raises(NotFound):
        await connect().load_table("ns0.report")


@pytest.mark.parametrize(
    ("config", "found"),
    [
        ({}, False),
        ({"defaults": {"view-endpoints-supported": "true"}}, True),
        ({"defaults": {"view-endpoints-supported": "true"}, "endpoints": ["GET /v1/config"]}, False),
        ({"endpoints": ["GET v1/{prefix}/namespaces/{namespace}/views/{view}"]}, True),
    ],
)
async def test_views_are_looked_up_where_the_catalog_has_them(
    polaris: Polaris, connect: Connect, config: dict[str, object], found: bool
) -> None:
    polaris.add_view(("ns0",), "report")
    polaris.tell("/v1/config", Reply(200, {"overrides": {"prefix": "lake"}, **config}))
    with pytest.raises(UnsupportedOperation if found else NotFound):
        await connect().load_table("ns0.report")
    assert len(polaris.requests_to("/namespaces/ns0/views/report")) == found
