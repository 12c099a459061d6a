"""Which tables the Iceberg catalog offers, and what it says of the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.gateways.in_memory import InMemory, SealableStorage
from support.gateways.memory_instances import LAKE

from sluicegate.api import CatalogTable, SharedTable
from sluicegate.protocols.common.iceberg_eligibility import IcebergOffers
from sluicegate_testing.fakes import MemoryVendor

SHARED = SharedTable("1", "s", "2", "eu", "t", "lake", "t", access_modes=("url", "dir"))
SOURCE = CatalogTable(
    "1", "iceberg", f"{LAKE}/t", metadata_location=f"{LAKE}/t/metadata/v1.metadata.json"
)


class Undelegated(MemoryVendor):
    """A vendor whose credentials were found to cover too much for recipients."""

    def can_delegate(self, location: str) -> bool:
        return False


def obstacle(shared: dict[str, Any], source: dict[str, Any]) -> str | None:
    """Why the table with these differences is not offered."""
    offers = IcebergOffers(InMemory().instances)
    return offers.obstacle(replace(SHARED, **shared), replace(SOURCE, **source))


@pytest.mark.parametrize(
    ("shared", "source"),
    [
        ({}, {}),
        ({"access_modes": ("dir",)}, {}),
        ({"history": True}, {}),
        ({}, {"format": "delta"}),
        ({}, {"location": "mem://lake/t/"}),
        ({}, {"auxiliary_locations": (f"{LAKE}/data/t",)}),
        ({}, {"vendor": MemoryVendor(), "auxiliary_locations": (f"{LAKE}/sealed/t",)}),
    ],
)
def test_offered(shared: dict[str, Any], source: dict[str, Any]) -> None:
    assert obstacle(shared, source) is None


@pytest.mark.parametrize(
    ("shared", "source", "reason"),
    [
        ({}, {"metadata_location": None}, "no Iceberg metadata"),
        ({"access_modes": ("url",)}, {}, "not shared with directory access"),
        ({"partition_filter": "country = 'DE'"}, {}, "only a part of it is shared"),
        ({"start_version": 1}, {}, "only a part of it is shared"),
        ({"ref": "audit"}, {}, "one branch or tag is shared"),
        ({"ref": "audit", "access_modes": ("url",)}, {}, "one branch or tag is shared"),
        ({}, {"metadata_location": f"{LAKE}/t2/v1.metadata.json"}, "outside its directory"),
        ({}, {"metadata_location": f"{LAKE}/t/../t2/v1.metadata.json"}, "outside its directory"),
        (
            {},
            {"auxiliary_locations": (f"{LAKE}/d",), "metadata_location": f"{LAKE}/d/v1.json"},
            "outside its directory",
        ),
        ({}, {"auxiliary_locations": (f"{LAKE}/sealed/t",)}, "does not offer temporary credentials"),
        ({}, {"auxiliary_locations": ("s3://elsewhere/t",)}, "does not offer temporary credentials"),
        ({}, {"vendor": Undelegated()}, "does not offer temporary credentials"),
        (
            {},
            {"vendor": MemoryVendor(), "auxiliary_locations": ("memory://other/t",)},
            "does not offer temporary credentials",
        ),
    ],
)
def test_not_offered(shared: dict[str, Any], source: dict[str, Any], reason: str) -> None:
    assert reason in str(obstacle(shared, source))


def test_storage_that_vends_nothing_for_the_root_offers_nothing() -> None:
    made = InMemory(storage=SealableStorage("memory://other/"))
    assert "temporary credentials" in str(IcebergOffers(made.instances).obstacle(SHARED, SOURCE))


def test_the_directories_are_the_tables_own() -> None:
    source = replace(SOURCE, auxiliary_locations=("mem://lake/data", f"{LAKE}/t/nested"))
    assert IcebergOffers(InMemory().instances).locations(source) == (f"{LAKE}/t", f"{LAKE}/data")
