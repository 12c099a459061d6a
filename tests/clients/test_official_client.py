"""What a recipient does with the official Python client, call by call."""

from __future__ import annotations

import json
from pathlib import Path

import delta_sharing
import pytest
from deltalake import DeltaTable
from support.golden import golden_names
from support.golden_gateway import HIVE, SCHEMA, SHARE, GoldenGateway
from support.recipient import Recipient, refusal_of
from support.rows import assert_same_rows

# After an empty answer in delta format the client leaves its folder to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning")

TABLE = "snapshot-data3"
HIVE_TABLES = [
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


def test_everything_granted_is_listed(golden: GoldenGateway) -> None:
    client = delta_sharing.SharingClient(golden.recipient.profile)
    assert [share.name for share in client.list_shares()] == [SHARE]
    (share,) = client.list_shares()
    assert {schema.name for schema in client.list_schemas(share)} == {SCHEMA, HIVE}
    listed = {(table.schema, table.name) for table in client.list_all_tables()}
    single, whole = ((SCHEMA, name) for name in golden_names()), ((HIVE, name) for name in HIVE_TABLES)
    assert listed == {*single, *whole}


@pytest.mark.parametrize("use_delta_format", [None, False, True])
@pytest.mark.parametrize("name", HIVE_TABLES)
def test_tables_of_a_schema_shared_whole_are_read(
    golden: GoldenGateway, name: str, use_delta_format: bool | None
) -> None:
    expected = DeltaTable(golden.hive_folder / name).to_pyarrow_table()
    assert_same_rows(expected, golden.hive().read(name, use_delta_format=use_delta_format))


def test_a_table_is_loaded_by_its_url(golden: GoldenGateway) -> None:
    frame = delta_sharing.load_as_pandas(golden.recipient.url(TABLE))
    assert_same_rows(golden.expected(TABLE), frame)


def test_an_older_version_is_loaded_by_its_number(golden: GoldenGateway) -> None:
    frame = delta_sharing.load_as_pandas(golden.recipient.url(TABLE), version=0)
    assert_same_rows(golden.expected("snapshot-data0"), frame)


@pytest.mark.parametrize("use_delta_format", [None, False, True])
@pytest.mark.parametrize("limit", [0, 1, 7, 1000])
def test_a_limit_gives_that_many_rows(
    golden: GoldenGateway, limit: int, use_delta_format: bool | None
) -> None:
    frame = delta_sharing.load_as_pandas(
        golden.recipient.url(TABLE), limit=limit, use_delta_format=use_delta_format
    )
    assert len(frame) == min(limit, golden.expected(TABLE).num_rows)


def test_the_version_is_told(golden: GoldenGateway) -> None:
    assert delta_sharing.get_table_version(golden.recipient.url(TABLE)) == 3


def test_the_metadata_is_told(golden: GoldenGateway) -> None:
    metadata = delta_sharing.get_table_metadata(golden.recipient.url(TABLE))
    fields = json.loads(metadata.schema_string)["fields"]
    assert [(field["name"], field["type"]) for field in fields] == [
        ("col1", "integer"),
        ("col2", "string"),
    ]
    assert list(metadata.partition_columns) == []


@pytest.mark.parametrize("use_delta_format", [True, False])
def test_the_protocol_is_told(golden: GoldenGateway, use_delta_format: bool) -> None:
    url = golden.recipient.url(TABLE)
    assert delta_sharing.get_table_protocol(url, use_delta_format).min_reader_version == 1


@pytest.mark.parametrize(
    ("share", "schema", "table"),
    [
        ("nothing", SCHEMA, TABLE),
        (SHARE, "nothing", TABLE),
        (SHARE, SCHEMA, "nothing"),
        (SHARE, HIVE, "nothing"),
    ],
)
def test_what_is_not_there_is_a_protocol_error(
    golden: GoldenGateway, share: str, schema: str, table: str
) -> None:
    refusal = refusal_of(lambda: Recipient(golden.recipient.profile, share, schema).read(table))
    assert (refusal.status, refusal.code) == (404, "RESOURCE_DOES_NOT_EXIST")


def test_an_unknown_token_is_a_protocol_error(golden: GoldenGateway, tmp_path: Path) -> None:
    profile = json.loads(golden.recipient.profile.read_text())
    guessed = tmp_path / "guessed.share"
    guessed.write_text(json.dumps(profile | {"bearerToken": "A" * 43}))
    refusal = refusal_of(lambda: Recipient(guessed, SHARE, SCHEMA).read(TABLE))
    assert (refusal.status, refusal.code) == (401, "UNAUTHENTICATED")
