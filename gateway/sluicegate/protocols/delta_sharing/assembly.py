"""Assembles the Delta Sharing protocol: the pipeline's steps, and the keys and lifetimes of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import Route

from sluicegate._util.lazy import Lazy
from sluicegate.api import Principal, SharedTable
from sluicegate.protocols.delta_sharing.assets.credentials import AssetCredentials
from sluicegate.protocols.delta_sharing.assets.descriptions import AssetDescriptions
from sluicegate.protocols.delta_sharing.assets.resolver import AssetResolver
from sluicegate.protocols.delta_sharing.assets.routes import AssetEndpoints
from sluicegate.protocols.delta_sharing.assets.skill_files import SkillFiles
from sluicegate.protocols.delta_sharing.directory_access.credentials import TableCredentials
from sluicegate.protocols.delta_sharing.directory_access.hadoop_tokens import HadoopTokenEndpoint
from sluicegate.protocols.delta_sharing.directory_access.offer import DirectoryAccess
from sluicegate.protocols.delta_sharing.query.async_queries import ASYNC_QUERY_THRESHOLD, AsyncQueries
from sluicegate.protocols.delta_sharing.routes import SharingEndpoints
from sluicegate.protocols.derived_files import DerivedFileEndpoint
from sluicegate.protocols.parts import GatewayParts
from sluicegate.vending.hadoop.issue import TokenIssuer

if TYPE_CHECKING:
    from sluicegate.protocols.delta_sharing.pipeline import QueryPipeline
    from sluicegate.protocols.delta_sharing.query.execute import TableQueries
    from sluicegate.tables.snapshot import Snapshot


def lazy_pipeline(parts: GatewayParts) -> Lazy[QueryPipeline]:
    """The pipeline, which is loaded by the warm-up, or by the first request that comes earlier."""

    def steps() -> QueryPipeline:
        from sluicegate.protocols.delta_sharing.pipeline import (
            QueryPipeline,  # loading it takes half of all memory and start-up time
        )

        return QueryPipeline.build(parts)

    return Lazy(steps)


def table_credentials(parts: GatewayParts, pipeline: Lazy[QueryPipeline]) -> TableCredentials:
    """The step that vends credentials for the directory of a table."""

    async def latest(principal: Principal, shared: SharedTable) -> Snapshot:
        return await (await pipeline.get()).viewer.latest(principal, shared)

    return TableCredentials(parts.resolver, DirectoryAccess(parts.instances), latest, parts.vending)


def sharing_routes(parts: GatewayParts, pipeline: Lazy[QueryPipeline]) -> list[Route]:
    """The routes of the protocol."""
    settings, keys = parts.settings, parts.keys

    async def table_queries() -> TableQueries:
        return (await pipeline.get()).queries

    credentials = table_credentials(parts, pipeline)
    endpoints = SharingEndpoints(
        authentication=parts.authentication,
        grants=parts.grants,
        resolver=parts.resolver,
        access=DirectoryAccess(parts.instances),
        steps=pipeline,
        async_queries=AsyncQueries(
            table_queries,
            keys.derive("query ids"),
            parts.background,
            ASYNC_QUERY_THRESHOLD,
        ),
        credentials=credentials,
        tokens=parts.page_tokens(),
        background=parts.background,
        max_body=settings.limits.request_body.sharing,
    )
    hadoop = HadoopTokenEndpoint(
        parts.resolver,
        credentials,
        parts.token_bindings,
        TokenIssuer(parts.vending, keys.derive("hadoop tokens")),
        settings.limits.request_body.sharing,
    )
    return [
        *endpoints.routes(),
        hadoop.route(parts.authentication),
        DerivedFileEndpoint(keys, parts.grants, parts.resolver, parts.reader).route(),
        *_asset_endpoints(parts).routes(),
    ]


def _asset_endpoints(parts: GatewayParts) -> AssetEndpoints:
    assets = AssetResolver(parts.grants, parts.resolver, parts.instances)
    descriptions = AssetDescriptions(assets, SkillFiles(parts.instances, parts.vending))
    return AssetEndpoints(
        authentication=parts.authentication,
        grants=parts.grants,
        resolver=assets,
        descriptions=descriptions,
        credentials=AssetCredentials(assets, descriptions, parts.vending),
        tokens=parts.page_tokens(),
        max_body=parts.settings.limits.request_body.sharing,
    )
