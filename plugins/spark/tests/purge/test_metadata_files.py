"""What a purge reads from metadata files."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from typing import Any, cast

import fastavro
import obstore
import orjson
import pytest

from sluicegate.api import TaskFailed
from sluicegate_spark.objects import ObjectAccess
from sluicegate_spark.purge.history import metadata_files_in_folder, parse_history, read_history
from sluicegate_spark.purge.manifests import files_in
from sluicegate_spark.purge.old_metadata import OldMetadata, old_metadata
from sluicegate_spark.tables import TableAccess
from sluicegate_testing.servers.seaweedfs import SeaweedFS

from ..store_access import access_of

WHOLE: dict[str, Any] = {
    "table-uuid": "u",
    "properties": {"gc.enabled": "false"},
    "snapshots": [
        {"manifest-list": "s3://lake/t/metadata/snap-1.avro"},
        {"manifest-list": "s3://lake/t/metadata/snap-1.avro"},
        {"manifests": ["s3://lake/t/metadata/m0.avro"]},
    ],
    "statistics": [{"statistics-path": "s3://lake/t/metadata/1.stats"}],
    "partition-statistics": [{"statistics-path": "s3://lake/t/metadata/partitions.parquet"}],
    "metadata-log": [{"metadata-file": "s3://lake/t/metadata/v1.metadata.json", "timestamp-ms": 1}],
}


class Access:
    """Provides access that never expires."""

    def __init__(self, objects: ObjectAccess) -> None:
        self._objects = objects

    async def objects(self) -> ObjectAccess:
        return self._objects


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs")) as running:
        yield running


@pytest.mark.parametrize("packed", [False, True])
def test_all_that_leads_to_files_is_read(packed: bool) -> None:
    data = orjson.dumps(WHOLE)
    history = parse_history(gzip.compress(data) if packed else data)
    assert history.shared
    assert history.manifest_lists == ("s3://lake/t/metadata/snap-1.avro",)
    assert history.manifests == ("s3://lake/t/metadata/m0.avro",)
    assert history.statistics == (
        "s3://lake/t/metadata/1.stats",
        "s3://lake/t/metadata/partitions.parquet",
    )
    assert history.previous == ("s3://lake/t/metadata/v1.metadata.json",)


@pytest.mark.parametrize("data", [b"", b"[]", b"\x1f\x8b", b'{"snapshots": [1]}'])
def test_what_is_no_metadata_is_reported(data: bytes) -> None:
    with pytest.raises(ValueError, match="not the metadata of a table"):
        parse_history(data)


async def test_old_metadata_is_followed_back_beyond_the_log(server: SeaweedFS) -> None:
    folder = f"s3://{server.bucket}/chain/metadata"
    for number in range(1, 7):
        log = [f"{folder}/v{before}.metadata.json" for before in range(max(1, number - 2), number)]
        document = {"metadata-log": [{"metadata-file": each} for each in log]}
        server.put(f"chain/metadata/v{number}.metadata.json", orjson.dumps(document))
    access = access_of(server)
    current = await read_history(access, f"{folder}/v6.metadata.json")
    assert current is not None
    assert current.previous == (f"{folder}/v4.metadata.json", f"{folder}/v5.metadata.json")
    old = await old_metadata(cast("TableAccess", Access(access)), current)
    assert old == OldMetadata(
        files=(
            f"{folder}/v1.metadata.json",
            f"{folder}/v3.metadata.json",
            f"{folder}/v5.metadata.json",
        ),
        links=(f"{folder}/v2.metadata.json", f"{folder}/v4.metadata.json"),
    )


async def test_a_broken_old_file_ends_the_chain(server: SeaweedFS) -> None:
    server.put("broken/metadata/v1.metadata.json", b"{")
    first = f"s3://{server.bucket}/broken/metadata/v1.metadata.json"
    current = parse_history(orjson.dumps({"metadata-log": [{"metadata-file": first}]}))
    old = await old_metadata(cast("TableAccess", Access(access_of(server))), current)
    assert old == OldMetadata(files=(first,), links=())


async def test_metadata_is_missing_refused_or_broken(server: SeaweedFS) -> None:
    server.put("one/metadata/v1.metadata.json", b"{")
    location = f"s3://{server.bucket}/one/metadata/v1.metadata.json"
    access = access_of(server)
    assert await read_history(access, f"{location}.gone") is None
    assert await metadata_files_in_folder(access, f"{location}.gone") == [location]
    with pytest.raises(TaskFailed, match="is broken") as broken:
        await read_history(access, location)
    assert not broken.value.retryable
    with pytest.raises(TaskFailed, match="cannot be read") as refused:
        await read_history(access_of(server, identity=server.nobody), location)
    assert refused.value.retryable
    assert obstore.get(server.store(), "one/metadata/v1.metadata.json").bytes() == b"{"


def test_files_that_a_manifest_only_remembers_are_not_its_own() -> None:
    entry = {
        "type": "record",
        "name": "manifest_entry",
        "fields": [
            {"name": "status", "type": "int"},
            {
                "name": "data_file",
                "type": {
                    "type": "record",
                    "name": "r2",
                    "fields": [{"name": "file_path", "type": "string"}],
                },
            },
        ],
    }
    rows = [{"status": status, "data_file": {"file_path": f"{status}.parquet"}} for status in range(3)]
    stream = io.BytesIO()
    fastavro.writer(stream, entry, rows)
    assert list(files_in(stream.getvalue())) == ["0.parquet", "1.parquet"]
