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
from sluicegate.protocols.delta_sharing.assets.versions import check_ready, is_ready, shared_versions
from sluicegate.vending import Vending


class AssetCredentials:
    """Vends credentials for one asset or version."""

    def __init__(
        self, resolver: AssetResolver, descriptions: AssetDescriptions, vending: Vending
    ) -> None:
        self._resolver = resolver
        self._descriptions = descriptions
        self._vending = vending

    async def of_directory(self, principal: Principal, shared: SharedAsset) -> TemporaryCredentials:
        """Credentials for a volume or skill."""
        return await self._issue(principal, shared, await self._descriptions.source(shared))

    async def check(self, shared: SharedAsset) -> tuple[str, ...]:
        """The directories whose credentials a recipient can request, unless a vendor refuses them."""
        if shared.kind == "model":
            versions = shared_versions(shared, await self._resolver.versions(shared))
            sources = [self._source(shared, each) for each in versions if is_ready(each)]
            if not sources:
                raise NotFound(f"no version of the model {shared.full_name} can be read")
        else:
            sources = [await self._descriptions.source(shared)]
        find = self._vending.vendors.find
        offered = tuple(each.location for each in sources if find(each, each.location) is not None)
        if not offered:
            raise _none_available(shared, ", ".join(each.location for each in sources))
        return offered

    def _source(self, shared: SharedAsset, version: ModelVersion) -> CatalogTable:
        identity = version.id or f"{shared.id}/{version.version}"
        return self._resolver.directory(shared, identity, version.location, version.vendor)

    async def of_version(
        self, principal: Principal, shared: SharedAsset, version: ModelVersion
    ) -> TemporaryCredentials:
        """Credentials for a version of a model."""
        check_ready(shared, version)
        return await self._issue(principal, shared, self._source(shared, version))

    async def _issue(
        self, principal: Principal, shared: SharedAsset, source: CatalogTable
    ) -> TemporaryCredentials:
        what = f"the {shared.kind} {shared.full_name}"
        try:
            return await self._vending.issue(principal, shared, source)
        except UnsupportedOperation as error:
            raise _none_available(shared, error.for_operators) from error
        except StorageError as error:
            raise StorageError(
                f"credentials for {what} are not available now; try again later",
                detail=error.for_operators,
            ) from error
        except NotFound as error:
            raise NotFound(f"{what} no longer exists", detail=error.for_operators) from error


def _none_available(shared: SharedAsset, detail: str) -> UnsupportedOperation:
    return UnsupportedOperation(
        f"no temporary credentials that expire are available for the {shared.kind} {shared.full_name}: "
        "ask its provider",
        detail=detail,
    )
