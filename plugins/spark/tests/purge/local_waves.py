"""Waves that run in the test process instead of on Spark, so that purges need no JVM."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pyarrow as pa
import pytest

from sluicegate_spark.purge import dropped_tables, operation
from sluicegate_spark.purge.deletion import Deletion, delete_objects
from sluicegate_spark.purge.manifests import Listing, Parser, Problems
from sluicegate_spark.purge.pace import Pace
from sluicegate_spark.purge.waves import Listed
from sluicegate_spark.tables import TableAccess


class LocalFiles(list[str]):
    """Sorted locations."""

    @property
    def files(self) -> int:
        """Return their number."""
        return len(self)


class LocalWaves:
    """See `Waves`. A frame is a list of locations."""

    def __init__(self, access: TableAccess) -> None:
        self.access = access
        self.granted = access.granted

    @classmethod
    @asynccontextmanager
    async def within(cls, _: object, access: TableAccess, *__: object) -> AsyncIterator[LocalWaves]:
        """See `Waves.within`."""
        yield cls(access)

    async def list_all(
        self, sources: Sequence[str], parse: Parser, judge: Callable[[Problems], None]
    ) -> Listed:
        """See `Waves.list_all`."""
        listing = Listing(await self.access.objects(), parse)
        batch = pa.record_batch({"path": pa.array(sources, pa.string())})
        rows = [row for rows in listing([batch]) for row in rows.to_pylist()]
        wrong = [row for row in rows if row["problem"]]
        refused = sum(row["problem"] == "refused" for row in wrong)
        worst = max(((row["problem"], row["source"], row["reason"]) for row in wrong), default=None)
        judge(Problems(len(wrong), refused, worst))
        paths: Any = [row["path"] for row in rows if row["path"] is not None]
        return Listed([paths], len(paths))

    async def joined(self, listed: Listed, others: Sequence[str]) -> Listed:
        """See `Waves.joined`."""
        frames: Any = [*listed.frames, list(others)]
        return Listed(frames, listed.count + len(others))

    async def count_common(self, some: Listed, others: Listed) -> tuple[int, str]:
        """See `Waves.count_common`."""
        common = set(_paths(some)) & set(_paths(others))
        return len(common), max(common, default="")

    async def sort(self, listed: Listed, others: Sequence[str] = ()) -> LocalFiles:
        """See `Waves.sort`."""
        return LocalFiles(sorted({*_paths(listed), *others}))

    async def delete(self, files: LocalFiles, done: Callable[[Deletion], None]) -> Deletion:
        """See `Waves.delete`."""
        deletion = delete_objects(await self.access.objects(), files, Pace(None))
        done(deletion)
        return deletion


class LocalEngine:
    """See `Engine`."""

    @asynccontextmanager
    async def session(self, *_: object) -> AsyncIterator[None]:
        """Return nothing, because no Spark runs."""
        yield

    async def aclose(self) -> None:
        """Do nothing."""


def purge_in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the waves of purges."""
    for module in (operation, dropped_tables):
        monkeypatch.setattr(module, "Waves", LocalWaves)


def _paths(listed: Listed) -> list[str]:
    frames: Any = listed.frames
    return [str(path) for frame in frames for path in frame]
