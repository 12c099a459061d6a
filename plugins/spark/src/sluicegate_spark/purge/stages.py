"""Runs the stages of a purge. Each deletes files that only files of later stages refer to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import anyio.to_thread

from sluicegate.api import TaskRun
from sluicegate_iceberg.format.objects import literal_location
from sluicegate_spark.purge.deletion import BATCH, delete_objects
from sluicegate_spark.purge.history import History
from sluicegate_spark.purge.old_metadata import OldMetadata
from sluicegate_spark.purge.pace import Pace
from sluicegate_spark.purge.progress import DeletionProgress, check_all_gone
from sluicegate_spark.purge.sorted_files import SortedFiles
from sluicegate_spark.purge.table_files import TableFiles
from sluicegate_spark.purge.waves import Waves
from sluicegate_spark.tables import TableAccess

CONTENT, MANIFESTS, LISTS = "content", "manifests", "manifest-lists"
OLD_METADATA, METADATA = "old-metadata", "metadata"
_OF = " of "


class Stages:
    """Deletes a table's files, stage by stage."""

    def __init__(
        self,
        access: TableAccess,
        run: TaskRun,
        progress: DeletionProgress,
        metadata: str,
        table_uuid: str | None,
        finished: Sequence[str],
        deletions_per_second: int | None = None,
    ) -> None:
        self._access = access
        self._run = run
        self._progress = progress
        self._of = (metadata.rpartition("/")[2], table_uuid)
        self._finished = set(finished)
        self._pace = Pace(deletions_per_second)

    def is_due(self, stage: str) -> bool:
        """Return whether no earlier attempt finished the stage."""
        return recorded(stage, *self._of) not in self._finished

    @property
    def have_deleted_manifests(self) -> bool:
        """Return whether earlier attempts may have deleted manifests that the metadata still names.

        They started from another metadata file, which a writer replaced meanwhile.
        """
        finished = [(stage_of(each), *table_of(each)) for each in self._finished]
        metadata, table_uuid = self._of
        return any(
            stage == CONTENT and name != metadata and uuid == table_uuid
            for stage, name, uuid in finished
        )

    async def on_spark(
        self, waves: Waves, history: History, old: OldMetadata, *, skip_missing: bool
    ) -> None:
        """Delete content files, and manifests unless they are few, on Spark."""
        files = TableFiles(waves, history, skip_missing=skip_missing)
        manifests = await files.manifests()
        if self.is_due(CONTENT):
            content = await files.content(manifests)
            few = len(history.manifest_lists) + len(old.files) + len(old.links) + 1
            self._progress.expect(CONTENT, content.files + len(manifests) + few)
            await self._sweep(CONTENT, waves, content)
        if isinstance(manifests, SortedFiles):
            await self._sweep(MANIFESTS, waves, manifests)
        else:
            await self.here(MANIFESTS, manifests)

    async def here(self, stage: str, locations: Sequence[str], last: Sequence[str] = ()) -> None:
        """Delete a few thousand files in this process.

        Args:
            last: Files to delete afterwards, in this order.
        """
        if not self.is_due(stage):
            return
        ordered = sorted(set(locations), key=literal_location)
        batches = [ordered[start : start + BATCH] for start in range(0, len(ordered), BATCH)]
        for batch in [*batches, *([each] for each in last)]:
            objects = await self._access.objects()
            await self._run.check_lease()
            done = await anyio.to_thread.run_sync(partial(delete_objects, objects, batch, self._pace))
            self._progress.add(stage, done)
            check_all_gone(stage, done)
        await self._finish(stage)

    async def _sweep(self, stage: str, waves: Waves, files: SortedFiles) -> None:
        done = await waves.delete(files, partial(self._progress.add, stage))
        check_all_gone(stage, done)
        await self._finish(stage)

    async def _finish(self, stage: str) -> None:
        self._progress.report(stage)
        name = recorded(stage, *self._of)
        await self._run.finish_stage(name)
        self._finished.add(name)


def recorded(stage: str, metadata: str, table_uuid: str | None) -> str:
    """Return the name under which a finished stage of a table's metadata file is recorded."""
    return _OF.join((stage, metadata, table_uuid or ""))


def stage_of(record: str) -> str:
    """Return the stage of a recorded name."""
    return record.partition(_OF)[0]


def table_of(record: str) -> tuple[str, str | None]:
    """Return the name of the metadata file in a recorded name, and the table's uuid."""
    metadata, _, table_uuid = record.partition(_OF)[2].partition(_OF)
    return metadata, table_uuid or None
