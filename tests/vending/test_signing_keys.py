"""Which credentials sign URLs: a token that would be in the URL gives away all that it opens."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import pytest

from sluicegate.api import CatalogTable, Presigned, SharedTable, TemporaryCredentials
from sluicegate.config import Settings
from sluicegate.doors.resolve import OpenTable
from sluicegate.keyring import KeyRing
from sluicegate.registry import Instances, Registry, configure
from sluicegate.registry.contexts import NoLinks
from sluicegate.sharing.derived_links import DerivedLinks
from sluicegate.sharing.signing import Signer
from sluicegate.testing.fakes import MemoryStorage

from .conftest import Desk

LAKE = "memory://lake"
ROOT = f"{LAKE}/orders"
BOTH: dict[str, Any] = {"access_modes": ("url", "dir")}
FILTERED = {"partition_filter": "country = 'DE'"}
ORDERS = SharedTable("t1", "sales", "s1", "eu", "orders", "main", "eu.orders")


class Recording(MemoryStorage):
    """Remembers what it was told to sign with; `None` is its own."""

    def __init__(self) -> None:
        super().__init__()
        self.signed_with: list[TemporaryCredentials | None] = []

    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        self.signed_with.append(credentials)
        return await super().presign(locations, expires_in)


@pytest.fixture
async def signer(desk: Desk) -> AsyncIterator[Signer]:
    registry = Registry.load([])
    instances = Instances(registry, configure(Settings(), registry), links=NoLinks)
    derived = DerivedLinks(KeyRing((bytes(32),)), "https://gateway.example")
    yield Signer(instances, desk.vending, derived, 3600)
    await instances.aclose()


@pytest.mark.parametrize(
    ("kind", "opens", "shared", "signs"),
    [
        ("aws", ROOT, {}, True),
        ("aws", LAKE, FILTERED, True),
        ("r2", ROOT, FILTERED, True),
        ("azure", ROOT, {}, False),
        ("azure", ROOT, FILTERED, False),
        ("azure", ROOT, {**BOTH, **FILTERED}, False),
        ("azure", ROOT, {**BOTH, "start_version": 3}, False),
        ("azure", LAKE, BOTH, False),
        ("azure", ROOT, BOTH, True),
        ("gcp", ROOT, BOTH, False),
    ],
)
async def test_a_catalogs_token_is_in_a_url_only_for_who_may_have_the_directory(
    desk: Desk,
    signer: Signer,
    kind: Literal["aws", "azure", "gcp", "r2"],
    opens: str,
    shared: dict[str, Any],
    signs: bool,
) -> None:
    storage = Recording()
    vended = TemporaryCredentials(opens, kind, {"sas_token": "sig=x"}, 1)
    table = OpenTable(
        desk.principals["acme"],
        replace(ORDERS, **shared),
        CatalogTable("c1", "delta", ROOT, vendor=desk.vendor),
        storage,
        await storage.open(ROOT),
        vended,
    )
    await signer.presign(table, ["a.parquet"])
    assert storage.signed_with == [vended if signs else None]
