"""Explains whether listings show a table or asset to a recipient."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.api import Principal, SharedAsset, SharedTable, SluicegateError
from sluicegate.database.names import name_key
from sluicegate.protocols.common.resolver import Resolver, Shared
from sluicegate.protocols.delta_sharing.assets.descriptions import AssetDescriptions
from sluicegate.protocols.delta_sharing.assets.resolver import AssetResolver
from sluicegate.protocols.explain.attempts import ReadAttempts
from sluicegate.protocols.explain.finder import Found
from sluicegate.protocols.explain.models import AssetPath


class Listings:
    """Decides about one table or asset. If a policy fails for one item, its listing fails.

    Args:
        descriptions: Describes other assets, because listings omit those that can't be described.
    """

    def __init__(
        self,
        resolver: Resolver,
        assets: AssetResolver,
        descriptions: AssetDescriptions,
        attempts: ReadAttempts,
    ) -> None:
        self._resolver = resolver
        self._assets = assets
        self._descriptions = descriptions
        self._attempts = attempts

    async def of_sharing(self, principal: Principal, found: Found, shared: SharedTable) -> bool:
        """Whether the listings of Delta Sharing show a granted table or asset."""
        try:
            schema = await self._resolver.schema_of(found.share, shared.schema)
            if isinstance(shared, SharedAsset):
                assets = _named(shared, await self._assets.assets(schema, shared.kind))
                seen = await self._assets.shown(principal, assets)
                return bool(await self._descriptions.of_page(principal, seen))
            # Views are found, but not listed.
            tables = _named(shared, await self._resolver.tables(schema))
            shown = await self._resolver.shown(principal, tables)
            return bool(await self._resolver.narrowed(principal, shown))
        except SluicegateError:
            return False

    async def of_iceberg(
        self, principal: Principal, path: AssetPath, found: Found, shared: SharedTable
    ) -> bool:
        """Whether the listing of the Iceberg catalog shows a granted table."""
        if isinstance(shared, SharedAsset):
            return False
        try:
            schema = await self._resolver.schema_of(found.share, shared.schema)
            tables = _named(shared, await self._resolver.tables(schema))
            return bool(tables) and await self._attempts.lists_in_iceberg(principal, path)
        except SluicegateError:
            return False


def _named(shared: SharedTable, listed: Sequence[Shared]) -> list[Shared]:
    return [each for each in listed if name_key(each.name) == name_key(shared.name)]
