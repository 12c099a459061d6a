"""What a recipient does with the official Python client, call by call."""

from __future__ import annotations

import json
from pathlib import Path

import delta_sharing
import psutil
import pytest
from deltalake import DeltaTable
from support.clients.recipient import Recipient, refusal_of
from support.gateways.reader_gateway import SCHEMA, SHARE, ReaderGateway
from support.tables.golden import HIVE
from support.tables.reader_tables.of_faults import FOLDER, IN_THE_FOLDER
from support.tables.reader_tables.tables import served_tables
from support.tables.rows import assert_same_rows

# After an empty answer in delta format the client leaves its folder to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning")

TABLE = "history-3"
_OF_HIVE = [
    "deltatbl-column-names-case-insensitive",
    "deltatbl-deleted-path",
    "deltatbl-incorrect-format-config",
    "deltatbl-map-types-correctly",
    "deltatbl-non-partitioned",
    "deltatbl-not-allow-write",
    "deltatbl-partition-prune",
    "deltatbl-partitioned",
    "deltatbl-schema-match",
    "deltatbl-special-chars-in-partition-column",
    "deltatbl-touch-files-needed-for-partitioned",
]
# The golden folder of tables is one of a schema's where it is at hand.
FOLDERS = {FOLDER: list(IN_THE_FOLDER)} | ({HIVE: _OF_HIVE} if HIVE in served_tables() else {})
IN_FOLDERS = [(folder, name) for folder, names in FOLDERS.items() for name in names]


def test_everything_granted_is_listed(readers: ReaderGateway) -> None:
    client = delta_sharing.SharingClient(readers.recipient.profile)
    assert [share.name for share in client.list_shares()] == [SHARE]
    (share,) = client.list_shares()
    assert {schema.name for schema in client.list_schemas(share)} == {SCHEMA, *FOLDERS}
    listed = {(table.schema, table.name) for table in client.list_all_tables()}
    assert listed == {*((SCHEMA, name) for name in served_tables()), *IN_FOLDERS}


@pytest.mark.parametrize("use_delta_format", [None, False, True])
@pytest.mark.parametrize(("folder", "name"), IN_FOLDERS)
def test_tables_of_a_schema_shared_whole_are_read(
    readers: ReaderGateway, folder: str, name: str, use_delta_format: bool | None
) -> None:
    location = readers.tables.table(folder).location / name
    expected = readers.expected(name) if folder == FOLDER else DeltaTable(location).to_pyarrow_table()
    found = readers.of_schema(folder).read(name, use_delta_format=use_delta_format)
    assert_same_rows(expected, found)


def test_a_table_is_loaded_by_its_url(readers: ReaderGateway) -> None:
    frame = delta_sharing.load_as_pandas(readers.recipient.url(TABLE))
    assert_same_rows(readers.expected(TABLE), frame)


def test_an_older_version_is_loaded_by_its_number(readers: ReaderGateway) -> None:
    frame = delta_sharing.load_as_pandas(readers.recipient.url(TABLE), version=0)
    assert_same_rows(readers.expected("history-0"), frame)


@pytest.mark.parametrize("use_delta_format", [None, False, True])
@pytest.mark.parametrize("limit", [0, 1, 7, 1000])
def test_a_limit_gives_that_many_rows(
    readers: ReaderGateway, limit: int, use_delta_format: bool | None
) -> None:
    frame = delta_sharing.load_as_pandas(
        readers.recipient.url(TABLE), limit=limit, use_delta_format=use_delta_format
    )
    assert len(frame) == min(limit, readers.expected(TABLE).num_rows)


def test_the_version_is_returned(readers: ReaderGateway) -> None:
    assert delta_sharing.get_table_version(readers.recipient.url(TABLE)) == 3


def test_the_metadata_is_returned(readers: ReaderGateway) -> None:
    metadata = delta_sharing.get_table_metadata(readers.recipient.url(TABLE))
    fields = json.loads(metadata.schema_string)["fields"]
    assert [(field["name"], field["type"]) for field in fields] == [
        ("col1", "integer"),
        ("col2", "string"),
    ]
    assert list(metadata.partition_columns) == []


@pytest.mark.parametrize("use_delta_format", [True, False])
def test_the_protocol_is_returned(readers: ReaderGateway, use_delta_format: bool) -> None:
    url = readers.recipient.url(TABLE)
    assert delta_sharing.get_table_protocol(url, use_delta_format).min_reader_version == 1


@pytest.mark.parametrize(
    ("share", "schema", "table"),
    [
        ("nothing", SCHEMA, TABLE),
        (SHARE, "nothing", TABLE),
        (SHARE, SCHEMA, "nothing"),
        (SHARE, FOLDER, "nothing"),
    ],
)
def test_what_is_not_there_is_a_protocol_error(
    readers: ReaderGateway, share: str, schema: str, table: str
) -> None:
    refusal = refusal_of(lambda: Recipient(readers.recipient.profile, share, schema).read(table))
    assert (refusal.status, refusal.code) == (404, "RESOURCE_DOES_NOT_EXIST")


def test_an_unknown_token_is_a_protocol_error(readers: ReaderGateway, tmp_path: Path) -> None:
    profile = json.loads(readers.recipient.profile.read_text())
    guessed = tmp_path / "guessed.share"
    guessed.write_text(json.dumps(profile | {"bearerToken": "A" * 43}))
    refusal = refusal_of(lambda: Recipient(guessed, SHARE, SCHEMA).read(TABLE))
    assert (refusal.status, refusal.code) == (401, "UNAUTHENTICATED")


def test_the_gateway_never_loads_pandas(readers: ReaderGateway) -> None:
    assert_same_rows(readers.expected(TABLE), readers.recipient.read(TABLE))
    loaded = {mapped.path for mapped in psutil.Process(readers.running.process.pid).memory_maps()}
    assert any("/pyarrow/" in path for path in loaded)
    assert not any("/pandas/" in path for path in loaded)
