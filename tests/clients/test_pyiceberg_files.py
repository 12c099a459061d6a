"""Data files that differ from what the log says, read by PyIceberg.

PyIceberg fails if the mapping of names to field ids lacks a name of a file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.table import Table
from support.clients.iceberg_reading import PLANNING
from support.gateways.gateway import running_gateway, write_configuration
from support.tables.deltalog import add, protocol

pytestmark = [
    # s3fs leaves the connections of its clients to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def column(name: str, type_: Any = "long", **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": type_, "nullable": True, "metadata": metadata}


def write_table(
    folder: Path,
    columns: Sequence[dict[str, Any]],
    rows: pa.Table,
    vector: str | None = None,
    **configuration: str,
) -> None:
    """A table of one version, as after a cleanup of its log, with one file without field ids."""
    (folder / "_delta_log").mkdir(parents=True)
    pq.write_table(rows, folder / "part.parquet")
    schema = json.dumps({"type": "struct", "fields": columns})
    described = {
        "id": folder.name,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema,
        "partitionColumns": [],
        "configuration": configuration,
        "createdTime": 1,
    }
    size = (folder / "part.parquet").stat().st_size
    deleted = {"storageType": "i", "pathOrInlineDv": vector, "sizeInBytes": 40, "cardinality": 1}
    vectors = {} if vector is None else {"deletionVector": deleted}
    actions = [
        protocol(2) if vector is None else protocol(3, "deletionVectors"),
        {"metaData": described},
        add("part.parquet", size=size, **vectors),
    ]
    log = "\n".join(map(json.dumps, actions))
    (folder / "_delta_log" / f"{0:020}.json").write_text(log + "\n")


def write_tables(lake: Path) -> None:
    """All tables, which have the rows 1 and 2 in their only column, or `a` of a struct."""
    ids = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "id"}
    pairs = pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64()))
    rows = pa.table({"id": [1, 2], "s": ["x", None], "l": [[1], []], "m": pairs})
    mapping = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "4"}
    write_table(lake / "dropped", [column("id", **ids)], rows, **mapping)
    inner = {"type": "struct", "fields": [column("a")]}
    struct = pa.array([{"a": 1, "b": [7]}, {"a": 2, "b": None}])
    write_table(lake / "nested", [column("id", inner)], pa.table({"id": struct}))
    write_table(lake / "cased", [column("Id")], pa.table({"id": [1, 2]}))
    write_table(lake / "gone", [column("id")], pa.table({"id": [1, 2]}))
    (lake / "gone" / "part.parquet").unlink()
    write_table(lake / "damaged", [column("id")], pa.table({"id": [1, 2]}), vector="x" * 20)


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    folder = tmp_path_factory.mktemp("file-names")
    lake = folder / "lake"
    write_tables(lake)
    tables = {
        each.name: {"catalog": "raw", "table": f"file://{each}", "history": True}
        for each in lake.iterdir()
    }
    write_configuration(
        folder,
        {
            "catalogs": {"raw": {"type": "paths"}},
            "storage": [{"type": "file", "prefix": f"file://{lake}/"}],
        },
        {
            "shares": {"names": {"schemas": {"delta": {"tables": tables}}}},
            "recipients": {"acme": {"shares": ["names"]}},
        },
    )
    with running_gateway(folder) as running:
        yield json.loads(running.profile("acme").read_text())


@pytest.mark.parametrize("planning", PLANNING)
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dropped", {"id": [1, 2]}),
        ("nested", {"id": [{"a": 1}, {"a": 2}]}),
        ("cased", {"Id": [1, 2]}),
    ],
)
def test_names_that_only_a_file_has_are_mapped(
    profile: dict[str, str], name: str, expected: dict[str, Any], planning: dict[str, str]
) -> None:
    found = loaded(profile, name, planning)
    assert found.scan().to_arrow().to_pydict() == expected


@pytest.mark.parametrize("planning", PLANNING)
def test_a_missing_file_is_not_found(profile: dict[str, str], planning: dict[str, str]) -> None:
    with pytest.raises(FileNotFoundError, match=r"part\.parquet"):
        loaded(profile, "gone", planning).scan().to_arrow()


def test_the_reason_why_a_file_cannot_be_made_is_shown(profile: dict[str, str]) -> None:
    with pytest.raises(OSError, match="contains a malformed deletion vector"):
        loaded(profile, "damaged", {}).scan().to_arrow()


def loaded(profile: dict[str, str], name: str, planning: dict[str, str]) -> Table:
    """A table, as a recipient loads it."""
    share = RestCatalog(
        "share",
        uri=profile["icebergEndpoint"],
        warehouse="names",
        token=profile["bearerToken"],
        **planning,
    )
    table: Table = share.load_table(("delta", name))
    return table
