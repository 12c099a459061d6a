"""Large Iceberg tables are converted to Delta on Spark, as small ones are without it."""

from __future__ import annotations

import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import obstore
import pyarrow as pa
import pytest
import pytest_asyncio
from spark.manifest_tables import ManifestTable
from support.process.random_cases import one_of
from support.servers.task_engine import SharedSpark

from sluicegate.api import (
    CatalogTable,
    NotFound,
    RealmGrant,
    TaskFailed,
    TaskResult,
    TemporaryCredentials,
)
from sluicegate.formats import DeltaFormat, Snapshot
from sluicegate_iceberg.names import TableName
from sluicegate_spark.config import SparkConfig
from sluicegate_spark.conversion import convert_to_delta
from sluicegate_spark.conversion.to_delta.distributed import checkpoint_parts, conversion
from sluicegate_spark.engine import Engine
from sluicegate_spark.granted_locations import GrantedLocations
from sluicegate_spark.objects import ObjectAccess
from sluicegate_spark.tables import Table
from sluicegate_spark.work import Work
from sluicegate_testing.executors import RecordedRun
from sluicegate_testing.servers.seaweedfs import SeaweedFS

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark_tasks")]

ON_SPARK, IN_WORKER = 0, 10_000
SMALL = dict.fromkeys(("spark.sql.shuffle.partitions", "spark.default.parallelism"), "2")
_COUNT = "files_added", "files_removed"


@dataclass
class Access:
    """Access to a table at one of its metadata files."""

    server: SeaweedFS
    table: Table
    granted: GrantedLocations

    async def objects(self) -> ObjectAccess:
        """See `TableAccess.objects`."""
        who = self.server.admin
        secret = {"access_key_id": who.access_key_id, "secret_access_key": who.secret_access_key}
        connection = {
            "endpoint": self.server.endpoint,
            "region": self.server.region,
            "path_style": "true",
        }
        bucket = f"s3://{self.server.bucket}"
        credentials = TemporaryCredentials(bucket, "aws", secret, None, connection)
        return ObjectAccess(credentials, self.granted)


@dataclass
class Converter:
    """Converts tables in this process."""

    server: SeaweedFS
    engine: Engine

    async def convert(
        self,
        table: ManifestTable,
        number: int,
        files_in_worker: int = ON_SPARK,
        run: RecordedRun | None = None,
        **properties: str,
    ) -> TaskResult:
        """Convert the table at one of its metadata files."""
        described = Table(
            TableName(("eu",), table.name), None, table.location, table.metadata[number], {}
        )
        grant = RealmGrant(locations=(f"s3://{self.server.bucket}/",))
        access: Any = Access(self.server, described, GrantedLocations("r", grant, of_catalog=True))
        task: Any = SimpleNamespace(id="t-1", properties=properties, realm="r")
        run = run or RecordedRun()
        work = Work(task, access, self.engine, run, {}, files_in_worker=files_in_worker)
        return await convert_to_delta(work)

    async def read(self, table: ManifestTable) -> Snapshot:
        """Return the converted table, as the gateway reads it."""
        described = CatalogTable(table.name, "delta", table.location)
        grant = RealmGrant(locations=None)
        access = Access(
            self.server,
            Table(TableName(("eu",), table.name), None, table.location, None, {}),
            GrantedLocations("r", grant, of_catalog=True),
        )
        directory = (await access.objects()).directory(table.location)
        return await DeltaFormat().latest(described, directory, None)

    async def files(self, table: ManifestTable) -> list[dict[str, Any]]:
        """Return the files of the converted table, sorted by path."""
        rows = [
            row for batch in (await self.read(table)).files.batches(1000) for row in batch.to_pylist()
        ]
        return sorted(rows, key=lambda row: str(row["path"]))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with SeaweedFS.start(tmp_path_factory.mktemp("large"), bucket="large") as running:
        yield running


@pytest_asyncio.fixture
async def converter(shared_spark: SharedSpark, server: SeaweedFS) -> AsyncIterator[Converter]:
    engine = Engine(SparkConfig.model_validate(shared_spark.section(SMALL)))
    yield Converter(server, engine)
    await engine.aclose()


@contextmanager
def peak_of_memory() -> Iterator[Callable[[], int]]:
    """Return a function that returns the peak of this process's memory in the block, in bytes."""
    default = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(default)
    pa.set_memory_pool(pool)
    tracemalloc.start()
    peaks: list[int] = []
    try:
        yield lambda: peaks[0]
    finally:
        peaks.append(tracemalloc.get_traced_memory()[1] + pool.max_memory())
        tracemalloc.stop()
        pa.set_memory_pool(default)


def numbers(files: Sequence[dict[str, Any]]) -> list[int]:
    """Return the numbers of files."""
    return [int(row["size"]) - 1000 for row in files]


async def test_each_step_of_a_history_is_converted_as_without_spark(
    converter: Converter, server: SeaweedFS
) -> None:
    tables = [ManifestTable(server, name) for name in ("on-spark", "in-worker")]
    for table in tables:
        first, second = table.manifest(range(10), 1), table.manifest(range(10, 20), 1)
        table.commit(first, second)
        table.commit(first, second, table.manifest(range(20, 25), 2))  # an append
        table.commit(first, table.manifest(range(10, 17), 1))  # a manifest is rewritten, others dropped
        table.commit(first, table.manifest(range(10, 17), 1), table.manifest([18, 19], 4))  # came back
        table.point_to(2)  # rolled back
        table.commit()  # empty
        last, deletes = table.manifest(range(3), 6), table.deletes({1: [0, 3], 2: [4]}, 6)
        table.commit(last, deletes)
        table.commit(last, deletes, table.manifest(range(3, 6), 7))  # no rows were deleted
        more = table.deletes({1: [1], 5: [2]}, 8)
        table.commit(last, deletes, table.manifest(range(3, 6), 7), more)
    for number in range(len(tables[0].metadata)):
        on_spark = await converter.convert(tables[0], number, ON_SPARK)
        in_worker = await converter.convert(tables[1], number, IN_WORKER)
        assert on_spark == in_worker
        found, expected = [await converter.read(table) for table in tables]
        assert (
            (found.version, found.protocol)
            == (expected.version, expected.protocol)
            == (number, found.protocol)
        )
        assert found.metadata.schema_string == expected.metadata.schema_string
        assert await converter.files(tables[0]) == await converter.files(tables[1])
    again = await converter.convert(tables[0], len(tables[0].metadata) - 1)
    assert again.summary == "the Delta table already contains this snapshot"


async def test_only_changed_manifests_are_read(converter: Converter, server: SeaweedFS) -> None:
    table = ManifestTable(server, "changed")
    kept, rewritten = table.manifest(range(10), 1), table.manifest(range(10, 20), 1)
    table.commit(kept, rewritten)
    await converter.convert(table, 0)
    table.leave_only_header(kept)
    table.commit(kept, table.manifest(range(11, 20), 1), table.manifest(range(20, 23), 2))
    result = await converter.convert(table, 1)
    assert [result.further[name] for name in _COUNT] == [3, 1]
    assert numbers(await converter.files(table)) == [*range(10), *range(11, 23)]


@pytest.mark.parametrize(
    "lost",
    one_of(
        3,
        ["metadata", "manifest list", "manifest"],
        pytest.mark.night("test_without_the_converted_snapshot_all_files_are_compared"),
    ),
)
async def test_without_the_converted_snapshot_all_files_are_compared(
    converter: Converter, server: SeaweedFS, lost: str
) -> None:
    table = ManifestTable(server, f"lost-{lost.replace(' ', '-')}")
    kept, dropped = table.manifest(range(10), 1), table.manifest(range(10, 20), 1)
    table.commit(kept, dropped)
    await converter.convert(table, 0)
    table.commit(kept, table.manifest(range(15, 25), 2))
    table.delete(
        {
            "metadata": table.metadata[0],
            "manifest list": table.snapshots[0]["manifest-list"],
            "manifest": dropped["manifest_path"],
        }[lost]
    )
    result = await converter.convert(table, 1)
    assert [result.further[name] for name in _COUNT] == [5, 5]
    assert numbers(await converter.files(table)) == [*range(10), *range(15, 25)]


async def test_a_file_that_is_named_twice_stays_until_nothing_names_it(
    converter: Converter, server: SeaweedFS
) -> None:
    table = ManifestTable(server, "twice")
    first, second = table.manifest([1, 2], 1), table.manifest([2, 3], 1)
    table.commit(first, second)
    table.commit(first)
    table.commit(table.manifest([1], 1))
    for number, expected in enumerate(([1, 2, 3], [1, 2], [1])):
        await converter.convert(table, number)
        assert numbers(await converter.files(table)) == expected


@pytest.mark.parametrize("files_in_worker", [ON_SPARK, IN_WORKER])
async def test_a_worker_that_lost_its_lease_commits_nothing(
    converter: Converter, server: SeaweedFS, files_in_worker: int
) -> None:
    table = ManifestTable(server, f"lost-lease-{files_in_worker}")
    table.commit(table.manifest(range(3), 1))
    with pytest.raises(TaskFailed, match="the lease was lost"):
        await converter.convert(table, 0, files_in_worker, RecordedRun(lost_after=0))
    with pytest.raises(NotFound):
        await converter.read(table)


async def test_a_checkpoint_in_parts_replaces_the_log(
    converter: Converter, server: SeaweedFS, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint_parts, "_FILES_A_PART", 8)
    table = ManifestTable(server, "parts")
    kept = table.manifest(range(10), 1)
    table.commit(kept, table.manifest(range(10, 20), 1))
    table.commit(kept, table.manifest(range(12, 20), 1))
    table.commit(kept, table.manifest(range(15, 20), 1))
    for number in range(3):
        await converter.convert(table, number, checkpoint_interval="1")
    log = f"{table.name}/_delta_log/"
    for listed in obstore.list(server.store(), log).collect():
        if listed["path"].endswith(".json") or f"{2:020}" not in listed["path"]:
            obstore.delete(server.store(), listed["path"])
    names = sorted(
        each["path"].removeprefix(log) for each in obstore.list(server.store(), log).collect()
    )
    assert names == [f"{2:020}.checkpoint.{part:010}.{2:010}.parquet" for part in (1, 2)]
    assert numbers(await converter.files(table)) == [*range(10), *range(15, 20)]
    rows = [obstore.get(server.store(), log + name).bytes() for name in names]
    removed = pa.chunked_array(
        [
            chunk.field("path").drop_null()
            for content in rows
            for chunk in pa.parquet.read_table(pa.BufferReader(bytes(content))).column("remove").chunks
        ]
    )
    assert sorted(path[-16:-8] for path in removed.to_pylist()) == [
        f"{each:08}" for each in range(10, 15)
    ]


async def test_a_damaged_checkpoint_is_not_needed(converter: Converter, server: SeaweedFS) -> None:
    table = ManifestTable(server, "damaged")
    first = table.manifest(range(5), 1)
    table.commit(first)
    table.commit(first, table.manifest(range(5, 8), 2))
    await converter.convert(table, 0)
    obstore.put(server.store(), f"{table.name}/_delta_log/{0:020}.checkpoint.parquet", b"damaged")
    result = await converter.convert(table, 1)
    assert [result.further[name] for name in _COUNT] == [3, 0]


async def test_a_conversion_that_was_killed_is_repeated(
    converter: Converter, server: SeaweedFS, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = ManifestTable(server, "killed")
    first = table.manifest(range(5), 1)
    table.commit(first)
    table.commit(first, table.manifest(range(5, 8), 2))

    async def killed(*_: object) -> None:
        raise TaskFailed("killed", error_code="ENGINE_FAILED")

    for name in ("commit", "checkpoint_if_due"):
        with monkeypatch.context() as patched:
            patched.setattr(conversion, name, killed)
            with pytest.raises(TaskFailed, match="killed"):
                await converter.convert(table, 0)
    result = await converter.convert(table, 1)
    assert [result.further[name] for name in ("delta_version", *_COUNT)] == [1, 3, 0]
    assert numbers(await converter.files(table)) == [*range(8)]


@pytest.mark.night(
    "tests/spark/test_conversion.py::test_only_changes_are_read_and_no_row_for_each_file_reaches_the_driver"
)
async def test_memory_of_the_worker_does_not_grow_with_the_table(
    converter: Converter, server: SeaweedFS
) -> None:
    peaks = []
    for name, size in (("small", 1_000), ("large", 8_000)):
        table = ManifestTable(server, name)
        manifests = [table.manifest(range(start, start + 500), 1) for start in range(0, size, 500)]
        table.commit(*manifests)
        table.commit(*manifests[1:], table.manifest(range(size, size + 100), 2))
        await converter.convert(table, 0)
        with peak_of_memory() as peak:
            result = await converter.convert(table, 1, checkpoint_interval="1")
        peaks.append(peak())
        assert [result.further[name] for name in _COUNT] == [100, 500]
        assert len((await converter.read(table)).files) == size - 400
    assert peaks[1] < peaks[0] + (1 << 19)  # without Spark, these 7,000 files take six times as much
