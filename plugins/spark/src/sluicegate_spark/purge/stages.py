"""The stages of a purge: each deletes what only later stages' files lead to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import anyio.to_thread

from sluicegate.api import TaskRun
from sluicegate_iceberg.format.objects import literal_location
from sluicegate_spark.purge.chain import OldMetadata
from sluicegate_spark.purge.deletion import BATCH, delete_objects
from sluicegate_spark.purge.history import History
from sluicegate_spark.purge.listing import Files
from sluicegate_spark.purge.tally import Tally, check_all_gone
from sluicegate_spark.purge.waves import Sorted, Waves
from sluicegate_spark.tables import TableAccess

CONTENT, MANIFESTS, LISTS = "content", "manifests", "manifest-lists"
OLD_METADATA, METADATA = "old-metadata", "metadata"
_OF = " of "


class Stages:
    """Deletes the files of a table's stages.

    Args:
        access: Gives credentials.
        run: Stores that a stage is finished.
        tally: Counts.
        metadata: The current metadata file. Stages count for this one alone: another one may name
            files that those of before did not.
        table_uuid: The table's; some catalogs give the names of metadata files again.
        finished: What earlier attempts have recorded.
    """

    def __init__(
        self,
        access: TableAccess,
        run: TaskRun,
        tally: Tally,
        metadata: str,
        table_uuid: str | None,
        finished: Sequence[str],
    ) -> None:
        self._access = access
        self._run = run
        self._tally = tally
        self._of = (metadata.rpartition("/")[2], table_uuid)
        self._finished = set(finished)

    def is_due(self, stage: str) -> bool:
        """Whether no earlier attempt has finished it."""
        return recorded(stage, *self._of) not in self._finished

    async def on_spark(
        self, waves: Waves, history: History, old: OldMetadata, *, skip_missing: bool
    ) -> None:
        """Delete content and manifests, of which there may be very many.

        Raises:
            TaskFailed: A manifest or a list of them is missing; or files could not be deleted.
        """
        files = Files(waves, history, skip_missing=skip_missing)
        manifests = await files.manifests()
        if self.is_due(CONTENT):
            content = await files.content(manifests)
            metadata = len(history.manifest_lists) + len(old.files) + len(old.links) + 1
            self._tally.expect(CONTENT, content.files + manifests.files + metadata)
            await self._sweep(CONTENT, waves, content)
        await self._sweep(MANIFESTS, waves, manifests)

    async def here(self, stage: str, locations: Sequence[str], last: Sequence[str] = ()) -> None:
        """Delete a few thousand files.

        Args:
            stage: Which stage they are.
            locations: All but the last.
            last: Those that have to go in this order, after the others.

        Raises:
            TaskFailed: Some could not be deleted.
        """
        if not self.is_due(stage):
            return
        ordered = sorted(set(locations), key=literal_location)
        batches = [ordered[start : start + BATCH] for start in range(0, len(ordered), BATCH)]
        for batch in [*batches, *([each] for each in last)]:
            objects = await self._access.objects()
            done = await anyio.to_thread.run_sync(partial(delete_objects, objects, batch))
            self._tally.add(stage, done)
            check_all_gone(stage, done)
        await self._finish(stage)

    async def _sweep(self, stage: str, waves: Waves, files: Sorted) -> None:
        done = await waves.delete(files, partial(self._tally.add, stage))
        check_all_gone(stage, done)
        await self._finish(stage)

    async def _finish(self, stage: str) -> None:
        self._tally.report(stage)
        name = recorded(stage, *self._of)
        await self._run.finish_stage(name)
        self._finished.add(name)


def recorded(stage: str, metadata: str, table_uuid: str | None) -> str:
    """The name that a finished stage of a table's metadata file is recorded by."""
    return _OF.join((stage, metadata, table_uuid or ""))


def stage_of(record: str) -> str:
    """The stage of a recorded name."""
    return record.partition(_OF)[0]


def table_of(record: str) -> tuple[str, str | None]:
    """The name of the metadata file in a recorded name, and the table's uuid."""
    metadata, _, table_uuid = record.partition(_OF)[2].partition(_OF)
    return metadata, table_uuid or None
