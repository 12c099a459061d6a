"""Routes of the Delta Sharing protocol (Delta Sharing protocol, "REST APIs")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sluicegate._util.background_jobs import BackgroundJobs
from sluicegate._util.lazy import Lazy
from sluicegate.access.authentication.authenticate import Authentication
from sluicegate.access.grants import Grants
from sluicegate.api import PolicyAction, Principal, Schema, Share, SharedTable
from sluicegate.http.bodies import read_body
from sluicegate.http.compression import coding_of
from sluicegate.http.responses import NOT_STORED, json_response, ndjson_response
from sluicegate.protocols.common.endpoint import Endpoint, Handler
from sluicegate.protocols.common.pagination import Page, PageRequest, page
from sluicegate.protocols.common.parameters import json_object, text, timestamp
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.delta_sharing import listings as listing
from sluicegate.protocols.delta_sharing.changes.request import ChangesRequest
from sluicegate.protocols.delta_sharing.directory_access.credentials import TableCredentials
from sluicegate.protocols.delta_sharing.directory_access.offer import DirectoryAccess
from sluicegate.protocols.delta_sharing.directory_access.offer_listing import ListedOffers
from sluicegate.protocols.delta_sharing.paths import PREFIX, TABLE
from sluicegate.protocols.delta_sharing.query.async_queries import Address, AsyncQueries
from sluicegate.protocols.delta_sharing.request import QueryRequest, ResponseOptions, TimeTravel
from sluicegate.protocols.delta_sharing.response import VERSION_HEADER, SharingResponse
from sluicegate.signing.opaque_tokens import TokenSigner
from sluicegate.vending.delta_sharing_format import sharing_json

if TYPE_CHECKING:
    from sluicegate.protocols.delta_sharing.pipeline import QueryPipeline


class SharingEndpoints:
    """The request handlers. Each parses the request, calls one step of the pipeline, and responds."""

    def __init__(
        self,
        *,
        authentication: Authentication,
        grants: Grants,
        resolver: Resolver,
        access: DirectoryAccess,
        steps: Lazy[QueryPipeline],
        async_queries: AsyncQueries,
        credentials: TableCredentials,
        tokens: TokenSigner,
        background: BackgroundJobs,
        max_body: int,
    ) -> None:
        self._authentication = authentication
        self._grants = grants
        self._resolver = resolver
        self._access = access
        self._offers = ListedOffers(resolver, access, background)
        self._steps = steps
        self._async_queries = async_queries
        self._credentials = credentials
        self._tokens = tokens
        self._max_body = max_body

    def routes(self) -> list[Route]:
        """All routes below `PREFIX`."""
        table = TABLE
        return [
            self._route("GET", "/shares", self._list_shares),
            self._route("GET", "/shares/{share}", self._get_share),
            self._route("GET", "/shares/{share}/schemas", self._list_schemas),
            self._route("GET", "/shares/{share}/schemas/{schema}/tables", self._list_tables),
            self._route("GET", "/shares/{share}/all-tables", self._list_all_tables),
            self._route("GET", table, self._get_table),
            self._route("GET", f"{table}/version", self._version),
            self._route("GET", f"{table}/metadata", self._metadata),
            self._route("POST", f"{table}/query", self._query),
            self._route("GET", f"{table}/changes", self._changes),
            self._route("POST", f"{table}/queries/{{query_id}}", self._query_info),
            self._route("POST", f"{table}/temporary-table-credentials", self._table_credentials),
        ]

    def _route(self, method: str, path: str, handler: Handler) -> Route:
        endpoint = Endpoint(handler, self._authentication)
        return Route(PREFIX + path, endpoint, methods=[method])

    async def _list_shares(self, request: Request, principal: Principal) -> Response:
        page_request = _page_request(request, principal, "shares")
        shares = await self._grants.shares(principal)
        return json_response(page(shares, _key, page_request, self._tokens).shown(listing.share))

    async def _get_share(self, request: Request, principal: Principal) -> Response:
        share = await self._grants.share(principal, request.path_params["share"])
        return json_response({"share": listing.share(share)})

    async def _list_schemas(self, request: Request, principal: Principal) -> Response:
        share = await self._grants.share(principal, request.path_params["share"])
        page_request = _page_request(request, principal, f"schemas\n{share.id}")
        schemas = await self._resolver.schemas(principal, share.name)
        return json_response(page(schemas, _key, page_request, self._tokens).shown(listing.schema))

    async def _list_tables(self, request: Request, principal: Principal) -> Response:
        names = request.path_params
        schema = await self._resolver.schema(principal, names["share"], names["schema"])
        page_request = _page_request(request, principal, f"tables\n{schema.id}")
        tables = await self._resolver.tables(schema)
        return await self._listed(principal, page(tables, _key, page_request, self._tokens))

    async def _list_all_tables(self, request: Request, principal: Principal) -> Response:
        share = await self._grants.share(principal, request.path_params["share"])
        page_request = _page_request(request, principal, f"all-tables\n{share.id}")
        tables = await self._resolver.all_tables(principal, share.name)
        return await self._listed(principal, page(tables, _full_key, page_request, self._tokens))

    async def _listed(self, principal: Principal, tables: Page[SharedTable]) -> Response:
        items = await self._resolver.shown(principal, tables.items)
        shown = replace(tables, items=await self._resolver.narrowed(principal, items))
        await self._offers.prefetch(shown.items)
        return json_response(shown.shown(self._offers.show))

    async def _get_table(self, request: Request, principal: Principal) -> Response:
        table = await self._table(request, principal)
        if request.method == "HEAD":  # the deprecated form of "Query Table Version"
            steps = await self._steps.get()
            return _version_response(await steps.viewer.version(principal, table, None))
        source = await self._resolver.locate(table)
        offer = self._access.offer(table, source)
        formats = {"format": self._access.formats(table, source)}
        return json_response(listing.table(table) | offer.members() | formats)

    async def _version(self, request: Request, principal: Principal) -> Response:
        starting = timestamp("startingTimestamp", request.query_params.get("startingTimestamp"))
        table = await self._table(request, principal)
        steps = await self._steps.get()
        return _version_response(await steps.viewer.version(principal, table, starting))

    async def _metadata(self, request: Request, principal: Principal) -> Response:
        travel = TimeTravel.parse(request.query_params)
        form = ResponseOptions.parse(request.headers)
        table = await self._table(request, principal)
        steps = await self._steps.get()
        return _stream(await steps.queries.metadata(principal, table, travel, form))

    async def _query(self, request: Request, principal: Principal) -> Response:
        body = json_object(await read_body(request, self._max_body))
        stream = ChangesRequest.of_stream(body)
        if stream is not None:
            return await self._answer_changes(request, principal, stream)
        query = QueryRequest.parse(body)
        form = ResponseOptions.parse(request.headers, coding_of(request.scope))
        if form.capabilities.async_query:
            find = partial(self._table, request, principal)
            address = _address(request, principal)
            return _stream(await self._async_queries.submit(address, find, query, form))
        table = await self._table(request, principal)
        steps = await self._steps.get()
        return _stream(await steps.queries.query(principal, table, query, form))

    async def _changes(self, request: Request, principal: Principal) -> Response:
        feed = ChangesRequest.of_feed(request.query_params)
        return await self._answer_changes(request, principal, feed)

    async def _answer_changes(
        self, request: Request, principal: Principal, changes: ChangesRequest
    ) -> Response:
        form = ResponseOptions.parse(request.headers)
        table = await self._table(request, principal)
        steps = await self._steps.get()
        return _stream(await steps.changes.answer(principal, table, changes, form))

    async def _query_info(self, request: Request, principal: Principal) -> Response:
        paging = QueryRequest.parse(json_object(await read_body(request, self._max_body)))
        form = ResponseOptions.parse(request.headers, coding_of(request.scope))
        find, address = partial(self._table, request, principal), _address(request, principal)
        query_id = request.path_params["query_id"]
        return _stream(await self._async_queries.info(address, find, query_id, paging, form))

    async def _table_credentials(self, request: Request, principal: Principal) -> Response:
        body = json_object(await read_body(request, self._max_body))
        location = text("location", body.get("location"))
        table = await self._table(request, principal, "vend")
        credentials = await self._credentials.issue(principal, table, location)
        answer = {"credentials": sharing_json(credentials)}
        return json_response(answer, headers=NOT_STORED)

    async def _table(
        self, request: Request, principal: Principal, action: PolicyAction = "read"
    ) -> SharedTable:
        names: Mapping[str, Any] = request.path_params
        table = await self._resolver.table(
            principal, names["share"], names["schema"], names["table"], action
        )
        if action == "read":
            (table,) = await self._resolver.narrowed(principal, [table])
        return table


def _page_request(request: Request, principal: Principal, listing: str) -> PageRequest:
    # Most listings have no parameters, and parsing none would take 10 % of the time of a short listing.
    query: Mapping[str, str] = request.query_params if request.scope["query_string"] else {}
    return PageRequest.parse(query, principal, listing)


def _address(request: Request, principal: Principal) -> Address:
    names = request.path_params
    return Address(principal, (names["share"], names["schema"], names["table"]))


def _key(item: Share | Schema | SharedTable) -> str:
    return item.name.casefold()


def _full_key(table: SharedTable) -> str:
    return f"{table.schema.casefold()}\n{table.name.casefold()}"


def _version_response(version: int) -> Response:
    return Response(headers={VERSION_HEADER: str(version)})


def _stream(answer: SharingResponse) -> Response:
    return ndjson_response(answer.lines if answer.body is None else answer.body, answer.headers)
