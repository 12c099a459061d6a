"""Volumes and registered models of the fake Unity Catalog, as Unity Catalog 0.6.0 returns them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from sluicegate_testing.servers.unity_catalog._unity_http import UnityReply, UnityRequest

_VOLUME_CREDENTIALS = "/temporary-volume-credentials"
_VERSION_CREDENTIALS = "/temporary-model-version-credentials"
_MOST = 100
_ZERO_UUID = "00000000-0000-0000-0000-0000000000"
_NO_VOLUME = (
    'Failed to get volume: Cannot invoke "io.unitycatalog.server.persist.dao.VolumeInfoDAO.'
    'toVolumeInfo(String, String)" because the return value of "io.unitycatalog.server.persist.'
    'VolumeRepository.getVolumeDAO(org.hibernate.Session, String, String, String)" is null'
)


@dataclass
class UnityAssets:
    """Volumes and models.

    Attributes:
        volumes: Volumes by full name, as `volume_info` creates them.
        models: Registered models by full name, as `model_info` creates them.
        versions: Versions of the models by full name, as `version_info` creates them.
    """

    volumes: dict[str, dict[str, Any]] = field(default_factory=dict)
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    versions: dict[str, list[dict[str, Any]]] = field(default_factory=dict)


class AssetGrants(Protocol):
    """What the responses about assets depend on.

    Attributes:
        assets: The volumes and models.
        tokens: Accepted tokens; `None` if authorization is off.
    """

    assets: UnityAssets
    tokens: set[str] | None

    def granted(self, info: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the credentials for a directory; `None` if its bucket is not configured."""

    def no_schema(self, catalog: str, schema: str) -> UnityReply | None:
        """Return the error of a schema that does not exist; `None` if it exists."""

    def hides(self, name: str) -> bool:
        """Return whether the gateway has no grants on a name."""


def asset_reply(state: AssetGrants, path: str, request: UnityRequest) -> UnityReply | None:
    """Return the response to a request about one asset; `None` if the path is not about any."""
    if request.method == "POST" and path == _VOLUME_CREDENTIALS:
        return _volume_credentials(state, request.json)
    if request.method == "POST" and path == _VERSION_CREDENTIALS:
        return _version_credentials(state, request.json)
    if request.method != "GET":
        return None
    if path.startswith("/volumes/") and "/" not in path.removeprefix("/volumes/"):
        return _volume(state, path.removeprefix("/volumes/"))
    name, separator, rest = path.removeprefix("/models/").partition("/")
    if not path.startswith("/models/") or (separator and rest != "versions"):
        return None
    found = _model(state, name)
    return _versions(state, name, request.query) if separator and found.status == 200 else found


def _volume(state: AssetGrants, name: str) -> UnityReply:
    # Real servers do not check whether they have found the volume.
    missing = UnityReply.refusing("INTERNAL", _NO_VOLUME)
    return _one(state, "volume", state.assets.volumes, name, missing)


def _model(state: AssetGrants, name: str) -> UnityReply:
    missing = UnityReply.refusing("NOT_FOUND", f"Registered model not found: {name}")
    return _one(state, "registered model", state.assets.models, name, missing)


def _one(
    state: AssetGrants,
    kind: str,
    known: Mapping[str, dict[str, Any]],
    name: str,
    missing: UnityReply,
) -> UnityReply:
    parts = name.split(".")
    if len(parts) != 3:
        return UnityReply.refusing("INVALID_ARGUMENT", f"Invalid {kind} name: {name}")
    if (refusal := state.no_schema(parts[0], parts[1])) is not None:
        return refusal
    if name not in known:
        return missing
    if state.hides(name):
        return UnityReply.refusing("PERMISSION_DENIED", "Access denied.")
    return UnityReply.of(known[name])


def _versions(state: AssetGrants, name: str, query: Mapping[str, str]) -> UnityReply:
    size, token = query.get("max_results") or "0", query.get("page_token") or "0"
    if not size.isdecimal():
        return UnityReply.refusing("INVALID_ARGUMENT", "maxResults must be greater than or equal to 0")
    if not token.isdecimal():
        return UnityReply.refusing("INVALID_ARGUMENT", f"Invalid page token received: {token}")
    most, start = min(int(size) or _MOST, _MOST), int(token)
    page = state.assets.versions.get(name, [])[start : start + most]
    # A full page has a next page, even if that is empty.
    following = str(start + most) if len(page) == most else None
    return UnityReply.of({"model_versions": page, "next_page_token": following})


def _volume_credentials(state: AssetGrants, wanted: Mapping[str, Any]) -> UnityReply:
    identity = str(wanted.get("volume_id"))
    if len(identity) != len(_ZERO_UUID) + 2:
        message = f"Failed to get volume by ID: Invalid UUID string: {identity}"
        return UnityReply.refusing("INTERNAL", message)
    named = {info["volume_id"]: name for name, info in state.assets.volumes.items()}
    name = named.get(identity)
    if name is None:
        return UnityReply.refusing("NOT_FOUND", f"Volume not found: {identity}")
    found = _volume(state, name)
    if found.status != 200:
        return found
    refusal = _wrong_operation(state, wanted, "READ_VOLUME")
    return refusal or _granted(state, state.assets.volumes[name], "volume_id")


def _version_credentials(state: AssetGrants, wanted: Mapping[str, Any]) -> UnityReply:
    name = ".".join(str(wanted[part]) for part in ("catalog_name", "schema_name", "model_name"))
    found = _model(state, name)
    if found.status != 200:
        return found
    if (refusal := _wrong_operation(state, wanted, "READ_MODEL_VERSION")) is not None:
        return refusal
    known = {info["version"]: info for info in state.assets.versions.get(name, [])}
    info = known.get(wanted["version"])
    if info is None:
        return UnityReply.refusing("NOT_FOUND", f"Model version not found: {name}/{wanted['version']}")
    if info["storage_location"].lower().startswith("file"):
        return UnityReply.refusing("INVALID_ARGUMENT", "Cannot request credentials on a file")
    if info["status"] not in ("READY", "PENDING_REGISTRATION"):
        return UnityReply.refusing("INVALID_ARGUMENT", f"status {info['status']}")
    return _granted(state, info, "id")


def _wrong_operation(state: AssetGrants, wanted: Mapping[str, Any], needed: str) -> UnityReply | None:
    operation = wanted.get("operation")
    if operation == needed:
        return None
    if state.tokens is not None:
        return UnityReply.refusing("PERMISSION_DENIED", "Access denied.")
    if operation is None:
        return UnityReply.refusing("INTERNAL", 'Cannot invoke "Operation.ordinal()"')
    return UnityReply.refusing("INVALID_ARGUMENT", "failed to parse a JSON document")


def _granted(state: AssetGrants, info: Mapping[str, Any], key: str) -> UnityReply:
    granted = state.granted({**info, "table_id": info[key]})
    if granted is None:
        return UnityReply.refusing("FAILED_PRECONDITION", "S3 bucket configuration not found.")
    return UnityReply.of(granted)


def _described(full_name: str, location: str | None) -> dict[str, Any]:
    catalog, schema, name = full_name.split(".")
    return {
        "name": name,
        "catalog_name": catalog,
        "schema_name": schema,
        "full_name": full_name,
        "storage_location": location,
        "comment": None,
        "owner": None,
        "created_at": 1_780_000_000_000,
        "created_by": None,
        "updated_at": 1_780_000_000_000,
        "updated_by": None,
    }


def volume_info(full_name: str, location: str, number: int = 1, /, **changed: Any) -> dict[str, Any]:
    """A volume as the catalog describes it.

    Args:
        full_name: `catalog.schema.volume`.
        location: The `storage_location`.
        number: Determines the id.
        changed: Other members.
    """
    own = {"volume_id": f"{_ZERO_UUID}{number + 20:02}", "volume_type": "EXTERNAL"}
    return {**_described(full_name, location), **own, **changed}


def model_info(
    full_name: str, location: str | None, number: int = 1, /, **changed: Any
) -> dict[str, Any]:
    """A registered model as the catalog describes it; see `volume_info`."""
    return {**_described(full_name, location), "id": f"{_ZERO_UUID}{number + 40:02}", **changed}


def version_info(
    full_name: str, location: str | None, version: int = 1, /, **changed: Any
) -> dict[str, Any]:
    """A version of a registered model as the catalog describes it; see `volume_info`."""
    described = _described(full_name, location)
    described.pop("full_name")
    described.pop("owner")
    own = {
        "model_name": described.pop("name"),
        "version": version,
        "status": "READY",
        "source": "dbfs:/runs/1",
        "run_id": None,
        "id": f"{_ZERO_UUID}{version + 60:02}",
    }
    return {**described, **own, **changed}
