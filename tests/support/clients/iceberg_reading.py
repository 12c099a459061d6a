"""The versions of a table as PyIceberg finds and reads them in the gateway's Iceberg catalog."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.table import Table

from sluicegate.protocols.iceberg_rest.view import snapshot_id, version_of

# PyIceberg plans scans by itself, from generated manifests, or the gateway plans them.
PLANNING: Sequence[dict[str, str]] = ({}, {"scan-planning-mode": "server"})


class IcebergReading:
    """Reads a table that is shared with its history.

    Args:
        turn: Counts the tables, so that each way of planning has its turn.
    """

    def __init__(self, profile: Path, share: str, table: tuple[str, str], turn: int) -> None:
        self._table: Table = _catalog(profile, share, turn % len(PLANNING)).load_table(table)

    @property
    def versions(self) -> list[int]:
        """The versions that the table's metadata lists."""
        return [version_of(each.snapshot_id) for each in self._table.snapshots()]

    def version_at(self, timestamp: int) -> int | None:
        """The version that was the latest at a time in epoch milliseconds."""
        found = self._table.snapshot_as_of_timestamp(timestamp)
        return None if found is None else version_of(found.snapshot_id)

    def rows(self, version: int) -> pa.Table:
        """The rows of a version."""
        scan = self._table.scan(snapshot_id=snapshot_id(version))
        # Unlike `to_arrow`, it can join texts of writers that use different Arrow types.
        return scan.to_arrow_batch_reader().read_all()


@cache
def _catalog(profile: Path, share: str, planning: int) -> RestCatalog:
    known = json.loads(profile.read_text())
    return RestCatalog(
        "share",
        uri=known["icebergEndpoint"],
        warehouse=share,
        token=known["bearerToken"],
        **PLANNING[planning],
    )
