"""Every golden table through the gateway, read by the official Python client in each of its modes.

The tables below say how each of them is served; `test_every_table_is_listed` keeps them complete.
"""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from support.golden import golden_names, require_golden_tables
from support.golden_gateway import GoldenGateway
from support.recipient import Refusal, refusal_of
from support.rows import assert_same_rows

pytestmark = [
    # What the client does where a file has only nulls in a column.
    pytest.mark.filterwarnings("ignore:The behavior of DataFrame concatenation:FutureWarning"),
    # After an empty answer in delta format the client leaves its folder to the garbage collector.
    pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning"),
]

# Served in parquet format, which the client chooses by itself, and in delta format.
PLAIN = [
    "124-decimal-decode-bug",
    "125-iterator-bug",
    "basic-decimal-table",
    "basic-decimal-table-legacy",
    "basic-with-inserts-deletes-checkpoint",
    "basic-with-inserts-merge",
    "basic-with-inserts-updates",
    "basic-with-vacuum-protocol-check-feature",
    "data-reader-array-complex-objects",
    "data-reader-array-primitives",
    "data-reader-date-types-America",
    "data-reader-date-types-Asia",
    "data-reader-date-types-Etc",
    "data-reader-date-types-Jst",
    "data-reader-date-types-Pst",
    "data-reader-date-types-utc",
    "data-reader-escaped-chars",
    "data-reader-nested-struct",
    "data-reader-nullable-field-invalid-schema-key",
    "data-reader-primitives",
    "data-skipping-basic-stats-all-types",
    "data-skipping-basic-stats-all-types-checkpoint",
    "data-skipping-partition-and-data-column",
    "decimal-various-scale-precision",
    "kernel-timestamp-int96",
    "kernel-timestamp-timestamp_micros",
    "kernel-timestamp-timestamp_millis",
    "log-replay-latest-metadata-protocol",
    "log-replay-special-characters",
    "log-replay-special-characters-a",
    "snapshot-data0",
    "snapshot-data1",
    "snapshot-data2",
    "snapshot-data3",
    "snapshot-repartitioned",
    "time-travel-partition-changes-a",
    "time-travel-partition-changes-b",
    "time-travel-schema-changes-a",
    "time-travel-start",
    "time-travel-start-start20",
    "v2-checkpoint-parquet",
]

# Served in parquet and in delta format, but for one column: a partition value of type timestamp has
# no zone (Delta protocol, "Partition Value Serialization"), so it means what the reader's session says.
# `expected/` was read in this zone; the client reads UTC.
ZONELESS = {"data-reader-partition-values": ("as_timestamp", "America/Los_Angeles")}

# Served in delta format only: the reader features that the parquet format cannot say.
BEYOND_PARQUET = {
    "data-reader-timestamp_ntz": ["timestampNtz"],
    "data-reader-timestamp_ntz-id-mode": ["timestampNtz", "columnMapping"],
    "data-skipping-basic-stats-all-types-columnmapping-id": ["columnMapping"],
    "dv-partitioned-with-checkpoint": ["deletionVectors"],
    "log-replay-dv-key-cases": ["deletionVectors"],
    "parquet-all-types-legacy-format": ["timestampNtz"],
    "table-with-columnmapping-mode-id": ["columnMapping"],
    "table-with-columnmapping-mode-name": ["columnMapping"],
}

# The data files are stand-ins: the paths of the live ones, relative to the table.
FILE_LISTS: dict[str, list[str]] = {
    "canonicalized-paths-normal-a": [],
    "canonicalized-paths-normal-b": [],
    "canonicalized-paths-special-a": [],
    "checkpoint": ["15"],
    "deltalog-commit-info": ["abc"],
    "update-deleted-directory": [str(number) for number in range(1, 11)],
}

# Reading must fail: status, error code, and what the message names.
_BROKEN = (400, "TABLE_UNREADABLE")
_MISSING = (404, "RESOURCE_DOES_NOT_EXIST")
UNREADABLE = {
    "deltalog-invalid-protocol-version": (*_BROKEN, "reader version 99"),
    "deltalog-state-reconstruction-from-checkpoint-missing-metadata": (*_BROKEN, "metadata"),
    "deltalog-state-reconstruction-without-metadata": (*_BROKEN, "metadata"),
    "deltalog-state-reconstruction-without-protocol": (*_BROKEN, "protocol"),
    "hive": (*_MISSING, "_delta_log"),  # a folder of tables, itself none
    "no-delta-log-folder": (*_MISSING, "_delta_log"),
}

# The mode of the client: it negotiates, insists on parquet, or insists on delta.
MODES = {"default": None, "parquet": False, "delta": True}

# Older versions of one table that are the latest of another.
OLDER = [
    ("snapshot-data3", 0, "snapshot-data0"),
    ("snapshot-data3", 1, "snapshot-data1"),
    ("snapshot-data3", 2, "snapshot-data2"),
    ("snapshot-repartitioned", 2, "snapshot-data2"),
    ("snapshot-repartitioned", 3, "snapshot-data3"),
    ("time-travel-start-start20", 0, "time-travel-start"),
]


def test_every_table_is_listed() -> None:
    require_golden_tables()
    listed = [*PLAIN, *ZONELESS, *BEYOND_PARQUET, *FILE_LISTS, *UNREADABLE]
    assert sorted(listed) == golden_names()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PLAIN)
def test_plain_tables_are_read_in_every_mode(golden: GoldenGateway, name: str, mode: str) -> None:
    frame = golden.recipient.read(name, use_delta_format=MODES[mode])
    assert_same_rows(golden.expected(name), frame)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ZONELESS)
def test_partition_values_without_a_zone_are_read_as_utc(
    golden: GoldenGateway, name: str, mode: str
) -> None:
    column, zone = ZONELESS[name]
    expected = golden.expected(name)
    local = pc.local_timestamp(expected[column].cast(pa.timestamp("us", zone)))
    index = expected.schema.get_field_index(column)
    as_utc = expected.set_column(index, column, local.cast(pa.timestamp("us", "UTC")))
    assert_same_rows(as_utc, golden.recipient.read(name, use_delta_format=MODES[mode]))


@pytest.mark.parametrize("name", [*PLAIN, *ZONELESS])
def test_plain_tables_are_negotiated_to_parquet(golden: GoldenGateway, name: str) -> None:
    assert golden.recipient.negotiated_format(name) == "parquet"


@pytest.mark.parametrize("mode", ["default", "delta"])
@pytest.mark.parametrize("name", BEYOND_PARQUET)
def test_tables_beyond_parquet_are_read_in_delta_format(
    golden: GoldenGateway, name: str, mode: str
) -> None:
    frame = golden.recipient.read(name, use_delta_format=MODES[mode])
    assert_same_rows(golden.expected(name), frame)


@pytest.mark.parametrize(("name", "features"), BEYOND_PARQUET.items())
def test_tables_beyond_parquet_are_refused_there_naming_what_to_ask_for(
    golden: GoldenGateway, name: str, features: list[str]
) -> None:
    refusal = refusal_of(lambda: golden.recipient.read(name, use_delta_format=False))
    assert (refusal.status, refusal.code) == (400, "UNSUPPORTED_OPERATION")
    asked = f"responseformat=delta;readerfeatures={','.join(features).lower()}"
    assert f"delta-sharing-capabilities: {asked}" in refusal.message
    assert all(feature in refusal.message for feature in features)


@pytest.mark.parametrize(("name", "files"), FILE_LISTS.items())
def test_stand_in_files_are_listed(golden: GoldenGateway, name: str, files: list[str]) -> None:
    answer = golden.query(name)
    assert answer.status_code == 200
    protocol, metadata, *listed = map(orjson.loads, answer.text.splitlines())
    assert (list(protocol), list(metadata)) == (["protocol"], ["metaData"])
    paths = [unquote(urlsplit(line["file"]["url"]).path) for line in listed]
    table = f"/{name}/delta/"
    assert sorted(path.rpartition(table)[2] for path in paths) == sorted(files)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("name", "answer"), UNREADABLE.items())
def test_unreadable_tables_answer_a_protocol_error(
    golden: GoldenGateway, name: str, answer: tuple[int, str, str], mode: str
) -> None:
    refusal = refusal_of(lambda: golden.recipient.read(name, use_delta_format=MODES[mode]))
    status, code, named = answer
    assert refusal == Refusal(status, code, refusal.message)
    assert named in refusal.message


@pytest.mark.parametrize(("name", "version", "same"), OLDER)
def test_older_versions_are_read(golden: GoldenGateway, name: str, version: int, same: str) -> None:
    for use_delta_format in MODES.values():
        frame = golden.recipient.read(name, version=version, use_delta_format=use_delta_format)
        assert_same_rows(golden.expected(same), frame)
