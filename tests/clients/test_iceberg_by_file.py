"""Every reader table through the Iceberg catalog, read by PyIceberg file by file.

None of them has Iceberg metadata. PyIceberg plans scans by itself, from generated manifests, or lets
the gateway plan them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import BadRequestError, NoSuchTableError
from support.gateways.reader_gateway import SCHEMA, SHARE, ReaderGateway
from support.tables.reader_tables.tables import served_tables

from sluicegate.cli.demo.reading import difference

pytestmark = [
    pytest.mark.filterwarnings("ignore:Iceberg does not yet support 'ns'"),
    # s3fs leaves the connections of its clients to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

PLANNING: Mapping[str, dict[str, str]] = {
    "by itself": {},
    "by the gateway": {"scan-planning-mode": "server"},
}
SERVED = served_tables()
ROWS = [name for name, each in SERVED.items() if each.unreadable is None and each.stand_ins is None]
NO_IDS = "whose values have no field ids in the files"
# Tables that Iceberg clients cannot read; loading one says why.
INEXPRESSIBLE = {
    "mapped-by-id": NO_IDS,
    "mapped-by-name": NO_IDS,
    "table-with-columnmapping-mode-id": NO_IDS,
    "table-with-columnmapping-mode-name": NO_IDS,
}
# PyIceberg 0.12 cannot read these in a plan of a server; the plan says so.
NOT_PLANNED = {
    "partitions-of-decimals": "cannot read as decimal",
    "basic-decimal-table": "cannot read as decimal",
    "basic-decimal-table-legacy": "cannot read as decimal",
}
# PyIceberg 0.12 does not merge what its Parquet reader makes of two writers' texts.
UNMERGED = {"history-deleted-and-checkpointed"}
READ = [name for name in ROWS if name not in INEXPRESSIBLE and name not in UNMERGED]


@cache
def catalog(profile: str, planning: str) -> RestCatalog:
    """The share, as a recipient's PyIceberg finds it by the profile."""
    known = json.loads(profile)
    return RestCatalog(
        "share",
        uri=known["icebergEndpoint"],
        warehouse=SHARE,
        token=known["bearerToken"],
        **PLANNING[planning],
    )


def read(readers: ReaderGateway, name: str, planning: str) -> pd.DataFrame:
    """The rows of a table."""
    found = catalog(readers.recipient.profile.read_text(), planning).load_table((SCHEMA, name))
    frame: pd.DataFrame = without_null_lists(found.scan().to_arrow()).to_pandas()
    return frame


def without_null_lists(rows: pa.Table) -> pa.Table:
    """PyIceberg 0.12 reads some null lists and maps as empty ones."""
    for place, field in enumerate(rows.schema):
        if pa.types.is_nested(field.type) and not pa.types.is_struct(field.type):
            values = [each or [] for each in rows.column(place).to_pylist()]
            rows = rows.set_column(place, field.name, pa.array(values, field.type))
    return rows


def expected(readers: ReaderGateway, name: str) -> pa.Table:
    """The rows of a table as PyIceberg can return them."""
    rows = readers.expected(name)
    if (zone := SERVED[name].zone) is not None:  # without a zone, partition values are read as UTC
        column, local_zone = zone
        local = pc.local_timestamp(rows[column].cast(pa.timestamp("us", local_zone)))
        place = rows.schema.get_field_index(column)
        rows = rows.set_column(place, column, local.cast(pa.timestamp("us", "UTC")))
    return without_null_lists(rows)


# For each change, each table is read in one of the ways, in turn.
READINGS = [
    pytest.param(
        name,
        planning,
        marks=() if number % 2 == turn else pytest.mark.night("test_a_table_gives_its_rows"),
    )
    for number, name in enumerate(READ)
    for turn, planning in enumerate(PLANNING)
]


@pytest.mark.parametrize(("name", "planning"), READINGS)
def test_a_table_gives_its_rows(readers: ReaderGateway, name: str, planning: str) -> None:
    if planning == "by the gateway" and name in NOT_PLANNED:
        with pytest.raises(BadRequestError, match=NOT_PLANNED[name]):
            read(readers, name, planning)
        return
    found = difference(expected(readers, name), read(readers, name, planning))
    assert found is None, found


@pytest.mark.parametrize("name", [name for name in INEXPRESSIBLE if name in SERVED])
def test_a_table_that_iceberg_cannot_express_says_why(readers: ReaderGateway, name: str) -> None:
    with pytest.raises(NoSuchTableError, match=INEXPRESSIBLE[name]):
        read(readers, name, "by itself")


def test_the_listing_has_the_tables_that_can_be_loaded(readers: ReaderGateway) -> None:
    listed: set[Any] = {
        name
        for _, name in catalog(readers.recipient.profile.read_text(), "by itself").list_tables(SCHEMA)
    }
    assert set(READ) <= listed
    assert not listed & set(INEXPRESSIBLE)
