"""Assembles explanations from the parts of a gateway."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from sluicegate._util.lazy import Lazy
from sluicegate.access.explain.lookups import Lookups
from sluicegate.access.grants import Grants
from sluicegate.api import Principal, SharedTable
from sluicegate.config import Settings
from sluicegate.plugins import Instances
from sluicegate.protocols.common.iceberg_eligibility import IcebergOffers
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.delta_sharing.assets.credentials import AssetCredentials
from sluicegate.protocols.delta_sharing.assets.descriptions import AssetDescriptions
from sluicegate.protocols.delta_sharing.assets.resolver import AssetResolver
from sluicegate.protocols.delta_sharing.assets.skill_files import SkillFiles
from sluicegate.protocols.delta_sharing.directory_access.credentials import TableCredentials
from sluicegate.protocols.delta_sharing.directory_access.offer import DirectoryAccess
from sluicegate.protocols.explain.access_steps import AccessSteps
from sluicegate.protocols.explain.explainer import Explainer
from sluicegate.protocols.explain.found import Finder
from sluicegate.protocols.explain.listings import Listings
from sluicegate.protocols.explain.ways import Ways
from sluicegate.protocols.explain.who_can import WhoCan
from sluicegate.protocols.iceberg_rest.file_routes import FileService
from sluicegate.protocols.iceberg_rest.loading import TableLoader
from sluicegate.protocols.iceberg_rest.metadata import MetadataFiles
from sluicegate.protocols.iceberg_rest.ways import TableWays
from sluicegate.vending import Vending
from sluicegate.vending.hadoop.bindings import TokenBindings

if TYPE_CHECKING:
    from sluicegate.protocols.delta_sharing.pipeline import QueryPipeline
    from sluicegate.tables.snapshot import Snapshot


def explanations(
    settings: Settings,
    *,
    lookups: Lookups,
    grants: Grants,
    instances: Instances,
    resolver: Resolver,
    vending: Vending,
    pipeline: Lazy[QueryPipeline],
    files: Callable[[], Awaitable[FileService]],
    token_bindings: TokenBindings,
) -> tuple[Explainer, WhoCan]:
    """The services of `sluicegate access`.

    Args:
        settings: The gateway's settings. The `authentication` section contains identity providers.
        lookups: Finds recipients and shares.
        grants: The recipients' grants.
        instances: Catalogs, storage and policies.
        resolver: Finds shared tables.
        vending: Finds vendors of credentials. Nothing is issued.
        pipeline: Executes requests of Delta Sharing.
        files: Serves tables that Iceberg clients read file by file.
        token_bindings: The available kinds of Hadoop delegation tokens.
    """

    async def latest(principal: Principal, shared: SharedTable) -> Snapshot:
        return await (await pipeline.get()).viewer.latest(principal, shared)

    offers = IcebergOffers(instances)
    loader = TableLoader(resolver, offers, MetadataFiles(resolver, instances), vending)
    assets = AssetResolver(grants, resolver, instances)
    descriptions = AssetDescriptions(assets, SkillFiles(instances, vending))
    ways = Ways(
        resolver=resolver,
        pipeline=pipeline,
        credentials=TableCredentials(resolver, DirectoryAccess(instances), latest, vending),
        ways=TableWays(resolver, offers, loader, files),
        loader=loader,
        bindings=token_bindings,
        assets=assets,
        asset_credentials=AssetCredentials(assets, descriptions, vending),
    )
    listings = Listings(resolver, assets, descriptions, ways)
    finder = Finder(lookups, resolver, assets, instances)
    steps = AccessSteps(settings.authentication, lookups, finder, resolver, ways)
    return Explainer(steps, listings), WhoCan(steps)
