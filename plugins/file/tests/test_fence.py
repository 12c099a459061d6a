"""Nothing outside the root is opened, by any kind of path."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import obstore
import pytest
from anyio import to_thread
from obstore.exceptions import BaseError
from obstore.store import ObjectStore

from sluicegate.api import PermissionDenied, Storage, UnsupportedOperation
from sluicegate_file import beneath

Build = Callable[[Path], Storage]
Read = Callable[[], Awaitable[object]]


@pytest.fixture(params=["openat2", "by name"])
def storage(
    build: Build, root: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Storage:
    """A storage for each way to open files."""
    if request.param == "by name":
        monkeypatch.setattr(beneath, "kernel_open", lambda directory: None)
    elif beneath.kernel_open(str(root)) is None:
        pytest.skip("this kernel has no openat2")
    return build(root)


async def read_all(storage: Storage, location: str) -> None:
    """Open a location, and read all files below it."""
    directory = await storage.open(location)
    for item in await directory.store.list(directory.prefix).collect_async():
        await directory.store.get_async(item["path"])


def all_reads(store: ObjectStore, key: str) -> list[Read]:
    """All ways to read a file."""
    return [
        lambda: store.get_async(key),
        lambda: to_thread.run_sync(store.get, key),
        lambda: store.head_async(key),
        lambda: store.get_range_async(key, start=0, end=1),
        lambda: store.get_ranges_async(key, starts=[0], ends=[1]),
    ]


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Create a table next to the root, whose name starts with the root's name."""
    log = tmp_path / "root-of-others" / "_delta_log"
    log.mkdir(parents=True)
    (log / "0.json").write_text("{}")
    (log.parent / "part.parquet").write_text("secret")
    return log.parent


@pytest.fixture
def table(root: Path) -> Path:
    log = root / "table" / "_delta_log"
    log.mkdir(parents=True)
    (log / "0.json").write_text("{}")
    (log.parent / "part.parquet").write_text("public")
    return log.parent


@pytest.mark.parametrize(
    "location",
    [
        "{prefix}../root-of-others",
        "{prefix}table/../../root-of-others/part.parquet",
        "{prefix}table/..",
        "{prefix}..",
        "{prefix}.",
        "{prefix}./table",
        "{prefix}/table",
        "{prefix}table//part.parquet",
        "{prefix}table/part.parquet\0",
        "{prefix}\0",
        "file://{outside}",
        "file://{outside}/part.parquet",
        "file:///etc/passwd",
        "file:/etc/passwd",
        "file://localhost{outside}",
        "{outside}",
        "s3://root/table",
        "",
    ],
)
async def test_a_location_outside_is_refused(
    storage: Storage, table: Path, outside: Path, location: str
) -> None:
    with pytest.raises(PermissionDenied) as refused:
        await storage.open(location.format(prefix=storage.prefix, outside=outside))
    assert str(outside.parent) not in refused.value.message


async def test_encoded_dots_are_a_plain_name(storage: Storage, outside: Path) -> None:
    directory = await storage.open(f"{storage.prefix}%2e%2e/{outside.name}/part.parquet")
    with pytest.raises(FileNotFoundError):
        await directory.store.get_async(directory.key(""))


@pytest.mark.parametrize(
    ("link", "target", "opened"),
    [
        ("away", "../root-of-others", "away"),
        ("away", "{outside}", "away/part.parquet"),
        ("table/part.link", "{outside}/part.parquet", "table/part.link"),
        ("table/day=1", "../../root-of-others", "table/day=1/part.parquet"),
        ("up", "..", "up/root-of-others/part.parquet"),
        ("slash", "/", "slash/etc/passwd"),
        ("table/_delta_log/1.json", "{outside}/_delta_log/0.json", "table"),
        ("table/_delta_log/_sidecars", "{outside}", "table"),
        ("table/_delta_log/_sidecars", "..", "table"),
        ("table/_delta_log/_staged_commits/1.json", "{outside}/_delta_log/0.json", "table"),
        ("bare/_delta_log", "{outside}/_delta_log", "bare"),
        ("bare/_delta_log", "_delta_log", "bare"),
        ("alias", "table/_delta_log/../../../root-of-others", "alias"),
        ("alias", "table", "alias"),
        ("alias", "table", "alias/part.parquet"),
        ("table/again", "../table", "table/again/part.parquet"),
        ("table/_delta_log/1.json", "0.json", "table"),
        ("table/part.link", "../other/part.parquet", "table/part.link"),
        ("table/deep/day=1", "../../other", "table/deep/day=1/part.parquet"),
    ],
)
async def test_no_symbolic_link_is_followed(
    storage: Storage, root: Path, table: Path, outside: Path, link: str, target: str, opened: str
) -> None:
    (root / "other").mkdir()
    (root / "other" / "part.parquet").write_text("secret")
    (root / link).parent.mkdir(parents=True, exist_ok=True)
    (root / link).symlink_to(target.format(outside=outside))
    with pytest.raises(PermissionDenied, match="contains a symbolic link"):
        await read_all(storage, storage.prefix + opened)
    if opened.endswith(("parquet", "link")):
        with pytest.raises(PermissionDenied, match="contains a symbolic link"):
            await storage.presign([f"{storage.prefix}table/part.parquet", storage.prefix + opened], 60)


@pytest.mark.parametrize("name", ["table/part.parquet", "table/_delta_log/0.json"])
async def test_a_file_that_becomes_a_link_after_it_was_opened_is_not_read(
    storage: Storage, root: Path, table: Path, outside: Path, name: str
) -> None:
    directory = await storage.open(f"{storage.prefix}table")
    (root / name).unlink()
    (root / name).symlink_to(outside / "part.parquet")
    for read in all_reads(directory.store, name):
        with pytest.raises(PermissionDenied, match="contains a symbolic link"):
            await read()


@pytest.mark.parametrize("name", ["table", "table/_delta_log", "table/day=1"])
async def test_a_directory_that_becomes_a_link_after_it_was_opened_is_not_read(
    storage: Storage, root: Path, table: Path, outside: Path, name: str
) -> None:
    (table / "day=1").mkdir()
    directory = await storage.open(f"{storage.prefix}table")
    (root / name).rename(root / "moved")
    (root / name).symlink_to(outside)
    for read in all_reads(directory.store, f"{name}/part.parquet"):
        with pytest.raises(PermissionDenied, match="contains a symbolic link"):
            await read()
    for prefix in (name, f"{name}/_delta_log"):
        with pytest.raises(PermissionDenied, match="contains a symbolic link"):
            await directory.store.list(prefix).collect_async()
        with pytest.raises(PermissionDenied, match="contains a symbolic link"):
            await directory.store.list_with_delimiter_async(prefix)
    listed = await directory.store.list().collect_async()
    assert not any(item["path"].startswith(f"{name}/") for item in listed)


async def test_links_and_pipes_are_listed_and_not_read(
    storage: Storage, root: Path, table: Path, outside: Path
) -> None:
    (table / "link").symlink_to(outside / "part.parquet")
    (table / "folder").symlink_to(outside)
    os.mkfifo(table / "pipe")
    directory = await storage.open(f"{storage.prefix}table")
    listed = await directory.store.list_with_delimiter_async("table")
    assert listed["common_prefixes"] == ["table/_delta_log"]
    found = {item["path"] for item in listed["objects"]}
    assert found == {f"table/{name}" for name in ("part.parquet", "link", "folder", "pipe")}
    for key in found - {"table/part.parquet"}:
        with pytest.raises(PermissionDenied):
            await directory.store.get_async(key)


async def test_functions_of_obstore_find_nothing(storage: Storage, table: Path) -> None:
    directory = await storage.open(f"{storage.prefix}table")
    with pytest.raises(BaseError):
        await obstore.get_async(directory.store, "table/part.parquet")
    with pytest.raises(BaseError):
        obstore.put(directory.store, "table/part.parquet", b"")
    assert (table / "part.parquet").read_text() == "public"


async def test_a_symlinked_root_is_the_directory_that_it_leads_to(
    build: Build, root: Path, table: Path, tmp_path: Path
) -> None:
    (tmp_path / "current").symlink_to(root)
    storage = build(tmp_path / "current")
    directory = await storage.open(f"{storage.prefix}table")
    result = await directory.store.get_async(directory.key("part.parquet"))
    assert (await result.bytes_async()).to_bytes() == b"public"
    with pytest.raises(PermissionDenied):
        await storage.open(f"file://{root}/table")


@pytest.mark.parametrize("name", ["pipe", "table/_delta_log/1.json"])
async def test_what_would_block_a_reader_is_refused(
    storage: Storage, root: Path, table: Path, name: str
) -> None:
    os.mkfifo(root / name)
    with pytest.raises(PermissionDenied, match="only files and directories"):
        await read_all(storage, storage.prefix + name.partition("/_delta_log")[0])


async def test_a_name_that_no_link_could_lead_to_is_not_signed(storage: Storage) -> None:
    with pytest.raises(UnsupportedOperation, match="ends with '#' and digits"):
        await storage.presign([f"{storage.prefix}a.parquet", f"{storage.prefix}a.parquet#12"], 60)
