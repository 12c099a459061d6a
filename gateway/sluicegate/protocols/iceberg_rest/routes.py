"""Routes of the Iceberg REST protocol and their handlers.

Source: Iceberg REST specification; docs/interop.md, "OpenSharing".
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sluicegate.access.authentication.authenticate import Authentication
from sluicegate.access.grants import Grants
from sluicegate.api import (
    InvalidRequest,
    NotFound,
    PermissionDenied,
    Principal,
    Schema,
    SharedTable,
)
from sluicegate.api.errors import MethodNotAllowed
from sluicegate.audit.trail import note_resource
from sluicegate.http.bodies import read_body
from sluicegate.http.responses import JSON, NOT_STORED, json_response
from sluicegate.protocols.common.endpoint import Endpoint, Handler
from sluicegate.protocols.common.pagination import Page, PageRequest, page
from sluicegate.protocols.common.parameters import integer, json_object, text
from sluicegate.protocols.common.resolver import Resolver, credentials_denied
from sluicegate.protocols.file_links.conditions import Outcome, Validators
from sluicegate.protocols.iceberg_rest import addresses
from sluicegate.protocols.iceberg_rest.errors import (
    NoSuchNamespace,
    NoSuchTable,
    NoSuchWarehouse,
    missing_is,
    refuse,
)
from sluicegate.protocols.iceberg_rest.file_routes import FileEndpoints
from sluicegate.protocols.iceberg_rest.list_tables import TableListing
from sluicegate.protocols.iceberg_rest.load_table import (
    DELEGATION_HEADER,
    SIGNING,
    VENDED,
    LoadRequest,
    TableLoader,
)
from sluicegate.protocols.iceberg_rest.resolve import PathResolver
from sluicegate.signing.opaque_tokens import TokenSigner

Noun = TypeVar("Noun", Schema, SharedTable)

LARGEST_PAGE = 1000
_READ_METHODS = "GET, HEAD"
_ANY_METHOD = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
# Defaults for engines: request vended credentials, or else send requests to be signed; and renew access
# tokens as they were obtained, because there is no token exchange.
_DEFAULTS = {f"header.{DELEGATION_HEADER}": f"{VENDED},{SIGNING}", "token-exchange-enabled": "false"}


class IcebergEndpoints:
    """The catalogs of the shares that a recipient was granted."""

    def __init__(
        self,
        *,
        authentication: Authentication,
        grants: Grants,
        resolver: Resolver,
        listed: TableListing,
        requested: PathResolver,
        loader: TableLoader,
        files: FileEndpoints,
        tokens: TokenSigner,
        max_body: int,
    ) -> None:
        self._authentication = authentication
        self._grants = grants
        self._resolver = resolver
        self._listed = listed
        self._requested = requested
        self._loader = loader
        self._tokens = tokens
        self._max_body = max_body
        self._served: Sequence[tuple[Sequence[str], str, Handler]] = (
            (["GET"], addresses.NAMESPACES, self._list_namespaces),
            (["GET", "HEAD"], addresses.NAMESPACE, self._get_namespace),
            (["GET"], addresses.TABLES, self._list_tables),
            (["GET", "HEAD"], addresses.TABLE, self._load_table),
            (["GET"], addresses.CREDENTIALS, self._credentials),
            (["POST"], addresses.METRICS, self._report),
            *files.served,
        )

    def routes(self, base: str) -> list[Route]:
        """All routes, below the path that is the catalog's `uri`."""
        served = (
            (["GET"], "/v1/config", self._config),
            # Not in the list of endpoints, but clients that do not read the list send it.
            (["GET"], addresses.VIEWS, self._list_views),
            *self._served,
        )
        elsewhere = Route(f"{base}/{{path:path}}", self._endpoint(self._elsewhere), methods=_ANY_METHOD)
        # Starlette's own expression takes no line feeds.
        elsewhere.path_regex = re.compile(f"^{re.escape(base)}/(?P<path>.*)$", re.DOTALL)
        return [*(self._route(base, *each) for each in served), elsewhere]

    def _route(self, base: str, methods: Sequence[str], path: str, handler: Handler) -> Route:
        address = base + path.replace("{prefix}", addresses.PREFIX).replace("{plan-id}", "{plan_id}")
        return Route(address, self._endpoint(handler), methods=methods)

    def _endpoint(self, handler: Handler) -> Endpoint:
        return Endpoint(handler, self._authentication, refuse)

    async def _config(self, request: Request, principal: Principal) -> Response:
        warehouse = text("warehouse", request.query_params.get("warehouse") or None)
        if warehouse is None:
            raise InvalidRequest("warehouse must name the share")
        note_resource(warehouse)
        with missing_is(NoSuchWarehouse):
            share = await self._grants.share(principal, warehouse)
        note_resource(share.name)
        return json_response(
            {
                "defaults": _DEFAULTS,
                "overrides": {"prefix": addresses.prefix_of(share.name)},
                "endpoints": [
                    f"{method} {path}" for methods, path, _ in self._served for method in methods
                ],
            }
        )

    async def _list_namespaces(self, request: Request, principal: Principal) -> Response:
        with missing_is(NoSuchNamespace):
            share = await self._grants.share(principal, request.path_params["share"])
            parent = text("parent", request.query_params.get("parent") or None)
            if parent is None:
                schemas = await self._resolver.schemas(principal, share.name)
            else:  # schemas are not nested
                await self._resolver.schema(principal, share.name, parent)
                schemas = ()
        shown = self._page(request, principal, f"namespaces\n{share.id}", schemas)
        names = [[schema.name] for schema in shown.items]
        return json_response({"namespaces": names, "next-page-token": shown.next_token})

    async def _get_namespace(self, request: Request, principal: Principal) -> Response:
        schema = await self._requested.schema(request, principal)
        if request.method == "HEAD":
            return Response(status_code=204)
        properties = {} if schema.comment is None else {"comment": schema.comment}
        return json_response({"namespace": [schema.name], "properties": properties})

    async def _list_tables(self, request: Request, principal: Principal) -> Response:
        schema = await self._requested.schema(request, principal)
        shared = await self._resolver.tables(schema)
        shown = self._page(request, principal, f"tables\n{schema.id}", shared)
        allowed = await self._resolver.shown(principal, shown.items)
        offered = await self._listed.of(principal, allowed)
        identifiers = [{"namespace": [table.schema], "name": table.name} for table in offered]
        return json_response({"identifiers": identifiers, "next-page-token": shown.next_token})

    async def _list_views(self, request: Request, principal: Principal) -> Response:
        await self._requested.schema(request, principal)
        return json_response({"identifiers": [], "next-page-token": None})

    async def _load_table(self, request: Request, principal: Principal) -> Response:
        if request.method == "HEAD":
            await self._loader.check(principal, await self._requested.table(request, principal))
            return Response(status_code=204)
        wanted = LoadRequest.parse(request.headers, request.query_params)
        found = await self._requested.for_load(request, principal, wanted.with_credentials)
        denied = credentials_denied(found.table) if found.denied else None
        with _missing_is_denied(denied):
            body = orjson.dumps(await self._loader.load(principal, found.table, wanted))
        # A hash of the body, including credentials: a client's copy is current only with these.
        etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        headers = {**NOT_STORED, "ETag": etag}
        if Validators(etag).check(request.headers) is Outcome.NOT_MODIFIED:
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers, media_type=JSON)

    async def _credentials(self, request: Request, principal: Principal) -> Response:
        denied, load = None, self._loader.credentials
        try:
            table = await self._requested.table(request, principal, "vend")
        except PermissionDenied as error:
            denied, load = error, self._loader.keys
            table = await self._requested.table(request, principal)
        with _missing_is_denied(denied):
            answer = await load(principal, table)
        return json_response(answer, headers=NOT_STORED)

    async def _report(self, request: Request, principal: Principal) -> Response:
        """Accept a metrics report about a client's scan. The access log shows that it was sent."""
        json_object(await read_body(request, self._max_body))
        await self._requested.table(request, principal)
        return Response(status_code=204)

    async def _elsewhere(self, request: Request, principal: Principal) -> Response:
        if request.method in ("GET", "HEAD"):
            raise NotFound("there is no such route in the Iceberg catalog")
        if request.method == "OPTIONS":
            raise MethodNotAllowed(_READ_METHODS)
        denied = PermissionDenied("the Iceberg catalog of a share is read-only")
        raise denied.decided_by("request")

    def _page(
        self, request: Request, principal: Principal, listing: str, items: Sequence[Noun]
    ) -> Page[Noun]:
        """The requested page. Clients without pagination get everything."""
        query = request.query_params
        size = integer("pageSize", query.get("pageSize"), low=1)
        pages = size is not None or "pageToken" in query
        page_request = PageRequest(
            max_results=min(size or LARGEST_PAGE, LARGEST_PAGE) if pages else len(items),
            token=text(
                "pageToken", query.get("pageToken") or None
            ),  # an empty token requests the first page
            bound_to=f"{principal.id}\niceberg {listing}",
        )
        return page(items, _key, page_request, self._tokens)


@contextmanager
def _missing_is_denied(denied: PermissionDenied | None) -> Iterator[None]:
    """Report that policies deny credentials, if the table can't be read without them."""
    try:
        yield
    except NoSuchTable as error:
        if denied is not None:
            raise denied from error
        raise


def _key(item: Schema | SharedTable) -> str:
    return item.name.casefold()
