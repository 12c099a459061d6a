"""The models of assets: volumes, models with their versions, and skills; part of `sluicegate.api`.

Source: docs/interop.md, "OpenSharing". An asset is a directory, or one for each
version, that recipients read with temporary credentials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, get_args

from sluicegate.api.models import AccessMode, SharedTable

if TYPE_CHECKING:
    from sluicegate.api.vending import CredentialVendor

AssetKind = Literal["volume", "model", "skill"]
"""The kind of an asset that is not a table."""

ASSET_KINDS: Final[tuple[AssetKind, ...]] = get_args(AssetKind)
"""All kinds of assets, in the order of responses and of the shares file."""

VersionStatus = Literal["PENDING_REGISTRATION", "FAILED_REGISTRATION", "READY"]
"""The state of a model's version. Only versions that are `READY` are listed and can be read."""


@dataclass(frozen=True, slots=True)
class SharedAsset(SharedTable):
    """A shared volume, model or skill, with its names for recipients and in the catalog.

    It has the attributes of a shared table, so that policies decide about both in the same way.

    Attributes:
        kind: The kind of the asset.
        identifier: Its name in the catalog (for `paths`: its location).
        access_modes: Always temporary directory credentials.
        versions: The shared versions of a model; `None` for all.
        aliases: Declared aliases of a model's versions, in addition to those of its catalog.
        listed_location: Its location in the listing that it is from, if that contains one.
    """

    kind: AssetKind = "volume"
    access_modes: tuple[AccessMode, ...] = ("dir",)
    versions: tuple[int, ...] | None = None
    aliases: tuple[tuple[str, int], ...] = ()
    listed_location: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ListedAsset:
    """An asset in the listing of a catalog.

    Attributes:
        name: Its name in the schema.
        id: The id of `CatalogAsset`, if the listing contains it: an asset that is dropped and created
            again has a new id.
        created_at: Epoch milliseconds, if the listing contains it: if the names of assets differ only
            in case, recipients get the oldest.
        location: The location of `CatalogAsset`, if the listing contains it. Without it, the gateway
            looks up each asset of a page that recipients list.
        comment: A description for recipients, if the listing contains it.
    """

    name: str
    id: str | None = None
    created_at: int | None = None
    location: str | None = None
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class AssetPage:
    """A page of a schema's assets, and the token of the next page; `None` after the last."""

    assets: Sequence[ListedAsset]
    next_token: str | None = None


@dataclass(frozen=True, slots=True)
class CatalogAsset:
    """An asset as the catalog describes it.

    Attributes:
        id: Stable id. An asset that is dropped and created again has a new one.
        location: Its directory, without a trailing slash. For a model, the directory that contains its
            versions, or `None` if there is none.
        comment: A description for recipients.
        vendor: Vends credentials for the asset; `None` for the storage plugin of its location.
        name: Its name as listings contain it, without the schema, if it can differ in case from the
            requested one.
    """

    id: str
    location: str | None
    comment: str | None = None
    vendor: CredentialVendor | None = None
    name: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ModelVersion:
    """A version of a model as the catalog describes it.

    Attributes:
        version: Its number.
        status: Its state.
        location: Its directory, without a trailing slash.
        id: Stable id, if the catalog has one.
        source: Where the version was registered from.
        run_id: The run that created the version.
        comment: A description for recipients.
        aliases: Names of this version, such as `champion`.
        vendor: Vends credentials for the version; `None` for the storage plugin of its location.
    """

    version: int
    status: VersionStatus
    location: str
    id: str | None = None
    source: str | None = None
    run_id: str | None = None
    comment: str | None = None
    aliases: tuple[str, ...] = ()
    vendor: CredentialVendor | None = None
