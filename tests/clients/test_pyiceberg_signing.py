"""PyIceberg reads files through signed requests, from a store that enforces signatures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyiceberg.io import FileIO, load_file_io
from support.servers.iceberg_signing import SigningServer, signing_server

from sluicegate_s3.config import S3Config
from sluicegate_s3.storage import S3Storage
from sluicegate_testing.fakes import FakeContext
from sluicegate_testing.servers.seaweedfs import SeaweedFS
from sluicegate_testing.storage import AWKWARD_NAMES

CONTENT = bytes(range(256)) * 4096
REFUSED = r"403|Forbidden|Failed to sign"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs")) as running:
        for name in (*AWKWARD_NAMES, "part.parquet"):
            running.put(f"orders/{name}", CONTENT)
        running.put("customers/part.parquet", b"of another table")
        yield running


@pytest.fixture(scope="module")
def server(store: SeaweedFS) -> Iterator[SigningServer]:
    config = S3Config.model_validate(
        {
            "prefix": f"s3://{store.bucket}/",
            "endpoint": store.endpoint,
            "access_key_id": store.signer.access_key_id,
            "secret_access_key": store.signer.secret_access_key,
        }
    )
    storage = S3Storage.configured(config, FakeContext())
    with signing_server(storage, f"s3://{store.bucket}/orders") as running:
        yield running


@pytest.fixture
def files(server: SigningServer) -> FileIO:
    return load_file_io({**server.config, "uri": f"{server.url}/iceberg", "token": "t"})


@pytest.mark.parametrize("name", AWKWARD_NAMES)
def test_files_are_read_by_their_paths(server: SigningServer, files: FileIO, name: str) -> None:
    (path,) = server.paths(name)
    file = files.new_input(path)
    assert len(file) == len(CONTENT)
    with file.open() as stream:
        assert stream.read() == CONTENT


def test_absolute_locations_are_read(server: SigningServer, files: FileIO, store: SeaweedFS) -> None:
    (path,) = server.paths(f"s3://{store.bucket}/orders/part.parquet")
    with files.new_input(path).open() as stream:
        stream.seek(1000)
        assert stream.read(10) == CONTENT[1000:1010]


def test_requests_are_heads_and_ranges(server: SigningServer, files: FileIO) -> None:
    server.requests.clear()
    with files.new_input(server.paths("part.parquet")[0]).open() as stream:
        stream.read(10)
    methods = [body["method"] for body, status in server.requests if status == 200]
    assert methods == ["HEAD", "GET"]


def test_other_paths_are_refused(server: SigningServer, files: FileIO, store: SeaweedFS) -> None:
    (path,) = server.paths("part.parquet")
    server.requests.clear()
    for other in (path + "x", f"s3://{store.bucket}/customers/part.parquet"):
        with pytest.raises(Exception, match=REFUSED):
            files.new_input(other).open().read()
    assert {status for _, status in server.requests} == {403}


def test_nothing_is_written_or_deleted(server: SigningServer, files: FileIO, store: SeaweedFS) -> None:
    (path,) = server.paths("part.parquet")
    with pytest.raises(Exception, match=REFUSED):
        files.delete(path)
    written = files.new_output(path).create(overwrite=True)
    written.write(b"changed")
    with pytest.raises(Exception, match=REFUSED):
        written.close()
    with files.new_input(path).open() as stream:
        assert stream.read() == CONTENT
