"""Credentials of assets: for which directory, how they are recorded, and which errors there are."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.gateways.memory_assets import CHURN, MANUALS, STYLE, memory_assets, versions
from support.gateways.memory_grants import ACME
from support.gateways.memory_instances import LAKE

from sluicegate.api import (
    CatalogAsset,
    NotFound,
    Scope,
    SharedAsset,
    StorageError,
    TemporaryCredentials,
    UnsupportedOperation,
)
from sluicegate.protocols.delta_sharing.assets.credentials import AssetCredentials
from sluicegate_testing.fakes import MemoryVendor


class FailingVendor(MemoryVendor):
    """Raises an error instead of vending."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    async def vend(self, scope: Scope) -> TemporaryCredentials:
        raise self._error


@pytest.mark.parametrize(
    ("shared", "location"), [(MANUALS, f"{LAKE}/manuals"), (STYLE, f"{LAKE}/skills/sql-style")]
)
async def test_a_directory_is_opened_and_recorded(shared: SharedAsset, location: str) -> None:
    gateway = memory_assets()
    credentials = await gateway.credentials.of_directory(ACME, shared)
    assert credentials.location == location
    (event,) = gateway.events
    assert event.kind == "issued.credentials"
    assert event.attributes["asset"] == shared.kind
    assert event.attributes["table"] == shared.full_name
    assert event.attributes["location"] == location


async def test_a_version_opens_its_own_directory() -> None:
    gateway = memory_assets()
    second = versions()[1]
    desk = AssetCredentials(gateway.resolver, gateway.descriptions, gateway.vending)
    credentials = await desk.of_version(ACME, CHURN, second)
    assert credentials.location == f"{LAKE}/churn/2"
    assert gateway.events[0].attributes["asset"] == "model"


async def test_a_version_that_is_not_ready_has_none() -> None:
    gateway = memory_assets()
    with pytest.raises(UnsupportedOperation, match="PENDING_REGISTRATION"):
        await gateway.credentials.of_version(ACME, CHURN, versions()[2])
    assert gateway.events == []


async def test_the_vendor_of_the_catalog_is_used() -> None:
    vendor = MemoryVendor()
    asset = CatalogAsset("c1", f"{LAKE}/manuals", vendor=vendor)
    gateway = memory_assets(catalog={("volume", "eu.manuals"): asset})
    await gateway.credentials.of_directory(ACME, MANUALS)
    assert [scope.locations for scope in vendor.scopes] == [(f"{LAKE}/manuals",)]
    version = replace(versions()[0], vendor=vendor)
    await gateway.credentials.of_version(ACME, CHURN, version)
    assert vendor.scopes[1].locations == (f"{LAKE}/churn/1",)


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (UnsupportedOperation("private"), "no temporary credentials that expire"),
        (StorageError("private"), "are not available now"),
        (NotFound("private"), "no longer exists"),
        (RuntimeError("private"), "are not available now"),
    ],
)
async def test_errors_of_vendors_name_the_asset(raised: Exception, message: str) -> None:
    asset = CatalogAsset("c1", f"{LAKE}/manuals", vendor=FailingVendor(raised))
    gateway = memory_assets(catalog={("volume", "eu.manuals"): asset})
    with pytest.raises((UnsupportedOperation, StorageError, NotFound), match=message) as refused:
        await gateway.credentials.of_directory(ACME, MANUALS)
    assert "the volume sales.eu.manuals" in refused.value.message
    assert "private" not in refused.value.message


async def test_storage_that_vends_nothing_says_so() -> None:
    gateway = memory_assets()
    gateway.storage.sealed = (f"{LAKE}/manuals",)
    with pytest.raises(UnsupportedOperation, match=r"volume sales\.eu\.manuals"):
        await gateway.credentials.of_directory(ACME, MANUALS)
