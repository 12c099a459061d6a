"""Assets that are named by location: volumes, skills, and models with a folder for each version."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Final

from sluicegate.api import CatalogAsset, ModelVersion

_LONGEST: Final = 18  # digits of a version number


def asset_at(location: str) -> CatalogAsset:
    """Return the asset at a location."""
    return CatalogAsset(str(uuid.uuid5(uuid.NAMESPACE_URL, location)), location)


def versions_at(location: str, folders: Iterable[str]) -> list[ModelVersion]:
    """Return the versions of the model at a location, ascending."""
    numbers = sorted(int(name) for name in folders if _is_number(name))
    return [ModelVersion(number, "READY", f"{location}/{number}") for number in numbers]


def _is_number(name: str) -> bool:
    if not (name.isascii() and name.isdecimal()) or len(name) > _LONGEST:
        return False
    return name == str(int(name))
