"""What a table's directories would give away, and where its files may lie."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.gateways.vending_files import directory_access
from support.tables.deltalog import Action, DeltaFolder, add, metadata, protocol, remove, vector
from support.tables.snapshots import latest

from sluicegate.api import CatalogCommit, CatalogTable, SharedTable
from sluicegate.protocols.delta_sharing.directory_access.absolute_paths import absolute_directories
from sluicegate.protocols.delta_sharing.directory_access.offer import DirectoryAccess
from sluicegate.tables.snapshot import Snapshot


@pytest.fixture
def lake(tmp_path: Path) -> str:
    (tmp_path / "lake").mkdir()
    return f"file://{tmp_path}/lake"


@pytest.fixture
async def access(lake: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[DirectoryAccess]:
    async with directory_access(tmp_path_factory.mktemp("site"), lake, "sources/") as made:
        yield made


def shared(**options: Any) -> SharedTable:
    whole: dict[str, Any] = {"history": True, "access_modes": ("url", "dir")}
    return SharedTable("1", "sales", "2", "eu", "t", "raw", "t", **(whole | options))


def table(lake: str, name: str = "t", **options: Any) -> CatalogTable:
    return CatalogTable(**({"id": "1", "format": "delta", "location": f"{lake}/{name}"} | options))


async def snapshot(lake: str, *actions: Action, partitioned_by: Sequence[str] = ()) -> Snapshot:
    folder = DeltaFolder(Path(lake.removeprefix("file://")) / "t")
    folder.commit(0, protocol(), metadata(partitioned_by=partitioned_by), *actions)
    return await latest(folder)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ("url", "dir")),
        ({"access_modes": ("dir",)}, ("dir",)),
        ({"access_modes": ("url",)}, ("url",)),
        ({"change_feed": True}, ("url", "dir")),
        ({"history": False}, ("url", "dir")),
        ({"start_version": 1}, ("url",)),
        ({"ref": "audit"}, ("url",)),
        ({"partition_filter": "country = 'DE'"}, ("url",)),
        ({"partition_filter": "country = 'DE'", "access_modes": ("dir",)}, ()),
    ],
)
def test_dir_is_offered_where_it_gives_away_no_more_than_the_share(
    access: DirectoryAccess, lake: str, options: dict[str, Any], expected: tuple[str, ...]
) -> None:
    assert access.modes(shared(**options), table(lake)) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"format": "iceberg"}, ("url",)),
        ({"commits": (CatalogCommit(1, 1, "1.json", 1),)}, ("url",)),
        ({"latest_version": 3}, ("url",)),
    ],
    ids=lambda case: str(*case),
)
def test_dir_is_offered_where_the_log_is_all_of_the_table(
    access: DirectoryAccess, lake: str, source: dict[str, Any], expected: tuple[str, ...]
) -> None:
    assert access.modes(shared(), table(lake, **source)) == expected


@pytest.mark.parametrize(
    ("options", "source", "expected"),
    [
        ({}, {}, "delta"),
        ({}, {"format": "iceberg", "metadata_location": "{lake}/t/metadata/v1.json"}, "delta,iceberg"),
        ({}, {"metadata_location": "{lake}/t/metadata/v1.json"}, "delta,iceberg"),
        ({}, {"metadata_location": "{lake}/elsewhere/v1.json"}, "delta"),
        (
            {"access_modes": ("url",)},
            {"format": "iceberg", "metadata_location": "{lake}/t/metadata/v1.json"},
            "delta",
        ),
        (
            {"access_modes": ("dir",)},
            {"format": "iceberg", "metadata_location": "{lake}/t/metadata/v1.json"},
            "iceberg",
        ),
        ({"access_modes": ("dir",)}, {"format": "iceberg"}, "iceberg"),
    ],
)
def test_a_table_has_the_formats_of_the_protocols_that_can_read_it(
    access: DirectoryAccess,
    lake: str,
    options: dict[str, Any],
    source: dict[str, str],
    expected: str,
) -> None:
    said = {name: value.format(lake=lake) for name, value in source.items()}
    assert access.formats(shared(**options), table(lake, **said)) == expected


def test_dir_is_offered_where_every_location_is_vended(access: DirectoryAccess, lake: str) -> None:
    def modes(*auxiliary: str, root: str = f"{lake}/t") -> tuple[str, ...]:
        return access.modes(shared(), table(lake, location=root, auxiliary_locations=auxiliary))

    assert modes(f"{lake}/more") == ("url", "dir")
    assert modes(root=f"{lake}/sealed") == ("url",)
    assert modes(f"{lake}/sealed/t") == ("url",)
    assert modes("s3://unserved/t") == ("url",)


def test_locations_are_the_root_then_the_catalogs_without_nested_ones(
    access: DirectoryAccess, lake: str
) -> None:
    named = (f"{lake}/b/", f"{lake}/b/inner", f"{lake}/t/inner", f"{lake}/t2", f"{lake}/b")
    found = access.locations(table(lake, auxiliary_locations=named))
    assert found == (f"{lake}/t", f"{lake}/b", f"{lake}/t2")


async def test_absolute_paths_add_the_directories_that_the_storage_allows(
    access: DirectoryAccess, lake: str
) -> None:
    source = table(lake, auxiliary_locations=(f"{lake}/more",))
    places = ("t", "more/day=1", "sources/b", "sources/a/day=1", "sources/a/day=2", "sources/a")
    read = await snapshot(
        lake, *(add(f"{lake}/{place}/f.parquet") for place in places), partitioned_by=["day"]
    )
    wanted = tuple(f"{lake}/{place}" for place in ("t", "more", "sources/a", "sources/b"))
    assert access.locations(source, read) == wanted
    assert access.modes(shared(), source, read) == ("url", "dir")


@pytest.mark.parametrize("place", ["secret", "sources/../secret", "sources2", "."])
async def test_dir_is_not_offered_where_the_log_names_what_is_not_allowed(
    access: DirectoryAccess, lake: str, place: str
) -> None:
    read = await snapshot(lake, add(f"{lake}/{place}/f.parquet"), add(f"{lake}/sources/f.parquet"))
    assert access.modes(shared(), table(lake), read) == ("url",)
    assert access.locations(table(lake), read) == (f"{lake}/t",)


@pytest.mark.parametrize(("directories", "expected"), [(15, ("url", "dir")), (16, ("url",))])
async def test_dir_is_offered_for_few_directories(
    access: DirectoryAccess, lake: str, directories: int, expected: tuple[str, ...]
) -> None:
    files = (add(f"{lake}/sources/{number}/f.parquet") for number in range(directories))
    assert access.modes(shared(), table(lake), await snapshot(lake, *files)) == expected


def absolute_vector(path: str) -> Action:
    return {**vector(path), "storageType": "p"}


@pytest.mark.parametrize(
    ("actions", "partitioned_by", "expected"),
    [
        ([], [], ()),
        ([add("a.parquet")], [], ()),
        ([add("s3://b/t/a.parquet")], [], ("s3://b/t",)),
        ([add("s3://b/a.parquet")], [], ("s3://b",)),
        ([add("s3://b/t/x=1/y=2/a.parquet")], ["x", "y"], ("s3://b/t",)),
        ([add("s3://b/t/x=1/y=2/a.parquet")], ["y"], ("s3://b/t/x=1",)),
        ([add("s3://b/t/x=1/x=2/a.parquet")], ["x"], ("s3://b/t/x=1",)),
        ([add("s3://b/t/x/a.parquet")], ["x"], ("s3://b/t/x",)),
        ([add("a.parquet", deletionVector=absolute_vector("s3://b/v.bin"))], [], ("s3://b",)),
        ([add("s3://c/a.parquet"), add("s3://b/a.parquet")], [], ("s3://b", "s3://c")),
    ],
    ids=str,
)
async def test_directories_of_absolute_paths(
    lake: str, actions: list[Action], partitioned_by: list[str], expected: tuple[str, ...]
) -> None:
    read = await snapshot(lake, *actions, partitioned_by=partitioned_by)
    assert absolute_directories(read) == expected


async def test_files_that_were_removed_do_not_count(lake: str) -> None:
    folder = DeltaFolder(Path(lake.removeprefix("file://")) / "t")
    folder.commit(0, protocol(), metadata(), add("s3://b/a.parquet"), add("s3://c/a.parquet"))
    first = await latest(folder)
    assert absolute_directories(first) == ("s3://b", "s3://c")
    folder.commit(1, remove("s3://b/a.parquet"), add("b.parquet"))
    assert absolute_directories(await latest(folder, first)) == ("s3://c",)
