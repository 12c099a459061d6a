"""Every reader table through the gateway, read by the official Python client in each of its modes.

These are the suite's own tables and, where they are at hand, the golden tables of the Delta project.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from support.clients.recipient import Refusal, refusal_of
from support.gateways.reader_gateway import ReaderGateway
from support.tables.reader_tables.of_histories import VERSIONS
from support.tables.reader_tables.served import Unreadable
from support.tables.reader_tables.tables import served_tables
from support.tables.rows import assert_same_rows

pytestmark = [
    # What the client does where a file has only nulls in a column.
    pytest.mark.filterwarnings("ignore:The behavior of DataFrame concatenation:FutureWarning"),
    # After an empty answer in delta format the client leaves its folder to the garbage collector.
    pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning"),
]

SERVED = served_tables()
# Served in parquet format, which the client chooses by itself, and in delta format.
PLAIN = [name for name, served in SERVED.items() if served.plain and not served.zone]
ZONELESS = {name: served.zone for name, served in SERVED.items() if served.zone}
BEYOND_PARQUET = {name: served.features for name, served in SERVED.items() if served.features}
STAND_INS = {name: served.stand_ins for name, served in SERVED.items() if served.stand_ins is not None}
UNREADABLE = {name: served.unreadable for name, served in SERVED.items() if served.unreadable}

# The mode of the client: it negotiates, insists on parquet, or insists on delta.
MODES = {"default": None, "parquet": False, "delta": True}

# Older versions of one table that are the latest of another.
OLDER = [
    *((f"history-{VERSIONS - 1}", version, f"history-{version}") for version in range(VERSIONS - 1)),
    ("repartitioned-1", 0, "repartitioned-0"),
]
GOLDEN_OLDER = [
    ("snapshot-data3", 0, "snapshot-data0"),
    ("snapshot-data3", 1, "snapshot-data1"),
    ("snapshot-data3", 2, "snapshot-data2"),
    ("snapshot-repartitioned", 2, "snapshot-data2"),
    ("snapshot-repartitioned", 3, "snapshot-data3"),
    ("time-travel-start-start20", 0, "time-travel-start"),
]


# For each change, each table is read in one of the modes, in turn.
READINGS = [
    pytest.param(
        name,
        mode,
        marks=()
        if number % 3 == turn
        else pytest.mark.night("test_plain_tables_are_read_in_every_mode"),
    )
    for number, name in enumerate(PLAIN)
    for turn, mode in enumerate(MODES)
]


@pytest.mark.parametrize(("name", "mode"), READINGS)
def test_plain_tables_are_read_in_every_mode(readers: ReaderGateway, name: str, mode: str) -> None:
    frame = readers.recipient.read(name, use_delta_format=MODES[mode])
    assert_same_rows(readers.expected(name), frame)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ZONELESS)
def test_partition_values_without_a_zone_are_read_as_utc(
    readers: ReaderGateway, name: str, mode: str
) -> None:
    column, zone = ZONELESS[name]
    expected = readers.expected(name)
    local = pc.local_timestamp(expected[column].cast(pa.timestamp("us", zone)))
    index = expected.schema.get_field_index(column)
    as_utc = expected.set_column(index, column, local.cast(pa.timestamp("us", "UTC")))
    assert_same_rows(as_utc, readers.recipient.read(name, use_delta_format=MODES[mode]))


@pytest.mark.parametrize("name", [*PLAIN, *ZONELESS])
def test_plain_tables_are_negotiated_to_parquet(readers: ReaderGateway, name: str) -> None:
    assert readers.recipient.negotiated_format(name) == "parquet"


@pytest.mark.parametrize("mode", ["default", "delta"])
@pytest.mark.parametrize("name", BEYOND_PARQUET)
def test_tables_beyond_parquet_are_read_in_delta_format(
    readers: ReaderGateway, name: str, mode: str
) -> None:
    frame = readers.recipient.read(name, use_delta_format=MODES[mode])
    assert_same_rows(readers.expected(name), frame)


@pytest.mark.parametrize(("name", "features"), BEYOND_PARQUET.items())
def test_tables_beyond_parquet_are_refused_there_naming_what_to_ask_for(
    readers: ReaderGateway, name: str, features: Sequence[str]
) -> None:
    refusal = refusal_of(lambda: readers.recipient.read(name, use_delta_format=False))
    assert (refusal.status, refusal.code) == (400, "UNSUPPORTED_OPERATION")
    asked = f"responseformat=delta;readerfeatures={','.join(features).lower()}"
    assert f"delta-sharing-capabilities: {asked}" in refusal.message
    assert all(feature in refusal.message for feature in features)


@pytest.mark.parametrize(("name", "files"), STAND_INS.items())
def test_stand_in_files_are_listed(readers: ReaderGateway, name: str, files: Sequence[str]) -> None:
    answer = readers.query(name)
    assert answer.status_code == 200
    protocol, metadata, *listed = map(orjson.loads, answer.text.splitlines())
    assert (list(protocol), list(metadata)) == (["protocol"], ["metaData"])
    paths = [unquote(urlsplit(line["file"]["url"]).path) for line in listed]
    table = f"/{name}/delta/"
    assert sorted(path.rpartition(table)[2] for path in paths) == sorted(files)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("name", "answer"), UNREADABLE.items())
def test_unreadable_tables_answer_a_protocol_error(
    readers: ReaderGateway, name: str, answer: Unreadable, mode: str
) -> None:
    refusal = refusal_of(lambda: readers.recipient.read(name, use_delta_format=MODES[mode]))
    assert refusal == Refusal(answer.status, answer.code, refusal.message)
    assert answer.message in refusal.message


@pytest.mark.parametrize(
    ("name", "version", "same"), [*OLDER, *(case for case in GOLDEN_OLDER if case[0] in SERVED)]
)
def test_older_versions_are_read(readers: ReaderGateway, name: str, version: int, same: str) -> None:
    for use_delta_format in MODES.values():
        frame = readers.recipient.read(name, version=version, use_delta_format=use_delta_format)
        assert_same_rows(readers.expected(same), frame)
