"""Temporary credentials for the directories of assets."""

from __future__ import annotations

from sluicegate.api import (
    CatalogTable,
    ModelVersion,
    NotFound,
    Principal,
    SharedAsset,
    StorageError,
    TemporaryCredentials,
    UnsupportedOperation,
)
from sluicegate.protocols.delta_sharing.assets.descriptions import AssetDescriptions
from sluicegate.protocols.delta_sharing.assets.resolver import AssetResolver
from sluicegate.protocols.delta_sharing.assets.versions import check_ready
from sluicegate.vending import Vending


class AssetCredentials:
    """Vends credentials for one asset or version.

    Args:
        resolver: Finds directories.
        descriptions: Finds the directories of volumes and skills.
        vending: Vends the credentials.
    """

    def __init__(
        self, resolver: AssetResolver, descriptions: AssetDescriptions, vending: Vending
    ) -> None:
        self._resolver = resolver
        self._descriptions = descriptions
        self._vending = vending

    async def of_directory(self, principal: Principal, shared: SharedAsset) -> TemporaryCredentials:
        """Credentials for a volume or skill.

        Raises:
            NotFound: The catalog no longer has the asset.
            UnsupportedOperation: Its storage offers no temporary credentials.
            Unavailable: The catalog, or the vendor, cannot be used now.
        """
        return await self._issue(principal, shared, await self._descriptions.source(shared))

    async def of_version(
        self, principal: Principal, shared: SharedAsset, version: ModelVersion
    ) -> TemporaryCredentials:
        """Credentials for a version of a model.

        Raises:
            UnsupportedOperation: The version is not `READY`, or its storage offers no temporary
                credentials.
            Unavailable: The vendor cannot be used now.
        """
        check_ready(shared, version)
        identity = version.id or f"{shared.id}/{version.version}"
        source = self._resolver.directory(shared, identity, version.location, version.vendor)
        return await self._issue(principal, shared, source)

    async def _issue(
        self, principal: Principal, shared: SharedAsset, source: CatalogTable
    ) -> TemporaryCredentials:
        what = f"the {shared.kind} {shared.full_name}"
        try:
            return await self._vending.issue(principal, shared, source)
        except UnsupportedOperation as error:
            raise UnsupportedOperation(
                f"no temporary credentials that expire are available for {what}: ask its provider",
                detail=error.for_operators,
            ) from error
        except StorageError as error:
            raise StorageError(
                f"credentials for {what} are not available now; try again later",
                detail=error.for_operators,
            ) from error
        except NotFound as error:
            raise NotFound(f"{what} no longer exists", detail=error.for_operators) from error
