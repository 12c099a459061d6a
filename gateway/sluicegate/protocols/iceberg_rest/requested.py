"""Finds the schema and the table that the path of a request names."""

from __future__ import annotations

from starlette.requests import Request

from sluicegate.api import PolicyAction, Principal, Schema, SharedTable
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.iceberg_rest.errors import NoSuchNamespace, NoSuchTable, missing_is


class Requested:
    """Resolves names in paths, with errors for Iceberg's clients."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    async def schema(self, request: Request, principal: Principal) -> Schema:
        """The schema.

        Raises:
            NoSuchNamespace: It does not exist, or its share was not granted.
        """
        names = request.path_params
        with missing_is(NoSuchNamespace):
            return await self._resolver.schema(principal, names["share"], names["namespace"])

    async def table(
        self, request: Request, principal: Principal, action: PolicyAction = "read"
    ) -> SharedTable:
        """The table; see `Resolver.table`.

        Raises:
            NoSuchNamespace: Its schema does not exist, or the share was not granted.
            NoSuchTable: It does not exist, or a policy hides it.
            PermissionDenied: `action` requests temporary credentials, and a policy denies them.
        """
        schema = await self.schema(request, principal)
        name = request.path_params["table"]
        with missing_is(NoSuchTable):
            return await self._resolver.table(principal, schema.share.name, schema.name, name, action)

    async def for_load(
        self, request: Request, principal: Principal, with_credentials: bool
    ) -> SharedTable:
        """The table as it can be loaded: without `dir` if policies deny the requested credentials.

        Raises:
            NoSuchNamespace: Its schema does not exist, or the share was not granted.
            NoSuchTable: It does not exist, or a policy hides it.
            PermissionDenied: Credentials are denied, and there is no other way to read it.
        """
        table = await self.table(request, principal)
        if not with_credentials or "dir" not in table.access_modes:
            return table
        if "url" not in table.access_modes:
            return await self.table(request, principal, "vend")
        [narrowed] = await self._resolver.narrowed(principal, [table])
        return narrowed
