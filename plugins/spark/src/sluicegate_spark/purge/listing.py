"""All files of a table, listed on Spark from the lists of manifests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sluicegate_spark.purge.history import History
from sluicegate_spark.purge.reachable import files_in, manifests_in, unlisted
from sluicegate_spark.purge.waves import Sorted, Waves

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Files:
    """Lists the manifests and the content of a table.

    Args:
        waves: Reads on Spark.
        history: Of the table.
        skip_missing: What is missing or broken is passed over, and what it named is left.
    """

    def __init__(self, waves: Waves, history: History, *, skip_missing: bool) -> None:
        self._waves = waves
        self._history = history
        self._skip_missing = skip_missing

    async def manifests(self) -> Sorted:
        """The manifests of all snapshots.

        Raises:
            TaskFailed: A manifest list cannot be read.
        """
        named = await self._waves.given(self._history.manifests)
        lists = await self._waves.sort(await self._waves.given(self._history.manifest_lists))
        listed = await self._waves.list_all(lists, manifests_in)
        return await self._waves.sort(await self._checked(listed, "manifest list", named))

    async def content(self, manifests: Sorted) -> Sorted:
        """The files that are live in any manifest.

        Raises:
            TaskFailed: A manifest cannot be read.
        """
        listed = await self._waves.list_all(manifests, files_in)
        return await self._waves.sort(await self._checked(listed, "manifest", None))

    async def _checked(self, listed: DataFrame, what: str, further: DataFrame | None) -> DataFrame:
        refusal = "problem = 'refused'" if self._skip_missing else "problem IS NOT NULL"

        def check(spark: SparkSession) -> DataFrame:
            problems = listed.where(refusal)
            if (
                found := problems.orderBy("problem", "source")
                .select("source", "problem", "reason")
                .head()
            ):
                source, problem, reason = found
                raise unlisted(what, source, problem, reason, problems.count() - 1)
            paths = listed.where("path IS NOT NULL").select("path")
            return paths if further is None else paths.union(further)

        return await self._waves.on_spark(check)
