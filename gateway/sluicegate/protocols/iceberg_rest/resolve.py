"""Finds the schema and the table that the path of a request names."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from sluicegate.api import PolicyAction, Principal, Schema, SharedTable
from sluicegate.protocols.common.resolver import Resolver, credentials_denied
from sluicegate.protocols.iceberg_rest.errors import NoSuchNamespace, NoSuchTable, missing_is


@dataclass(frozen=True, slots=True)
class LoadableTable:
    """A table that a client wants to load."""

    table: SharedTable
    denied: bool = False


class PathResolver:
    """Resolves names in paths, with errors for Iceberg's clients."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    async def schema(self, request: Request, principal: Principal) -> Schema:
        """The schema."""
        names = request.path_params
        with missing_is(NoSuchNamespace):
            return await self._resolver.schema(principal, names["share"], names["namespace"])

    async def table(
        self, request: Request, principal: Principal, action: PolicyAction = "read"
    ) -> SharedTable:
        """The table; see `Resolver.table`.

        For a missing schema, the error is that of a missing table, as in the specification. Iceberg's
        Java library takes the name of a table for a schema if a metadata table of it is queried.
        """
        names = request.path_params
        with missing_is(NoSuchTable):
            schema = await self._resolver.schema(principal, names["share"], names["namespace"])
            name = names["table"]
            return await self._resolver.table(principal, schema.share.name, schema.name, name, action)

    async def for_load(
        self, request: Request, principal: Principal, with_credentials: bool
    ) -> LoadableTable:
        """The table as it can be loaded: without `dir` if policies deny the requested credentials."""
        table = await self.table(request, principal)
        if not with_credentials or "dir" not in table.access_modes:
            return LoadableTable(table)
        [narrowed] = await self._resolver.narrowed(principal, [table])
        denied = "dir" not in narrowed.access_modes
        if denied and "url" not in table.access_modes:
            raise credentials_denied(table)
        return LoadableTable(narrowed, denied)
