"""The sign step: from paths of a table to presigned URLs, a batch at a time."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.access.directory_limits import directory_obstacle
from sluicegate.api import (
    ConfigurationError,
    Presigned,
    Storage,
    TemporaryCredentials,
    UnsupportedOperation,
)
from sluicegate.doors.reach import Reach
from sluicegate.doors.resolve import OpenTable
from sluicegate.nouns import join_location
from sluicegate.registry import Instances
from sluicegate.sharing.derived_links import DerivedLinks
from sluicegate.tables.derived_files import DerivedFile
from sluicegate.telemetry import count, span
from sluicegate.vending import Vending
from sluicegate.vending.url_record import UrlRecord

# Their secret signs each URL and stays here; the other clouds' is a token that would be in the URL.
_KINDS_THAT_SIGN = ("aws", "r2")


class Signer:
    """Presigns files of opened tables.

    What a catalog vended for the table's root signs everything in it, if it can sign single files; the
    storage's own credentials sign the rest.

    Args:
        instances: Finds the storage of absolute paths outside of a table's own directory.
        vending: Records what is given.
        derived: Signs links to files that no store holds.
        lifetime: Seconds that URLs shall live.
    """

    def __init__(
        self, instances: Instances, vending: Vending, derived: DerivedLinks, lifetime: int
    ) -> None:
        self._instances = instances
        self._vending = vending
        self._reach = Reach(instances)
        self._derived = derived
        self._lifetime = lifetime

    def record(self, table: OpenTable) -> UrlRecord:
        """What records the URLs of one answer about a table."""
        return self._vending.record_urls(table.principal, table.shared, table.source)

    async def presign(self, table: OpenTable, paths: Sequence[str]) -> Presigned:
        """URLs for paths as the log names them: relative to the table, or absolute locations.

        Raises:
            UnsupportedOperation: A path lies where the table's files may not be (`Reach`), or where no
                configured storage reaches.
            StorageError: Nothing can be signed now.
        """
        count("sluicegate.files.signed", len(paths))
        vended = self._vended(table)
        with span("sign", files=len(paths)):
            root = table.source.location
            if not any("://" in path or ".." in path for path in paths):
                prefix = root.rstrip("/") + "/"
                locations = [prefix + path for path in paths]
                return await table.storage.presign(locations, self._lifetime, vended)
            locations = [join_location(root, path) for path in paths]
            self._reach.check(table.source, locations)
            return await self._presign_scattered(table, locations, vended)

    def presign_derived(self, table: OpenTable, files: Sequence[DerivedFile]) -> Presigned:
        """URLs for files that the table's format makes when they are fetched, by the gateway itself."""
        count("sluicegate.files.signed", len(files))
        return self._derived.sign(table, files, self._lifetime)

    def _vended(self, table: OpenTable) -> TemporaryCredentials | None:
        """What the catalog vended, where a URL that it signs gives no more than the recipient may have.

        An Azure signature (SAS) goes into each URL as it is, and opens its whole directory: that is
        directory access, whatever the URL names. Google's tokens cannot sign at all.
        """
        vended = table.credentials
        if vended is None or vended.kind in _KINDS_THAT_SIGN:
            return vended
        if vended.kind == "azure" and self._may_have_directory(table, vended.location):
            return vended
        return None

    def _may_have_directory(self, table: OpenTable, directory: str) -> bool:
        return (
            "dir" in table.shared.access_modes
            and directory_obstacle(table.shared) is None
            and self._reach.in_root(table.source, directory)
        )

    async def _presign_scattered(
        self, table: OpenTable, locations: Sequence[str], credentials: TemporaryCredentials | None
    ) -> Presigned:
        """Sign locations of several storage instances, and put the URLs back into order."""
        urls, expiries = [""] * len(locations), []
        groups: dict[tuple[int, bool], tuple[Storage, list[int]]] = {}
        for row, location in enumerate(locations):
            storage = self._storage(location)
            vended = credentials is not None and self._reach.in_root(table.source, location)
            groups.setdefault((id(storage), vended), (storage, []))[1].append(row)
        for (_, vended), (storage, rows) in groups.items():
            signed = await storage.presign(
                [locations[row] for row in rows],
                self._lifetime,
                credentials if vended else None,
            )
            expiries.append(signed.expires_at)
            for row, url in zip(rows, signed.urls, strict=True):
                urls[row] = url
        return Presigned(urls, min(expiries))

    def _storage(self, location: str) -> Storage:
        try:
            return self._instances.storage_for(location)[1]
        except ConfigurationError as error:
            raise UnsupportedOperation(
                "the table has files outside of the storage that this gateway may share",
                detail=error.message,
            ) from error
