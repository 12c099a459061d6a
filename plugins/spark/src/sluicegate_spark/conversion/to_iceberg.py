"""CONVERT_TO_ICEBERG: a Delta table's live files as the snapshot of an Iceberg table, by one commit."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import anyio.to_thread
import pyarrow as pa
from pydantic import Field

from sluicegate.api import CatalogTable, TaskFailed, TaskProgress, TaskResult
from sluicegate.formats import Snapshot
from sluicegate_iceberg.format.objects import TableObjects, literal_location
from sluicegate_iceberg.names import TableName
from sluicegate_spark.conversion.agreement import check_footers
from sluicegate_spark.conversion.footers import FILES, read_footers
from sluicegate_spark.conversion.mirror import Origin
from sluicegate_spark.conversion.plan import Plan, plan_of
from sluicegate_spark.conversion.reading import delta_snapshot, opened
from sluicegate_spark.conversion.snapshots import FOLDER, KeptManifest, Writing, kept_manifest, rows_of
from sluicegate_spark.conversion.target import Target
from sluicegate_spark.conversion.updates import Commit, advance, creation
from sluicegate_spark.objects import ObjectAccess
from sluicegate_spark.properties import Properties, parse
from sluicegate_spark.work import Work


class ToIceberg(Properties):
    """Properties of CONVERT_TO_ICEBERG."""

    target: str | None = Field(
        default=None,
        min_length=1,
        description="The Iceberg table, `namespace.table`, in the task's catalog; by default of the "
        "task's own name.",
    )


async def convert_to_iceberg(work: Work) -> TaskResult:
    """Show a Delta table as an Iceberg table; if it is one already, bring that up to date.

    Raises:
        TaskFailed: The target is another table, or somebody wrote to it.
        UnsupportedOperation: Iceberg cannot say the table exactly.
    """
    told = parse(ToIceberg, work.task.properties)
    if work.access.table.metadata_location is not None and told.location is None:
        raise TaskFailed(
            "the task's table is an Iceberg table: the property 'location' has to name the Delta one",
            error_code="INVALID_PAYLOAD",
        )
    location = literal_location(work.access.table.location)
    target = _target(work, told)
    delta = await delta_snapshot(await work.access.objects(), location)
    if delta is None:
        raise TaskFailed(f"there is no Delta table in {location}", error_code="INVALID_PAYLOAD")
    origin = Origin(delta.metadata.id, str(delta.version), delta.version)
    shown = await target.load()
    if shown is not None and _is_shown(origin, shown):
        return TaskResult("the Iceberg table shows this version already", further=_version(delta))
    plan = await anyio.to_thread.run_sync(plan_of, delta, location, shown)
    return await _Conversion(work, target, location, plan, origin).run(delta, shown)


def _target(work: Work, told: ToIceberg) -> Target:
    name = work.task.table
    catalog = work.catalogs.get(name.catalog)
    if catalog is None:
        raise TaskFailed(
            f"the catalog '{name.catalog}', in which the Iceberg table is to be, is not configured for "
            "the executor",
            error_code="INVALID_PAYLOAD",
        )
    if told.target is None:
        return Target(catalog, TableName(name.namespace, name.name))
    try:
        return Target(catalog, TableName.parse(told.target))
    except ValueError as error:
        raise TaskFailed(f"properties: 'target': {error}", error_code="INVALID_PAYLOAD") from error


def _is_shown(origin: Origin, shown: Mapping[str, Any]) -> bool:
    remembered = Origin.of(shown.get("properties") or {})
    if origin.is_shown_by(remembered, "an Iceberg table of this name"):
        return True
    current = _current(shown)
    if current is None or Origin.of(current["summary"]) != remembered:
        raise TaskFailed(
            "somebody wrote to the converted Iceberg table: it is brought up to date no more",
            error_code="INVALID_PAYLOAD",
        )
    return False


class _Conversion:
    """One attempt: what it writes counts with the commit at its end only."""

    def __init__(self, work: Work, target: Target, location: str, plan: Plan, origin: Origin) -> None:
        self._work = work
        self._target = target
        self._location = location
        self._plan = plan
        self._origin = origin

    async def run(self, delta: Snapshot, shown: Mapping[str, Any] | None) -> TaskResult:
        live = await anyio.to_thread.run_sync(self._plan.files.sizes)
        objects = await self._work.access.objects()
        kept = [] if shown is None else await self._kept(objects, shown)
        before = {each["data_file"]["file_path"] for manifest in kept for each in manifest.entries}
        added = {place: size for place, size in live.items() if place not in before}
        rows = await self._rows(added)
        commit = creation(self._plan, self._location) if shown is None else advance(self._plan, shown)
        writing = self._writing(await self._work.access.objects(), commit, shown)
        self._report("write", 0, len(live))
        for manifest in kept:
            await writing.keep(manifest, live)
        await writing.write(self._plan.files.entries(rows))
        snapshot = self._snapshot(writing, await writing.finish(), appends=before <= live.keys())
        await self._target.commit(commit.requirements, commit.updates(self._properties(), snapshot))
        self._report("write", len(live), len(live), delta.files.size)
        return TaskResult(
            "the table is an Iceberg table, of the same data files",
            further={
                **_version(delta),
                "files_added": len(added),
                "files_removed": len(before - live.keys()),
            },
        )

    async def _kept(self, objects: ObjectAccess, shown: Mapping[str, Any]) -> list[KeptManifest]:
        """The manifests of the snapshot before."""
        current = _current(shown)
        if current is None:
            return []
        table = CatalogTable(self._location, "iceberg", self._location)
        reader = TableObjects(table, opened(objects, self._location))
        rows = list(rows_of(await reader.read(current["manifest-list"])))
        contents = await reader.read_all([row["manifest_path"] for row in rows])
        made = partial(map, kept_manifest, rows, contents)
        return await anyio.to_thread.run_sync(lambda: list(made()))

    async def _rows(self, added: Mapping[str, int]) -> dict[str, int]:
        """How many rows the new files have; what their footers say is checked."""
        if not added:
            return {}
        self._report("footers", 0, len(added))
        files = pa.table([list(added), list(added.values())], schema=FILES)
        objects = await self._work.access.objects()
        async with self._work.engine.session(self._work.task.id, {}) as session:
            found = await session.run(lambda spark: read_footers(spark, files, objects))
        await anyio.to_thread.run_sync(check_footers, found, self._plan.columns.places)
        return dict(
            zip(*(found.column(name).to_pylist() for name in ("location", "rows")), strict=True)
        )

    def _writing(
        self, objects: ObjectAccess, commit: Commit, shown: Mapping[str, Any] | None
    ) -> Writing:
        return Writing(
            opened(objects, self._location),
            self._location,
            self._plan.layout(commit.schema_id),
            (shown or {}).get("last-sequence-number", 0) + 1,
            (shown or {}).get("current-snapshot-id"),
        )

    def _properties(self) -> dict[str, str]:
        return {
            **self._plan.properties,
            **self._origin.properties(),
            # The data files are the Delta table's, too.
            "gc.enabled": "false",
            "write.metadata.path": f"{self._location}/{FOLDER}",
        }

    def _snapshot(self, writing: Writing, manifest_list: str, *, appends: bool) -> dict[str, Any]:
        parent = {} if writing.parent is None else {"parent-snapshot-id": writing.parent}
        return {
            "snapshot-id": writing.id,
            **parent,
            "sequence-number": writing.sequence_number,
            "timestamp-ms": time.time_ns() // 1_000_000,
            "manifest-list": manifest_list,
            "summary": {
                "operation": "append" if appends else "overwrite",
                **self._origin.properties(),
            },
        }

    def _report(self, stage: str, done: int, total: int, size: int = 0) -> None:
        self._work.run.report(TaskProgress(stage, done, total, size))


def _current(shown: Mapping[str, Any]) -> Mapping[str, Any] | None:
    snapshots: Sequence[Mapping[str, Any]] = shown.get("snapshots") or ()
    wanted = shown.get("current-snapshot-id")
    return next((each for each in snapshots if each["snapshot-id"] == wanted), None)


def _version(delta: Snapshot) -> dict[str, int | str]:
    return {"delta_version": delta.version}
