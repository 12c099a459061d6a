"""Loads, commits to, and drops the target table of a conversion in its catalog.

Source: Iceberg REST specification, `loadTable`, `updateTable` and `dropTable`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sluicegate.api import TaskFailed, Unavailable
from sluicegate_iceberg.names import TableName
from sluicegate_iceberg.rest.refusal import CommitStateUnknown, Refused
from sluicegate_spark.conversion.to_iceberg.snapshot_writer import METADATA_FOLDER
from sluicegate_spark.conversion.to_iceberg.table_metadata import IcebergTableMetadata, LoadTableResult
from sluicegate_spark.tables import TaskCatalog

_CONFLICT = 409
_TRANSIENT = (429, *range(500, 600))


class TargetTable:
    """A table of a catalog. It need not exist yet."""

    def __init__(self, catalog: TaskCatalog, name: TableName) -> None:
        self._catalog = catalog
        self._name = name

    def __str__(self) -> str:
        """Return a description for messages."""
        return f"'{self._name}' in the catalog '{self._catalog.name}'"

    async def load(self) -> IcebergTableMetadata | None:
        """Return the table's metadata, or `None` if there is no such table."""
        loaded = await self._loaded()
        return None if loaded is None else loaded.metadata

    async def commit(
        self, requirements: Sequence[Mapping[str, Any]], updates: Sequence[Mapping[str, Any]]
    ) -> None:
        """Commit atomic changes to the table."""
        try:
            await self._catalog.client.commit(self._name, requirements, updates)
        except Unavailable as error:
            raise self._failed(error) from error

    async def drop_empty(self, table_uuid: str, keep: str) -> bool:
        """Drop the table if it has no snapshot, without a purge of its files.

        Some catalogs delete a table's directory anyway. Therefore, the table remains if the catalog
        uses a directory for it that contains data files of the Delta table.

        Args:
            keep: The directory whose files must remain, except the table's files in
                `METADATA_FOLDER`.

        Returns:
            Whether the catalog no longer has the table, or the table has a snapshot by now.
        """
        loaded = await self._loaded()
        if loaded is None or not _is_empty(loaded, table_uuid):
            return True
        if any(has_files_of(keep, each) for each in loaded.directories):
            return False

        async def is_there() -> bool:
            found = await self._request()
            return found is not None and _is_empty(found, table_uuid)

        try:
            await self._catalog.client.drop(self._name, is_there)
        except Unavailable as error:
            raise self._failed(error) from error
        return True

    async def _loaded(self) -> LoadTableResult | None:
        try:
            return await self._request()
        except Unavailable as error:
            raise self._failed(error) from error

    async def _request(self) -> LoadTableResult | None:
        client = self._catalog.client
        try:
            return await client.rest.ask((await client.settings()).table(self._name), LoadTableResult)
        except Refused as refused:
            if refused.says_dropped:
                return None
            raise

    def _failed(self, error: Unavailable) -> TaskFailed:
        if isinstance(error, CommitStateUnknown):
            return TaskFailed(
                f"the catalog '{self._catalog.name}' did not confirm the commit to the table "
                f"'{self._name}', and it is unknown whether the commit was applied; the next attempt "
                "reads the table first",
                error_code="COMMIT_STATE_UNKNOWN",
                retryable=True,
                detail=error.detail,
            )
        status = error.http_status if isinstance(error, Refused) else None
        if status == _CONFLICT:
            why = f"another writer changed the table '{self._name}' first"
        elif status is not None and status not in _TRANSIENT:
            why = f"the catalog '{self._catalog.name}' rejects the request for the table '{self._name}'"
        else:
            why = f"the catalog '{self._catalog.name}' does not respond to the delegation service"
        final = status is not None and status not in (_CONFLICT, *_TRANSIENT)
        return TaskFailed(why, error_code="STORAGE_FAILED", retryable=not final, detail=error.detail)


def _is_empty(loaded: LoadTableResult, table_uuid: str) -> bool:
    """Return whether it is the table with this uuid, and has no snapshot."""
    return loaded.metadata.table_uuid == table_uuid and not loaded.metadata.snapshots


def has_files_of(keep: str, directory: str) -> bool:
    """Return whether a directory contains data files of another one: it is the same, above or below."""
    kept, other = (f"{each.rpartition('://')[2]}/" for each in (keep, directory))
    own = f"{kept}{METADATA_FOLDER}/"
    if other.startswith(own) and other != own:
        return False
    return other.startswith(kept) or kept.startswith(other)
