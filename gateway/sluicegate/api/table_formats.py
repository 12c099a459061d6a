"""The base class of table formats."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sluicegate.api.errors import UnsupportedOperation
from sluicegate.api.models import CatalogTable, ObjectDirectory

if TYPE_CHECKING:
    from sluicegate.tables.changes import Changes
    from sluicegate.tables.snapshot import Snapshot
    from sluicegate.tables.versions import DescribedVersion


class TableFormat(ABC):
    """Reads tables of one format into snapshots and changes.

    Attributes:
        reads_refs: Whether the format has branches and tags, and reads the one in `CatalogTable.ref`.
            Its versions, timestamps and changes are then those of that branch or tag.
    """

    reads_refs: bool = False

    @abstractmethod
    async def latest(
        self, table: CatalogTable, directory: ObjectDirectory, previous: Snapshot | None
    ) -> Snapshot:
        """Return the latest snapshot, advanced from `previous` if that is cheaper.

        Raises:
            NotFound: There is no table at the location.
            TableUnreadable: The table's metadata is invalid, or requires an unknown feature.
            Unavailable: The store does not respond.
        """

    @abstractmethod
    async def at_version(
        self, table: CatalogTable, directory: ObjectDirectory, version: int
    ) -> Snapshot:
        """Return the snapshot of a version.

        Raises:
            InvalidRequest: The version does not exist, or can no longer be reconstructed.
        """

    def still_has(self, latest: Snapshot, version: int) -> bool:
        """Whether a version that was read before still exists in the table. No I/O.

        Versions can disappear if a table is rolled back or if its old versions expire.

        Args:
            latest: The latest snapshot.
            version: The version that was passed to `at_version` before.
        """
        return True

    @abstractmethod
    async def version_at(
        self,
        table: CatalogTable,
        directory: ObjectDirectory,
        latest: Snapshot,
        timestamp: int,
        *,
        earliest_after: bool,
    ) -> int:
        """Return the version of a timestamp.

        Args:
            latest: The latest snapshot. Its metadata defines how the table stores timestamps.
            table: The table in the catalog.
            directory: Its location, opened.
            timestamp: Epoch milliseconds.
            earliest_after: The earliest version at or after the timestamp, instead of the latest
                version at or before it.

        Raises:
            InvalidRequest: No such version exists.
        """

    async def earlier_versions(
        self,
        table: CatalogTable,
        directory: ObjectDirectory,
        latest: Snapshot,
        start: int,
        limit: int,
    ) -> Sequence[DescribedVersion]:
        """Return versions before the latest one that `at_version` returns, in ascending order.

        They are offered to clients that choose a version themselves. A format can leave out versions
        whose metadata is expensive to read.

        Args:
            table: The table in the catalog.
            directory: Its location, opened.
            latest: The latest snapshot.
            start: The lowest version.
            limit: Maximum number of versions; the newest ones are returned.

        Raises:
            TableUnreadable: The table's metadata is invalid.
            Unavailable: The store does not respond.
        """
        return ()

    async def changes(
        self,
        table: CatalogTable,
        directory: ObjectDirectory,
        latest: Snapshot,
        start: int,
        end: int,
    ) -> Changes:
        """Return the commits of a range of versions, for streams and change feeds.

        Args:
            table: The table in the catalog.
            directory: Its location, opened.
            latest: The latest snapshot.
            start: The first version.
            end: The last version, from `start` to the latest version.

        Raises:
            InvalidRequest: Some of the commits are no longer available.
            TableUnreadable: The table's metadata is invalid, or requires an unknown feature.
            Unavailable: The store does not respond.
            UnsupportedOperation: This format does not record changes.
        """
        raise UnsupportedOperation(f"tables of format '{table.format}' do not record their changes")

    async def derived(self, table: CatalogTable, directory: ObjectDirectory, recipe: str) -> bytes:
        """Generate a file that is not in the store, but that a response contained as a `DerivedFile`.

        Called when a recipient downloads the file, possibly in another process than the one that sent
        the response, and after the table has changed. The gateway verifies the digest of the bytes,
        caches them, and limits how many files are generated concurrently.

        Args:
            table: The current table in the catalog.
            directory: Its location, opened.
            recipe: Describes how to generate the file, in this format's own notation.

        Raises:
            TableUnreadable: The sources of the file are missing or invalid.
            Unavailable: The store does not respond.
            UnsupportedOperation: This format has no such files.
        """
        raise UnsupportedOperation(f"tables of format '{table.format}' have no files of this kind")

    def preload(self) -> None:  # noqa: B027 (having nothing to import is the usual case)
        """Import the modules that the first request needs.

        Called once at startup, in a worker thread. The gateway is ready after all of these calls, and
        an error prevents the start. Do not contact other systems, which might be unavailable.
        """
