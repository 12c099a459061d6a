from __future__ import annotations

from typing import Any

import pytest

from sluicegate.api import CatalogCommit, NotFound, Unavailable, UnsupportedOperation
from sluicegate_testing.servers.unity_catalog.unity import (
    UnityReply,
    UnityRequest,
    UnityServer,
    table_info,
)

from .conftest import Connected

UUID = "016ae953-37a9-438e-8683-9a9a4a79a395"


def staged(version: int) -> dict[str, Any]:
    return {
        "version": version,
        "timestamp": version * 1000,
        "file-name": f"{version:020}.{UUID}.json",
        "file-size": 100 + version,
        "file-modification-timestamp": version * 1000,
    }


def commit(version: int) -> CatalogCommit:
    return CatalogCommit(version, version * 1000, f"{version:020}.{UUID}.json", 100 + version)


def managed(unity: UnityServer, **changed: Any) -> None:
    info = table_info("main.eu.orders", "file:///lake/m", table_type="MANAGED", **changed)
    unity.state.add(info)


@pytest.mark.parametrize(
    ("written", "location"),
    [
        ("file:///lake/orders", "file:///lake/orders"),
        ("file:/lake/orders/", "file:///lake/orders"),
        ("/lake/orders", "file:///lake/orders"),
        ("file:///lake/a%20b/%C3%BC", "file:///lake/a b/ü"),
        ("s3://lake/orders/", "s3://lake/orders"),
        ("S3A://lake/a%25b", "s3://lake/a%b"),
        ("gs://lake/orders", "gs://lake/orders"),
        ("abfs://box@acme.dfs.core.windows.net/o", "abfss://box@acme.dfs.core.windows.net/o"),
    ],
)
async def test_a_location_has_one_spelling(
    unity: UnityServer, connected: Connected, written: str, location: str
) -> None:
    unity.state.add(table_info("main.eu.orders", written))
    assert (await connected().load_table("eu.orders")).location == location


@pytest.mark.parametrize(
    "written", ["orders", "s3:lake", "file:///", "s3:///x", "s3://lake/../x", "s3://lake/%2e%2e/x", 7]
)
async def test_a_location_that_cannot_be_is_not_used(
    unity: UnityServer, connected: Connected, written: object
) -> None:
    unity.state.add(table_info("main.eu.orders", "file:///x", storage_location=written))
    with pytest.raises(Unavailable) as raised:
        await connected(credentials="storage").load_table("eu.orders")
    assert str(written) not in raised.value.message


@pytest.mark.parametrize(
    ("catalog", "identifier"),
    [("main", "eu.orders"), ("main", "main.eu.orders"), (None, "main.eu.orders")],
)
async def test_a_table_is_found_by_its_names(
    unity: UnityServer, connected: Connected, catalog: str | None, identifier: str
) -> None:
    unity.state.add(table_info("main.eu.orders", "file:///lake/orders", 7))
    table = await connected(catalog=catalog).load_table(identifier)
    assert (table.id, table.format) == ("00000000-0000-0000-0000-000000000007", "delta")
    assert unity.requests[0].path == "/api/2.1/unity-catalog/tables/main.eu.orders"


@pytest.mark.parametrize(
    ("catalog", "identifier"),
    [
        ("main", "eu.Orders"),
        ("main", "EU.orders"),
        ("main", "other.eu.orders"),
        ("main", "orders"),
        ("main", "eu.hidden"),
        ("main", "eu.größe"),
        (None, "eu.orders"),
        (None, "a.main.eu.orders"),
    ],
)
async def test_names_are_exact(
    unity: UnityServer, connected: Connected, catalog: str | None, identifier: str
) -> None:
    unity.state.add(
        table_info("main.eu.orders", "file:///lake/orders"),
        table_info("other.eu.orders", "file:///lake/other"),
        table_info("main.eu.hidden", "file:///lake/hidden"),
    )
    unity.state.forbidden = {"main.eu.hidden"}
    with pytest.raises(NotFound) as raised:
        await connected(catalog=catalog).load_table(identifier)
    assert "10.0.0.7" not in raised.value.message


async def test_a_table_that_was_created_anew_is_another(
    unity: UnityServer, connected: Connected
) -> None:
    ids = set()
    for number in (1, 2):
        unity.state.add(table_info("main.eu.orders", "file:///lake/orders", number))
        ids.add((await connected().load_table("eu.orders")).id)
    assert len(ids) == 2


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"table_type": "VIEW", "storage_location": None}, "it is a view"),
        ({"table_type": "METRIC_VIEW"}, "it is a view"),
        ({"data_source_format": "CSV"}, "it is not a Delta table"),
        ({"storage_location": None}, "does not report the location"),
    ],
)
async def test_what_cannot_be_shared_is_refused_with_the_reason(
    unity: UnityServer, connected: Connected, changed: dict[str, Any], told: str
) -> None:
    unity.state.add(table_info("main.eu.orders", "file:///lake/orders", **changed))
    with pytest.raises(UnsupportedOperation, match=told):
        await connected().load_table("eu.orders")


@pytest.mark.parametrize("changed", [{"table_id": None}, {"table_id": 7}, {"name": "visits"}])
async def test_an_answer_about_something_else_is_not_used(
    unity: UnityServer, connected: Connected, changed: dict[str, Any]
) -> None:
    answer = table_info("main.eu.orders", "file:///lake/orders", **changed)
    unity.instead = lambda _: UnityReply.of(answer)
    with pytest.raises(Unavailable):
        await connected().load_table("eu.orders")


UNIFORM = {"delta.universalFormat.enabledFormats": "hudi, iceberg"}
METADATA = "file:///lake/m/metadata/v 1.metadata.json"


@pytest.mark.parametrize(
    ("kind", "properties", "metadata", "asks"),
    [
        ("EXTERNAL", UNIFORM, METADATA, 1),
        ("MANAGED", UNIFORM, METADATA, 1),
        ("EXTERNAL", {}, None, 0),
        ("EXTERNAL", {"delta.universalFormat.enabledFormats": "hudi"}, None, 0),
    ],
)
async def test_the_iceberg_metadata_of_a_uniform_table_is_found(
    unity: UnityServer,
    connected: Connected,
    kind: str,
    properties: dict[str, str],
    metadata: str | None,
    asks: int,
) -> None:
    info = table_info("main.eu.orders", "file:///lake/m", table_type=kind, properties=properties)
    unity.state.add(info)
    unity.state.uniform["main.eu.orders"] = "file:/lake/m/metadata/v%201.metadata.json"
    table = await connected().load_table("eu.orders")
    assert (table.format, table.metadata_location) == ("delta", metadata)
    assert unity.count("/delta/v1/catalogs/main/schemas/eu/tables/orders") == asks


async def test_an_older_server_has_no_iceberg_metadata(
    unity: UnityServer, connected: Connected
) -> None:
    unity.state.version = "0.4"
    unity.state.add(table_info("main.eu.orders", "file:///lake/m", properties=UNIFORM))
    assert (await connected().load_table("eu.orders")).metadata_location is None


@pytest.mark.parametrize("uniform", ["iceberg", {"iceberg": None}, {"iceberg": {}}, {}, []])
async def test_iceberg_metadata_without_a_location_is_none(
    unity: UnityServer, connected: Connected, uniform: object
) -> None:
    unity.state.add(table_info("main.eu.orders", "file:///lake/m", properties=UNIFORM))
    described = {"table-uuid": "00000000-0000-0000-0000-000000000001", "location": "file:///lake/m"}
    answer = UnityReply.of({"metadata": described, "commits": [], "uniform": uniform})
    unity.instead = lambda asked: answer if "/delta/v1/" in asked.path else None
    assert (await connected().load_table("eu.orders")).metadata_location is None


@pytest.mark.parametrize("location", ["nowhere", "s3://lake/m/../other/v1.metadata.json", 7])
async def test_iceberg_metadata_at_no_location_makes_the_table_unavailable(
    unity: UnityServer, connected: Connected, location: object
) -> None:
    unity.state.add(table_info("main.eu.orders", "file:///lake/m", properties=UNIFORM))
    unity.state.uniform["main.eu.orders"] = location  # type: ignore[assignment]
    with pytest.raises(Unavailable) as raised:
        await connected().load_table("eu.orders")
    assert "the Iceberg metadata" in (raised.value.detail or "")


async def test_a_table_has_one_identifier_in_all_its_spellings(connected: Connected) -> None:
    for catalog in (connected(), connected(catalog=None)):
        assert catalog.canonical_identifier("main.eu.orders") == "main.eu.orders"
        assert catalog.canonical_schema("main.eu") == "main.eu"
        assert catalog.canonical_identifier("a.b.c.d") == "a.b.c.d"
    assert connected().canonical_identifier("eu.orders") == "main.eu.orders"
    assert connected().canonical_schema("eu") == "main.eu"


async def test_ratified_commits_come_in_order_with_the_latest_version(
    unity: UnityServer, connected: Connected
) -> None:
    managed(unity)
    unity.state.commits["main.eu.orders"] = ([staged(5), staged(4)], 5)
    table = await connected().load_table("eu.orders")
    assert (table.commits, table.latest_version) == ((commit(4), commit(5)), 5)


@pytest.mark.parametrize(("kind", "asks"), [("MANAGED", 1), ("EXTERNAL", 0)])
async def test_a_table_that_keeps_its_own_log_has_no_commits(
    unity: UnityServer, connected: Connected, kind: str, asks: int
) -> None:
    unity.state.add(table_info("main.eu.orders", "file:///lake/m", table_type=kind))
    table = await connected().load_table("eu.orders")
    assert (table.commits, table.latest_version) == ((), None)
    assert unity.count("/delta/v1/catalogs/main/schemas/eu/tables/orders") == asks


@pytest.mark.parametrize(
    "feature", ["delta.feature.catalogManaged", "delta.feature.catalogOwned-preview"]
)
async def test_commits_are_requested_from_older_servers_page_by_page(
    unity: UnityServer, connected: Connected, feature: str
) -> None:
    unity.state.version = "0.4"
    managed(unity, properties={feature: "supported"})
    unity.state.commits["main.eu.orders"] = ([staged(version) for version in (9, 7, 8, 6, 5)], 9)
    table = await connected().load_table("eu.orders")
    assert table.commits == tuple(map(commit, range(5, 10)))
    assert table.latest_version == 9
    pages = [asked.json for asked in unity.requests if asked.path.endswith("/commits")]
    assert [page["start_version"] for page in pages] == [0, 7, 9]
    assert {page["table_uri"] for page in pages} == {"file:///lake/m"}


async def test_commits_are_requested_from_older_servers_with_authorization(
    unity: UnityServer, connected: Connected
) -> None:
    unity.state.version, unity.state.tokens = "0.4", {"service-token"}
    managed(unity, properties={"delta.feature.catalogManaged": "supported"})
    unity.state.commits["main.eu.orders"] = ([staged(5)], 5)
    table = await connected(token="service-token").load_table("eu.orders")
    assert (table.commits, table.latest_version) == ((commit(5),), 5)
    assert unity.count("/tables/orders") == 1


async def test_an_older_servers_plain_table_costs_no_question_for_commits(
    unity: UnityServer, connected: Connected
) -> None:
    unity.state.version = "0.4"
    managed(unity)
    assert (await connected().load_table("eu.orders")).latest_version is None
    assert unity.count("/delta/preview/commits") == 0


def _lies() -> list[tuple[str, Any]]:
    broken = [{**staged(4), "file-name": name} for name in ("../../x.json", "a/b.json", ".json", None)]
    broken += [
        {**staged(4), key: value} for key in ("version", "timestamp") for value in (-1, "4", True)
    ]
    return [
        *(("commits", [entry]) for entry in broken),
        ("commits", "none"),
        ("commits", ["none"]),
        ("latest-table-version", None),
        ("latest-table-version", "5"),
        ("metadata", None),
    ]


@pytest.mark.parametrize(("key", "value"), _lies(), ids=str)
async def test_commits_that_cannot_be_are_not_used(
    unity: UnityServer, connected: Connected, key: str, value: object
) -> None:
    managed(unity)
    unity.state.commits["main.eu.orders"] = ([staged(4)], 5)

    def lie(asked: UnityRequest) -> UnityReply | None:
        if "/delta/v1/" not in asked.path:
            return None
        document = UnityRequest(*(asked.method, "", {}, {}), unity.state.answer(asked).content).json
        return UnityReply.of({**document, key: value})

    unity.instead = lie
    with pytest.raises(Unavailable):
        await connected().load_table("eu.orders")


@pytest.mark.parametrize(
    "changed", [{"table_id": "00000000-0000-0000-0000-000000000099"}, {"storage_location": "/lake/n"}]
)
async def test_a_table_that_is_replaced_meanwhile_is_not_mixed_up(
    unity: UnityServer, connected: Connected, changed: dict[str, Any]
) -> None:
    managed(unity)
    first = unity.state.tables["main.eu.orders"]

    def replaced(asked: UnityRequest) -> UnityReply | None:
        if "/delta/v1/" in asked.path:
            unity.state.tables["main.eu.orders"] = {**first, **changed}
        return None

    unity.instead = replaced
    with pytest.raises(Unavailable):
        await connected().load_table("eu.orders")
