"""Iceberg tables that are shared in part, by identity partitions, at every protocol."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import BadRequestError, NoSuchTableError
from pyiceberg.table import Table
from support.clients.recipient import Recipient, refusal_of
from support.gateways.iceberg_sharing import PART, SHARE, IcebergSharing
from support.tables.iceberg_deletes import data_files, delete_positions

pytestmark = [
    pytest.mark.filterwarnings("ignore:The behavior of DataFrame concatenation:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:Delete operation did not match any records:UserWarning"),
]

PLANNING: Mapping[str, dict[str, str]] = {
    "by itself": {},
    "by the gateway": {"scan-planning-mode": "server"},
}
ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3, 4, 5], pa.int64()),
        "country": ["DE", "FR", "DE", None, ""],
    }
)


def partitioned(lake: IcebergSharing, rows: pa.Table = ROWS, **options: Any) -> tuple[str, Table]:
    """A table that is partitioned by country."""
    name, table = lake.table(rows.schema, **options)
    with table.update_spec() as spec:
        spec.add_identity("country")
    table.append(rows)
    return name, table


def catalog(recipient: Recipient, planning: str) -> RestCatalog:
    known = json.loads(recipient.profile.read_text())
    return RestCatalog(
        "share",
        uri=known["icebergEndpoint"],
        warehouse=SHARE,
        token=known["bearerToken"],
        **PLANNING[planning],
    )


def ids(frame: Any) -> list[int]:
    return sorted(frame["id"].to_pylist() if isinstance(frame, pa.Table) else frame["id"])


def test_a_recipient_gets_its_partition_in_both_formats(lake: IcebergSharing) -> None:
    name, _ = partitioned(lake)
    recipient = lake.at(PART)
    assert ids(recipient.read(name, use_delta_format=False)) == [1, 3]
    assert ids(recipient.read(name, use_delta_format=True)) == [1, 3]


@pytest.mark.parametrize("planning", PLANNING)
def test_a_recipient_gets_its_partition_by_the_iceberg_catalog(
    lake: IcebergSharing, planning: str
) -> None:
    name, table = partitioned(lake)
    delete_positions(table, {next(path for path in data_files(table) if "DE" in path): [0]})
    found = catalog(lake.at(PART), planning).load_table((PART, name))
    assert ids(found.scan().to_arrow()) == [3]
    assert ids(found.scan("country = 'FR'").to_arrow()) == []
    assert ids(found.scan("id > 0", selected_fields=("id",)).to_arrow()) == [3]


@pytest.mark.parametrize("use_delta_format", [False, True])
def test_changes_are_those_of_the_partition(lake: IcebergSharing, use_delta_format: bool) -> None:
    name, table = partitioned(lake)
    table.append(pa.table({"id": pa.array([6, 7], pa.int64()), "country": ["FR", "DE"]}))
    table.delete("id = 2")
    table.delete("id = 3")
    found = lake.at(PART).changes(name, use_delta_format=use_delta_format, starting_version=1)
    changes = sorted(zip(found["_change_type"], found["id"], strict=True))
    assert changes == [
        ("delete", 1), ("delete", 3), ("insert", 1), ("insert", 1), ("insert", 3), ("insert", 7),
    ]  # fmt: skip


def test_responses_of_delta_sharing_name_no_partition_columns(lake: IcebergSharing) -> None:
    """Data files of Iceberg tables contain all columns."""
    name, _ = partitioned(lake)
    with lake.at(PART).client() as client:
        answer = client.list_files_in_table(lake.at(PART).named(name))
    assert answer.metadata.partition_columns == []
    assert [file.partition_values for file in answer.add_files] == [{}]


@pytest.mark.parametrize(
    ("type_", "shared", "other"),
    [
        (pa.string(), "DE", "FR"),
        (pa.large_string(), "DE", "DE "),
    ],
)
def test_values_are_compared_exactly(
    lake: IcebergSharing, type_: pa.DataType, shared: Any, other: Any
) -> None:
    rows = pa.table({"id": pa.array([1, 2], pa.int64()), "country": pa.array([shared, other], type_)})
    name, _ = partitioned(lake, rows)
    assert ids(lake.at(PART).read(name)) == [1]


def test_a_column_keeps_its_partitions_when_it_is_renamed(lake: IcebergSharing) -> None:
    name, table = partitioned(lake)
    with table.update_schema() as update:
        update.rename_column("country", "land")
    refusal = refusal_of(lambda: lake.at(PART).read(name, use_delta_format=True))
    assert "by its column 'country', which does not partition" in refusal.message
    with table.update_schema() as update:
        update.rename_column("land", "country")
    assert ids(lake.at(PART).read(name, use_delta_format=True)) == [1, 3]


def test_files_of_before_the_partitioning_are_refused(lake: IcebergSharing) -> None:
    """Such a file can have rows of all partitions."""
    name, table = lake.table(ROWS.schema)
    table.append(ROWS)
    recipient = lake.at(PART)
    message = "which does not partition this version"
    assert message in refusal_of(lambda: recipient.read(name)).message
    with table.update_spec() as spec:
        spec.add_identity("country")
    table.append(ROWS)
    message = "some of its files are not partitioned by the column 'country'"
    assert message in refusal_of(lambda: recipient.read(name)).message
    with pytest.raises((NoSuchTableError, BadRequestError), match="not partitioned by the column"):
        catalog(recipient, "by itself").load_table((PART, name))
    table.overwrite(ROWS)
    assert ids(recipient.read(name)) == [1, 3]


def test_a_table_without_the_column_is_refused(lake: IcebergSharing) -> None:
    name, table = lake.table(pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": pa.array([1], pa.int64())}))
    message = refusal_of(lambda: lake.at(PART).read(name)).message
    assert "by its column 'country', which does not partition this version" in message
