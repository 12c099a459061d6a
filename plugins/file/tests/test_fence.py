"""Nothing outside the root is opened, by any kind of path."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import obstore
import pytest

from sluicegate.api import PermissionDenied, Storage, StorageError, UnsupportedOperation

Build = Callable[[Path], Storage]


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
        await obstore.get_async(directory.store, directory.key(""))


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
        ("alias", "table/_delta_log/../../../root-of-others", "alias"),
    ],
)
async def test_a_symbolic_link_does_not_lead_out(
    storage: Storage, root: Path, table: Path, outside: Path, link: str, target: str, opened: str
) -> None:
    (root / link).parent.mkdir(parents=True, exist_ok=True)
    (root / link).symlink_to(target.format(outside=outside))
    with pytest.raises(PermissionDenied, match="outside the directory"):
        await storage.open(storage.prefix + opened)


@pytest.mark.parametrize(
    ("link", "target", "opened"),
    [
        ("alias", "table", "alias/part.parquet"),
        ("table/again", "../table", "table/again/again/part.parquet"),
        ("table/_delta_log/1.json", "0.json", "table/part.parquet"),
    ],
)
async def test_a_symbolic_link_inside_is_followed(
    storage: Storage, root: Path, table: Path, link: str, target: str, opened: str
) -> None:
    (root / link).symlink_to(target)
    await storage.open(storage.prefix + str(Path(opened).parent))
    directory = await storage.open(storage.prefix + opened)
    assert directory.prefix == "table/part.parquet"


async def test_a_chain_of_links_is_judged_by_its_end(
    storage: Storage, root: Path, outside: Path
) -> None:
    (root / "second").symlink_to(outside / "part.parquet")
    (root / "first").symlink_to("second")
    with pytest.raises(PermissionDenied):
        await storage.open(f"{storage.prefix}first")


async def test_a_symlinked_root_is_the_directory_that_it_leads_to(
    build: Build, root: Path, table: Path, tmp_path: Path
) -> None:
    (tmp_path / "current").symlink_to(root)
    storage = build(tmp_path / "current")
    directory = await storage.open(f"{storage.prefix}table")
    result = await obstore.get_async(directory.store, directory.key("part.parquet"))
    assert (await result.bytes_async()).to_bytes() == b"public"
    with pytest.raises(PermissionDenied):
        await storage.open(f"file://{root}/table")


@pytest.mark.parametrize("name", ["pipe", "table/_delta_log/1.json"])
async def test_what_would_block_a_reader_is_refused(
    storage: Storage, root: Path, table: Path, name: str
) -> None:
    os.mkfifo(root / name)
    with pytest.raises(PermissionDenied):
        await storage.open(storage.prefix + name.partition("/_delta_log")[0])


async def test_a_log_that_cannot_be_listed_is_a_failure_of_the_store(
    storage: Storage, root: Path, table: Path
) -> None:
    loop = root / "looped" / "_delta_log"
    loop.parent.mkdir()
    loop.symlink_to("_delta_log")
    with pytest.raises(StorageError, match="log cannot be read"):
        await storage.open(f"{storage.prefix}looped")


@pytest.mark.parametrize(
    ("link", "target", "opened"),
    [
        ("table/part.link", "../other/part.parquet", "table/part.link"),
        ("table/day=1", "../other", "table/day=1/part.parquet"),
        ("table/deep/day=1", "../../other", "table/deep/day=1/part.parquet"),
        ("table/up", "..", "table/up/other/part.parquet"),
        ("loose/part.link", "../other/part.parquet", "loose/part.link"),
        ("table/_delta_log/1.json", "../../other/_delta_log/0.json", "table"),
        ("bare/_delta_log", "../other/_delta_log", "bare"),
    ],
)
async def test_a_symbolic_link_does_not_lead_to_another_table(
    storage: Storage, root: Path, table: Path, link: str, target: str, opened: str
) -> None:
    (root / "other" / "_delta_log").mkdir(parents=True)
    (root / "other" / "_delta_log" / "0.json").write_text("{}")
    (root / "other" / "part.parquet").write_text("secret")
    (root / link).parent.mkdir(parents=True, exist_ok=True)
    (root / link).symlink_to(target)
    with pytest.raises(PermissionDenied):
        await storage.open(storage.prefix + opened)
    if opened.endswith(("parquet", "link")):
        with pytest.raises(PermissionDenied, match="a location outside of it"):
            await storage.presign([f"{storage.prefix}table/part.parquet", storage.prefix + opened], 60)


async def test_a_name_that_no_link_could_lead_to_is_not_signed(storage: Storage) -> None:
    with pytest.raises(UnsupportedOperation, match="ends with '#' and digits"):
        await storage.presign([f"{storage.prefix}a.parquet", f"{storage.prefix}a.parquet#12"], 60)
