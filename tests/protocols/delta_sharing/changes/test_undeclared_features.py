"""Features that a table's contents need and its protocol lacks: every response requires them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from protocols.delta_sharing.changes.logs import FEED, commit
from support.clients.change_answers import feed, stream
from support.clients.recipient import refusal_of
from support.gateways.shared_lake import LakeTable, SharedLake
from support.tables.deltalog import Action, add, metadata

PREFIX = "delta.columnMapping."
UNDECLARED: Mapping[str, Mapping[str, Any]] = {
    "versions": {"minReaderVersion": 1, "minWriterVersion": 4},
    "empty list": {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": [],
        "writerFeatures": ["columnMapping", "changeDataFeed"],
    },
}


def column(kind: Any, **noted: Any) -> dict[str, Any]:
    return {"name": "customer", "type": kind, "nullable": True, "metadata": noted}


def mapped(physical: str) -> dict[str, Any]:
    return column("long", **{f"{PREFIX}id": 1, f"{PREFIX}physicalName": physical})


BY_NAME, BY_ID = ({f"{PREFIX}mode": mode, f"{PREFIX}maxColumnId": "1"} for mode in ("name", "id"))
# By feature: a column, and properties.
NEEDS: Mapping[str, tuple[dict[str, Any], dict[str, str]]] = {
    "columnMapping": (mapped("col-1"), BY_NAME),
    "timestampNtz": (column("timestamp_ntz"), {}),
    "typeWidening": (
        column("long", **{"delta.typeChanges": [{"fromType": "integer", "toType": "long"}]}),
        {},
    ),
    "variantType": (column("variant"), {}),
    "geospatial": (column("geometry(OGC:CRS84)"), {}),
}


def described(field: Mapping[str, Any], properties: Mapping[str, str]) -> Action:
    action = metadata(**FEED)
    action["metaData"]["schemaString"] = json.dumps({"type": "struct", "fields": [field]})
    action["metaData"]["configuration"] |= properties
    return action


def data_file(table: LakeTable, name: str, column: str, values: list[int], **noted: str) -> Action:
    table.root.mkdir(exist_ok=True)
    schema = pa.schema([pa.field(column, pa.int64(), metadata=noted or None)])
    pq.write_table(pa.table([pa.array(values)], schema), table.root / name)
    return add(name, size=(table.root / name).stat().st_size)


Ask = Callable[[SharedLake, LakeTable, dict[str, str]], httpx.Response]
ASKS: list[Ask] = [
    lambda lake, table, headers: lake.client().post(f"{table.path()}/query", json={}, headers=headers),
    lambda lake, table, headers: lake.client().get(f"{table.path()}/metadata", headers=headers),
    lambda lake, table, headers: feed(lake, table, startingVersion=0, headers=headers),
    lambda lake, table, headers: stream(lake, table, startingVersion=0, headers=headers),
]


@pytest.mark.parametrize("protocol", UNDECLARED)
@pytest.mark.parametrize("feature", NEEDS)
def test_every_response_requires_what_the_contents_need(
    lake: SharedLake, table: LakeTable, feature: str, protocol: str
) -> None:
    commit(table, 0, {"protocol": UNDECLARED[protocol]}, described(*NEEDS[feature]), add("a.parquet"))
    required = f"responseformat=delta;readerfeatures={feature.lower()}"
    for ask in ASKS:
        for lacking in ("responseformat=parquet", "responseformat=delta,parquet"):
            refused = ask(lake, table, {"delta-sharing-capabilities": lacking})
            assert refused.status_code == 400
            assert required in refused.json()["message"]
        answer = ask(lake, table, {"delta-sharing-capabilities": required})
        assert answer.status_code == 200
        answered = json.loads(answer.text.splitlines()[0])["protocol"]["deltaProtocol"]
        assert answered["readerFeatures"] == [feature]
        assert feature in answered["writerFeatures"]


@pytest.mark.parametrize("protocol", UNDECLARED)
def test_the_official_client_reads_columns_whose_mapping_is_not_declared(
    lake: SharedLake, table: LakeTable, protocol: str
) -> None:
    file = data_file(table, "a.parquet", "col-1", [1, 2, 3])
    commit(table, 0, {"protocol": UNDECLARED[protocol]}, described(*NEEDS["columnMapping"]), file)
    for use_delta_format in (None, True):
        frame = lake.recipient().read(table.name, use_delta_format=use_delta_format)
        assert sorted(frame["customer"]) == [1, 2, 3]


def test_files_with_former_names_are_read_by_ids(lake: SharedLake, table: LakeTable) -> None:
    """As Spark's conversion of an Iceberg table leaves them."""
    ids = {"PARQUET:field_id": "1"}
    files = [
        data_file(table, "old.parquet", "cust", [1, 2], **ids),
        data_file(table, "new.parquet", "customer", [3], **ids),
    ]
    versions = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}
    commit(table, 0, versions, described(mapped("customer"), BY_ID), *files)
    for use_delta_format in (None, True):
        frame = lake.recipient().read(table.name, use_delta_format=use_delta_format)
        assert sorted(frame["customer"]) == [1, 2, 3]
    refusal = refusal_of(lambda: lake.recipient().read(table.name, use_delta_format=False))
    assert "responseformat=delta;readerfeatures=columnmapping" in refusal.message
