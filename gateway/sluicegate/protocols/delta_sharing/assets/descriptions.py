"""JSON of assets in responses (docs/interop.md, "OpenSharing")."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from sluicegate.api import (
    CatalogTable,
    ModelVersion,
    Principal,
    SharedAsset,
    SluicegateError,
    Unavailable,
)
from sluicegate.protocols.delta_sharing import listings as listing
from sluicegate.protocols.delta_sharing.assets.resolver import AssetResolver
from sluicegate.protocols.delta_sharing.assets.skill_files import SkillFiles
from sluicegate.protocols.delta_sharing.encoding.ndjson import present

log = logging.getLogger(__name__)

_AT_ONCE: Final = 16


class AssetDescriptions:
    """Describes assets with what their catalogs and `SKILL.md` files contain."""

    def __init__(self, resolver: AssetResolver, skills: SkillFiles) -> None:
        self._resolver = resolver
        self._skills = skills

    async def of_page(
        self, principal: Principal, assets: Sequence[SharedAsset]
    ) -> list[dict[str, Any]]:
        """The items of a listing. Logs a warning for each asset that cannot be described now."""
        slots = asyncio.Semaphore(_AT_ONCE)

        async def one(shared: SharedAsset) -> dict[str, Any] | None:
            async with slots:
                try:
                    return self._listed(shared) or await self.of(principal, shared)
                except SluicegateError as error:
                    log.warning(
                        "%s %s is left out of the listing: %s",
                        shared.kind,
                        shared.full_name,
                        error.for_operators,
                    )
                    return None

        found = await asyncio.gather(*map(one, assets))
        return [each for each in found if each is not None]

    async def of(self, principal: Principal, shared: SharedAsset) -> dict[str, Any]:
        """One asset."""
        named = listing.table(shared)
        if shared.kind == "model":
            return named | await self._model(shared)
        source = await self.source(shared)
        located = {"storageLocation": source.location}
        if shared.kind == "volume":
            return named | located
        fields = await self._skills.fields(principal, shared, source)
        return named | present(
            description=fields.description,
            **located,
            license=fields.license,
            compatibility=fields.compatibility,
            allowedTools=fields.allowed_tools,
            metadata=dict(fields.metadata) or None,
        )

    def _listed(self, shared: SharedAsset) -> dict[str, Any] | None:
        """An asset, if the listing of its catalog describes it completely."""
        location = shared.listed_location
        if location is None or shared.kind == "skill":
            return None
        named = listing.table(shared)
        if shared.kind == "model":
            root = self._resolver.canonical(location)
            return named | present(comment=shared.comment, storageLocation=root)
        source = self._resolver.directory(shared, shared.id, location, None)
        return named | {"storageLocation": source.location}

    async def source(self, shared: SharedAsset) -> CatalogTable:
        """The directory of a volume or skill."""
        found = await self._resolver.locate(shared)
        if found.location is None:
            raise Unavailable(
                f"the {shared.kind} {shared.full_name} cannot be served now; contact the provider",
                detail="the catalog does not report its location",
            )
        return self._resolver.directory(shared, found.id, found.location, found.vendor)

    async def _model(self, shared: SharedAsset) -> dict[str, Any]:
        found = await self._resolver.locate(shared)
        root = None if found.location is None else self._resolver.canonical(found.location)
        return present(comment=shared.comment or found.comment, storageLocation=root)

    def version(self, shared: SharedAsset, version: ModelVersion) -> dict[str, Any]:
        """A version of a model."""
        identity = f"{shared.id}/{version.id or version.version}"
        return present(
            modelName=shared.name,
            schema=shared.schema,
            share=shared.share,
            version=version.version,
            status=version.status,
            storageLocation=self._resolver.canonical(version.location),
            id=str(uuid5(NAMESPACE_URL, identity)),
            source=version.source,
            runId=version.run_id,
            comment=version.comment,
        )
