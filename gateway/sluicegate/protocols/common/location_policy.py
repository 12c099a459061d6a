"""The locations where a table's files can be: what its log can name by absolute paths.

Anyone who writes a table's log decides which files it names, and the gateway signs with its own
permissions. A log could therefore expose files of other tables. For this reason, an absolute path is
served only within the table's own directories, which the catalog names, and where `absolute_paths` of
the storage allows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sluicegate.api import CatalogTable, UnsupportedOperation
from sluicegate.plugins import Instances
from sluicegate.plugins.locations import as_prefix


class LocationPolicy:
    """Decides which locations are allowed, from the configuration and the catalogs."""

    def __init__(self, instances: Instances) -> None:
        self._instances = instances

    def own(self, source: CatalogTable) -> tuple[str, ...]:
        """The table's own directories in canonical form, root first, without nested ones."""
        root, *others = (
            self._instances.canonical(each).rstrip("/")
            for each in (source.location, *source.auxiliary_locations)
        )
        return (root, *without_nested(each for each in others if not is_inside(each, root)))

    def in_root(self, source: CatalogTable, location: str) -> bool:
        """Whether a location is inside the table's root."""
        canonical = self._instances.canonical
        return is_inside(canonical(location), canonical(source.location).rstrip("/"))

    def covers(self, source: CatalogTable, location: str) -> bool:
        """Whether a table's log is allowed to name a file or directory by its absolute path."""
        return self._covers(self.own(source), location)

    def check(self, source: CatalogTable, locations: Iterable[str]) -> None:
        """Reject files that the table is not allowed to name."""
        own = self.own(source)
        for directory in {location.rpartition("/")[0] for location in locations}:
            if not self._covers(own, directory):
                raise UnsupportedOperation(
                    "the table has files outside of its own directories, in a location that is not "
                    "shared: ask the provider to allow it (absolute_paths of the storage)",
                    detail=directory,
                )

    def _covers(self, own: Sequence[str], location: str) -> bool:
        canonical = self._instances.canonical(location)
        if {".", ".."} & set(canonical.split("/")):
            return False
        return any(
            is_inside(canonical, directory) for directory in own
        ) or self._instances.allows_absolute(canonical)


def is_inside(location: str, directory: str) -> bool:
    """Whether a location is the directory or inside it. `s3://lake/t2` is not inside `s3://lake/t`."""
    return as_prefix(location).startswith(as_prefix(directory))


def without_nested(directories: Iterable[str]) -> Iterator[str]:
    """The directories in their order, without those that are inside another one."""
    distinct = list(dict.fromkeys(directories))
    for each in distinct:
        if not any(each != other and is_inside(each, other) for other in distinct):
            yield each
