"""Files of replaced indexes are removed when nothing can need them, whatever else is built."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import anyio.from_thread
import pytest
from support.tables.deltalog import DeltaFolder, add, metadata, protocol
from support.tables.indexed import check_same, index_folder, indexed_tables
from support.tables.snapshots import latest

from sluicegate._util.clock import epoch_ms
from sluicegate.api.errors import Unavailable
from sluicegate.tables.snapshot_index.blocking_store import BlockingStore
from sluicegate.tables.snapshot_index.failures import IndexUnusable
from sluicegate.tables.snapshot_index.folder import IndexFolder, table_key
from sluicegate.tables.snapshot_index.writing.building import (
    IndexBuild,
    build_index,
    digests,
    opened,
    remove_unused,
)

MINUTE = 60 * 1000
HOUR = 60 * MINUTE


class Index:
    """The index of a table of twelve files, in parts of four."""

    def __init__(self, table: DeltaFolder) -> None:
        self.table = table
        self.folder: IndexFolder = index_folder()
        self.key = table_key(table.table())
        self._version = 0
        table.commit(0, protocol(), metadata(), *(add(f"f{number:02}") for number in range(12)))

    def commit(self) -> None:
        """Add a file."""
        self._version += 1
        self.table.commit(self._version, add(f"more{self._version}"))

    async def build(self, **options: Any) -> IndexBuild:
        """Build the index."""
        values = {"part_rows": 4, **options}
        return await build_index(self.folder, self.table.table(), self.table.directory, **values)

    def stored(self) -> set[str]:
        """The digests of all files."""
        return {each.digest for each in self.folder.files(self.key) if each.digest is not None}

    def named(self) -> set[str]:
        """The digests of the files of the index that gateways use now."""
        index = opened(self.folder, self.key)
        assert index is not None
        return digests(index)

    def remove_unused(self, later: int) -> int:
        """Remove files as a build does that ends some milliseconds later."""
        return remove_unused(self.folder, self.key, epoch_ms() + later)

    async def check(self) -> None:
        """The index can be used, and gateways read the newest version from it."""
        assert self.named() <= self.stored()
        found = await indexed_tables(self.folder).snapshot(self.table.table(), self.table.directory)
        check_same(found, await latest(self.table))


@pytest.fixture
def index(folder: DeltaFolder) -> Index:
    return Index(folder)


async def test_files_of_a_replaced_index_are_kept_for_an_hour(index: Index) -> None:
    await index.build()
    first = index.named()
    index.commit()
    await index.build()
    second = index.named()
    assert first & second
    assert first - second
    assert index.remove_unused(59 * MINUTE) == 0
    assert index.stored() == first | second
    assert index.remove_unused(61 * MINUTE) == len(first - second)
    assert index.stored() == second
    assert [each.built is None for each in index.folder.files(index.key)].count(False) == 1
    await index.check()


async def test_files_that_no_manifest_names_are_kept_for_a_day(index: Index) -> None:
    await index.build()
    left = index.folder.write(index.key, b"of a build that was killed")
    assert index.remove_unused(23 * HOUR) == 0
    assert left.digest in index.stored()
    assert index.remove_unused(25 * HOUR) == 1
    assert index.stored() == index.named()


async def test_nothing_is_removed_while_an_index_cannot_be_read(
    index: Index, caplog: pytest.LogCaptureFixture
) -> None:
    await index.build()
    before = opened(index.folder, index.key)
    assert before is not None
    index.commit()
    await index.build()
    summary = f"indexes/{index.key}/{before.manifest.summary.digest}.parquet"
    index.folder.store.delete([summary])
    with pytest.raises(IndexUnusable, match="is missing"):
        index.remove_unused(0)
    index.commit()
    await index.build()
    assert "that nothing needs are kept: the file" in caplog.text
    assert index.remove_unused(2 * HOUR) > 0
    await index.check()


@pytest.mark.parametrize("full", [True, False])
async def test_the_last_of_concurrent_builds_wins(index: Index, full: bool) -> None:
    await index.build()
    index.commit()

    async def another() -> None:
        index.commit()
        await index.build(full=full, part_rows=3 if full else 4)
        await index.check()

    built = await index.build(before_publication=another)
    assert built.index.manifest.version == 1
    assert index.folder.manifest(index.key) == built.index.manifest
    await index.check()


async def test_an_index_whose_files_were_removed_is_not_published(index: Index) -> None:
    await index.build()
    index.commit()

    async def much_later() -> None:
        await index.build(full=True, part_rows=3)
        assert index.remove_unused(2 * HOUR) > 0

    with pytest.raises(Unavailable, match="removed while it was built, by another build"):
        await index.build(before_publication=much_later)
    await index.check()


async def test_a_refused_publication_leaves_the_previous_index(index: Index) -> None:
    await index.build()
    before = index.folder.manifest(index.key)
    index.commit()

    async def refused() -> None:
        raise Unavailable("the lease was lost")

    with pytest.raises(Unavailable, match="the lease was lost"):
        await index.build(before_publication=refused)
    assert index.folder.manifest(index.key) == before
    await index.check()


async def test_a_cancelled_build_stops_between_parts(index: Index) -> None:
    scope, written = anyio.CancelScope(), list[str]()

    class Cancelling(BlockingStore):
        def put(self, key: str, content: bytes) -> None:
            written.append(key)
            anyio.from_thread.run_sync(scope.cancel)

    index.folder = replace(index.folder, store=Cancelling(index.folder.store.store))
    with scope:
        await index.build()
    assert scope.cancelled_caught
    assert len(written) == 1


async def test_an_index_is_removed_with_all_of_its_files(index: Index) -> None:
    await index.build()
    index.commit()
    await index.build()
    count = len(index.stored())
    assert index.folder.remove(index.key) == count
    assert not index.folder.store.objects("indexes")
