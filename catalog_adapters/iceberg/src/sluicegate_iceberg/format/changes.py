"""Computes changes of versions by comparing the files of consecutive snapshots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import anyio.to_thread
import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api import InvalidRequest, UnsupportedOperation
from sluicegate.formats import (
    CHANGE_SCHEMA,
    FILE_SCHEMA,
    Changes,
    Commit,
    CommitFiles,
    FileChunk,
    Snapshot,
    TableState,
)
from sluicegate_iceberg.format.known_steps import KnownSteps, Step, reading_of, step_key
from sluicegate_iceberg.format.lineage import Lineage, Version
from sluicegate_iceberg.format.loading import Loaded, Loader
from sluicegate_iceberg.format.metadata.metadata_file import IcebergMetadata

_KINDS = pa.array(["add", "remove"])
_ADD, _REMOVE = range(len(_KINDS))
# A derived file's digest identifies its vector, because the recipe contains the version. Inline
# vectors contain no spaces.
_RECIPE = " .*"


async def changes_between(
    table_id: str,
    metadata: IcebergMetadata,
    lineage: Lineage,
    snapshots: Snapshots,
    known: KnownSteps,
    start: int,
    end: int,
) -> Changes:
    """Return the commits of a range of versions; see `TableFormat.changes`.

    A snapshot that only rearranged rows (operation `replace`) has no changes.
    """
    before, versions = _run(lineage, start, end)
    reading = reading_of(table_id, metadata)
    steps = []
    for version in versions:
        key = step_key(reading, before, version)
        step = known.get(key)
        if step is None:
            step = await _step(snapshots, before, version)
            known.put(key, step)
        steps.append(step)
        before = version
    return _changes(steps, start)


class Snapshots:
    """Loads versions of one table in sequence, and reuses what is known from other versions."""

    def __init__(self, metadata: IcebergMetadata, loader: Loader, newest: Snapshot) -> None:
        self._metadata = metadata
        self._loader = loader
        self._newest = _state(newest)
        self._last = newest
        self._version: Version | None = None

    async def load(self, version: Version) -> Snapshot:
        """Return the snapshot of a version."""
        if version != self._version:
            schema = self._metadata.schema_of(version.snapshot)
            known = _together(_state(self._last), self._newest)
            self._last = await self._loader.load(version, schema, known)
            self._version = version
        if not _state(self._last).shape.by_name:
            raise UnsupportedOperation(
                "columns of the Iceberg table were renamed, or dropped and added again, so its "
                "changes cannot be reported: read the table instead"
            )
        return self._last


async def _step(snapshots: Snapshots, before: Version | None, version: Version) -> Step:
    earlier = None if before is None else await snapshots.load(before)
    snapshot = await snapshots.load(version)
    rearranged = _rearranged(version, before)
    files = await anyio.to_thread.run_sync(partial(_difference, earlier, snapshot, rearranged))
    state = TableState(snapshot.version, snapshot.protocol, snapshot.metadata)
    return Step(state, snapshot.timestamp, files)


def _run(lineage: Lineage, start: int, end: int) -> tuple[Version | None, Sequence[Version]]:
    """Return the version before a range, if there is any, and the versions in it."""
    if lineage.is_tag:
        raise UnsupportedOperation(
            "the Iceberg table is shared at a tag, which is a single version without changes: read the "
            "table instead"
        )
    versions = [version for version in lineage.versions if start <= version.number <= end]
    if not versions:
        raise InvalidRequest(
            f"the Iceberg table has no version from {start} to {end}: version numbers have gaps; "
            f"{_neighbours(lineage, start, end)}"
        )
    first, before = versions[0], lineage.before(start)
    if before is None and _lacks_parent(first):
        raise InvalidRequest(
            f"the changes of version {first.number} of the Iceberg table are no longer available, "
            f"because the snapshot before it has expired: {_later(lineage)}"
        )
    return before, versions


def _neighbours(lineage: Lineage, start: int, end: int) -> str:
    numbers = [version.number for version in lineage.versions]
    later, earlier = [n for n in numbers if n > end], [n for n in numbers if n < start]
    named = [f"the next one is {later[0]}"] if later else []
    return ", ".join([*named, *([f"the one before it is {earlier[-1]}"] if earlier else [])])


def _later(lineage: Lineage) -> str:
    """Suggest the oldest version whose parent still exists."""
    if len(lineage.versions) < 2:
        return "read the table instead"
    return f"start from version {lineage.versions[1].number}"


def _lacks_parent(first: Version) -> bool:
    """Return whether its parent had files but has expired. Writers can omit the parent's id."""
    snapshot = first.snapshot
    return snapshot is not None and snapshot.sequence_number != 1 and not snapshot.to_empty


def _together(last: Loaded, newest: Loaded) -> Loaded:
    """Combine cached manifests of two versions, if both are read in the same way."""
    if last.reading != newest.reading:
        return last
    return replace(
        last,
        manifests={**newest.manifests, **last.manifests},
        deletes={**newest.deletes, **last.deletes},
        numbered=newest.numbered | last.numbered,
    )


def _rearranged(version: Version, before: Version | None) -> bool:
    snapshot, parent = version.snapshot, before.snapshot if before else None
    return bool(snapshot and parent and snapshot.rearranged and snapshot.parent == parent.id)


def _difference(before: Snapshot | None, after: Snapshot, rearranged: bool) -> CommitFiles:
    old = {id(chunk): chunk for chunk in _state(before).chunks} if before else {}
    new = {id(chunk): chunk for chunk in _state(after).chunks}
    if rearranged:
        old = new = {}
    gone = _rows(chunk for key, chunk in old.items() if key not in new)
    come = _rows(chunk for key, chunk in new.items() if key not in old)
    removed, added = _missing(gone, come), _missing(come, gone)
    both = pa.concat_tables([_of_kind(removed, _REMOVE), _of_kind(added, _ADD)])
    # Actions on one path are adjacent, with removals first.
    order = pc.sort_indices(
        pa.table({"path": both.column("path"), "kind": _indices(both)}),
        [("path", "ascending"), ("kind", "descending")],
    )
    batches = both.take(order).combine_chunks().to_batches()
    data = batches[0] if batches else pa.RecordBatch.from_pylist([], CHANGE_SCHEMA)
    return CommitFiles(data, data)


def _rows(chunks: Iterable[FileChunk]) -> pa.Table:
    return pa.Table.from_batches([chunk.unpack() for chunk in chunks], schema=FILE_SCHEMA)


def _missing(rows: pa.Table, others: pa.Table) -> pa.Table:
    """Return files that the others don't contain with the same deletion vector."""
    return rows.filter(pc.invert(pc.is_in(_keys(rows), _keys(others))))


def _keys(rows: pa.Table) -> pa.ChunkedArray:
    vectors = pc.struct_field(rows.column("deletion_vector"), "pathOrInlineDv").fill_null("")
    vectors = pc.replace_substring_regex(vectors, _RECIPE, "")
    return pc.binary_join_element_wise(rows.column("path"), vectors, "\n")


def _of_kind(rows: pa.Table, kind: int) -> pa.Table:
    kinds = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(kind, pa.int8()), len(rows)), _KINDS)
    return pa.Table.from_arrays([*rows.columns, kinds], schema=CHANGE_SCHEMA)


def _indices(rows: pa.Table) -> pa.ChunkedArray:
    return pa.chunked_array([chunk.indices for chunk in rows.column("kind").chunks], pa.int8())


def _changes(steps: Sequence[Step], start: int) -> Changes:
    files: Mapping[int, CommitFiles] = {step.state.version: step.files for step in steps}

    async def read(commits: Sequence[Commit]) -> Sequence[CommitFiles]:
        return [files[commit.version] for commit in commits]

    # The official client expects metadata at the requested start version, even if that is in a gap.
    first = replace(steps[0].state, version=start)
    commits, last = [], first
    for step in steps:
        commits.append(_commit(step, last))
        last = step.state
    return Changes(first, tuple(commits), read)


def _commit(step: Step, last: TableState) -> Commit:
    state, vectors = step.state, step.files.data.column("deletion_vector")
    return Commit(
        state.version,
        step.timestamp,
        state.protocol if state.protocol != last.protocol else None,
        state.metadata if state.metadata != last.metadata else None,
        frozenset() if vectors.null_count == len(vectors) else frozenset({"data", "feed"}),
    )


def _state(snapshot: Snapshot) -> Loaded:
    assert isinstance(snapshot.state, Loaded)  # noqa: S101 (all snapshots of the loader have it)
    return snapshot.state
