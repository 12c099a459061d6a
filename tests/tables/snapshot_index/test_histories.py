"""Whatever is committed after an index was written, it leaves the files that the log says."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.process.random_cases import cases
from support.tables.deltalog import DeltaFolder
from support.tables.indexed import check_same, index_folder, indexed_tables, write_index
from support.tables.random_log import RandomTable, partitioned
from support.tables.snapshots import at_version, latest


@pytest.mark.parametrize("seed", range(cases(8)))
async def test_an_index_is_advanced_by_later_commits(folder: DeltaFolder, seed: int) -> None:
    table = RandomTable(folder, seed)
    for _ in range(seed % 7 + 1):
        table.commit()
    indexes, first = index_folder(), table.version
    write_index(indexes, folder.table(), await latest(folder), part_rows=3)
    tables = indexed_tables(indexes)
    for _ in range(3):
        found = await tables.snapshot(folder.table(), folder.directory)
        check_same(found, await latest(folder))
        table.commit()
        table.commit()
    for version in range(first, table.version + 1):
        found = await tables.snapshot(folder.table(), folder.directory, version)
        check_same(found, await at_version(folder, version))


async def test_an_unchanged_table_keeps_its_snapshot(folder: DeltaFolder) -> None:
    RandomTable(folder, 1).commit()
    indexes = index_folder()
    write_index(indexes, folder.table(), await latest(folder))
    tables = indexed_tables(indexes)
    found = await tables.snapshot(folder.table(), folder.directory)
    assert found is not None
    assert await tables.snapshot(folder.table(), folder.directory) is found


@pytest.mark.parametrize("version", [0, 1])
async def test_versions_before_the_indexed_one_are_read_from_the_log(
    folder: DeltaFolder, version: int
) -> None:
    table = RandomTable(folder, 2)
    table.commit()
    table.commit()
    indexes = index_folder()
    write_index(indexes, folder.table(), await latest(folder))
    table.commit()
    tables = indexed_tables(indexes)
    assert await tables.snapshot(folder.table(), folder.directory, version) is None
    assert await tables.snapshot(folder.table(), folder.directory, 2) is not None


async def test_a_table_that_was_created_again_is_read_from_its_log(
    folder: DeltaFolder, tmp_path: Path
) -> None:
    RandomTable(folder, 3).commit()
    indexes = index_folder()
    write_index(indexes, folder.table(), await latest(folder))
    for file in folder.log.iterdir():
        file.unlink()
    RandomTable(folder, 4).commit()
    tables = indexed_tables(indexes)
    assert await tables.snapshot(folder.table(), folder.directory) is None


async def test_new_columns_do_not_need_a_new_index(folder: DeltaFolder) -> None:
    table = RandomTable(folder, 5)
    table.commit()
    indexes = index_folder()
    write_index(indexes, folder.table(), await latest(folder))
    table.commit(partitioned(("new", "long"), ("id", "long")))
    found = await indexed_tables(indexes).snapshot(folder.table(), folder.directory)
    check_same(found, await latest(folder))


async def test_a_column_of_another_type_is_decided_by_statistics(folder: DeltaFolder) -> None:
    table = RandomTable(folder, 6)
    table.commit()
    indexes = index_folder()
    write_index(indexes, folder.table(), await latest(folder))
    table.commit(partitioned(("id", "double")))
    found = await indexed_tables(indexes).snapshot(folder.table(), folder.directory)
    check_same(found, await latest(folder))
