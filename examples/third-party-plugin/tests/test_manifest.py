from pathlib import Path

import pytest
from sluicegate_manifest.catalog import ManifestCatalog
from sluicegate_manifest.config import ManifestConfig
from sluicegate_manifest.manifest import BrokenManifestError, read_manifest

from sluicegate.api import Unavailable
from sluicegate_testing.fakes import FakeContext

HEADER = "schema,table,location\n"


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_csv_and_yaml_say_the_same(tmp_path: Path) -> None:
    as_csv = write(tmp_path, "t.csv", HEADER + "eu,orders,s3://lake/orders/\n")
    as_yaml = write(tmp_path, "t.yaml", "eu: {orders: 's3://lake/orders'}\n")
    expected = {"eu": {"orders": "s3://lake/orders"}}
    assert read_manifest(as_csv) == read_manifest(as_yaml) == expected


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", "", "line 1: the columns must be schema, table, location"),
        ("t.csv", "schema,name\neu,orders\n", "line 1: the columns must be"),
        ("t.csv", HEADER + "eu,orders,/srv/orders\n", "line 2: a location must start with a scheme"),
        ("t.csv", HEADER + "eu,,s3://lake/orders\n", "line 2: set the names of the schema"),
        ("t.csv", HEADER + "e.u,orders,s3://lake/orders\n", "line 2: set the names of the schema"),
        ("t.csv", HEADER + "eu,orders\n", "line 2: a location"),
        (
            "t.csv",
            HEADER + "eu,a,s3://lake/a\neu,a,s3://lake/b\n",
            "line 3: the table 'eu.a' is listed twice",
        ),
        ("t.csv", HEADER + '"eu', "line 1: unexpected end of data"),
        ("t.yaml", "eu: [orders]\n", "schema 'eu' must be a mapping"),
        ("t.yaml", "- eu\n", "the manifest must be a mapping"),
        ("t.yaml", "eu: {", "the file is not valid YAML"),
    ],
)
def test_a_broken_manifest_says_where(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(BrokenManifestError) as caught:
        read_manifest(write(tmp_path, name, text))
    assert str(caught.value).startswith(message)


def test_a_file_that_is_not_text_is_broken(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(BrokenManifestError):
        read_manifest(path)


def test_only_known_suffixes_are_configured() -> None:
    with pytest.raises(ValueError, match="suffix must be one of"):
        ManifestConfig(file=Path("tables.json"))


async def test_the_catalog_follows_the_file_and_comes_back_after_a_fault(tmp_path: Path) -> None:
    file = write(tmp_path, "t.csv", HEADER + "eu,orders,s3://lake/orders\n")
    catalog = ManifestCatalog(ManifestConfig(file=file), FakeContext("lake"))
    assert await catalog.list_tables("eu") == ["orders"]
    for fault in (lambda: write(tmp_path, "t.csv", "broken"), file.unlink):
        fault()
        with pytest.raises(Unavailable) as caught:
            await catalog.list_schemas()
        assert str(file) not in caught.value.message
    write(tmp_path, "t.csv", HEADER + "us,visits,s3://lake/visits\n")
    assert await catalog.list_schemas() == ["us"]


async def test_a_table_that_moves_is_another_table(tmp_path: Path) -> None:
    file = write(tmp_path, "t.csv", HEADER + "eu,orders,s3://lake/orders\n")
    catalog = ManifestCatalog(ManifestConfig(file=file), FakeContext())
    before = await catalog.load_table("eu.orders")
    write(tmp_path, "t.csv", HEADER + "eu,orders,s3://lake/moved-orders\n")
    assert (await catalog.load_table("eu.orders")).id != before.id
