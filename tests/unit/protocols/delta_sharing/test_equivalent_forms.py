"""Storage signs locations below its prefix, in whatever form catalogs and logs write them."""

from __future__ import annotations

from typing import Any, cast

import pytest
from support.gateways.in_memory import InMemory
from support.gateways.memory_grants import ACME
from support.gateways.memory_instances import LAKE

from sluicegate.api import CatalogTable, SharedTable
from sluicegate.protocols.presigning.signer import Signer
from sluicegate_testing.fakes import FakeLinks

SHARED = SharedTable("1", "sales", "s1", "eu", "orders", "main", "eu.orders")
LINKS = FakeLinks(f"{LAKE}/")


@pytest.mark.parametrize("root", [f"{LAKE}/t", "mem://lake/t", "mem://lake/t/"])
@pytest.mark.parametrize(
    "paths",
    [
        ["a.parquet", "d=1/b.parquet"],
        ["a.parquet", "mem://lake/t/b.parquet", f"{LAKE}/sources/c.parquet"],
    ],
)
async def test_equivalent_forms_are_signed_as_the_canonical_one(root: str, paths: list[str]) -> None:
    made = InMemory(absolute_paths=(f"{LAKE}/sources/",))
    source = CatalogTable("1", "delta", root)
    opened = await made.resolver.open_located(ACME, SHARED, source)
    signer = Signer(made.instances, made.vending, cast("Any", None), 60)
    signed = await signer.presign(opened, paths)
    canonical = made.instances.canonical
    expected = [canonical(path) if "://" in path else f"{LAKE}/t/{path}" for path in paths]
    assert [LINKS.location_of(url) for url in signed.urls] == expected
