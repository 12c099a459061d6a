"""Assembles the Delta Sharing protocol: the pipeline's steps, and the keys and lifetimes of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import Route

from sluicegate._util.background_jobs import BackgroundJobs
from sluicegate._util.lazy import Lazy
from sluicegate.access.authentication.authenticate import Authentication
from sluicegate.access.grants import Grants
from sluicegate.api import Principal, SharedTable
from sluicegate.config import Settings
from sluicegate.plugins import Instances
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.delta_sharing.assets.credentials import AssetCredentials
from sluicegate.protocols.delta_sharing.assets.descriptions import AssetDescriptions
from sluicegate.protocols.delta_sharing.assets.resolver import AssetResolver
from sluicegate.protocols.delta_sharing.assets.routes import AssetEndpoints
from sluicegate.protocols.delta_sharing.assets.skill_files import SkillFiles
from sluicegate.protocols.delta_sharing.directory_access.credentials import TableCredentials
from sluicegate.protocols.delta_sharing.directory_access.hadoop_tokens import HadoopTokenEndpoint
from sluicegate.protocols.delta_sharing.directory_access.offer import DirectoryAccess
from sluicegate.protocols.delta_sharing.query.async_queries import AsyncQueries
from sluicegate.protocols.delta_sharing.routes import SharingEndpoints
from sluicegate.protocols.derived_files.endpoint import DerivedFileEndpoint
from sluicegate.signing.keyring import KeyRing
from sluicegate.signing.opaque_tokens import TokenSigner
from sluicegate.tables.reading.reader import TableReader
from sluicegate.vending import Vending
from sluicegate.vending.hadoop.bindings import TokenBindings
from sluicegate.vending.hadoop.issue import TokenIssuer

if TYPE_CHECKING:
    from sluicegate.protocols.delta_sharing.pipeline import QueryPipeline
    from sluicegate.protocols.delta_sharing.query.execute import TableQueries
    from sluicegate.tables.snapshot import Snapshot
    from sluicegate.tables.snapshot_index.tables import IndexedTables


def lazy_pipeline(
    settings: Settings,
    keys: KeyRing,
    *,
    instances: Instances,
    resolver: Resolver,
    reader: TableReader,
    vending: Vending,
    indexes: Lazy[IndexedTables] | None = None,
) -> Lazy[QueryPipeline]:
    """The pipeline, which is loaded by the warm-up, or by the first request that comes earlier.

    Args:
        settings: The gateway's settings. The `sharing` section contains lifetimes.
        keys: The gateway's keys, from which those of tokens are derived.
        instances: Catalogs and storage.
        resolver: Finds shared tables; all protocols share its cached listings.
        reader: Reads tables.
        vending: Vends temporary credentials.
        indexes: Reads tables that have snapshot indexes.
    """

    def steps() -> QueryPipeline:
        from sluicegate.protocols.delta_sharing.pipeline import (
            QueryPipeline,  # loading it takes half of all memory and start-up time
        )

        return QueryPipeline.build(
            settings,
            keys,
            pages=_page_tokens(settings, keys),
            resolver=resolver,
            access=DirectoryAccess(instances),
            instances=instances,
            vending=vending,
            reader=reader,
            indexes=indexes,
        )

    return Lazy(steps)


def sharing_routes(
    settings: Settings,
    keys: KeyRing,
    *,
    pipeline: Lazy[QueryPipeline],
    authentication: Authentication,
    grants: Grants,
    instances: Instances,
    resolver: Resolver,
    reader: TableReader,
    vending: Vending,
    background: BackgroundJobs,
    token_bindings: TokenBindings,
) -> list[Route]:
    """The routes of the protocol.

    Args:
        settings: The gateway's settings. The `sharing` section contains lifetimes.
        keys: The gateway's keys. Each kind of token has dedicated signing keys that are derived from
            them.
        pipeline: Executes requests about tables.
        authentication: Identifies recipients.
        grants: The recipients' grants.
        instances: Catalogs and storage.
        resolver: Finds shared tables; all protocols share its cached listings.
        reader: Reads tables.
        vending: Vends temporary credentials.
        background: Loads snapshots and looks up tables that no request waits for.
        token_bindings: The available kinds of Hadoop delegation tokens.
    """
    access = DirectoryAccess(instances)

    async def latest(principal: Principal, shared: SharedTable) -> Snapshot:
        return await (await pipeline.get()).viewer.latest(principal, shared)

    async def table_queries() -> TableQueries:
        return (await pipeline.get()).queries

    queries = AsyncQueries(
        table_queries, keys.derive("query ids"), background, settings.sharing.async_query_threshold
    )
    credentials = TableCredentials(resolver, access, latest, vending)
    endpoints = SharingEndpoints(
        authentication=authentication,
        grants=grants,
        resolver=resolver,
        access=access,
        steps=pipeline,
        async_queries=queries,
        credentials=credentials,
        tokens=_page_tokens(settings, keys),
        background=background,
        max_body=settings.limits.request_body.sharing,
    )
    issuer = TokenIssuer(vending, keys.derive("hadoop tokens"))
    hadoop = HadoopTokenEndpoint(
        resolver, credentials, token_bindings, issuer, settings.limits.request_body.sharing
    )
    assets = _asset_endpoints(settings, keys, authentication, grants, instances, resolver, vending)
    return [
        *endpoints.routes(),
        hadoop.route(authentication),
        DerivedFileEndpoint(keys, grants, resolver, reader).route(),
        *assets.routes(),
    ]


def _asset_endpoints(
    settings: Settings,
    keys: KeyRing,
    authentication: Authentication,
    grants: Grants,
    instances: Instances,
    resolver: Resolver,
    vending: Vending,
) -> AssetEndpoints:
    assets = AssetResolver(grants, resolver, instances)
    descriptions = AssetDescriptions(assets, SkillFiles(instances, vending))
    return AssetEndpoints(
        authentication=authentication,
        grants=grants,
        resolver=assets,
        descriptions=descriptions,
        credentials=AssetCredentials(assets, descriptions, vending),
        tokens=_page_tokens(settings, keys),
        max_body=settings.limits.request_body.sharing,
    )


def _page_tokens(settings: Settings, keys: KeyRing) -> TokenSigner:
    return TokenSigner(keys.derive("page tokens"), settings.sharing.page_token_lifetime)
