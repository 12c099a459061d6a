"""Explanations of the access to volumes, models and skills in memory."""

from __future__ import annotations

from typing import Any

import pytest
from support.gateways.memory_assets import memory_assets, versions
from support.gateways.memory_grants import ACME, record
from support.gateways.memory_instances import LAKE
from support.gateways.parts import gateway_parts

from sluicegate._util.lazy import Lazy
from sluicegate.access.explain.lookups import HeldCredential, KnownRecipient, Lookups, UnknownName
from sluicegate.api import CatalogAsset, NotFound, Share, SharedSchemaSource
from sluicegate.database.reads import CredentialRecord
from sluicegate.protocols.explain.assembly import explanations
from sluicegate.protocols.explain.listings import Listings
from sluicegate.protocols.explain.models import AssetPath, Explanation

FAR = 4_000_000_000_000
SHARE = Share("s1", "sales")


class OneRecipient(Lookups):
    """Knows `acme`, and the share `sales`."""

    def __init__(self) -> None:
        token = CredentialRecord("k1", b"", record(ACME), FAR, None)
        held = HeldCredential("bearer", token)
        self.known = KnownRecipient(record(ACME), (held,), frozenset({"s1"}))

    async def recipient(self, name: str) -> KnownRecipient:
        return self.known

    async def share(self, name: str) -> Share:
        return SHARE

    async def granted(self, share: Share) -> list[KnownRecipient]:
        return [self.known]


async def explain(name: str, **options: Any) -> Explanation:
    parts = memory_assets(**options)

    def unused() -> Any:
        raise AssertionError("assets need no table")

    explainer, who_can = explanations(gateway_parts(parts), OneRecipient(), Lazy(unused), Lazy(unused))
    path = AssetPath("sales", "eu", name)
    [reader] = (await who_can.readers(path)).readers
    found = await explainer.explain("acme", path)
    assert isinstance(explainer._listings, Listings)
    assert reader.allowed == found.allowed
    return found


@pytest.mark.parametrize(
    ("name", "kind", "directories"),
    [
        ("Manuals", "volume", f"{LAKE}/manuals"),
        ("churn", "model", f"{LAKE}/churn/1, {LAKE}/churn/2"),
        ("sql-style", "skill", f"{LAKE}/skills/sql-style"),
    ],
)
async def test_assets_are_read_by_credentials(name: str, kind: str, directories: str) -> None:
    found = await explain(name)
    assert (found.kind, found.allowed, found.listed_in_iceberg) == (kind, True, False)
    [way] = found.ways
    assert (way.name, way.reason) == ("dir", f"temporary credentials for {directories}")


async def test_a_model_without_a_version_that_is_ready_cannot_be_read() -> None:
    found = await explain("churn", of_model=versions()[2:])
    [way] = found.ways
    assert (found.allowed, found.listed, way.status) == (False, True, 404)


async def test_an_asset_that_its_catalog_no_longer_has_is_not_listed() -> None:
    gone = {("volume", "eu.manuals"): CatalogAsset("c1", None)}
    found = await explain("manuals", catalog=gone)
    assert (found.allowed, found.listed, found.ways[0].status) == (False, False, 503)


async def test_an_asset_of_a_source_is_found_with_its_pattern() -> None:
    source = SharedSchemaSource("main", "eu", exclude=("churn",), kinds=("volumes", "models"))
    found = await explain("manuals", source=source)
    assert [step.reason for step in found.steps if step.name == "volume"] == [
        "from: 'eu.manuals' of catalog 'main', by include '*'"
    ]
    left_out = await explain("churn", source=source)
    assert [step.reason for step in left_out.steps if step.name == "model"] == [
        "exclude 'churn' leaves out 'churn'"
    ]
    with pytest.raises(UnknownName) as caught:
        await explain("manual", source=source)
    assert isinstance(caught.value, NotFound)
    assert "did you mean 'manuals'?" in caught.value.message
