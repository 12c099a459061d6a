"""Volumes and registered models of the fake Unity Catalog, as Unity Catalog 0.6.0 returns them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from sluicegate.testing.servers.unity_catalog._unity_http import UnityReply, UnityRequest

_VOLUME_CREDENTIALS = "/temporary-volume-credentials"
_VERSION_CREDENTIALS = "/temporary-model-version-credentials"
_MOST = 100
_ZERO_UUID = "00000000-0000-0000-0000-0000000000"


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
        forbidden: Full names on which the gateway has no grants.
    """

    assets: UnityAssets
    forbidden: set[str]

    def granted(self, info: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the credentials for a directory; `None` if its bucket is not configured."""


def asset_reply(state: AssetGrants, path: str, request: UnityRequest) -> UnityReply | None:
    """Return the response to a request about assets; `None` if the path is not about any."""
    if request.method == "POST" and path == _VOLUME_CREDENTIALS:
        return _volume_credentials(state, request.json)
    if request.method == "POST" and path == _VERSION_CREDENTIALS:
        return _version_credentials(state, request.json)
    if request.method != "GET":
        return None
    if path.startswith("/volumes/"):
        return _one(state, "Volume", state.assets.volumes, path.removeprefix("/volumes/"))
    name, separator, rest = path.removeprefix("/models/").partition("/")
    if not path.startswith("/models/") or (separator and rest != "versions"):
        return None
    found = _one(state, "Registered model", state.assets.models, name)
    return _versions(state, name, request.query) if separator and found.status == 200 else found


def _one(state: AssetGrants, kind: str, known: Mapping[str, dict[str, Any]], name: str) -> UnityReply:
    parts = name.split(".")
    if len(parts) != 3:
        return UnityReply.refusing("INVALID_ARGUMENT", f"Invalid name: {name}")
    if name not in known:
        return UnityReply.refusing("NOT_FOUND", f"{kind} not found: {name}")
    if {".".join(parts[:count]) for count in (1, 2, 3)} & state.forbidden:
        return UnityReply.refusing("PERMISSION_DENIED", "Access denied.")
    return UnityReply.of(known[name])


def _versions(state: AssetGrants, name: str, query: Mapping[str, str]) -> UnityReply:
    size = min(int(query.get("max_results") or _MOST) or _MOST, _MOST)
    start = int(query.get("page_token") or 0)
    page = state.assets.versions.get(name, [])[start : start + size]
    # A full page has a next page, even if that is empty.
    token = str(start + size) if len(page) == size else None
    return UnityReply.of({"model_versions": page, "next_page_token": token})


def _volume_credentials(state: AssetGrants, wanted: Mapping[str, Any]) -> UnityReply:
    named = {info["volume_id"]: name for name, info in state.assets.volumes.items()}
    name = named.get(wanted["volume_id"])
    if name is None:
        return UnityReply.refusing("NOT_FOUND", f"Volume not found: {wanted['volume_id']}")
    found = _one(state, "Volume", state.assets.volumes, name)
    if found.status != 200:
        return found
    if wanted.get("operation") != "READ_VOLUME":
        return UnityReply.refusing("PERMISSION_DENIED", "Access denied.")
    return _granted(state, state.assets.volumes[name], "volume_id")


def _version_credentials(state: AssetGrants, wanted: Mapping[str, Any]) -> UnityReply:
    name = ".".join(str(wanted[part]) for part in ("catalog_name", "schema_name", "model_name"))
    found = _one(state, "Registered model", state.assets.models, name)
    if found.status != 200:
        return found
    if wanted.get("operation") != "READ_MODEL_VERSION":
        return UnityReply.refusing("PERMISSION_DENIED", "Access denied.")
    known = {info["version"]: info for info in state.assets.versions.get(name, [])}
    info = known.get(wanted["version"])
    if info is None:
        return UnityReply.refusing("NOT_FOUND", f"Model version not found: {name}")
    if info["storage_location"].lower().startswith("file"):
        return UnityReply.refusing("INVALID_ARGUMENT", "Cannot request credentials on a file")
    if info["status"] not in ("READY", "PENDING_REGISTRATION"):
        return UnityReply.refusing("INVALID_ARGUMENT", f"status {info['status']}")
    return _granted(state, info, "id")


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
        "updated_at": None,
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
    own = {
        "model_name": described.pop("name"),
        "version": version,
        "status": "READY",
        "source": "dbfs:/runs/1",
        "run_id": None,
        "id": f"{_ZERO_UUID}{version + 60:02}",
    }
    return {**described, **own, **changed}
