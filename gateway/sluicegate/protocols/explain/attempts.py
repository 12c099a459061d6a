"""Tries each way to read a table or asset with the steps of requests, and issues nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluicegate._util.lazy import Lazy
from sluicegate.api import Principal, SluicegateError
from sluicegate.http.responses import as_sluicegate_error, sent_error
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.delta_sharing.assets.credentials import AssetCredentials
from sluicegate.protocols.delta_sharing.assets.resolver import AssetName, AssetResolver
from sluicegate.protocols.delta_sharing.directory_access.credentials import TableCredentials
from sluicegate.protocols.delta_sharing.directory_access.hadoop_tokens import token_scopes
from sluicegate.protocols.delta_sharing.negotiation import HEADER, Capabilities
from sluicegate.protocols.delta_sharing.request import ResponseOptions, TimeTravel
from sluicegate.protocols.explain.models import AssetPath, NamedKind, Way, WayName
from sluicegate.protocols.iceberg_rest.errors import NoSuchTable
from sluicegate.protocols.iceberg_rest.load_table import TableLoader, VendedTableLoader
from sluicegate.vending.hadoop.bindings import TokenBindings

if TYPE_CHECKING:
    from sluicegate.protocols.delta_sharing.pipeline import QueryPipeline

_Attempt = Callable[[Principal, AssetPath], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class ReadAttempts:
    """The ways to read tables and assets.

    Each attempt resolves the name as a request does, because policies see each request.
    """

    resolver: Resolver
    pipeline: Lazy[QueryPipeline]
    credentials: TableCredentials
    loader: TableLoader
    vended: VendedTableLoader
    bindings: TokenBindings
    assets: AssetResolver
    asset_credentials: AssetCredentials

    async def attempt(self, principal: Principal, path: AssetPath, kind: NamedKind) -> tuple[Way, ...]:
        """What the requests of a recipient get, by each way."""
        if kind == "table":
            return tuple(
                [await _tried(name, each, principal, path) for name, each in self._of_tables()]
            )
        named = AssetName(kind, path.share, path.schema, path.name)

        async def directory(principal: Principal, _: AssetPath) -> str:
            return await self._asset(principal, named)

        return (await _tried("dir", directory, principal, path),)

    def _of_tables(self) -> list[tuple[WayName, _Attempt]]:
        attempts: Mapping[WayName, _Attempt] = {
            "url": self._urls,
            "dir": self._directory,
            "iceberg": self._iceberg_files,
            "iceberg-dir": self._iceberg_directory,
            "hadoop": self._hadoop,
        }
        return list(attempts.items())

    async def _urls(self, principal: Principal, path: AssetPath) -> str:
        from sluicegate.tables.features import feature_needs  # loads Arrow

        table = await self.resolver.table(principal, path.share, path.schema, path.name)
        (table,) = await self.resolver.narrowed(principal, [table])
        viewer = (await self.pipeline.get()).viewer
        needs = feature_needs(await viewer.latest(principal, table))
        features = frozenset(name.lower() for name in needs.required)
        capable = Capabilities(("delta", "parquet"), features)
        view = await viewer.view(principal, table, ResponseOptions(capable), travel=TimeTravel())
        if view.agreement.response_format == "parquet":
            return f"version {view.snapshot.version}, in format parquet or delta"
        asked = f";readerfeatures={','.join(sorted(features))}" if features else ""
        return (
            f"version {view.snapshot.version}, for clients that send {HEADER}: "
            f"responseformat=delta{asked}"
        )

    async def _directory(self, principal: Principal, path: AssetPath) -> str:
        table = await self.resolver.table(principal, path.share, path.schema, path.name, "vend")
        directories = await self.credentials.check(table)
        return f"temporary credentials for {', '.join(directories)}"

    async def _iceberg_files(self, principal: Principal, path: AssetPath) -> str:
        table = await self.resolver.table(principal, path.share, path.schema, path.name)
        await self.loader.check_signing(principal, table)
        return "file by file, with signed requests"

    async def _iceberg_directory(self, principal: Principal, path: AssetPath) -> str:
        table = await self.resolver.table(principal, path.share, path.schema, path.name, "vend")
        await self.vended.find(table)
        return "with temporary credentials for its directories"

    async def _hadoop(self, principal: Principal, path: AssetPath) -> str:
        table = await self.resolver.table(principal, path.share, path.schema, path.name, "vend")
        binding = self.bindings.find(None, principal)
        scopes = await token_scopes(self.credentials, principal, [table])
        return f"delegation tokens of kind {binding.kind} for {', '.join(s.service for s in scopes)}"

    async def _asset(self, principal: Principal, named: AssetName) -> str:
        asset = await self.assets.asset(principal, named, "vend")
        directories = await self.asset_credentials.check(asset)
        return f"temporary credentials for {', '.join(directories)}"

    async def lists_in_iceberg(self, principal: Principal, path: AssetPath) -> bool:
        """Whether the Iceberg catalog lists a table that listings of Delta Sharing show."""
        table = await self.resolver.table(principal, path.share, path.schema, path.name)
        await self.resolver.locate(table)
        try:
            await self.loader.check(principal, table)
        except NoSuchTable:
            return False
        except Exception as error:
            _sent(error)
        return True


def _sent(error: Exception) -> SluicegateError:
    """The error in the response to a request. Expected errors are not logged: nobody sent one."""
    return sent_error(error if isinstance(error, SluicegateError) else as_sluicegate_error(error))


async def _tried(name: WayName, attempt: _Attempt, principal: Principal, path: AssetPath) -> Way:
    try:
        return Way(name, 200, None, await attempt(principal, path))
    except Exception as error:
        refused = _sent(error)
        return Way(name, refused.status, refused.code, refused.for_operators)
