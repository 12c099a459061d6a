"""Spark lists a directory, compares it, and deletes orphans; its driver never holds their names.

`test_engine.py` runs these tests in a separate process, like `engine_cases.py`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import obstore
import pyarrow as pa
import pytest

from sluicegate.api import StorageError, TaskFailed
from sluicegate_spark.engine import TaskSession
from sluicegate_spark.objects import ObjectAccess
from sluicegate_spark.orphans import listed_directory
from sluicegate_spark.orphans.directory_listing import TableDirectory
from sluicegate_spark.orphans.listed_directory import CandidateFiles, list_directory
from sluicegate_spark.orphans.operation import UnusedFiles, unused_files
from sluicegate_spark.orphans.used_files import UsedFiles
from sluicegate_spark.purge import table_files as few_manifests
from sluicegate_spark.purge.deletion import Deletion
from sluicegate_spark.purge.history import History
from sluicegate_spark.purge.sorted_files import PATH, SortedFiles, paths_in
from sluicegate_spark.purge.table_files import TableFiles
from sluicegate_spark.purge.waves import Listed, Waves
from sluicegate_testing.servers.seaweedfs import SeaweedFS

from .manifest_lists import write_list, write_manifest
from .store_access import access_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = "eu/t"
FILES = [
    *(f"data/day={day:02}/{number:04}.parquet" for day in range(10) for number in range(40)),
    *(f"data/{number * 40503 % 2**16:016b}/x.parquet" for number in range(300)),
    *(f"data/{number:05}-flat.parquet" for number in range(300)),
]
USED = FILES[::40]
# Of the names of used files, some have another scheme, or a slash too many.
NAMES = [
    f"{('s3', 's3a')[number % 2]}://lake/{TABLE}/{path.replace('/', '/' * (1 + number % 3), 1)}"
    for number, path in enumerate(USED[:-1])
]
MOST_ROWS = 60  # in one answer of Spark


@dataclass
class RenewedAccess:
    """A table's access, which has expired at first, if so wanted."""

    server: SeaweedFS
    expired: list[ObjectAccess] = field(default_factory=list)
    granted: Any = None

    async def objects(self) -> ObjectAccess:
        return self.expired.pop() if self.expired else access_of(self.server)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs")) as running:
        yield running


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of rows in each of Spark's answers to its driver."""
    from pyspark import SparkContext, util
    from pyspark.sql.classic.dataframe import DataFrame

    counts: list[int] = []

    def counted(original: Any) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            rows = list(original(*arguments, **named))
            counts.append(len(rows))
            return rows

        return call

    monkeypatch.setattr(DataFrame, "collect", counted(DataFrame.collect))
    monkeypatch.setattr(util, "_load_from_socket", counted(util._load_from_socket))
    monkeypatch.delattr(SparkContext, "runJob")
    for other in ("toArrow", "toPandas", "toLocalIterator", "foreachPartition"):
        monkeypatch.delattr(DataFrame, other)
    return counts


def directory(server: SeaweedFS, name: str = TABLE) -> TableDirectory:
    location = f"s3://{server.bucket}/{name}"
    later = datetime.now(UTC) + timedelta(days=1)
    return TableDirectory(location, f"{location}/metadata", later, shared=False)


def write(server: SeaweedFS, paths: list[str], name: str = TABLE) -> None:
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda path: server.put(f"{name}/{path}", path.encode()), paths))


async def list_in_small_steps(
    waves: Waves, server: SeaweedFS, monkeypatch: pytest.MonkeyPatch
) -> tuple[CandidateFiles, list[int]]:
    monkeypatch.setattr(listed_directory, "_FILES_OF_FIRST", 150)
    monkeypatch.setattr(listed_directory, "_RANGES_OF_CORE", 20)
    steps: list[int] = []
    return await list_directory(waves, directory(server), steps.append), steps


async def compare(waves: Waves, session: TaskSession, files: CandidateFiles) -> UnusedFiles:
    def named(spark: SparkSession) -> Any:
        return spark.createDataFrame(pa.table({"path": NAMES * 2}), PATH)

    used = UsedFiles(
        Listed([await session.run(named)], 2 * len(NAMES)), [f"s3://lake/{TABLE}/{USED[-1]}"]
    )
    return await unused_files(waves, "s3://lake/", files, used)


async def test_names_of_files_never_reach_the_driver(
    server: SeaweedFS, session: TaskSession, answers: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(server, FILES)
    orphans = sorted(set(FILES) - set(USED))
    access: Any = RenewedAccess(server)
    async with Waves.within(session, access) as waves:
        files, steps = await list_in_small_steps(waves, server, monkeypatch)
        assert (files.count, steps[-1]) == (len(FILES), len(FILES))
        assert len(steps) >= 3
        unused = await compare(waves, session, files)
        assert (unused.count, unused.size) == (len(orphans), sum(map(len, orphans)))
        shown = await session.run(lambda spark: unused.examples(3, spark))
        assert shown == [f"s3://lake/{TABLE}/{path}" for path in orphans[:3]]
        done: list[Deletion] = []
        total = await waves.delete(await waves.sort(unused.listed), done.append)
    assert (total.deleted, total.size, total.left) == (unused.count, unused.size, 0)
    assert max(answers) <= MOST_ROWS < len(orphans) / 10
    left = obstore.list(server.store(), TABLE).collect()
    assert sorted(each["path"] for each in left) == sorted(f"{TABLE}/{path}" for path in USED)


async def test_nothing_is_left_to_delete_in_the_next_run(
    server: SeaweedFS, session: TaskSession
) -> None:
    write(server, USED)
    access: Any = RenewedAccess(server)
    async with Waves.within(session, access) as waves:
        files = await list_directory(waves, directory(server), lambda _: None)
        unused = await compare(waves, session, files)
        assert (files.count, unused.count, unused.size) == (len(USED), 0, 0)
        assert await waves.delete(await waves.sort(unused.listed), lambda _: None) == Deletion()


async def test_credentials_that_expire_during_a_listing_are_renewed(
    server: SeaweedFS, session: TaskSession
) -> None:
    write(server, USED)
    refused = access_of(server, identity=server.nobody)
    past = int(time.time() * 1000) - 1
    expired = replace(refused, credentials=replace(refused.credentials, expires_at=past))
    access: Any = RenewedAccess(server, [expired])
    async with Waves.within(session, access) as waves:
        files = await list_directory(waves, directory(server), lambda _: None)
    assert files.count == len(USED)
    assert access.expired == []


async def test_a_directory_that_cannot_be_listed_is_an_error(
    server: SeaweedFS, session: TaskSession
) -> None:
    write(server, USED[:1], "eu/closed")
    access: Any = RenewedAccess(server, [access_of(server, identity=server.nobody)])
    async with Waves.within(session, access) as waves:
        with pytest.raises(StorageError, match="cannot be listed"):
            await list_directory(waves, directory(server, "eu/closed"), lambda _: None)


@pytest.mark.parametrize("other", ["inner/metadata/7.metadata.json", "data/inner/_delta_log/0.json"])
async def test_another_table_in_the_directory_is_refused(
    server: SeaweedFS, session: TaskSession, other: str
) -> None:
    name = f"eu/around_{len(other)}"
    write(server, [*USED[:3], other], name)
    access: Any = RenewedAccess(server)
    async with Waves.within(session, access) as waves:
        with pytest.raises(TaskFailed, match=f"it has '{other}'"):
            await list_directory(waves, directory(server, name), lambda _: None)


async def test_files_of_a_table_are_the_same_if_spark_lists_its_manifests(
    server: SeaweedFS, session: TaskSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [f"s3://{server.bucket}/eu/p/data/{number}.parquet" for number in range(6)]
    metadata = "eu/p/metadata"
    manifests = (
        write_manifest(server, f"{metadata}/1-m.avro", files[:4]),
        write_manifest(server, f"{metadata}/2-m.avro", files[2:]),
    )
    lists = (
        write_list(server, f"{metadata}/1.avro", manifests[:1]),
        write_list(server, f"{metadata}/2.avro", manifests),
    )
    history = History(
        "uuid", shared=False, manifest_lists=lists, manifests=(), statistics=(), previous=()
    )
    access: Any = RenewedAccess(server)

    async def paths(each: SortedFiles) -> tuple[str, ...]:
        rows = await session.run(lambda spark: each.process(range(each.parts), paths_in, PATH))
        return tuple(row["path"] for row in rows)

    async with Waves.within(session, access) as waves:
        table = TableFiles(waves, history, skip_missing=False)
        few = await table.manifests()
        assert few == manifests
        assert await paths(await table.content(few)) == tuple(files)
        monkeypatch.setattr(few_manifests, "MOST", 1)
        many = await table.manifests()
        assert isinstance(many, SortedFiles)
        assert (len(many), await paths(many)) == (2, manifests)
        assert await paths(await table.content(many)) == tuple(files)
