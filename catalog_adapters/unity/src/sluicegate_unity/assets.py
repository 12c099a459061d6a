"""Models the catalog's volumes and registered models.

Source: Unity Catalog API, `all.yaml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, get_args

from sluicegate.api import (
    AssetKind,
    CatalogAsset,
    CredentialVendor,
    ListedAsset,
    ModelVersion,
    VersionStatus,
)
from sluicegate_unity.locations import location_of
from sluicegate_unity.names import UnityAssetName, is_name

_VOLUMES: Final = "/temporary-volume-credentials"
_VERSIONS: Final = "/temporary-model-version-credentials"
_LAST: Final = 2**63 - 1
# Route and name of the entries, and the member with the id.
LISTINGS: Final[Mapping[AssetKind, tuple[str, str, str]]] = {
    "volume": ("/volumes", "volumes", "volume_id"),
    "model": ("/models", "registered_models", "id"),
}


@dataclass(frozen=True, slots=True)
class UnityDirectory:
    """The directory of a volume, or of a version of a model; see `vending.VendedDirectory`."""

    name: str
    kind: str
    id: str
    location: str
    route: str
    wanted: Mapping[str, Any] = field(compare=False)

    @property
    def delta_path(self) -> str | None:
        """Return nothing: the Delta API has only tables."""
        return None

    @property
    def request(self) -> tuple[str, Mapping[str, Any]]:
        """Return the route for credentials, and the body of the request."""
        return self.route, self.wanted


def listed_asset(kind: AssetKind, entry: Mapping[str, Any]) -> ListedAsset | None:
    """Return the asset that an entry of a listing names; `None` if it cannot be shared.

    Volumes need a location. A location that is not valid is left out, so that the lookup reports it.
    """
    name, uri = entry.get("name"), entry.get("storage_location")
    if not is_name(name) or (kind == "volume" and not uri):
        return None
    created = entry.get("created_at")
    try:
        location = _location(uri) if uri else None
    except ValueError:
        location = None
    return ListedAsset(
        str(name),
        _text(entry.get(LISTINGS[kind][2])),
        created if isinstance(created, int) and not isinstance(created, bool) else None,
        location,
        _text(entry.get("comment")),
    )


def volume_of(name: UnityAssetName, answer: Mapping[str, Any]) -> UnityDirectory:
    """Return the volume that a response describes."""
    _check_name(answer.get("name"), name, "volume")
    identity = _identity(answer.get("volume_id"), "volume")
    wanted = {"volume_id": identity, "operation": "READ_VOLUME"}
    return UnityDirectory(
        str(name), "volume", identity, _location(answer.get("storage_location")), _VOLUMES, wanted
    )


def model_of(name: UnityAssetName, answer: Mapping[str, Any]) -> CatalogAsset:
    """Return the registered model that a response describes."""
    _check_name(answer.get("name"), name, "model")
    location = answer.get("storage_location")
    return CatalogAsset(
        id=_identity(answer.get("id"), "model"),
        location=_location(location) if location else None,
        comment=_text(answer.get("comment")),
        name=_text(answer.get("name")),
    )


def version_of(name: UnityAssetName, entry: Mapping[str, Any]) -> UnityDirectory | None:
    """Return the directory of the version that an entry of a listing describes; `None` without any."""
    _check_name(entry.get("model_name"), name, "model")
    location = entry.get("storage_location")
    if not location or _status(entry) is None:
        return None
    number = _number(entry)
    wanted = {
        "catalog_name": name.catalog,
        "schema_name": name.schema,
        "model_name": name.asset,
        "version": number,
        "operation": "READ_MODEL_VERSION",
    }
    identity = _identity(entry.get("id"), "version")
    return UnityDirectory(
        f"{name} {number}", "model version", identity, _location(location), _VERSIONS, wanted
    )


def model_version(
    entry: Mapping[str, Any], directory: UnityDirectory, vendor: CredentialVendor | None
) -> ModelVersion:
    """Return the version that an entry of a listing describes."""
    status = _status(entry)
    if status is None:
        raise ValueError("the version has no status")
    return ModelVersion(
        version=_number(entry),
        status=status,
        location=directory.location,
        id=directory.id,
        source=_text(entry.get("source")),
        run_id=_text(entry.get("run_id")),
        comment=_text(entry.get("comment")),
        vendor=vendor,
    )


def _status(entry: Mapping[str, Any]) -> VersionStatus | None:
    status = entry.get("status")
    found: VersionStatus | None = next(
        (each for each in get_args(VersionStatus) if each == status), None
    )
    return found


def _check_name(found: object, name: UnityAssetName, kind: str) -> None:
    if str(found).casefold() != name.asset.casefold():
        raise ValueError(f"the response describes another {kind}")


def _identity(value: object, kind: str) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"the {kind} has no id")
    return value


def _location(uri: object) -> str:
    try:
        return location_of(str(uri))
    except ValueError as error:
        raise ValueError(f"the location {str(uri)[:1000]!r} cannot be used: {error}") from error


def _number(entry: Mapping[str, Any]) -> int:
    number = entry.get("version")
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= _LAST:
        raise ValueError("a version is not a number")
    return number


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
