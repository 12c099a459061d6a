"""Which assets a recipient finds, and how errors of catalogs are reported."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.gateways.memory_assets import CHURN, MANUALS, STYLE, memory_assets
from support.gateways.memory_grants import ACME, RIVAL
from support.gateways.memory_instances import LAKE

from sluicegate.api import (
    ConfigurationError,
    NotFound,
    PermissionDenied,
    Policy,
    PolicyAction,
    Principal,
    SharedTable,
    SluicegateError,
    Unauthenticated,
    Unavailable,
)
from sluicegate.protocols.delta_sharing.assets.resolver import AssetName, errors_about

NAMED = AssetName("volume", "sales", "eu", "Manuals")


class Denying(Policy):
    """Denies one action on everything."""

    def __init__(self, action: PolicyAction) -> None:
        self.action = action
        self.seen: list[frozenset[SharedTable]] = []

    async def allowed(
        self, principal: Principal, action: PolicyAction, tables: frozenset[SharedTable]
    ) -> frozenset[SharedTable]:
        self.seen.append(tables)
        return frozenset() if action == self.action else tables


async def test_an_asset_is_found_by_kind_and_name_in_any_case() -> None:
    gateway = memory_assets()
    assert await gateway.resolver.asset(ACME, NAMED) == MANUALS
    with pytest.raises(NotFound, match=r"no model 'Manuals' in sales\.eu"):
        await gateway.resolver.asset(ACME, replace(NAMED, kind="model"))


async def test_other_recipients_find_nothing() -> None:
    gateway = memory_assets()
    with pytest.raises(NotFound, match="there is no share"):
        await gateway.resolver.asset(RIVAL, NAMED)
    with pytest.raises(NotFound, match="there is no share"):
        await gateway.resolver.all_assets(RIVAL, "sales", "volume")


async def test_assets_are_listed_by_kind_in_a_schema_and_in_a_share() -> None:
    elsewhere = replace(MANUALS, id="v2", schema="us", name="forms")
    resolver = memory_assets(MANUALS, CHURN, elsewhere).resolver
    eu = await resolver.schema(ACME, "sales", "EU")
    assert await resolver.assets(eu, "volume") == [MANUALS]
    assert await resolver.all_assets(ACME, "sales", "volume") == [MANUALS, elsewhere]
    assert await resolver.all_assets(ACME, "sales", "skill") == []


async def test_an_asset_that_a_policy_hides_does_not_exist() -> None:
    policy = Denying("read")
    resolver = memory_assets(policy=policy).resolver
    with pytest.raises(NotFound):
        await resolver.asset(ACME, NAMED)
    assert await resolver.shown(ACME, [MANUALS, STYLE]) == []
    assert policy.seen == [{MANUALS}, {MANUALS, STYLE}]


async def test_a_policy_can_deny_credentials_only() -> None:
    resolver = memory_assets(policy=Denying("vend")).resolver
    assert await resolver.asset(ACME, NAMED) == MANUALS
    with pytest.raises(PermissionDenied, match=r"volume sales\.eu\.manuals"):
        await resolver.asset(ACME, NAMED, "vend")


async def test_assets_and_versions_are_looked_up_in_the_catalog() -> None:
    gateway = memory_assets()
    assert await gateway.resolver.locate(MANUALS) == gateway.catalog["volume", "eu.manuals"]
    assert [each.version for each in await gateway.resolver.versions(CHURN)] == [1, 2, 3]


async def test_what_the_catalog_no_longer_has_is_not_found_by_its_shared_name() -> None:
    gateway = memory_assets()
    gateway.catalog.clear()
    with pytest.raises(NotFound, match=r"volume sales\.eu\.manuals no longer exists") as missing:
        await gateway.resolver.locate(MANUALS)
    assert "eu.manuals'" not in missing.value.message
    with pytest.raises(NotFound, match=r"model sales\.eu\.churn no longer exists"):
        await gateway.resolver.versions(CHURN)


async def test_a_catalog_that_is_not_configured_does_not_hide_the_asset() -> None:
    lost = replace(MANUALS, catalog="lost")
    with pytest.raises(NotFound, match="no longer exists"):
        await memory_assets().resolver.locate(lost)


async def test_directories_are_canonical() -> None:
    resolver = memory_assets().resolver
    source = resolver.directory(MANUALS, "c1", f"mem{LAKE.removeprefix('memory')}/manuals/", None)
    assert (source.id, source.location, source.format) == ("c1", f"{LAKE}/manuals", "volume")
    assert resolver.canonical("mem://lake/x/") == "memory://lake/x"


@pytest.mark.parametrize(
    "location", ["memory://ocean/v", "memory://lake/../ocean", "memory://lake/./ocean"]
)
async def test_a_directory_outside_of_the_configured_storage_is_refused(location: str) -> None:
    with pytest.raises(Unavailable, match="the provider must fix") as refused:
        memory_assets().resolver.directory(MANUALS, "c1", location, None)
    assert "ocean" not in refused.value.message


@pytest.mark.parametrize(
    ("raised", "reported"),
    [
        (NotFound("private"), NotFound),
        (ConfigurationError("private"), Unavailable),
        (PermissionDenied("private"), Unavailable),
        (Unauthenticated("private"), Unavailable),
    ],
)
def test_errors_name_only_the_asset(raised: SluicegateError, reported: type[SluicegateError]) -> None:
    with pytest.raises(reported, match=r"skill sales\.eu\.sql-style") as found, errors_about(STYLE):
        raise raised
    assert "private" not in found.value.message
    assert "private" in (found.value.detail or "")
