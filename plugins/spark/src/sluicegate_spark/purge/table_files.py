"""Lists all files of a table on Spark, starting from its manifest lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import anyio.to_thread

from sluicegate_spark.purge.history import History
from sluicegate_spark.purge.manifests.few import few_manifests
from sluicegate_spark.purge.manifests.listing import Problems, files_in, manifests_in, unlisted
from sluicegate_spark.purge.sorted_files import SortedFiles
from sluicegate_spark.purge.waves import Listed, Waves

_SKIP: Final = (
    "restore it, or set the property 'missing_manifests' to 'skip' and remove orphan files yourself"
)


class TableFiles:
    """Lists the manifests and the content files of a table."""

    def __init__(
        self, waves: Waves, history: History, *, skip_missing: bool, remedy: str = _SKIP
    ) -> None:
        self._waves = waves
        self._history = history
        self._skip_missing = skip_missing
        self._remedy = remedy

    async def manifests(self) -> SortedFiles | tuple[str, ...]:
        """Return the manifests of all snapshots: their sorted locations, if they are few."""
        lists = sorted(set(self._history.manifest_lists))
        objects = await self._waves.access.objects()
        few = partial(few_manifests, objects, lists, self._history.manifests)
        if (found := await anyio.to_thread.run_sync(few)) is not None:
            return found
        listed = await self._waves.list_all(lists, manifests_in, self._judge("manifest list"))
        return await self._waves.sort(listed, self._history.manifests)

    async def content(self, manifests: SortedFiles | Sequence[str]) -> SortedFiles:
        """Return the files that are live in any manifest."""
        return await self._waves.sort(await self.content_with_duplicates(manifests))

    async def content_with_duplicates(self, manifests: SortedFiles | Sequence[str]) -> Listed:
        """Return the same as `content`, unsorted."""
        return await self._waves.list_all(manifests, files_in, self._judge("manifest"))

    async def check(self) -> None:
        """List everything, only to verify that it is readable and granted."""
        await self.content_with_duplicates(await self.manifests())

    def _judge(self, what: str) -> Callable[[Problems], None]:
        def judge(problems: Problems) -> None:
            if problems.ungranted is not None:
                self._waves.granted.check([problems.ungranted])
            if problems.refused or (problems.found and not self._skip_missing):
                raise unlisted(what, problems, self._remedy)

        return judge
