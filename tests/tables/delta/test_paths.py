from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from obstore.store import LocalStore
from support.tables.deltalog import DeltaFolder, add, metadata, protocol, remove
from support.tables.snapshots import latest, paths, rows

from sluicegate.api import CatalogTable, ObjectDirectory
from sluicegate.tables.delta import DeltaFormat
from sluicegate.tables.delta.log_files.paths import literal_paths, storage_root


@pytest.mark.parametrize(
    ("path", "literal"),
    [
        ("part-0.parquet", "part-0.parquet"),
        ("p=a%20b/x%2525.parquet", "p=a b/x%25.parquet"),
        ("p=%C3%BC/%E2%9C%93", "p=ü/✓"),
        ("not%zzencoded+plus", "not%zzencoded+plus"),
        ("a%3A/b", "a:/b"),
        ("s3://other/a%20b", "s3://other/a b"),
        ("abfss://c@acct.dfs.core.windows.net/a", "abfss://c@acct.dfs.core.windows.net/a"),
        ("file:/a/b", "file:///a/b"),
        ("file:///a/b", "file:///a/b"),
        ("/a/b%23c", "s3://lake/a/b#c"),
    ],
)
def test_log_paths_become_literal(path: str, literal: str) -> None:
    column = pa.array(["plain", path, path])
    assert literal_paths(column, "s3://lake").to_pylist() == ["plain", literal, literal]


@pytest.mark.parametrize(
    ("location", "root"),
    [
        ("s3://lake/a/b", "s3://lake"),
        ("s3://lake", "s3://lake"),
        ("file:///srv/tables/a b#c?d", "file://"),
        ("abfss://c@acct.dfs.core.windows.net/t", "abfss://c@acct.dfs.core.windows.net"),
    ],
)
def test_absolute_paths_without_scheme_lie_on_the_tables_storage(location: str, root: str) -> None:
    assert storage_root(location) == root


async def test_one_file_is_one_file_however_its_path_is_spelled(folder: DeltaFolder) -> None:
    folder.commit(0, protocol(), metadata(), add("/x/a%20b"), add("file:/x/c"), add("%64"), add("kept"))
    folder.commit(1, remove("file:///x/a b"), remove("/x/c"), remove("d"))
    assert paths(await latest(folder)) == ["kept"]


ROOTS = [
    "plain",
    "a b",
    "a%20b",
    "a%2Fb",
    "a#c",
    "a?b",
    "ü✓",
    "q[1]",
    "b:c",
    "tab~^|`{}<>",
    "back\\slash",
    "a+b&c=d",
]


@pytest.mark.parametrize("name", ROOTS)
async def test_a_table_may_have_any_name(tmp_path: Path, name: str) -> None:
    folder = DeltaFolder(tmp_path / name / name)
    folder.commit(0, protocol(), metadata())
    folder.parquet(
        f"{0:020}.checkpoint.{'0' * 8}.parquet", [protocol(), metadata(), *folder.sidecars([add("a")])]
    )
    folder.commit(1, add("b"))
    folder.hint('{"version": 0}')
    first = await latest(folder)
    assert paths(first) == ["a", "b"]
    assert await latest(folder, first) is first
    whole = ObjectDirectory(LocalStore(prefix=str(folder.root)), "")
    nested = ObjectDirectory(LocalStore(prefix=str(tmp_path)), f"{name}/{name}")
    for directory in (whole, nested):
        assert paths(await DeltaFormat().latest(folder.table(), directory, None)) == ["a", "b"]


PARTITIONS = [
    "plain",
    "a b",
    "a%20b",
    "a/b",
    "a#c?d",
    "ü✓",
    'quote"back\\',
    "new\nline",
    "x=y&z",
    "%",
    None,
]


@pytest.mark.parametrize("checkpoint", [False, True])
async def test_partition_values_of_a_real_writer_lead_to_their_files(
    tmp_path: Path, checkpoint: bool
) -> None:
    folder = DeltaFolder(tmp_path / "table")
    data = pa.table({"p": pa.array(PARTITIONS, pa.string()), "n": list(range(len(PARTITIONS)))})
    write_deltalake(folder.root, data, partition_by=["p"])
    if checkpoint:
        DeltaTable(folder.root).create_checkpoint()
    files = rows(await latest(folder))
    assert len(files) == len(PARTITIONS)
    for row in files:
        [number] = pq.ParquetFile(folder.root / row["path"]).read().column("n").to_pylist()
        assert row["partition_values"] == {"p": PARTITIONS[number]}


async def test_absolute_paths_stay_absolute(folder: DeltaFolder) -> None:
    folder.commit(0, protocol(), metadata(), add("s3://elsewhere/t/a%20b.parquet"), add("b"))
    table = CatalogTable(id="t", format="delta", location="s3://lake/t")
    snapshot = await DeltaFormat().latest(table, folder.directory, None)
    assert paths(snapshot) == ["b", "s3://elsewhere/t/a b.parquet"]
