"""The live files of a table's latest version in batches, of which only one is in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BufferedReader

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api.models import CatalogTable, ObjectDirectory
from sluicegate.tables.delta.log import DeltaLog, LaterVersion
from sluicegate.tables.delta.log_files.actions import as_files
from sluicegate.tables.delta.log_files.checkpoint import CheckpointState, added_files
from sluicegate.tables.delta.log_files.commits import action_batches, damaged
from sluicegate.tables.delta.log_files.segment import LogListing, LogSegment
from sluicegate.tables.delta.parts.version import CheckpointReading, LogPart
from sluicegate.tables.delta.replay import reconcile, touched_rows
from sluicegate.tables.parquet.decoding import ParquetBytes

_BUFFER = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class CheckpointedVersion:
    """A version of a table, without the files in its checkpoint."""

    log: DeltaLog
    later: LaterVersion
    checkpoint: tuple[LogPart, ...]

    def live_files(self) -> Iterator[pa.RecordBatch]:
        """Batches of `FILE_SCHEMA`. Blocks. Iterate in a worker thread of anyio."""
        with damaged("the Delta log"):
            changes = reconcile(self.later.commits)
        for part in self.checkpoint:
            for batch in self._added(part):
                dead = touched_rows(batch, changes)
                yield batch if dead is None else batch.filter(pc.invert(dead))
        yield from changes.files

    def _added(self, part: LogPart) -> Iterator[pa.RecordBatch]:
        store, root = self.log.store, self.log.root
        raw = store.open(part.name, part.size)
        if part.name.endswith(".parquet"):
            yield from added_files(ParquetBytes(raw, part.size), part.name, root, store.budget)
            return
        reader = BufferedReader(raw, _BUFFER)
        for kind, batch in action_batches(reader, part.name, root, store.budget):
            if kind == "add":
                yield as_files(batch, f"the Delta log's {part.name}")


async def latest_checkpointed_version(
    table: CatalogTable, directory: ObjectDirectory
) -> CheckpointedVersion:
    """Return the latest version of a table. The commits since its checkpoint are in memory."""
    log = DeltaLog(table, directory)

    async def read(
        listing: LogListing, segment: LogSegment, head: CheckpointState, parts: Sequence[LogPart]
    ) -> CheckpointedVersion:
        later = await log.after_checkpoint(listing, segment, head)
        return CheckpointedVersion(log, later, tuple(parts))

    return await CheckpointReading(log).latest(read)
