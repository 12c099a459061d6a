"""The versions of a model that are shared, by number and by alias."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.api import ModelVersion, NotFound, SharedAsset, UnsupportedOperation
from sluicegate.database.names import name_key


def shared_versions(shared: SharedAsset, versions: Sequence[ModelVersion]) -> list[ModelVersion]:
    """The shared versions of a model, whatever their status, in ascending order."""
    return sorted(
        (each for each in versions if shared.versions is None or each.version in shared.versions),
        key=lambda each: each.version,
    )


def version_numbered(
    shared: SharedAsset, versions: Sequence[ModelVersion], number: str
) -> ModelVersion:
    """The shared version with a number, as a request writes it."""
    wanted = int(number) if number.isascii() and number.isdecimal() and len(number) < 20 else -1
    found = [each for each in shared_versions(shared, versions) if each.version == wanted]
    if not found:
        raise NotFound(f"the model {shared.full_name} has no version {number[:20]!r}")
    return found[0]


def version_aliased(shared: SharedAsset, versions: Sequence[ModelVersion], alias: str) -> ModelVersion:
    """The shared version with an alias.

    Aliases that the share declares replace those of the catalog.
    """
    key = name_key(alias)
    declared = {name_key(name): version for name, version in shared.aliases}
    for each in shared_versions(shared, versions):
        if key in declared and each.version == declared[key]:
            return each
        if key not in declared and key in map(name_key, each.aliases):
            return each
    raise NotFound(f"the model {shared.full_name} has no alias {alias!r}")


def is_ready(version: ModelVersion) -> bool:
    """Whether recipients can read a version."""
    return version.status == "READY"


def check_ready(shared: SharedAsset, version: ModelVersion) -> None:
    """Reject versions that cannot be read."""
    if not is_ready(version):
        raise UnsupportedOperation(
            f"version {version.version} of the model {shared.full_name} is {version.status}: "
            "credentials are available only for versions that are READY"
        )
