"""Policies in Cedar decide by tags, in listings, reads, and requests for credentials."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.gateways.vending_files import VendingGateway, vending_gateway
from support.tables.deltalog import DeltaFolder, add, metadata, protocol

POLICIES = """
permit (principal == Sluicegate::Recipient::"acme", action, resource)
when { resource.hasTag("class") && resource.getTag("class") == "public" };

permit (principal, action == Sluicegate::Action::"read", resource in Sluicegate::Schema::"sales.eu")
when { resource.hasTag("class") && resource.getTag("class") == "internal" };
"""
TABLES = {"clicks": "public", "orders": "internal", "secret": "secret", "visits": None}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VendingGateway]:
    folder = tmp_path_factory.mktemp("policy_engines")
    policies = folder / "policies.cedar"
    policies.write_text(POLICIES)
    for name in TABLES:
        DeltaFolder(folder / "lake" / name).commit(0, protocol(), metadata(), add("a.parquet"))
    tables = {
        name: {"access_modes": ["url", "dir"], "tags": {"class": value} if value else {}}
        for name, value in TABLES.items()
    }
    sections = {"policies": [{"type": "cedar", "policy_files": [str(policies)]}]}
    with vending_gateway(folder, tables, sections=sections) as vending:
        yield vending


@pytest.mark.parametrize("path", ["all-tables", "schemas/eu/tables"])
def test_a_listing_contains_what_the_tags_permit(gateway: VendingGateway, path: str) -> None:
    found = {name: item.get("accessModes") for name, item in gateway.listed(path).items()}
    assert found == {"clicks": ["url", "dir"], "orders": None}


@pytest.mark.parametrize(
    ("table", "read", "vend"),
    [("clicks", 200, 200), ("orders", 200, 403), ("secret", 404, 404), ("visits", 404, 404)],
)
def test_reads_and_credentials_are_decided_like_listings(
    gateway: VendingGateway, table: str, read: int, vend: int
) -> None:
    for name in (table, table.upper()):
        assert gateway.query(f"schemas/eu/tables/{name}").status == read
        assert gateway.credentials(name).status == vend
        assert gateway.get(f"schemas/eu/tables/{name}").status == read
