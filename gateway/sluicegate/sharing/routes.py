"""Routes of the Delta Sharing door (delta-sharing-protocol.md, "REST APIs")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sluicegate.access.authentication import Authentication
from sluicegate.access.grants import Grants
from sluicegate.api import PolicyAction, Principal, Schema, Share, SharedTable
from sluicegate.doors.endpoint import Endpoint, Handler
from sluicegate.doors.paging import Page, PageRequest, page
from sluicegate.doors.parameters import json_object, text, timestamp
from sluicegate.doors.resolve import Resolver
from sluicegate.doors.tokens import TokenSigner
from sluicegate.http.bodies import read_body
from sluicegate.http.responses import NOT_STORED, json_response, ndjson_response
from sluicegate.late import Late
from sluicegate.sharing import listing
from sluicegate.sharing.answer import VERSION_HEADER, Answer
from sluicegate.sharing.async_queries import AsyncQueries
from sluicegate.sharing.change_question import ChangesRequest
from sluicegate.sharing.directory import DirectoryAccess
from sluicegate.sharing.offers import ListedOffers
from sluicegate.sharing.question import Form, QueryRequest, Travel
from sluicegate.sharing.table_credentials import TableCredentials
from sluicegate.vending.sharing_json import sharing_json

if TYPE_CHECKING:
    from sluicegate.sharing.table_steps import TableSteps

PREFIX = "/delta-sharing"
TABLE = "/shares/{share}/schemas/{schema}/tables/{table}"


class SharingDoor:
    """The handlers, each: parse, ask one step of the way, answer."""

    def __init__(
        self,
        *,
        authentication: Authentication,
        grants: Grants,
        resolver: Resolver,
        access: DirectoryAccess,
        steps: Late[TableSteps],
        async_queries: AsyncQueries,
        credentials: TableCredentials,
        tokens: TokenSigner,
        max_body: int,
    ) -> None:
        self._authentication = authentication
        self._grants = grants
        self._resolver = resolver
        self._access = access
        self._offers = ListedOffers(resolver, access)
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
        asked = _asked(request, principal, "shares")
        shares = await self._grants.shares(principal)
        return json_response(page(shares, _key, asked, self._tokens).shown(listing.share))

    async def _get_share(self, request: Request, principal: Principal) -> Response:
        share = await self._grants.share(principal, request.path_params["share"])
        return json_response({"share": listing.share(share)})

    async def _list_schemas(self, request: Request, principal: Principal) -> Response:
        share = await self._grants.share(principal, request.path_params["share"])
        asked = _asked(request, principal, f"schemas\n{share.id}")
        schemas = await self._grants.schemas(principal, share.name)
        return json_response(page(schemas, _key, asked, self._tokens).shown(listing.schema))

    async def _list_tables(self, request: Request, principal: Principal) -> Response:
        names = request.path_params
        schema = await self._grants.schema(principal, names["share"], names["schema"])
        asked = _asked(request, principal, f"tables\n{schema.id}")
        tables = await self._resolver.tables(schema)
        return await self._listed(principal, page(tables, _key, asked, self._tokens))

    async def _list_all_tables(self, request: Request, principal: Principal) -> Response:
        share = await self._grants.share(principal, request.path_params["share"])
        asked = _asked(request, principal, f"all-tables\n{share.id}")
        tables = await self._resolver.all_tables(principal, share.name)
        return await self._listed(principal, page(tables, _full_key, asked, self._tokens))

    async def _listed(self, principal: Principal, tables: Page[SharedTable]) -> Response:
        items = await self._resolver.shown(principal, tables.items)
        shown = replace(tables, items=await self._resolver.narrowed(principal, items))
        await self._offers.learn(shown.items)
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
        travel = Travel.parse(request.query_params)
        form = Form.parse(request.headers)
        table = await self._table(request, principal)
        steps = await self._steps.get()
        return _stream(await steps.answers.metadata(principal, table, travel, form))

    async def _query(self, request: Request, principal: Principal) -> Response:
        body = json_object(await read_body(request, self._max_body))
        stream = ChangesRequest.of_stream(body)
        if stream is not None:
            return await self._answer_changes(request, principal, stream)
        asked = QueryRequest.parse(body)
        form = Form.parse(request.headers)
        table = await self._table(request, principal)
        if form.capabilities.async_query:
            return _stream(await self._async_queries.submit(principal, table, asked, form))
        steps = await self._steps.get()
        return _stream(await steps.answers.query(principal, table, asked, form))

    async def _changes(self, request: Request, principal: Principal) -> Response:
        feed = ChangesRequest.of_feed(request.query_params)
        return await self._answer_changes(request, principal, feed)

    async def _answer_changes(
        self, request: Request, principal: Principal, asked: ChangesRequest
    ) -> Response:
        form = Form.parse(request.headers)
        table = await self._table(request, principal)
        steps = await self._steps.get()
        return _stream(await steps.changes.answer(principal, table, asked, form))

    async def _query_info(self, request: Request, principal: Principal) -> Response:
        paging = QueryRequest.parse(json_object(await read_body(request, self._max_body)))
        form = Form.parse(request.headers)
        table = await self._table(request, principal)
        query_id = request.path_params["query_id"]
        return _stream(await self._async_queries.info(principal, table, query_id, paging, form))

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


def _asked(request: Request, principal: Principal, listing: str) -> PageRequest:
    # Most listings are asked without parameters; parsing none would be a tenth of a short one's time.
    query: Mapping[str, str] = request.query_params if request.scope["query_string"] else {}
    return PageRequest.parse(query, principal, listing)


def _key(item: Share | Schema | SharedTable) -> str:
    return item.name.casefold()


def _full_key(table: SharedTable) -> str:
    return f"{table.schema.casefold()}\n{table.name.casefold()}"


def _version_response(version: int) -> Response:
    return Response(headers={VERSION_HEADER: str(version)})


def _stream(answer: Answer) -> Response:
    return ndjson_response(answer.lines, answer.headers)
