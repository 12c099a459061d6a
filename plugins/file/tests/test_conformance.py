from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from sluicegate.api import Storage
from sluicegate_file.config import FileConfig
from sluicegate_file.storage import FileStorage
from sluicegate_testing.fakes import FakeContext, FakeLinks
from sluicegate_testing.storage import Get, Put, StorageBehaviour, Symlink


class TestFile(StorageBehaviour):
    can_fail = False  # missing files are detected when the opened directory is read
    has_symlinks = True

    @pytest.fixture
    def storage(self, tmp_path: Path) -> Storage:
        return FileStorage(FileConfig(prefix=f"file://{tmp_path}"), FakeContext())

    @pytest.fixture
    def put(self) -> Put:
        async def put(location: str, content: bytes) -> None:
            path = anyio.Path(location.removeprefix("file://"))
            await path.parent.mkdir(parents=True, exist_ok=True)
            await path.write_bytes(content)

        return put

    @pytest.fixture
    def get(self, tmp_path: Path) -> Get:
        async def get(url: str) -> bytes:
            return await anyio.Path(tmp_path, FakeLinks("").location_of(url)).read_bytes()

        return get

    @pytest.fixture
    def symlink(self) -> Symlink:
        async def symlink(location: str, target: Path) -> None:
            path = anyio.Path(location.removeprefix("file://"))
            await path.rename(path.with_name("replaced"))
            await path.symlink_to(target)

        return symlink
