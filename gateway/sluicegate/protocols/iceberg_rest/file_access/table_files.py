"""Opens files of a table for reading: in its root, or at another location that it may name."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sluicegate.api import ConfigurationError, ObjectDirectory, UnsupportedOperation
from sluicegate.api.errors import StorageError
from sluicegate.api.models import join_location
from sluicegate.plugins import Instances
from sluicegate.protocols.common.location_policy import LocationPolicy
from sluicegate.protocols.common.resolver import OpenTable
from sluicegate.protocols.presigning.signer import is_scattered

_BEYOND_THE_END = re.compile(
    r"invalid range|range was invalid|invalidrange|status(?: code)?:? 416\b", re.IGNORECASE
)


def is_beyond_the_end(error: StorageError) -> bool:
    """Whether a store has no bytes in a range: the file is shorter than the table says."""
    return _BEYOND_THE_END.search(error.detail or "") is not None


class TableFiles:
    """Finds the stores of files."""

    def __init__(self, instances: Instances) -> None:
        self._instances = instances
        self._reach = LocationPolicy(instances)

    def check(self, table: OpenTable, locations: Iterable[str]) -> None:
        """Reject files that the table is not allowed to name."""
        self._reach.check(table.source, locations)

    async def proven(self, table: OpenTable, path: str) -> tuple[ObjectDirectory, str]:
        """The directory and the name of a file, by its path as the table's log has it."""
        location = join_location(self._instances.canonical(table.source.location), path)
        if is_scattered([path]):
            self.check(table, [location])
        return await self.opened(table, location)

    async def opened(self, table: OpenTable, location: str) -> tuple[ObjectDirectory, str]:
        """The directory that a file is read from, and the file's name in it."""
        canonical = self._instances.canonical(location)
        root = self._instances.canonical(table.source.location).rstrip("/") + "/"
        if canonical.startswith(root):
            return table.directory, canonical.removeprefix(root)
        try:
            canonical, storage = self._instances.storage_for(location)
        except ConfigurationError as error:
            raise UnsupportedOperation(
                "the table has files outside the storage that this gateway is allowed to share",
                detail=error.message,
            ) from error
        directory, _, name = canonical.rpartition("/")
        return await storage.open(directory, None), name
