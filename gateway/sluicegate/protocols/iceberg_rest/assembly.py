"""Assembles the Iceberg REST protocol."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sluicegate._util.lazy import Lazy
from sluicegate.access.recipients.profile import ICEBERG_PATH
from sluicegate.protocols.common.iceberg_eligibility import IcebergOffers
from sluicegate.protocols.iceberg_rest.file_access.generated_links import SPACE
from sluicegate.protocols.iceberg_rest.file_access.store_route import store_route
from sluicegate.protocols.iceberg_rest.file_routes import FileEndpoints, FileService
from sluicegate.protocols.iceberg_rest.listed import ListedTables
from sluicegate.protocols.iceberg_rest.loading import TableLoader
from sluicegate.protocols.iceberg_rest.metadata import MetadataFiles
from sluicegate.protocols.iceberg_rest.requested import Requested
from sluicegate.protocols.iceberg_rest.routes import IcebergEndpoints
from sluicegate.protocols.iceberg_rest.ways import TableWays
from sluicegate.protocols.parts import GatewayParts


def lazy_files(parts: GatewayParts) -> Lazy[FileService]:
    """What serves tables file by file, loaded by the warm-up, or by the first request before that."""

    def steps() -> FileService:
        from sluicegate.protocols.iceberg_rest.by_file.pipeline import file_by_file  # loads Arrow

        return file_by_file(parts)

    return Lazy(steps)


@dataclass(frozen=True, slots=True)
class Loading:
    """The steps that decide how a table is loaded."""

    offers: IcebergOffers
    loader: TableLoader
    ways: TableWays

    @classmethod
    def of(cls, parts: GatewayParts, files: Lazy[FileService]) -> Loading:
        """Assemble the steps."""
        offers = IcebergOffers(parts.instances)
        metadata = MetadataFiles(parts.resolver, parts.instances)
        loader = TableLoader(parts.resolver, offers, metadata, parts.vending)
        return cls(offers, loader, TableWays(parts.resolver, offers, loader, files.get))


def iceberg_routes(parts: GatewayParts, files: Lazy[FileService]) -> list[Route]:
    """The routes of the protocol. They must come before the routes of file links."""
    max_body = parts.settings.limits.request_body.sharing
    loading, requested = Loading.of(parts, files), Requested(parts.resolver)
    ways = loading.ways
    endpoints = IcebergEndpoints(
        authentication=parts.authentication,
        grants=parts.grants,
        resolver=parts.resolver,
        listed=ListedTables(parts.resolver, loading.offers, ways.check_files, parts.background),
        requested=requested,
        ways=ways,
        loader=loading.loader,
        files=FileEndpoints(requested, ways, files.get, max_body),
        tokens=parts.page_tokens("iceberg page tokens"),
        max_body=max_body,
    )

    async def generated(request: Request) -> Response:
        return await (await files.get()).fetch(request)

    link = Route(f"/content/{SPACE}/{{link}}", generated, methods=["GET", "HEAD"], name="iceberg-file")
    return [*endpoints.routes(ICEBERG_PATH), store_route(), link]
