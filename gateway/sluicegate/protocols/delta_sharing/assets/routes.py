"""Routes of volumes, models and skills (docs/interop.md, "OpenSharing")."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sluicegate.access.authentication.authenticate import Authentication
from sluicegate.access.grants import Grants
from sluicegate.api import (
    ASSET_KINDS,
    AssetKind,
    ModelVersion,
    PolicyAction,
    Principal,
    SharedAsset,
    TemporaryCredentials,
)
from sluicegate.http.bodies import read_body
from sluicegate.http.responses import NOT_STORED, json_response
from sluicegate.protocols.common.endpoint import Endpoint, Handler
from sluicegate.protocols.common.pagination import Page, PageRequest, page
from sluicegate.protocols.common.parameters import json_object
from sluicegate.protocols.delta_sharing.assets.credentials import AssetCredentials
from sluicegate.protocols.delta_sharing.assets.descriptions import AssetDescriptions
from sluicegate.protocols.delta_sharing.assets.resolver import AssetName, AssetResolver
from sluicegate.protocols.delta_sharing.assets.versions import (
    is_ready,
    shared_versions,
    version_aliased,
    version_numbered,
)
from sluicegate.protocols.delta_sharing.paths import PREFIX
from sluicegate.signing.opaque_tokens import TokenSigner
from sluicegate.vending.delta_sharing_format import sharing_json

_SCHEMA: Final = "/shares/{share}/schemas/{schema}"
_FIND: Final[Mapping[str, Callable[..., ModelVersion]]] = {
    "version": version_numbered,
    "alias": version_aliased,
}
_Issue = Callable[[Request, Principal, SharedAsset], Awaitable[TemporaryCredentials]]


class AssetEndpoints:
    """The request handlers, each for all kinds of assets."""

    def __init__(
        self,
        *,
        authentication: Authentication,
        grants: Grants,
        resolver: AssetResolver,
        descriptions: AssetDescriptions,
        credentials: AssetCredentials,
        tokens: TokenSigner,
        max_body: int,
    ) -> None:
        self._authentication = authentication
        self._grants = grants
        self._resolver = resolver
        self._descriptions = descriptions
        self._credentials = credentials
        self._tokens = tokens
        self._max_body = max_body

    def routes(self) -> list[Route]:
        """All routes of assets below `PREFIX`."""
        return [route for kind in ASSET_KINDS for route in self._routes(kind)]

    def _routes(self, kind: AssetKind) -> list[Route]:
        within, one = f"{_SCHEMA}/{kind}s", f"{_SCHEMA}/{kind}s/{{{kind}}}"
        routes = [
            self._route("GET", within, partial(self._list, kind)),
            self._route("GET", f"/shares/{{share}}/all-{kind}s", partial(self._list_all, kind)),
            self._route("GET", one, partial(self._get, kind)),
        ]
        if kind != "model":
            vend = partial(self._vend, kind, self._of_directory)
            return [*routes, self._route("POST", f"{one}/temporary-{kind}-credentials", vend)]
        version = f"{one}/versions/{{version}}"
        vend = partial(self._vend, kind, self._of_version)
        return [
            *routes,
            self._route("GET", f"{one}/versions", self._list_versions),
            self._route("GET", version, partial(self._get_version, "version")),
            self._route("GET", f"{one}/aliases/{{alias}}", partial(self._get_version, "alias")),
            self._route("POST", f"{version}/temporary-model-credentials", vend),
        ]

    def _route(self, method: str, path: str, handler: Handler) -> Route:
        endpoint = Endpoint(handler, self._authentication)
        return Route(PREFIX + path, endpoint, methods=[method])

    async def _list(self, kind: AssetKind, request: Request, principal: Principal) -> Response:
        names = request.path_params
        schema = await self._resolver.schema(principal, names["share"], names["schema"])
        page_request = PageRequest.parse(request.query_params, principal, f"{kind}s\n{schema.id}")
        assets = await self._resolver.assets(schema, kind)
        return await self._listed(principal, page(assets, _key, page_request, self._tokens))

    async def _list_all(self, kind: AssetKind, request: Request, principal: Principal) -> Response:
        share = await self._grants.share(principal, request.path_params["share"])
        page_request = PageRequest.parse(request.query_params, principal, f"all-{kind}s\n{share.id}")
        assets = await self._resolver.all_assets(principal, share.name, kind)
        return await self._listed(principal, page(assets, _full_key, page_request, self._tokens))

    async def _listed(self, principal: Principal, assets: Page[SharedAsset]) -> Response:
        shown = await self._resolver.shown(principal, assets.items)
        items = await self._descriptions.of_page(principal, shown)
        return json_response(Page(items, assets.next_token).shown(lambda item: item))

    async def _get(self, kind: AssetKind, request: Request, principal: Principal) -> Response:
        shared = await self._asset(kind, request, principal)
        return json_response(await self._descriptions.of(principal, shared))

    async def _list_versions(self, request: Request, principal: Principal) -> Response:
        shared = await self._asset("model", request, principal)
        page_request = PageRequest.parse(request.query_params, principal, f"versions\n{shared.id}")
        versions = shared_versions(shared, await self._resolver.versions(shared))
        ready = [version for version in versions if is_ready(version)]
        listed = page(ready, _version_key, page_request, self._tokens)
        return json_response(listed.shown(partial(self._descriptions.version, shared)))

    async def _get_version(self, by: str, request: Request, principal: Principal) -> Response:
        shared = await self._asset("model", request, principal)
        version = await self._version(by, request, shared)
        return json_response(self._descriptions.version(shared, version))

    async def _vend(
        self, kind: AssetKind, issue: _Issue, request: Request, principal: Principal
    ) -> Response:
        json_object(await read_body(request, self._max_body))
        shared = await self._asset(kind, request, principal, "vend")
        credentials = await issue(request, principal, shared)
        return json_response({"credentials": sharing_json(credentials)}, headers=NOT_STORED)

    async def _of_directory(
        self, request: Request, principal: Principal, shared: SharedAsset
    ) -> TemporaryCredentials:
        return await self._credentials.of_directory(principal, shared)

    async def _of_version(
        self, request: Request, principal: Principal, shared: SharedAsset
    ) -> TemporaryCredentials:
        version = await self._version("version", request, shared)
        return await self._credentials.of_version(principal, shared, version)

    async def _version(self, by: str, request: Request, shared: SharedAsset) -> ModelVersion:
        return _FIND[by](shared, await self._resolver.versions(shared), request.path_params[by])

    async def _asset(
        self,
        kind: AssetKind,
        request: Request,
        principal: Principal,
        action: PolicyAction = "read",
    ) -> SharedAsset:
        names = request.path_params
        named = AssetName(kind, names["share"], names["schema"], names[kind])
        return await self._resolver.asset(principal, named, action)


def _key(asset: SharedAsset) -> str:
    return asset.name.casefold()


def _full_key(asset: SharedAsset) -> str:
    return f"{asset.schema.casefold()}\n{asset.name.casefold()}"


def _version_key(version: ModelVersion) -> str:
    return f"{version.version:020}"
