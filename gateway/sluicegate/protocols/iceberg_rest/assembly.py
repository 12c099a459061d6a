"""Assembles the Iceberg REST protocol."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sluicegate._util.background_jobs import BackgroundJobs
from sluicegate._util.lazy import Lazy
from sluicegate.access.authentication.authenticate import Authentication
from sluicegate.access.grants import Grants
from sluicegate.access.recipients.profile import ICEBERG_PATH
from sluicegate.config import Settings
from sluicegate.database import Store
from sluicegate.plugins import Instances
from sluicegate.protocols.common.iceberg_eligibility import IcebergOffers
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.iceberg_rest.file_access.generated_links import SPACE
from sluicegate.protocols.iceberg_rest.file_access.store_route import store_route
from sluicegate.protocols.iceberg_rest.file_routes import FileEndpoints, FileService
from sluicegate.protocols.iceberg_rest.listed import ListedTables
from sluicegate.protocols.iceberg_rest.loading import TableLoader
from sluicegate.protocols.iceberg_rest.metadata import MetadataFiles
from sluicegate.protocols.iceberg_rest.requested import Requested
from sluicegate.protocols.iceberg_rest.routes import IcebergEndpoints
from sluicegate.protocols.iceberg_rest.ways import TableWays
from sluicegate.signing.keyring import KeyRing
from sluicegate.signing.opaque_tokens import TokenSigner
from sluicegate.tables.reading.reader import TableReader
from sluicegate.vending import Vending

if TYPE_CHECKING:
    from sluicegate.tables.snapshot_index.tables import IndexedTables


def lazy_files(
    settings: Settings,
    keys: KeyRing,
    *,
    instances: Instances,
    grants: Grants,
    resolver: Resolver,
    reader: TableReader,
    vending: Vending,
    store: Store,
    indexes: Lazy[IndexedTables] | None = None,
) -> Lazy[FileService]:
    """What serves tables file by file, loaded by the warm-up, or by the first request before that.

    Args:
        settings: The gateway's settings. The `sharing` section contains lifetimes.
        keys: The gateway's keys.
        instances: Catalogs and storage.
        grants: Looks up recipients.
        resolver: Opens shared tables.
        reader: Reads tables.
        vending: Records issued URLs.
        store: The database.
        indexes: Reads tables that have snapshot indexes.
    """

    def steps() -> FileService:
        from sluicegate.protocols.iceberg_rest.by_file.pipeline import file_by_file  # loads Arrow

        return file_by_file(
            settings,
            keys,
            instances=instances,
            grants=grants,
            resolver=resolver,
            reader=reader,
            vending=vending,
            store=store,
            indexes=indexes,
        )

    return Lazy(steps)


def iceberg_routes(
    settings: Settings,
    keys: KeyRing,
    *,
    authentication: Authentication,
    grants: Grants,
    instances: Instances,
    resolver: Resolver,
    vending: Vending,
    background: BackgroundJobs,
    files: Callable[[], Awaitable[FileService]],
) -> list[Route]:
    """The routes of the protocol. They must come before the routes of file links.

    Args:
        settings: The gateway's settings. The `sharing` section contains the lifetime of page tokens.
        keys: The gateway's keys. Page tokens have dedicated signing keys that are derived from them.
        authentication: Identifies recipients.
        grants: The recipients' grants.
        instances: Catalogs and storage.
        resolver: Finds shared tables; all protocols share its cached listings.
        vending: Vends temporary credentials.
        background: Looks up tables for listings.
        files: Serves tables that are read file by file. Creating it loads Arrow.
    """
    max_body = settings.limits.request_body.sharing
    offers = IcebergOffers(instances)
    loader = TableLoader(resolver, offers, MetadataFiles(resolver, instances), vending)
    requested = Requested(resolver)
    ways = TableWays(resolver, offers, loader, files)
    endpoints = IcebergEndpoints(
        authentication=authentication,
        grants=grants,
        resolver=resolver,
        listed=ListedTables(resolver, offers, ways.check_files, background),
        requested=requested,
        ways=ways,
        loader=loader,
        files=FileEndpoints(requested, ways, files, max_body),
        tokens=TokenSigner(keys.derive("iceberg page tokens"), settings.sharing.page_token_lifetime),
        max_body=max_body,
    )

    async def generated(request: Request) -> Response:
        return await (await files()).fetch(request)

    link = Route(f"/content/{SPACE}/{{link}}", generated, methods=["GET", "HEAD"], name="iceberg-file")
    return [*endpoints.routes(ICEBERG_PATH), store_route(), link]
