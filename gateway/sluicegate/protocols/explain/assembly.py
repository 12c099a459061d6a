"""Assembles explanations from the parts of a gateway."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sluicegate._util.lazy import Lazy
from sluicegate.access.explain.lookups import Lookups
from sluicegate.protocols.delta_sharing.assembly import table_credentials
from sluicegate.protocols.delta_sharing.assets.credentials import AssetCredentials
from sluicegate.protocols.delta_sharing.assets.descriptions import AssetDescriptions
from sluicegate.protocols.delta_sharing.assets.resolver import AssetResolver
from sluicegate.protocols.delta_sharing.assets.skill_files import SkillFiles
from sluicegate.protocols.explain.access_steps import AccessSteps
from sluicegate.protocols.explain.attempts import ReadAttempts
from sluicegate.protocols.explain.explainer import Explainer
from sluicegate.protocols.explain.finder import Finder
from sluicegate.protocols.explain.listings import Listings
from sluicegate.protocols.explain.who_can import WhoCan
from sluicegate.protocols.iceberg_rest.assembly import Loaders
from sluicegate.protocols.iceberg_rest.file_routes import FileService
from sluicegate.protocols.parts import GatewayParts

if TYPE_CHECKING:
    from sluicegate.protocols.delta_sharing.pipeline import QueryPipeline


def explanations(
    parts: GatewayParts,
    lookups: Lookups,
    pipeline: Lazy[QueryPipeline],
    files: Lazy[FileService],
) -> tuple[Explainer, WhoCan]:
    """The services of `sluicegate access`. Nothing is issued."""
    resolver, instances, vending = parts.resolver, parts.instances, parts.vending
    loaders = Loaders.of(parts, files)
    assets = AssetResolver(parts.grants, resolver, instances)
    descriptions = AssetDescriptions(assets, SkillFiles(instances, vending))
    attempts = ReadAttempts(
        resolver=resolver,
        pipeline=pipeline,
        credentials=table_credentials(parts, pipeline),
        loader=loaders.loader,
        vended=loaders.vended,
        bindings=parts.token_bindings,
        assets=assets,
        asset_credentials=AssetCredentials(assets, descriptions, vending),
    )
    listings = Listings(resolver, assets, descriptions, attempts)
    finder = Finder(lookups, resolver, assets, instances)
    steps = AccessSteps(parts.settings.authentication, lookups, finder, resolver, attempts)
    return Explainer(steps, listings), WhoCan(steps)
