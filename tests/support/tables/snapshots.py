"""Reading tables in tests, and what a snapshot says in plain values."""

from __future__ import annotations

from typing import Any

import orjson
from support.tables.deltalog import DeltaFolder

from sluicegate.tables.delta import DeltaFormat
from sluicegate.tables.snapshot import Snapshot


async def latest(folder: DeltaFolder, previous: Snapshot | None = None, **catalog: Any) -> Snapshot:
    """The newest snapshot; `catalog` is what the catalog says beside the location."""
    return await DeltaFormat().latest(folder.table(**catalog), folder.directory, previous)


async def at_version(folder: DeltaFolder, version: int) -> Snapshot:
    """The snapshot of a version."""
    return await DeltaFormat().at_version(folder.table(), folder.directory, version)


def rows(snapshot: Snapshot) -> list[dict[str, Any]]:
    """The live files, a dictionary each, sorted by path; JSON texts are parsed."""
    files = [row for batch in snapshot.files.batches(1000) for row in batch.to_pylist()]
    for row in files:
        for name in ("partition_values", "stats", "tags"):
            row[name] = None if row[name] is None else orjson.loads(row[name])
    return sorted(files, key=lambda row: str(row["path"]))


def paths(snapshot: Snapshot) -> list[str]:
    """Paths of the live files, sorted."""
    return [row["path"] for row in rows(snapshot)]
