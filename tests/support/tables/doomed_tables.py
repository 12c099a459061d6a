"""Many small tables that are to be purged, and all that is beside them and shall stay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import obstore
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from support.gateways.iceberg_rest import WAREHOUSE, written_by
from support.tables.iceberg_deletes import delete_positions
from support.tables.purged_tables import add_all_kinds, config_of, handed_over, make, own_catalog
from support.tasks.spark_tasks import task

from sluicegate_testing.servers.seaweedfs import SeaweedFS

PURGE = "SYNCHRONOUS_TABLE_PURGE"
# Each metadata file names few earlier ones, so that those are found only one by the other.
_SHORT_LOG = {"write.metadata.previous-versions-max": "2"}
_STRAY = ("data/of-nobody.parquet", "metadata/of-nobody.avro")


@dataclass(frozen=True)
class DoomedTables:
    """Tables that tasks are to purge."""

    payloads: Mapping[str, Mapping[str, Any]]
    files: Mapping[str, int]
    beside: Mapping[str, bytes]


def doomed_tables(server: SeaweedFS, folder: Path, tables: int) -> DoomedTables:
    """Write tables, half of them in a catalog that the executor knows.

    The credentials of the others come with their tasks.
    """
    known, own = written_by(server), own_catalog(server, folder)
    known.create_namespace_if_not_exists("eu")
    payloads, homes = {}, {}
    for number in range(tables // 2):
        name = f"known_{number:02}"
        homes[name] = _home(_of_known(known, name))
        payloads[name] = task(PURGE, name)
        name = f"told_{number:02}"
        table = _of_own(own, name)
        homes[name] = _home(table)
        payloads[name] = task(PURGE, name, **handed_over(table, config_of(server)))
    ours = contents(server)
    files = {name: sum(path.startswith(f"{home}/") for path in ours) for name, home in homes.items()}
    # Names that begin like theirs, and files in their very folders.
    _of_known(known, "known_00_copy")
    _of_own(own, "told_00_copy")
    for number in range(tables // 2):
        for stray in _STRAY:
            server.put(f"eu/told_{number:02}/{stray}", b"mine")
        server.put(f"eu/told_{number:02}.txt", b"mine, too")
    return DoomedTables(
        payloads,
        files,
        {path: data for path, data in contents(server).items() if path not in ours},
    )


def contents(server: SeaweedFS) -> dict[str, bytes]:
    """All objects of the store, by bucket and key."""
    found = {}
    for bucket in (server.bucket, WAREHOUSE):
        store = server.store(bucket=bucket)
        for each in obstore.list(store).collect():
            found[f"{bucket}/{each['path']}"] = bytes(obstore.get(store, each["path"]).bytes())
    return found


def _of_known(catalog: Catalog, name: str) -> Table:
    table = make(catalog, name, snapshots=2, files=3)
    first, *_ = sorted(each.file.file_path for each in table.scan().plan_files())
    delete_positions(table, {first: [0]})
    return table


def _of_own(catalog: Catalog, name: str) -> Table:
    table = make(catalog, name, snapshots=2, files=3, properties=_SHORT_LOG)
    add_all_kinds(table)
    return table


def _home(table: Table) -> str:
    return table.location().removeprefix("s3://").rstrip("/")
