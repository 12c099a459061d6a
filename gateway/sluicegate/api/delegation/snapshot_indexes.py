"""Snapshot indexes of the gateway, which executors of the delegation service build.

Plugins import all of it from `api`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class SnapshotIndexBuild:
    """What a build of a table's index did.

    Attributes:
        version: The version of the table that is indexed.
        files: Number of its live files.
        parts: Number of parts of the index.
        written_parts: How many of them were written. The others are parts of the previous index.
        full_build: Why all parts were written, if they were; `None` for an incremental build.
    """

    version: int
    files: int
    parts: int
    written_parts: int
    full_build: str | None = None


class SnapshotIndexes(Protocol):
    """Builds snapshot indexes in the folder that the configuration names.

    Tables are read with the catalogs and storages of the gateway's configuration.
    """

    async def build(
        self,
        catalog: str,
        table: str,
        *,
        check_location: Callable[[str], None],
        before_publication: Callable[[], Awaitable[None]],
    ) -> SnapshotIndexBuild | None:
        """Build the index of a table's newest version, if possible from the previous index.

        Args:
            catalog: The name of a configured catalog.
            table: The table's identifier in it.
            check_location: Called with the table's location before it is read. An error ends the build.
            before_publication: Called immediately before the index is visible to gateways. An error
                prevents that.

        Returns:
            `None` if the table has too few files for an index (`index.min_files`).

        Raises:
            NotFound: There is no such catalog or table.
            UnsupportedOperation: The table is no Delta table, or has too many partitions.
            TableUnreadable: Its log is damaged.
            Unavailable: The catalog or a store does not respond.
        """
