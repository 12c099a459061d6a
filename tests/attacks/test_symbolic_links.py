"""A writer of a local table replaces files and directories with symbolic links while others read it."""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from support.servers.file_link_server import FileLinkServer, running_file_links
from support.tables.deltalog import DeltaFolder, add, metadata, protocol

from sluicegate.api import ObjectDirectory, PermissionDenied, SluicegateError
from sluicegate.tables.delta import DeltaFormat
from sluicegate_file.config import FileConfig
from sluicegate_file.storage import FileStorage
from sluicegate_testing.fakes import FakeContext

SECRET = "the signing key"
READS = 200


@pytest.fixture(params=["openat2", "by name"], autouse=True)
def _way_to_open(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "by name":
        monkeypatch.setattr("sluicegate_file.beneath.kernel_open", lambda directory: None)


@pytest.fixture
def outside(tmp_path: Path) -> DeltaFolder:
    """A table that no storage serves, with a secret in each of its files."""
    folder = DeltaFolder(tmp_path / "outside")
    folder.commit(0, protocol(), metadata(), add(SECRET))
    (folder.root / "part.parquet").write_text(SECRET)
    return folder


@pytest.fixture
def table(tmp_path: Path) -> DeltaFolder:
    folder = DeltaFolder(tmp_path / "served" / "table")
    folder.commit(0, protocol(), metadata(), add("part.parquet"))
    (folder.root / "part.parquet").write_text("public")
    return folder


@pytest.fixture
def storage(tmp_path: Path, table: DeltaFolder) -> FileStorage:
    return FileStorage(FileConfig(prefix=f"file://{tmp_path}/served/"), FakeContext())


@pytest.fixture
def links(tmp_path: Path, table: DeltaFolder) -> Iterator[FileLinkServer]:
    with running_file_links({"files": tmp_path / "served"}) as server:
        yield server


def replaced(path: Path, target: Path) -> None:
    """Put a symbolic link in the place of a file or directory."""
    path.rename(path.with_name("moved"))
    path.symlink_to(target)


@pytest.mark.parametrize("name", ["table/part.parquet", "table"])
def test_a_file_of_a_link_is_replaced_after_its_path_was_checked(
    links: FileLinkServer, outside: DeltaFolder, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    opened: Callable[..., Awaitable[ObjectDirectory]] = FileStorage.open

    async def attacked(storage: FileStorage, location: str) -> ObjectDirectory:
        directory = await opened(storage, location)
        replaced(links.root / name, outside.root / name.partition("/")[2])
        return directory

    monkeypatch.setattr(FileStorage, "open", attacked)
    answer = httpx.get(links.link("table/part.parquet"))
    assert SECRET not in answer.text
    assert answer.status_code == 403


@pytest.mark.parametrize("name", ["", "_delta_log", f"_delta_log/{0:020}.json"])
async def test_a_log_is_replaced_after_its_table_was_opened(
    storage: FileStorage, table: DeltaFolder, outside: DeltaFolder, name: str
) -> None:
    directory = await storage.open(f"{storage.prefix}table")
    replaced(table.root / name, outside.root / name)
    with pytest.raises(PermissionDenied):
        await DeltaFormat().latest(table.table(), directory, None)


async def test_a_directory_is_replaced_before_it_is_listed(
    storage: FileStorage, table: DeltaFolder, outside: DeltaFolder
) -> None:
    (table.root / "day=1").mkdir()
    directory = await storage.open(f"{storage.prefix}table")
    replaced(table.root / "day=1", outside.root)
    for pages in (directory.store.list("table"), directory.store.list()):
        listed = [item["path"] for item in await pages.collect_async()]
        assert not any("day=1/" in path for path in listed)
    with pytest.raises(PermissionDenied):
        await directory.store.list("table/day=1").collect_async()


async def test_no_read_wins_a_race_against_a_writer(
    storage: FileStorage, table: DeltaFolder, outside: DeltaFolder
) -> None:
    path, ended = table.root / "part.parquet", threading.Event()

    def swap() -> None:
        while not ended.is_set():
            (table.root / "link").symlink_to(outside.root / "part.parquet")
            (table.root / "link").replace(path)
            (table.root / "file").write_text("public")
            (table.root / "file").replace(path)

    writer = threading.Thread(target=swap)
    writer.start()
    try:
        for _ in range(READS):
            with suppress(SluicegateError):
                opened = await storage.open(f"{storage.prefix}table/part.parquet")
                result = await opened.store.get_async(opened.key(""))
                assert bytes(await result.bytes_async()) == b"public"
    finally:
        ended.set()
        writer.join()


async def test_a_pipe_does_not_occupy_a_reader(storage: FileStorage, table: DeltaFolder) -> None:
    directory = await storage.open(f"{storage.prefix}table")
    (table.root / "part.parquet").unlink()
    os.mkfifo(table.root / "part.parquet")
    with pytest.raises(PermissionDenied):
        await directory.store.get_async("table/part.parquet")
