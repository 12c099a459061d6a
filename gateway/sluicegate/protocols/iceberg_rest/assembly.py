"""Assembles the Iceberg REST protocol."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from sluicegate._util.lazy import Lazy
from sluicegate.access.recipients.profile import ICEBERG_PATH
from sluicegate.protocols.common.iceberg_eligibility import IcebergOffers
from sluicegate.protocols.iceberg_rest.file_access.generated_links import SPACE
from sluicegate.protocols.iceberg_rest.file_access.sign_request import ENDPOINT_PATH
from sluicegate.protocols.iceberg_rest.file_routes import FileEndpoints, FileService
from sluicegate.protocols.iceberg_rest.list_tables import TableListing
from sluicegate.protocols.iceberg_rest.load_table import TableLoader, VendedTableLoader
from sluicegate.protocols.iceberg_rest.metadata import MetadataFiles
from sluicegate.protocols.iceberg_rest.resolve import PathResolver
from sluicegate.protocols.iceberg_rest.routes import IcebergEndpoints
from sluicegate.protocols.parts import GatewayParts

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


def lazy_files(parts: GatewayParts) -> Lazy[FileService]:
    """What serves tables file by file, loaded by the warm-up, or by the first request before that."""

    def steps() -> FileService:
        from sluicegate.protocols.iceberg_rest.by_file.service import file_by_file  # loads Arrow

        return file_by_file(parts)

    return Lazy(steps)


@dataclass(frozen=True, slots=True)
class Loaders:
    """What loads tables."""

    offers: IcebergOffers
    vended: VendedTableLoader
    loader: TableLoader

    @classmethod
    def of(cls, parts: GatewayParts, files: Lazy[FileService]) -> Loaders:
        """Assemble the steps."""
        offers = IcebergOffers(parts.instances)
        metadata = MetadataFiles(parts.resolver, parts.instances)
        vended = VendedTableLoader(parts.resolver, offers, metadata, parts.vending)
        return cls(offers, vended, TableLoader(parts.resolver, offers, vended, files.get))


def iceberg_routes(parts: GatewayParts, files: Lazy[FileService]) -> list[Route]:
    """The routes of the protocol. They must come before the routes of file links."""
    max_body = parts.settings.limits.request_body.sharing
    loaders, requested = Loaders.of(parts, files), PathResolver(parts.resolver)
    loader = loaders.loader
    endpoints = IcebergEndpoints(
        authentication=parts.authentication,
        grants=parts.grants,
        resolver=parts.resolver,
        listed=TableListing(parts.resolver, loaders.offers, loader.check_files, parts.background),
        requested=requested,
        loader=loader,
        files=FileEndpoints(requested, loader, files.get, max_body),
        tokens=parts.page_tokens("iceberg page tokens"),
        max_body=max_body,
    )

    async def generated(request: Request) -> Response:
        return await (await files.get()).fetch(request)

    link = Route(f"/content/{SPACE}/{{link}}", generated, methods=["GET", "HEAD"], name="iceberg-file")
    return [*endpoints.routes(ICEBERG_PATH), store_route(files.get), link]


def store_route(files: Callable[[], Awaitable[FileService]]) -> Route:
    """The route of the address that clients take for an object store."""
    route = Route(
        f"{ENDPOINT_PATH}/{{path:path}}", _Store(files), methods=_METHODS, name="iceberg-store"
    )
    # Starlette's own expression takes no line feeds.
    route.path_regex = re.compile(f"^{re.escape(ENDPOINT_PATH)}/(?P<path>.*)$", re.DOTALL)
    return route


class _Store:
    """Serves requests for objects."""

    def __init__(self, files: Callable[[], Awaitable[FileService]]) -> None:
        self._files = files

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (await self._files()).serve_object(scope, receive, send)
