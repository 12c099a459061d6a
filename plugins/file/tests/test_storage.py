from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sluicegate.api import (
    ConfigurationError,
    ObjectDirectory,
    PermissionDenied,
    Storage,
    UnsupportedOperation,
)

Build = Callable[[Path], Storage]

AWKWARD_NAMES = [
    "plain.parquet",
    "a b.parquet",
    "p%20q.parquet",
    "%2e%2e",
    "100%.parquet",
    "h#1.parquet",
    "q?y=1&z.parquet",
    "day=2024-01-01 10%3A00%3A00/part.parquet",
    "t#1/part.parquet",
    "größe-日本-🌊.parquet",
    "decomposed-e\u0301.parquet",
    "quo\"te'`^|~$!*@:<>.parquet",
    "back\\slash.parquet",
    "...",
    " ",
]


async def keys(directory: ObjectDirectory) -> list[str]:
    listed = await directory.store.list(directory.prefix or None).collect_async()
    return sorted(entry["path"] for entry in listed)


async def read(directory: ObjectDirectory, name: str = "") -> bytes:
    result = await directory.store.get_async(directory.key(name))
    return (await result.bytes_async()).to_bytes()


@pytest.mark.parametrize("name", AWKWARD_NAMES)
async def test_a_name_is_the_same_in_listing_key_location_and_link(
    storage: Storage, root: Path, name: str
) -> None:
    path = root / "table" / name
    path.parent.mkdir(parents=True)
    path.write_text(name)
    directory = await storage.open(f"{storage.prefix}table")
    assert await keys(directory) == [f"table/{name}"]
    assert await read(directory, name) == name.encode()
    assert await read(await storage.open(f"{storage.prefix}table/{name}")) == name.encode()
    signed = await storage.presign([f"{storage.prefix}table/{name}"], 60)
    assert signed.urls == [f"https://gateway.example/table/{name}"]


@pytest.mark.parametrize("location", ["{prefix}", "file://{root}"])
async def test_the_root_itself_can_be_opened(storage: Storage, root: Path, location: str) -> None:
    (root / "file").write_bytes(b"x")
    directory = await storage.open(location.format(prefix=storage.prefix, root=root))
    assert directory.prefix == ""
    assert await keys(directory) == ["file"]


@pytest.mark.parametrize("slash", ["", "/"])
async def test_a_directory_opens_with_and_without_its_slash(
    storage: Storage, root: Path, slash: str
) -> None:
    (root / "table").mkdir()
    assert (await storage.open(f"{storage.prefix}table{slash}")).key("part") == "table/part"


async def test_what_is_missing_is_missing_when_it_is_read(storage: Storage) -> None:
    directory = await storage.open(f"{storage.prefix}no/table")
    with pytest.raises(FileNotFoundError):
        await read(directory, "_delta_log/_last_checkpoint")


@pytest.mark.parametrize("name", ["new\nline", "tab\t", "\x7f", "part#0", "part.parquet#12"])
async def test_names_that_the_store_cannot_address_are_refused_as_such(
    storage: Storage, root: Path, name: str
) -> None:
    (root / name).write_bytes(b"x")
    with pytest.raises(UnsupportedOperation, match="cannot read a file"):
        await storage.open(storage.prefix + name)


async def test_only_locations_below_the_prefix_are_signed(storage: Storage) -> None:
    for foreign in ("file:///etc/passwd", storage.prefix[:-1] + "-other/x", "s3://lake/x", "x"):
        with pytest.raises(PermissionDenied):
            await storage.presign([f"{storage.prefix}mine", foreign], 60)


async def test_links_live_as_long_as_requested(storage: Storage) -> None:
    assert (await storage.presign([], 60)).expires_at == 60_000


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.write_text("a file")])
def test_a_root_that_is_no_directory_is_refused_at_start(
    build: Build, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "srv")
    with pytest.raises(ConfigurationError, match=r"the directory .*/srv does not exist: create it"):
        build(tmp_path / "srv")
