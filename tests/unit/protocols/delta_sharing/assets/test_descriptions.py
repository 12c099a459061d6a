"""What responses contain about each kind of asset."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest
from support.gateways.memory_assets import CHURN, MANUALS, SKILL, STYLE, memory_assets, versions
from support.gateways.memory_grants import ACME
from support.gateways.memory_instances import LAKE

from sluicegate.api import CatalogAsset, Unavailable
from sluicegate.protocols.delta_sharing.assets.descriptions import AssetDescriptions

NAMED = {"schema": "eu", "share": "sales", "shareId": "s1"}


async def test_a_volume_has_its_location() -> None:
    assert await memory_assets().descriptions.of(ACME, MANUALS) == {
        **NAMED,
        "name": "manuals",
        "id": "v1",
        "storageLocation": f"{LAKE}/manuals",
    }


async def test_a_model_has_the_catalogs_comment_unless_the_share_has_one() -> None:
    descriptions = memory_assets().descriptions
    found = await descriptions.of(ACME, CHURN)
    assert found == {
        **NAMED,
        "name": "churn",
        "id": "m1",
        "comment": "Who leaves",
        "storageLocation": f"{LAKE}/churn",
    }
    own = await descriptions.of(ACME, replace(CHURN, comment="Ours"))
    assert own["comment"] == "Ours"


async def test_a_model_without_a_directory_has_no_location() -> None:
    gateway = memory_assets(catalog={("model", "eu.churn"): CatalogAsset("c2", None)})
    assert await gateway.descriptions.of(ACME, CHURN) == {**NAMED, "name": "churn", "id": "m1"}


async def test_a_skill_has_the_fields_of_its_file() -> None:
    gateway = memory_assets()
    text = SKILL.replace(b"---\n#", b"license: MIT\nmetadata: {a: b}\ncompatibility: c\n---\n#")
    await gateway.storage.put(f"{LAKE}/skills/sql-style/SKILL.md", text)
    assert await gateway.descriptions.of(ACME, STYLE) == {
        **NAMED,
        "name": "sql-style",
        "id": "k1",
        "description": "How we write SQL.",
        "storageLocation": f"{LAKE}/skills/sql-style",
        "license": "MIT",
        "compatibility": "c",
        "metadata": {"a": "b"},
    }


def test_a_version_has_what_the_catalog_knows() -> None:
    gateway = memory_assets()
    descriptions = AssetDescriptions(gateway.resolver, gateway.skills)
    first, second, pending = (descriptions.version(CHURN, each) for each in versions())
    named = {"modelName": "churn", "schema": "eu", "share": "sales"}
    assert first == {
        **named,
        "version": 1,
        "status": "READY",
        "storageLocation": f"{LAKE}/churn/1",
        "id": first["id"],
        "comment": "First",
    }
    assert (second["source"], second["runId"]) == ("s", "r")
    assert pending["status"] == "PENDING_REGISTRATION"
    assert len({each["id"] for each in (first, second, pending)}) == 3


async def test_a_catalog_that_reports_no_location_is_named_in_the_log_only() -> None:
    gateway = memory_assets(catalog={("volume", "eu.manuals"): CatalogAsset("c1", None)})
    with pytest.raises(Unavailable, match=r"volume sales\.eu\.manuals cannot be served"):
        await gateway.descriptions.source(MANUALS)


async def test_a_page_leaves_out_what_cannot_be_described_and_says_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    gone = replace(MANUALS, id="v0", name="gone", identifier="eu.gone")
    with caplog.at_level(logging.WARNING):
        found = await memory_assets().descriptions.of_page(ACME, [gone, MANUALS, STYLE])
    assert [each["name"] for each in found] == ["manuals"]
    assert "volume sales.eu.gone is left out of the listing" in caplog.text
    assert "skill sales.eu.sql-style is left out of the listing" in caplog.text
