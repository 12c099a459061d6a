"""Lists all files of a table on Spark, starting from its manifest lists."""

from __future__ import annotations

from collections.abc import Callable

from sluicegate_spark.purge.history import History
from sluicegate_spark.purge.manifests import Problems, files_in, manifests_in, unlisted
from sluicegate_spark.purge.sorted_files import SortedFiles
from sluicegate_spark.purge.waves import Waves


class TableFiles:
    """Lists the manifests and the content files of a table.

    Args:
        waves: Reads on Spark.
        history: The table's history.
        skip_missing: Skip missing or broken objects; files that only they name are not deleted.
    """

    def __init__(self, waves: Waves, history: History, *, skip_missing: bool) -> None:
        self._waves = waves
        self._history = history
        self._skip_missing = skip_missing

    async def manifests(self) -> SortedFiles:
        """Return the manifests of all snapshots.

        Raises:
            TaskFailed: A manifest list can't be read, or names a location that is not granted.
        """
        lists = sorted(set(self._history.manifest_lists))
        listed = await self._waves.list_all(lists, manifests_in, self._judge("manifest list"))
        return await self._waves.sort(listed, self._history.manifests)

    async def content(self, manifests: SortedFiles) -> SortedFiles:
        """Return the files that are live in any manifest.

        Raises:
            TaskFailed: A manifest can't be read, or names a location that is not granted.
        """
        listed = await self._waves.list_all(manifests, files_in, self._judge("manifest"))
        return await self._waves.sort(listed)

    async def check(self) -> None:
        """List everything, only to verify that it is readable and granted.

        Raises:
            TaskFailed: Something is not (`NOT_GRANTED`, `STORAGE_FAILED`).
        """
        manifests = await self.manifests()
        await self._waves.list_all(manifests, files_in, self._judge("manifest"))

    def _judge(self, what: str) -> Callable[[Problems], None]:
        def judge(problems: Problems) -> None:
            if problems.ungranted is not None:
                self._waves.granted.check([problems.ungranted])
            if problems.refused or (problems.found and not self._skip_missing):
                raise unlisted(what, problems)

        return judge
