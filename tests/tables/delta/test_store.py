"""What the reader asks of a store, and what it makes of the store's refusals."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from obstore.store import LocalStore
from support.servers.s3_folder import S3Folder, serving_s3
from support.tables.deltalog import DeltaFolder, add, metadata, protocol
from support.tables.snapshots import paths

from sluicegate.api import CatalogTable, NotFound, ObjectDirectory, StorageError, Unavailable
from sluicegate.tables.delta import DeltaFormat
from sluicegate.tables.delta.log_files import commits
from sluicegate.tables.snapshot import Snapshot

TABLE = CatalogTable(id="t", format="delta", location="s3://lake/dir/t a%20b")
LOG = "dir/t a%20b/_delta_log"


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[S3Folder]:
    with serving_s3(tmp_path) as folder:
        yield folder


@pytest.fixture
def table(bucket: S3Folder) -> DeltaFolder:
    """Twelve commits with a checkpoint of ten, and much in the folders that a listing ends with."""
    folder = DeltaFolder(bucket.root / "dir" / "t a%20b")
    for version in range(13):
        folder.commit(version, *([protocol(), metadata()] if version == 0 else []), add(str(version)))
    adds = [add(str(version)) for version in range(11)]
    folder.parquet(f"{10:020}.checkpoint.parquet", [protocol(), metadata(), *adds])
    folder.hint('{"version": 10}')
    for number in range(250):
        (folder.log / "_sidecars").mkdir(exist_ok=True)
        (folder.log / "_sidecars" / f"{number}.parquet").touch()
    return folder


async def latest(bucket: S3Folder, previous: Snapshot | None = None) -> Snapshot:
    directory = ObjectDirectory(bucket.store, "dir/t a%20b")
    return await DeltaFormat().latest(TABLE, directory, previous)


async def test_a_load_reads_the_checkpoint_and_what_follows_it(
    bucket: S3Folder, table: DeltaFolder
) -> None:
    snapshot = await latest(bucket)
    assert (snapshot.version, len(snapshot.files)) == (12, 13)
    hint, listing, checkpoint, *commits = bucket.requests
    assert [hint, listing] == [f"GET {LOG}/_last_checkpoint", f"LIST {LOG}/"]
    assert checkpoint == f"GET {LOG}/{10:020}.checkpoint.parquet"
    assert sorted(commits) == [f"GET {LOG}/{11:020}.json", f"GET {LOG}/{12:020}.json"]


async def test_a_large_commit_is_read_in_parts(
    bucket: S3Folder, table: DeltaFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "_WHOLE_BYTES", 1)
    snapshot = await latest(bucket)
    assert (snapshot.version, len(snapshot.files)) == (12, 13)


@pytest.mark.parametrize("page", [1000, 120])
async def test_an_unchanged_table_costs_one_request(
    bucket: S3Folder, table: DeltaFolder, page: int
) -> None:
    bucket.page = page
    snapshot = await latest(bucket)
    bucket.requests.clear()
    assert await latest(bucket, snapshot) is snapshot
    assert bucket.requests == [f"LIST {LOG}/"]


async def test_a_new_commit_costs_two_requests(bucket: S3Folder, table: DeltaFolder) -> None:
    snapshot = await latest(bucket)
    bucket.requests.clear()
    table.commit(13, add("13"))
    advanced = await latest(bucket, snapshot)
    assert (advanced.version, len(advanced.files)) == (13, 14)
    assert bucket.requests == [f"LIST {LOG}/", f"GET {LOG}/{13:020}.json"]


async def test_a_listing_of_many_pages_is_read_whole(bucket: S3Folder, table: DeltaFolder) -> None:
    bucket.page = 9
    (table.log / "_last_checkpoint").unlink()
    assert (await latest(bucket)).version == 12


async def test_a_large_checkpoint_is_read_by_ranges(bucket: S3Folder) -> None:
    folder = DeltaFolder(bucket.root / "dir" / "t a%20b")
    noise = random.Random(1)
    adds = [
        add(f"{number}", stats=f'{{"x":"{noise.randbytes(120_000).hex()}"}}') for number in range(300)
    ]
    name = f"{0:020}.checkpoint.parquet"
    folder.commit(0, protocol(), metadata())
    path = folder.parquet(name, [protocol(), metadata(), *adds])
    pq.write_table(pq.read_table(path), path, row_group_size=100)
    assert path.stat().st_size > 32 * 1024 * 1024
    snapshot = await latest(bucket)
    assert paths(snapshot) == sorted(str(number) for number in range(300))
    reads = [request for request in bucket.requests if request.endswith(name)]
    assert 3 < len(reads) < 60


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (403, "no access to the table's storage"),
        (401, "no access to the table's storage"),
        (500, "does not respond"),
        (503, "does not respond"),
    ],
)
async def test_a_refusing_store_is_a_storage_error(
    bucket: S3Folder, table: DeltaFolder, status: int, message: str
) -> None:
    snapshot = await latest(bucket)
    bucket.status = status
    for previous in (None, snapshot):
        with pytest.raises(StorageError, match=message) as caught:
            await latest(bucket, previous)
        assert "127.0.0.1" not in caught.value.message
        assert caught.value.detail is not None
        assert "?list-type" not in caught.value.detail


async def test_a_missing_bucket_is_a_missing_table(bucket: S3Folder) -> None:
    bucket.status = 404
    with pytest.raises(NotFound, match="no Delta table"):
        await latest(bucket)


async def test_a_log_cleaned_up_while_it_is_read_is_a_retryable_error(
    bucket: S3Folder, table: DeltaFolder
) -> None:
    bucket.hidden.add(f"{LOG}/{11:020}.json")
    with pytest.raises(Unavailable, match="try again"):
        await latest(bucket)


async def test_a_store_that_is_down_is_a_storage_error(tmp_path: Path) -> None:
    with serving_s3(tmp_path) as stopped:
        pass
    with pytest.raises(StorageError, match="does not respond"):
        await latest(stopped)


async def test_an_unreadable_file_is_a_storage_error(tmp_path: Path) -> None:
    folder = DeltaFolder(tmp_path / "t")
    folder.commit(0, protocol(), metadata())
    (folder.log / f"{0:020}.json").unlink()
    (folder.log / f"{0:020}.json").symlink_to("/proc/1/mem")
    directory = ObjectDirectory(LocalStore(prefix=str(tmp_path)), "t")
    with pytest.raises(StorageError):
        await DeltaFormat().latest(folder.table(), directory, None)


async def test_a_large_checkpoint_that_cannot_be_read_is_passed_over(bucket: S3Folder) -> None:
    folder = DeltaFolder(bucket.root / "dir" / "t a%20b")
    folder.commit(0, protocol(), metadata(), add("from the commit"))
    name = f"{0:020}.checkpoint.parquet"
    with (folder.log / name).open("wb") as sparse:
        sparse.truncate(40 * 1024 * 1024)
    for hidden in (set(), {f"{LOG}/{name}"}):
        bucket.hidden = hidden
        assert paths(await latest(bucket)) == ["from the commit"]
