"""The schemas of a share of an entire catalog: which there are, their names, ids and failures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from support.gateways.in_memory import InMemory, ListedCatalog
from support.gateways.memory_grants import ACME, MemoryGrants

from sluicegate.api import (
    NotFound,
    PermissionDenied,
    Principal,
    Schema,
    Share,
    SharedCatalogSource,
    SharedSchemaSource,
    Unavailable,
)
from sluicegate.protocols.common.share_schemas import ShareSchemas

SALES = Share("s1", "sales", source=SharedCatalogSource("main"))
OWN = Share("s2", "own")
WORDS = "pq: relation namespaces of db-7.internal is locked"


def of(*names: str) -> ListedCatalog:
    """A catalog with some schemas, which have no tables."""
    return ListedCatalog({name: {} for name in names})


def found_in(
    catalog: ListedCatalog, *declared: Schema, shares: Sequence[Share] = (SALES, OWN)
) -> ShareSchemas:
    """What finds the schemas of shares, if the catalog is `main` and also `second`."""
    grants = MemoryGrants(shares, declared)
    made = InMemory({"main": catalog, "second": catalog}, grants)
    return ShareSchemas(grants, made.instances)


def sourced(**options: Any) -> Share:
    return replace(SALES, source=SharedCatalogSource(**{"catalog": "main", **options}))


async def names(shares: ShareSchemas, share: str = "sales") -> list[str]:
    return [schema.name for schema in await shares.schemas(ACME, share)]


async def test_a_share_without_a_catalog_has_what_it_declares() -> None:
    declared = Schema("d", OWN, "eu")
    shares = found_in(of("us"), declared)
    assert await shares.schemas(ACME, "own") == [declared]
    assert await shares.reachable(ACME, "own", "tables") == [declared]


async def test_declared_schemas_replace_those_of_the_catalog_with_the_same_name() -> None:
    declared = Schema("d", SALES, "EU")
    shares = found_in(of("us", "eu", "asia"), declared)
    assert await names(shares) == ["asia", "EU", "us"]
    assert await shares.schema(ACME, "sales", "eu") == declared


@pytest.mark.parametrize(
    ("listed", "options", "shown", "logged"),
    [
        (("us", "EU"), {}, ["EU", "us"], ""),
        (("us", "EU"), {"include": ["e?"]}, ["EU"], ""),
        (("us", "EU"), {"exclude": ["US"]}, ["EU"], ""),
        (("us",), {"exclude": ["*"]}, [], "share sales has 0 schemas: include and exclude select none"),
        ((), {}, [], "share sales has 0 schemas: the catalog lists none"),
        (
            ("a.b", "us"),
            {},
            ["us"],
            "'a.b' of share sales is not shared: a schema's name cannot",
        ),
        (("a.b", "c/d"), {"alias": "-"}, ["a-b", "c-d"], ""),
        (("eu", "EU"), {}, [], "'EU' of share sales is not shared: recipients would see it and 'eu'"),
        (("a.b", "a_b", "us"), {"alias": "_"}, ["us"], "see it and 'a_b' under one name, 'a_b'"),
    ],
)
async def test_patterns_and_names_choose_the_schemas_and_warnings_are_logged_once(
    caplog: pytest.LogCaptureFixture,
    listed: tuple[str, ...],
    options: dict[str, Any],
    shown: list[str],
    logged: str,
) -> None:
    shares = found_in(of(*listed), shares=[sourced(**options)])
    assert await names(shares) == shown
    once = len(caplog.records)
    assert await names(shares) == shown
    assert logged in caplog.text
    assert (len(caplog.records), bool(once)) == (once, bool(logged))


class EscapedCatalog(ListedCatalog):
    """Lists names with escapes, as catalogs of nested schemas do."""

    def readable_schema(self, schema: str) -> str:
        return schema.replace("%2E", ".").replace("%25", "%")


async def test_an_alias_is_made_from_the_name_without_the_escapes_of_its_catalog() -> None:
    catalog = EscapedCatalog({"ns%2Edot": {}, "50%25": {}, "a.b": {}, "plain": {}})
    shares = found_in(catalog, shares=[sourced(alias="_")])
    assert await names(shares) == ["50_", "a_b", "ns_dot", "plain"]
    schema = await shares.schema(ACME, "sales", "ns_dot")
    assert schema.source == SharedSchemaSource("main", "ns%2Edot", alias="_")


async def test_schemas_that_the_escapes_keep_apart_have_one_alias(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shares = found_in(EscapedCatalog({"a%2Eb": {}, "a.b": {}}), shares=[sourced(alias="_")])
    assert await names(shares) == []
    assert "recipients would see it and 'a.b' under one name, 'a_b'" in caplog.text


async def test_the_log_suggests_the_alias_of_the_name_without_escapes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert await names(found_in(EscapedCatalog({"ns%2Edot": {}}))) == []
    assert "set alias: '_' to share it as 'ns_dot'" in caplog.text


async def test_schemas_come_and_go_with_those_of_the_catalog() -> None:
    catalog = of("us")
    shares = found_in(catalog)
    [us] = await shares.schemas(ACME, "sales")
    catalog.schemas["asia"] = {}
    [asia, again] = await shares.schemas(ACME, "sales")
    assert (asia.name, again) == ("asia", us)
    del catalog.schemas["us"]
    assert await shares.schemas(ACME, "sales") == [asia]
    with pytest.raises(NotFound):
        await shares.schema(ACME, "sales", "us")


async def test_ids_depend_on_share_catalog_and_schema_but_not_on_the_alias() -> None:
    async def schema(share: Share) -> Schema:
        [only] = await found_in(of("a b"), shares=[share]).schemas(ACME, share.name)
        return only

    first = await schema(sourced(alias="_"))
    renamed = await schema(sourced(alias="--", history=True))
    others = [
        await schema(replace(sourced(alias="_"), id="s9")),
        await schema(sourced(alias="_", catalog="second")),
    ]
    assert first.source == SharedSchemaSource("main", "a b", alias="_")
    assert renamed.source == SharedSchemaSource("main", "a b", alias="--", history=True)
    assert (renamed.name, renamed.id) == ("a--b", first.id)
    assert len({first.id, *(each.id for each in others)}) == 3


async def test_a_schema_is_found_in_any_capitalization() -> None:
    shares = found_in(of("EU"))
    assert (await shares.schema(ACME, "SALES", "eu")).name == "EU"


@pytest.mark.parametrize(("share", "name"), [("sales", "nowhere"), ("own", "eu"), ("other", "eu")])
async def test_a_schema_that_is_not_there_is_not_found(share: str, name: str) -> None:
    with pytest.raises(NotFound, match="there is no"):
        await found_in(of("eu")).schema(ACME, share, name)


async def test_a_share_of_another_recipient_is_not_found_and_its_catalog_not_queried() -> None:
    catalog = of("eu")
    shares = found_in(catalog)
    evil = Principal("r2", "evil", "bearer")
    for reads in (shares.schemas(evil, "sales"), shares.reachable(evil, "sales", "tables")):
        with pytest.raises(NotFound, match="there is no share"):
            await reads
    assert catalog.listings == 0


@pytest.mark.parametrize(
    "failure",
    [Unavailable(WORDS), PermissionDenied(WORDS), NotFound(WORDS, detail="GET /schemas: 404")],
)
async def test_every_failure_of_the_catalog_is_temporary_and_private(failure: Exception) -> None:
    catalog = of("us")
    catalog.failure = failure
    shares = found_in(catalog)
    for reads in (shares.schemas(ACME, "sales"), shares.schema(ACME, "sales", "us")):
        with pytest.raises(Unavailable, match=r"^the schemas of the share sales cannot be") as refused:
            await reads
        assert WORDS in (refused.value.detail or "")


async def test_a_catalog_that_is_not_configured_any_more_is_no_missing_share() -> None:
    shares = found_in(of("us"), shares=[sourced(catalog="gone")])
    with pytest.raises(Unavailable) as refused:
        await shares.schemas(ACME, "sales")
    assert "no catalog named 'gone'" in (refused.value.detail or "")


async def test_declared_schemas_need_no_catalog(caplog: pytest.LogCaptureFixture) -> None:
    declared = Schema("d", SALES, "eu")
    catalog = of("us")
    catalog.failure = Unavailable("down", detail=WORDS)
    shares = found_in(catalog, declared)
    assert await shares.schema(ACME, "sales", "EU") == declared
    assert caplog.text == ""
    assert await shares.reachable(ACME, "sales", "tables") == [declared]
    assert "the catalog of share sales is left out of the listing" in caplog.text
    assert WORDS in caplog.text
